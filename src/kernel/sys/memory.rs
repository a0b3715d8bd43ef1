//! Large zeroed memory straight from the kernel.

use memmap2::{MmapMut, MmapOptions};
use std::io;

/// Asks for huge pages where `memory` was not touched yet: a wish.
#[cfg_attr(target_os = "linux", expect(unsafe_code, reason = "the call of the system"))]
pub(crate) fn advise_huge_pages(memory: &mut [u8]) {
    #[cfg(target_os = "linux")]
    if memory.len() >= 2 * HUGE_PAGE {
        // From the page where it begins: what an allocator keeps in front of it is in that page.
        let before = memory.as_ptr() as usize % rustix::param::page_size();
        let start = memory.as_mut_ptr().wrapping_sub(before);
        let len = before + memory.len();
        // SAFETY: huge pages hold the same, of `memory` and of what else is in its first page.
        let advised =
            unsafe { rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxHugepage) };
        let _ = advised; // refusal costs time only
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Anonymous memory: zeroed, page-aligned, on huge pages where the kernel
/// grants them, and given back when dropped. Pages cost nothing until touched.
#[derive(Debug, Default)]
pub(crate) struct Pages(Option<MmapMut>);

/// Size of a huge page on the machines that have them.
#[cfg(target_os = "linux")]
const HUGE_PAGE: usize = 2 << 20;

impl Pages {
    /// Memory for `words` words of 64 bits.
    pub(crate) fn zeroed(words: usize) -> io::Result<Self> {
        if words == 0 {
            return Ok(Self(None));
        }
        let bytes = words.checked_mul(8).ok_or(io::ErrorKind::OutOfMemory)?;
        let map = MmapOptions::new().len(bytes).no_reserve_swap().map_anon()?;
        // First touch is dear on virtual machines: 512 times fewer faults.
        #[cfg(target_os = "linux")]
        if bytes >= 2 * HUGE_PAGE {
            let _ = map.advise(memmap2::Advice::HugePage); // a wish: refusal costs time only
        }
        Ok(Self(Some(map)))
    }

    /// Makes this at least so many words; what they hold is lost.
    pub(crate) fn make_room(&mut self, words: usize) -> io::Result<()> {
        if self.words().len() < words {
            *self = Self::default(); // given back first
            // Somewhat more than asked for lasts; what is not touched costs nothing.
            *self = Self::zeroed(words.saturating_add(words / 8))?;
        }
        Ok(())
    }

    /// The memory as bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The memory as bytes, to be written.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }

    /// The memory as words.
    pub(crate) fn words(&self) -> &[u64] {
        self.0.as_ref().map_or(&[], |map| bytemuck::cast_slice(map))
    }

    /// The memory as words, to be written.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.0 {
            Some(map) => bytemuck::cast_slice_mut(map),
            None => &mut [],
        }
    }
}
