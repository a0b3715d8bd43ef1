//! 32 values in a 512-bit register.

use super::WINDOW;
use std::arch::x86_64::{
    _mm512_cmpeq_epi16_mask, _mm512_loadu_si512, _mm512_mask_cmpeq_epi16_mask,
    _mm512_maskz_loadu_epi16, _mm512_set1_epi16,
};

#[target_feature(enable = "avx512f,avx512bw")]
#[expect(clippy::cast_possible_wrap, reason = "lanes are bits")]
pub(super) fn contains(window: &[[u8; 2]; WINDOW], low: u16) -> bool {
    let needle = _mm512_set1_epi16(low as i16);
    let mut found = 0;
    for values in window.as_chunks::<32>().0 {
        // SAFETY: `values` is 64 readable bytes; `loadu` needs no alignment.
        let values = unsafe { _mm512_loadu_si512(values.as_ptr().cast()) };
        found |= _mm512_cmpeq_epi16_mask(values, needle);
    }
    found != 0
}

#[target_feature(enable = "avx512f,avx512bw")]
#[expect(clippy::cast_possible_wrap, reason = "lanes are bits")]
pub(super) fn contains_few(values: &[[u8; 2]], low: u16) -> bool {
    let needle = _mm512_set1_epi16(low as i16);
    let (blocks, rest) = values.as_chunks::<32>();
    let mask = (1_u32 << rest.len()) - 1;
    // SAFETY: only the `rest.len()` values of `rest` are read.
    let last = unsafe { _mm512_maskz_loadu_epi16(mask, rest.as_ptr().cast()) };
    let mut found = _mm512_mask_cmpeq_epi16_mask(mask, last, needle);
    for values in blocks {
        // SAFETY: `values` is 64 readable bytes; `loadu` needs no alignment.
        let values = unsafe { _mm512_loadu_si512(values.as_ptr().cast()) };
        found |= _mm512_cmpeq_epi16_mask(values, needle);
    }
    found != 0
}
