//! Finds the positions of set bits by compression, 16 positions at a time.

use super::{GROUP, SLACK};
use crate::kernel::places::avx512::set_bits;
use std::arch::x86_64::{
    __m512i, _mm256_add_epi32, _mm256_cvtepu8_epi32, _mm256_set1_epi32, _mm256_storeu_si256,
    _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cmpgt_epu64_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_popcnt_epi64, _mm512_set1_epi32,
    _mm512_set1_epi64, _mm512_storeu_si512, _mm512_test_epi64_mask,
};

/// Positions in a 256-bit register.
const FEW: usize = 8;

#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,avx512vpopcntdq,bmi1,bmi2,popcnt,lzcnt"
)]
pub(super) fn ones(words: &[u64], first: u32, positions: &mut [u32]) -> usize {
    let mut found = 0;
    let mut base = first;
    let (groups, rest) = words.as_chunks::<GROUP>();
    for group in groups {
        let all = load(group);
        let some = _mm512_test_epi64_mask(all, all);
        if some & some.wrapping_sub(1) == 0 {
            // Mostly there is at most one, with 1 bit in 1000. Tests for two or three would cost
            // more mispredictions than they save.
            if some != 0 {
                let index = some.trailing_zeros();
                let start = base.wrapping_add(64 * index);
                found += word(group[index as usize], start, positions, found);
            }
            base = base.wrapping_add(64 * 8);
            continue;
        }
        if let Some(more) = few(group, base, &mut positions[found..]) {
            found += more;
            base = base.wrapping_add(64 * 8);
            continue;
        }
        for &bits in group {
            found += word(bits, base, positions, found);
            base = base.wrapping_add(64);
        }
    }
    for &bits in rest {
        found += word(bits, base, positions, found);
        base = base.wrapping_add(64);
    }
    found
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn load(group: &[u64; GROUP]) -> __m512i {
    // SAFETY: `group` is 64 readable bytes; `loadu` needs no alignment.
    unsafe { _mm512_loadu_si512(group.as_ptr().cast()) }
}

/// Writes the positions of a group to the front of `positions`, by stores that seldom touch two
/// cache lines. Writes none if a word has more than [`FEW`] set bits.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,avx512vpopcntdq,popcnt")]
#[inline]
#[expect(clippy::cast_possible_wrap, reason = "a small constant")]
fn few(group: &[u64; GROUP], base: u32, positions: &mut [u32]) -> Option<usize> {
    let counts = _mm512_popcnt_epi64(load(group));
    if _mm512_cmpgt_epu64_mask(counts, _mm512_set1_epi64(FEW as i64)) != 0 {
        return None;
    }
    let slots = &mut positions[..GROUP * FEW];
    let mut start = _mm256_set1_epi32(base.cast_signed());
    let mut found = 0;
    for &word in group {
        let offsets = _mm512_castsi512_si128(set_bits(word));
        let widened = _mm256_add_epi32(_mm256_cvtepu8_epi32(offsets), start);
        debug_assert!(found + FEW <= slots.len());
        let slot = slots.as_mut_ptr().wrapping_add(found).cast();
        // SAFETY: no word before has more than `FEW` set bits, so that there are
        // `FEW` of the `GROUP * FEW` slots from `found` on, 32 writable bytes;
        // `storeu` needs no alignment.
        unsafe { _mm256_storeu_si256(slot, widened) };
        found += word.count_ones() as usize;
        start = _mm256_add_epi32(start, _mm256_set1_epi32(64));
    }
    Some(found)
}

/// Writes the positions of one word to `positions` from `found` on.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt,lzcnt"
)]
#[inline]
fn word(word: u64, base: u32, positions: &mut [u32], found: usize) -> usize {
    let count = word.count_ones() as usize;
    let offsets = set_bits(word);
    let slots = &mut positions[found..found + SLACK];
    let start = _mm512_set1_epi32(base.cast_signed());
    let widened = |part| _mm512_add_epi32(_mm512_cvtepu8_epi32(part), start);
    store(slots, 0, widened(_mm512_extracti32x4_epi32::<0>(offsets)));
    if count > 16 {
        store(slots, 16, widened(_mm512_extracti32x4_epi32::<1>(offsets)));
        if count > 32 {
            store(slots, 32, widened(_mm512_extracti32x4_epi32::<2>(offsets)));
            store(slots, 48, widened(_mm512_extracti32x4_epi32::<3>(offsets)));
        }
    }
    count
}

#[target_feature(enable = "avx512f")]
#[inline]
fn store(slots: &mut [u32], at: usize, positions: __m512i) {
    let slot = &mut slots[at..at + 16];
    // SAFETY: `slot` is 64 writable bytes; `storeu` needs no alignment.
    unsafe { _mm512_storeu_si512(slot.as_mut_ptr().cast(), positions) };
}
