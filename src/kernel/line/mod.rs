//! Tests and sets several bits of a cache line together.
//!
//! A key of a blocked Bloom filter has some bits in one line: the high 9 bits of `hash × M`, `hash
//! × M²`, … modulo 2^64. With AVX-512, a dozen instructions test eight of them, instead of eighty.
//! So four times as many keys of a large filter wait for their lines at a time.

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

/// The number of a key's line among others, and the key's hash.
pub(crate) type Place = (usize, u64);

/// The place of `hash` among so many lines. The high bits of the hash choose the line. The low bits
/// decide the bits in the line, because the hash is multiplied by odd numbers.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "less than `lines`")]
pub(crate) fn place_of(lines: usize, hash: u64) -> Place {
    (reduce(hash, lines as u64) as usize, hash)
}

/// Maps `hash`, a number of 64 bits, to `0..len` without a division.
///
/// # Source
///
/// Lemire, *Fast Random Integer Generation in an Interval* (2019).
#[inline]
pub(crate) fn reduce(hash: u64, len: u64) -> u64 {
    ((u128::from(hash) * u128::from(len)) >> 64) as u64
}

/// Whether all of the `count` bits of `hash`, at least one, are set in its line. False if there are
/// no lines.
#[inline]
pub(crate) fn has_bits(level: Level, lines: &[[u64; LINE_WORDS]], hash: u64, count: u32) -> bool {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 if count <= 8 => unsafe {
            avx512::has_few(lines, hash, avx512::first_powers(count))
        },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::has_more(lines, hash, count) },
        _ => scalar::has_bits_among(lines, hash, count),
    }
}

/// The same for many places. `found` gets an answer for each; the shorter of both decides how many.
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
            for (found, &(line, hash)) in found.iter_mut().zip(places) {
                let line = lines.get(line);
                *found = line.is_some_and(|line| scalar::has_bits(line, hash, count));
            }
        }
    }
}

/// Sets the `count` bits of `hash` in its line; gives whether one was not set before.
#[inline]
pub(crate) fn set_bits(level: Level, line: &mut [u64; LINE_WORDS], hash: u64, count: u32) -> bool {
    match level.isa() {
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::set_bits(line, hash, count) },
        _ => scalar::set_bits(line, hash, count),
    }
}

/// The index of the word of a bit, and its place in the word.
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
                let at = |(line, hash)| -> bool {
                    lines.get(line).is_some_and(|line| scalar::has_bits(line, hash, count))
                };
                let expected: Vec<bool> = holes.iter().map(|&place| at(place)).collect();
                for &level in Level::available() {
                    let mut found = vec![false; holes.len()];
                    have_bits(level, lines, &holes, count, &mut found);
                    prop_assert_eq!(&found, &expected, "{}", level.name());
                    for &(_, hash) in &holes {
                        let found = has_bits(level, lines, hash, count);
                        prop_assert_eq!(found, at(place_of(lines.len(), hash)), "{}", level.name());
                    }
                }
            }
        }

        #[test]
        fn bits_that_were_set_are_found(
            line in any::<[u64; LINE_WORDS]>(),
            hash in any::<u64>(),
            count in 1_u32..40,
        ) {
            let mut after = line;
            let new = scalar::set_bits(&mut after, hash, count);
            for &level in Level::available() {
                let mut same = line;
                prop_assert_eq!(set_bits(level, &mut same, hash, count), new);
                prop_assert_eq!(same, after);
                prop_assert!(has_bits(level, &[after], hash, count));
                prop_assert_eq!(has_bits(level, &[line], hash, count), !new);
            }
            prop_assert!(!scalar::set_bits(&mut after, hash, count));
        }
    }

    #[test]
    fn hashes_are_spread_over_the_lines() {
        let hashes = [0, 1 << 62, 1 << 63, u64::MAX];
        assert_eq!(hashes.map(|hash| place_of(4, hash).0), [0, 1, 2, 3]);
        assert_eq!(hashes.map(|hash| place_of(0, hash).0), [0; 4]);
    }
}
