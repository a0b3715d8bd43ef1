//! 64 bytes in a 512-bit register.

use super::BLOCK;
use std::arch::x86_64::{_mm512_cmpeq_epi8_mask, _mm512_loadu_epi8, _mm512_set1_epi8};

/// Bit `i` is set where byte `i` is `byte`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(in crate::simd) fn mask(block: &[u8; BLOCK], byte: u8) -> u64 {
    // SAFETY: `block` is 64 readable bytes; `loadu` needs no alignment.
    let bytes = unsafe { _mm512_loadu_epi8(block.as_ptr().cast()) };
    _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()))
}
