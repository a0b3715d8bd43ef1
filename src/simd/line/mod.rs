//! Bits of a cache line, looked at together.
//!
//! A key of a blocked Bloom filter has some bits in one line: the high 9 bits of
//! `first`, `first × M`, `first × M²`, … modulo 2^64. With AVX-512 eight of them
//! are looked at in a dozen instructions instead of eighty: four times as many
//! keys are on their way to a large filter at a time.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

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

/// Whether `count` bits, at least one, are set, the first one at `place`, in its
/// line. They are not if there is no such line.
#[inline]
pub(crate) fn has_bits(
    level: Level,
    lines: &[[u64; LINE_WORDS]],
    place: Place,
    count: u32,
) -> bool {
    let (line, first) = place;
    let Some(line) = lines.get(line) else { return false };
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::has_bits(line, avx512::first_powers(count), first, count) },
        _ => scalar::has_bits(line, first, count),
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
        Isa::Avx512 => unsafe { avx512::have_bits(lines, places, count, found) },
        _ => {
            for (found, &(line, first)) in found.iter_mut().zip(places) {
                let line = lines.get(line);
                *found = line.is_some_and(|line| scalar::has_bits(line, first, count));
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
        Isa::Avx512 => unsafe { avx512::set_bits(line, first, count) },
        _ => scalar::set_bits(line, first, count),
    }
}

/// The word of a bit, and its place there.
#[inline]
pub(crate) const fn split(bit: u64) -> [usize; 2] {
    [(bit >> 61) as usize, (bit >> 55 & 63) as usize]
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
            count in 1_u32..40,
        ) {
            // Full but for a few bits, so that many bits may all be set.
            let dense: Vec<_> = lines.iter().map(|line| line.map(|word| word | !(word >> 1))).collect();
            let full = vec![[u64::MAX; LINE_WORDS]; 3];
            for lines in [&lines, &dense, &full] {
                let of_line = |line: &[u64; LINE_WORDS], first| scalar::has_bits(line, first, count);
                let expected: Vec<bool> = holes
                    .iter()
                    .map(|&(line, first)| lines.get(line).is_some_and(|line| of_line(line, first)))
                    .collect();
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
            count in 1_u32..40,
        ) {
            let mut after = line;
            let new = scalar::set_bits(&mut after, first, count);
            for &level in Level::available() {
                let mut same = line;
                prop_assert_eq!(set_bits(level, &mut same, first, count), new);
                prop_assert_eq!(same, after);
                prop_assert!(has_bits(level, &[after], (0, first), count));
                prop_assert_eq!(has_bits(level, &[line], (0, first), count), !new);
            }
            prop_assert!(!scalar::set_bits(&mut after, first, count));
        }
    }
}
