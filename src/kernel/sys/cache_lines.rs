//! Large memory that begins at a cache line, for random access.

use super::memory::advise_huge_pages;
use std::collections::TryReserveError;
use std::sync::atomic::AtomicU64;

/// A cache line of words.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct CacheLine([u64; LINE_WORDS]);

const LINE_WORDS: usize = 8;
const ZERO: CacheLine = CacheLine([0; LINE_WORDS]);

// SAFETY: words of which every bit is 0 are valid.
#[expect(unsafe_code, reason = "the derive macro would write the same")]
unsafe impl bytemuck::Zeroable for CacheLine {}
// SAFETY: 64 bytes of words without padding, for which every pattern of bits is
// valid.
#[expect(unsafe_code, reason = "the derive macro would write the same")]
unsafe impl bytemuck::Pod for CacheLine {}

/// Words in whole cache lines. They are on huge pages if the kernel gives them, so that random
/// access misses the cache but not the table of pages.
#[derive(Debug)]
pub(crate) struct CacheLines(Vec<CacheLine>);

impl CacheLines {
    /// At least so many words, all 0.
    pub(crate) fn zeroed(words: usize) -> Result<Self, TryReserveError> {
        let count = words.div_ceil(LINE_WORDS);
        let mut lines = Vec::new();
        lines.try_reserve_exact(count)?;
        advise_huge_pages(lines.spare_capacity_mut());
        lines.resize(count, ZERO);
        Ok(Self(lines))
    }

    /// The words.
    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        bytemuck::cast_slice(&self.0)
    }

    /// The words, for writing.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

/// The words for several threads at a time.
#[expect(unsafe_code, reason = "the standard library's own way is not stable yet")]
pub(crate) fn atomic_words(words: &mut [u64]) -> &[AtomicU64] {
    const { assert!(align_of::<AtomicU64>() == align_of::<u64>()) };
    let place = std::ptr::from_mut(words) as *const [AtomicU64];
    // SAFETY: an `AtomicU64` has the size and the bits of a `u64`, and its
    // alignment as asserted above. The words are borrowed mutably for as long as
    // the result lives: nobody else reads or writes them.
    unsafe { &*place }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn words_begin_at_a_line_and_are_zero() {
        for words in [0, 1, 8, 9, if cfg!(miri) { 1000 } else { 4 << 20 }] {
            let mut lines = CacheLines::zeroed(words).unwrap();
            assert!(lines.words().len() >= words && lines.words().iter().all(|word| *word == 0));
            assert!(lines.words().as_ptr().addr().is_multiple_of(64));
            lines.words_mut().fill(7);
            assert!(lines.words().iter().all(|word| *word == 7));
        }
        assert!(CacheLines::zeroed(usize::MAX / 16).is_err());
    }

    #[test]
    fn atomic_words_are_the_words() {
        let mut words = [1, 2, 3];
        atomic_words(&mut words)[1].fetch_or(8, Ordering::Relaxed);
        assert_eq!(words, [1, 10, 3]);
    }
}
