//! 16 values in a 256-bit register.

use super::WINDOW;
use std::arch::x86_64::{
    _mm256_cmpeq_epi16, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi16,
    _mm256_setzero_si256, _mm256_testz_si256,
};

#[target_feature(enable = "avx2")]
#[expect(clippy::cast_possible_wrap, reason = "lanes are bits")]
pub(super) fn contains(window: &[[u8; 2]; WINDOW], low: u16) -> bool {
    let needle = _mm256_set1_epi16(low as i16);
    let mut found = _mm256_setzero_si256();
    for values in window.as_chunks::<16>().0 {
        // SAFETY: `values` is 32 readable bytes; `loadu` needs no alignment.
        let values = unsafe { _mm256_loadu_si256(values.as_ptr().cast()) };
        found = _mm256_or_si256(found, _mm256_cmpeq_epi16(values, needle));
    }
    _mm256_testz_si256(found, found) == 0
}
