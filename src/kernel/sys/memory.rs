//! Large zeroed memory directly from the kernel.

use memmap2::{MmapMut, MmapOptions};
use std::io;

/// Asks for huge pages for `memory` that was not touched yet. The kernel may refuse.
#[cfg_attr(all(target_os = "linux", not(miri)), expect(unsafe_code, reason = "a system call"))]
pub(crate) fn advise_huge_pages<T>(memory: &mut [T]) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if size_of_val(memory) >= 2 * HUGE_PAGE {
        // From the start of the page in which it begins. The allocator's bytes before it are in
        // that page too.
        let before = memory.as_ptr().addr() % rustix::param::page_size();
        let start = memory.as_mut_ptr().wrapping_byte_sub(before);
        let len = before + size_of_val(memory);
        // SAFETY: huge pages hold the same, of `memory` and of what else is in its first page.
        let advised =
            unsafe { rustix::mm::madvise(start.cast(), len, rustix::mm::Advice::LinuxHugepage) };
        let _ = advised; // a refusal only costs time
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = memory;
}

/// Makes the allocator give back large blocks when they are freed. It keeps some for each thread
/// otherwise, as large as the largest that was freed: with many threads that is more than the
/// decoders of compressed files ever take at a time.
#[cfg(feature = "cli")]
#[cfg_attr(
    all(target_os = "linux", target_env = "gnu"),
    expect(unsafe_code, reason = "the call of the C library")
)]
pub(crate) fn give_back_large_blocks() {
    /// Smaller blocks of a process are few, or used again at once.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    const LARGE_BYTES: libc::c_int = 1 << 20;
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it takes two numbers, and may be called at any time.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BYTES) }; // a refusal costs memory
    // Below `ulimit -v`, threads share one arena: each of its own reserves 128 MiB for a moment.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if rustix::process::getrlimit(rustix::process::Resource::As).current.is_some() {
        // SAFETY: as above.
        let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
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
