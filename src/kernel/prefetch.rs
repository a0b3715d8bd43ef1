//! Cache lines asked for before they are needed.
//!
//! They are asked into the second-level cache: fewer requests can be under way
//! to the first. 14 random lines a key of 128 MiB take 111 ns so, and 162 ns into
//! the first.

/// Asks for the cache line of element `index`. Nothing happens if there is no
/// such element, or the processor knows no such request.
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
