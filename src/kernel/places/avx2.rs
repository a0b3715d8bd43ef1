//! Compares 32 bytes in a 256-bit register.

use super::BLOCK;
use std::arch::x86_64::{
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8,
};

/// Bit `i` is set if byte `i` is `byte`.
#[inline]
#[target_feature(enable = "avx2")]
pub(in crate::kernel) fn mask(block: &[u8; BLOCK], byte: u8) -> u64 {
    let wanted = _mm256_set1_epi8(byte.cast_signed());
    let (halves, _) = block.as_chunks::<32>();
    (0..).zip(halves).fold(0, |mask, (index, half)| {
        // SAFETY: `half` is 32 readable bytes; `loadu` needs no alignment.
        let half = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let equal = _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, wanted)).cast_unsigned();
        mask | u64::from(equal) << (32 * index)
    })
}
