//! Large zeroed memory directly from the kernel.

use memmap2::{MmapMut, MmapOptions};
use std::io;

/// Asks for huge pages for `memory` that was not touched yet. The kernel may refuse.
#[cfg_attr(target_os = "linux", expect(unsafe_code, reason = "the call of the system"))]
pub(crate) fn advise_huge_pages(memory: &mut [u8]) {
    #[cfg(target_os = "linux")]
    if memory.len() >= 2 * HUGE_PAGE {
        // From the start of the page in which it begins. The allocator's bytes before it are in
        // that page too.
        let before = memory.as_ptr() as usize % rustix::param::page_size();
        let start = memory.as_mut_ptr().wrapping_sub(before);
        let len = before + memory.len();
        // SAFETY: huge pages hold the same, of `memory` and of what else is in its first page.
        let advised =
            unsafe { rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxHugepage) };
        let _ = advised; // a refusal only costs time
    }
    #[cfg(not(target_os = "linux"))]
    let _ = memory;
}

/// Anonymous memory: zeroed, aligned to pages, on huge pages if the kernel gives them, and freed
/// when it is dropped. Pages cost nothing until they are touched.
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
        // The first touch of a page is slow on virtual machines; huge pages give 512 times fewer
        // faults.
        #[cfg(target_os = "linux")]
        if bytes >= 2 * HUGE_PAGE {
            let _ = map.advise(memmap2::Advice::HugePage); // a refusal only costs time
        }
        Ok(Self(Some(map)))
    }

    /// Makes this at least so many words; what they hold is lost.
    pub(crate) fn make_room(&mut self, words: usize) -> io::Result<()> {
        if self.words().len() < words {
            *self = Self::default(); // given back first
            // Some more than asked for, so that the next call may need nothing. Pages that are
            // never touched cost nothing.
            *self = Self::zeroed(words.saturating_add(words / 8))?;
        }
        Ok(())
    }

    /// The memory as bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The memory as bytes, for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        self.0.as_deref_mut().unwrap_or_default()
    }

    /// The memory as words.
    pub(crate) fn words(&self) -> &[u64] {
        self.0.as_ref().map_or(&[], |map| bytemuck::cast_slice(map))
    }

    /// The memory as words, for writing.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.0 {
            Some(map) => bytemuck::cast_slice_mut(map),
            None => &mut [],
        }
    }
}
