//! Bits of a cache line, looked at together.
//!
//! A key of a blocked Bloom filter has some bits in one line: the high 9 bits of
//! `first`, `first × M`, `first × M²`, … modulo 2^64. With AVX-512 eight of them
//! are looked at in a dozen instructions instead of eighty: four times as many
//! keys are on their way to a large filter at a time.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::level::Isa;

/// Words of a line.
pub(crate) const LINE_WORDS: usize = 8;

/// Odd, with no short relation between multiples: Steele and Vigna,
/// *Computationally Easy, Spectrally Good Multipliers for Congruential
/// Pseudorandom Number Generators* (2022).
pub(crate) const MULTIPLIER: u64 = 0xD134_2543_DE82_EF95;

/// A line's number among others, and the first bit there.
pub(crate) type Place = (usize, u64);

/// Whether `count` bits are set, the first one at `place`, in its line. They are
/// not if there is no such line.
#[inline]
pub(crate) fn has_bits(
    level: Level,
    lines: &[[u64; LINE_WORDS]],
    place: Place,
    count: u32,
) -> bool {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { has_bits_avx512(lines, place, count) },
        _ => has_bits_scalar(lines, place, count),
    }
}

/// The same for many places; `found` gets an answer for each, as far as both
/// reach.
pub(crate) fn have_bits(
    level: Level,
    lines: &[[u64; LINE_WORDS]],
    places: &[Place],
    count: u32,
    found: &mut [bool],
) {
    match level.isa() {
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { have_bits_avx512(lines, places, count, found) },
        _ => {
            for (found, &place) in found.iter_mut().zip(places) {
                *found = has_bits_scalar(lines, place, count);
            }
        }
    }
}

/// Sets `count` bits of a line, from `first` on; tells whether one was not set.
#[inline]
pub(crate) fn set_bits(level: Level, line: &mut [u64; LINE_WORDS], first: u64, count: u32) -> bool {
    match level.isa() {
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { set_bits_avx512(line, first, count) },
        _ => set_bits_scalar(line, first, count),
    }
}

#[inline]
fn set_bits_scalar(line: &mut [u64; LINE_WORDS], first: u64, count: u32) -> bool {
    let (mut bit, mut changed) = (first, 0);
    for _ in 0..count {
        let [index, shift] = split(bit);
        let after = line[index] | 1 << shift;
        changed |= line[index] ^ after;
        line[index] = after;
        bit = bit.wrapping_mul(MULTIPLIER);
    }
    changed != 0
}

/// All bits are looked at: they are there with the first, and which one is not
/// set nobody can predict.
#[inline]
fn has_bits_scalar(lines: &[[u64; LINE_WORDS]], (line, first): Place, count: u32) -> bool {
    let Some(line) = lines.get(line) else { return false };
    let (mut bit, mut all) = (first, 1);
    for _ in 0..count {
        let [index, shift] = split(bit);
        all &= line[index] >> shift;
        bit = bit.wrapping_mul(MULTIPLIER);
    }
    all == 1
}

/// The word of a bit, and its place there.
#[inline]
pub(crate) const fn split(bit: u64) -> [usize; 2] {
    [(bit >> 61) as usize, (bit >> 55 & 63) as usize]
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn have_bits_avx512(lines: &[[u64; LINE_WORDS]], places: &[Place], count: u32, found: &mut [bool]) {
    for (found, &place) in found.iter_mut().zip(places) {
        *found = has_bits_avx512(lines, place, count);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn has_bits_avx512(lines: &[[u64; LINE_WORDS]], (line, first): Place, count: u32) -> bool {
    use std::arch::x86_64::{
        _mm512_and_si512, _mm512_loadu_epi64, _mm512_mullo_epi64, _mm512_permutexvar_epi64,
        _mm512_set1_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_test_epi64_mask,
    };
    let Some(line) = lines.get(line) else { return false };
    // SAFETY: `line` is 64 readable bytes; `loadu` needs no alignment.
    let line = unsafe { _mm512_loadu_epi64(line.as_ptr().cast()) };
    // SAFETY: as above, of `POWERS`.
    let powers = unsafe { _mm512_loadu_epi64(POWERS.as_ptr().cast()) };
    let mut bits = _mm512_mullo_epi64(_mm512_set1_epi64(first.cast_signed()), powers);
    let mut left = count;
    loop {
        let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<61>(bits), line);
        let shifts = _mm512_and_si512(_mm512_srli_epi64::<55>(bits), _mm512_set1_epi64(63));
        let shifted = _mm512_srlv_epi64(words, shifts);
        let set = _mm512_test_epi64_mask(shifted, _mm512_set1_epi64(1));
        let wanted = lowest(left);
        if set & wanted != wanted {
            return false;
        }
        if left <= 8 {
            return true;
        }
        left -= 8;
        bits = _mm512_mullo_epi64(bits, _mm512_set1_epi64(NEXT.cast_signed()));
    }
}

/// The line is loaded once and stored once: a scalar store that a later load may
/// or may not need holds up what comes behind it.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn set_bits_avx512(line: &mut [u64; LINE_WORDS], first: u64, count: u32) -> bool {
    use std::arch::x86_64::{
        _mm512_and_si512, _mm512_andnot_si512, _mm512_cmpeq_epi64_mask, _mm512_loadu_epi64,
        _mm512_mask_or_epi64, _mm512_maskz_sllv_epi64, _mm512_mullo_epi64, _mm512_or_si512,
        _mm512_permutexvar_epi64, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512,
        _mm512_srli_epi64, _mm512_storeu_epi64, _mm512_test_epi64_mask,
    };
    // SAFETY: of `POWERS`, 64 readable bytes; `loadu` needs no alignment.
    let powers = unsafe { _mm512_loadu_epi64(POWERS.as_ptr().cast()) };
    let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let mut bits = _mm512_mullo_epi64(_mm512_set1_epi64(first.cast_signed()), powers);
    let mut left = count;
    let mut added = [_mm512_setzero_si512(); 2];
    while left > 0 {
        let words = _mm512_srli_epi64::<61>(bits);
        let shifts = _mm512_and_si512(_mm512_srli_epi64::<55>(bits), _mm512_set1_epi64(63));
        let ones = _mm512_maskz_sllv_epi64(lowest(left), _mm512_set1_epi64(1), shifts);
        for lane in 0..8 {
            let of = _mm512_set1_epi64(lane);
            let here = _mm512_cmpeq_epi64_mask(_mm512_permutexvar_epi64(of, words), lanes);
            let half = &mut added[usize::from(lane % 2 == 1)];
            *half = _mm512_mask_or_epi64(*half, here, *half, _mm512_permutexvar_epi64(of, ones));
        }
        left = left.saturating_sub(8);
        bits = _mm512_mullo_epi64(bits, _mm512_set1_epi64(NEXT.cast_signed()));
    }
    let added = _mm512_or_si512(added[0], added[1]);
    // SAFETY: `line` is 64 readable bytes; `loadu` needs no alignment.
    let before = unsafe { _mm512_loadu_epi64(line.as_ptr().cast()) };
    let new = _mm512_andnot_si512(before, added);
    let after = _mm512_or_si512(before, added);
    // SAFETY: as above, and writable.
    unsafe { _mm512_storeu_epi64(line.as_mut_ptr().cast(), after) };
    _mm512_test_epi64_mask(new, new) != 0
}

/// The lowest bits set, 8 at the most.
#[cfg(target_arch = "x86_64")]
const fn lowest(bits: u32) -> u8 {
    if bits >= u8::BITS { u8::MAX } else { (1 << bits) - 1 }
}

#[cfg(target_arch = "x86_64")]
const POWERS: [u64; LINE_WORDS] = powers();
/// M to the power of 8.
#[cfg(target_arch = "x86_64")]
const NEXT: u64 = POWERS[LINE_WORDS - 1].wrapping_mul(MULTIPLIER);

/// 1, M, M², … modulo 2^64.
#[cfg(target_arch = "x86_64")]
const fn powers() -> [u64; LINE_WORDS] {
    let mut powers = [1_u64; LINE_WORDS];
    let mut index = 1;
    while index < LINE_WORDS {
        powers[index] = powers[index - 1].wrapping_mul(MULTIPLIER);
        index += 1;
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_level_finds_the_same(
            lines in prop::collection::vec(any::<[u64; LINE_WORDS]>(), 0..5),
            holes in prop::collection::vec((0_usize..5, any::<u64>()), 0..20),
            count in 0_u32..40,
        ) {
            // Full but for a few bits, so that many bits may all be set.
            let dense: Vec<_> = lines.iter().map(|line| line.map(|word| word | !(word >> 1))).collect();
            let full = vec![[u64::MAX; LINE_WORDS]; 3];
            for lines in [&lines, &dense, &full] {
                let expected: Vec<bool> =
                    holes.iter().map(|&place| has_bits_scalar(lines, place, count)).collect();
                for &level in Level::available() {
                    let mut found = vec![false; holes.len()];
                    have_bits(level, lines, &holes, count, &mut found);
                    prop_assert_eq!(&found, &expected, "{}", level.name());
                    let alone = holes.iter().map(|&place| has_bits(level, lines, place, count));
                    prop_assert!(alone.eq(expected.iter().copied()), "{}", level.name());
                }
            }
        }

        #[test]
        fn bits_that_were_set_are_found(
            line in any::<[u64; LINE_WORDS]>(),
            first in any::<u64>(),
            count in 0_u32..40,
        ) {
            let mut after = line;
            let new = set_bits_scalar(&mut after, first, count);
            for &level in Level::available() {
                let mut same = line;
                prop_assert_eq!(set_bits(level, &mut same, first, count), new);
                prop_assert_eq!(same, after);
                prop_assert!(has_bits(level, &[after], (0, first), count));
                prop_assert_eq!(has_bits(level, &[line], (0, first), count), !new);
            }
            prop_assert!(!set_bits_scalar(&mut after, first, count));
        }
    }
}
