//! Compression: 16 positions at a time, those of set bits moved together.

use super::SLACK;
use std::arch::x86_64::{
    __m512i, _mm512_add_epi32, _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32, _mm512_loadu_si512,
    _mm512_maskz_compress_epi8, _mm512_set1_epi32, _mm512_storeu_si512,
};

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt"
)]
pub(super) fn ones(words: &[u64], first: u32, positions: &mut [u32]) -> usize {
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
    let iota = unsafe { _mm512_loadu_si512(IOTA.as_ptr().cast()) };
    let mut found = 0;
    let mut base = first;
    for &word in words {
        let count = word.count_ones() as usize;
        let offsets = _mm512_maskz_compress_epi8(word, iota);
        let slots = &mut positions[found..found + SLACK];
        let start = _mm512_set1_epi32(base.cast_signed());
        store(
            slots,
            0,
            _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<0>(offsets)), start),
        );
        if count > 16 {
            store(
                slots,
                16,
                _mm512_add_epi32(
                    _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<1>(offsets)),
                    start,
                ),
            );
            if count > 32 {
                store(
                    slots,
                    32,
                    _mm512_add_epi32(
                        _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<2>(offsets)),
                        start,
                    ),
                );
                store(
                    slots,
                    48,
                    _mm512_add_epi32(
                        _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<3>(offsets)),
                        start,
                    ),
                );
            }
        }
        found += count;
        base = base.wrapping_add(64);
    }
    found
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(slots: &mut [u32], at: usize, positions: __m512i) {
    let slot = &mut slots[at..at + 16];
    // SAFETY: `slot` is 64 writable bytes; `storeu` needs no alignment.
    unsafe { _mm512_storeu_si512(slot.as_mut_ptr().cast(), positions) };
}
