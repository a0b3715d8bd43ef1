//! Positions of 16 bits, their two bytes found apart.
//!
//! Within 256 bits the upper byte is always the same, and the lower ones need no
//! addition: their bytes themselves are moved together. That takes three instructions
//! a word of the unit that moves bytes, where widened positions take four.

use super::avx512;
use crate::kernel::places::avx512::{iota, set_bits};
use std::arch::x86_64::{
    __m256i, __m512i, _mm_storel_epi64, _mm256_add_epi8, _mm256_loadu_si256, _mm256_set1_epi8,
    _mm256_storeu_si256, _mm512_add_epi8, _mm512_add_epi16, _mm512_castsi512_si128,
    _mm512_castsi512_si256, _mm512_cmpgt_epu64_mask, _mm512_cvtepu8_epi16,
    _mm512_extracti64x4_epi64, _mm512_mask_compress_epi8, _mm512_max_epu64, _mm512_or_si512,
    _mm512_popcnt_epi64, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_slli_epi16, _mm512_storeu_si512,
};

/// Words that share the upper byte of their positions.
const ALIKE: usize = 4;
/// Words of a part whose bytes wait to be joined.
const PART: usize = 128;
/// Bits of a word, at most, in a part of few.
const FEW: usize = 8;
/// Bytes that wait, and room for a store behind the last of them.
const WAITING: usize = PART * FEW + 64;

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt,lzcnt"
)]
pub(super) fn lows(words: &[u64], lows: &mut [[u8; 2]]) -> usize {
    let (mut lower, mut upper) = ([0; WAITING], [0; WAITING]);
    let mut found = 0;
    for (index, part) in words.chunks(PART).enumerate() {
        #[expect(clippy::cast_possible_truncation, reason = "told modulo 2^16")]
        let first = (index * PART * 64) as u16;
        let apart = match part.try_into() {
            Ok(part) => apart(part, first.to_le_bytes()[1], &mut lower, &mut upper),
            Err(_) => None,
        };
        found += match apart {
            Some(count) => joined(&lower, &upper, count, &mut lows[found..]),
            None => each(part, first, &mut lows[found..]),
        };
    }
    found
}

/// Writes the lower and the upper byte of each position, and tells how many there are;
/// none if a word has more than [`FEW`] set bits.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512vpopcntdq,popcnt")]
#[inline]
#[expect(clippy::cast_possible_wrap, reason = "a small constant")]
fn apart(
    part: &[u64; PART],
    first: u8,
    lower: &mut [u8; WAITING],
    upper: &mut [u8; WAITING],
) -> Option<usize> {
    let mut most = _mm512_setzero_si512();
    for group in part.as_chunks().0 {
        most = _mm512_max_epu64(most, _mm512_popcnt_epi64(avx512::load(group)));
    }
    if _mm512_cmpgt_epu64_mask(most, _mm512_set1_epi64(FEW as i64)) != 0 {
        return None;
    }
    let starts = [0, 64, -128, -64];
    let bytes: [__m512i; ALIKE] =
        starts.map(|start| _mm512_add_epi8(iota(), _mm512_set1_epi8(start)));
    let mut shared = _mm256_set1_epi8(first.cast_signed());
    let mut found = 0;
    for words in part.as_chunks::<ALIKE>().0 {
        debug_assert!(found + ALIKE * FEW <= WAITING);
        let slot = upper.as_mut_ptr().wrapping_add(found).cast();
        // SAFETY: no word has more than `FEW` set bits, so that `found` is at most
        // `PART * FEW`, behind which there are 64 bytes; `storeu` needs no alignment.
        unsafe { _mm256_storeu_si256(slot, shared) };
        shared = _mm256_add_epi8(shared, _mm256_set1_epi8(1));
        for (&word, &bytes) in words.iter().zip(&bytes) {
            let moved = _mm512_castsi512_si128(_mm512_mask_compress_epi8(bytes, word, bytes));
            let slot = lower.as_mut_ptr().wrapping_add(found).cast();
            // SAFETY: as above; `storel` needs no alignment.
            unsafe { _mm_storel_epi64(slot, moved) };
            found += word.count_ones() as usize;
        }
    }
    Some(found)
}

/// Writes `count` positions whose bytes are apart; gives how many they are.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn joined(
    lower: &[u8; WAITING],
    upper: &[u8; WAITING],
    count: usize,
    lows: &mut [[u8; 2]],
) -> usize {
    let slots = lows[..count.next_multiple_of(32)].as_chunks_mut::<32>().0;
    let bytes = lower.as_chunks::<32>().0.iter().zip(upper.as_chunks::<32>().0);
    for (slot, (lower, upper)) in slots.iter_mut().zip(bytes) {
        let (lower, upper) = (load(lower), load(upper));
        let upper = _mm512_slli_epi16::<8>(_mm512_cvtepu8_epi16(upper));
        store(slot, _mm512_or_si512(_mm512_cvtepu8_epi16(lower), upper));
    }
    count
}

/// Writes the positions of words of any number of set bits; gives how many they are.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
#[inline]
fn each(words: &[u64], first: u16, lows: &mut [[u8; 2]]) -> usize {
    let mut start = _mm512_set1_epi16(first.cast_signed());
    let mut found = 0;
    for &word in words {
        let moved = set_bits(word);
        let slots = lows[found..][..64].as_chunks_mut::<32>().0;
        let halves = [_mm512_castsi512_si256(moved), _mm512_extracti64x4_epi64::<1>(moved)];
        for (slot, half) in slots.iter_mut().zip(halves) {
            store(slot, _mm512_add_epi16(_mm512_cvtepu8_epi16(half), start));
        }
        found += word.count_ones() as usize;
        start = _mm512_add_epi16(start, _mm512_set1_epi16(64));
    }
    found
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: `bytes` are 32 readable bytes; `loadu` needs no alignment.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(slot: &mut [[u8; 2]; 32], lows: __m512i) {
    // SAFETY: `slot` is 64 writable bytes; `storeu` needs no alignment.
    unsafe { _mm512_storeu_si512(slot.as_mut_ptr().cast(), lows) };
}
