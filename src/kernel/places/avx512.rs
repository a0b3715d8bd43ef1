//! Compares 64 bytes in a 512-bit register.

use super::BLOCK;
use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_loadu_epi8, _mm512_loadu_si512,
    _mm512_mask_compress_epi8, _mm512_set1_epi8,
};

/// Bit `i` is set if byte `i` is `byte`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(in crate::kernel) fn mask(block: &[u8; BLOCK], byte: u8) -> u64 {
    // SAFETY: `block` is 64 readable bytes; `loadu` needs no alignment.
    let bytes = unsafe { _mm512_loadu_epi8(block.as_ptr().cast()) };
    _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()))
}

/// The places of the set bits of `mask`, one in each byte. The bytes behind them have no meaning.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2")]
pub(in crate::kernel) fn set_bits(mask: u64) -> __m512i {
    // Not zeros behind them: with zeros, Zen 4 would wait for the old content of the register.
    _mm512_mask_compress_epi8(iota(), mask, iota())
}

/// 0, 1, 2, … 63.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(in crate::kernel) fn iota() -> __m512i {
    const IOTA: [u8; 64] = {
        let mut bytes = [0; 64];
        let mut index = 0;
        while index < 64 {
            bytes[index] = index.to_le_bytes()[0];
            index += 1;
        }
        bytes
    };
    // SAFETY: `IOTA` is 64 readable bytes.
    unsafe { _mm512_loadu_si512(IOTA.as_ptr().cast()) }
}
