//! Finds the positions of the set bits of words.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use scalar::take;

#[cfg(target_arch = "x86_64")]
use super::level::Isa;
use super::{Level, task};

/// Words that are read together.
const GROUP: usize = 8;
/// Elements behind the result that [`ones`] may overwrite: as many as a group of full words has
/// bits.
pub(crate) const SLACK: usize = 64 * GROUP;

/// Writes `first + i` for every set bit `i` of `words` to the front of `positions`; gives how many
/// there were. Bits are numbered across all words.
///
/// # Panics
///
/// If `positions` is shorter than the number of set bits plus [`SLACK`].
pub(crate) fn ones(level: Level, words: &[u64], first: u32, positions: &mut [u32]) -> usize {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::ones(words, first, positions) },
        _ => task::run(level, scalar::Ones { words, first, positions }),
    }
}

/// Writes `i` modulo 2^16, little-endian, for every set bit `i` of `words` to the front of `lows`;
/// gives how many there were. Bits are numbered across all words.
///
/// # Panics
///
/// If `lows` is shorter than the number of set bits plus [`SLACK`].
pub(crate) fn lows(level: Level, words: &[u64], lows: &mut [[u8; 2]]) -> usize {
    task::run(level, scalar::Ones { words, first: 0, positions: lows })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(words: &[u64], first: u32) -> Vec<u32> {
        let bits = (0_u32..).zip(words).flat_map(|(index, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * index + bit)
        });
        bits.map(|bit| first.wrapping_add(bit)).collect()
    }

    proptest! {
        #[test]
        fn every_level_finds_every_bit(
            words in prop::collection::vec(
                prop_oneof![
                    any::<u64>(), Just(0), Just(u64::MAX),
                    (0_u32..64).prop_map(|bit| 1 << bit),
                    any::<(u64, u64, u64)>().prop_map(|(a, b, c)| a & b & c),
                ],
                0..70,
            ),
            first in prop_oneof![Just(0_u32), any::<u32>()],
        ) {
            let expected = naive(&words, first);
            for &level in Level::available() {
                let mut found = vec![0; expected.len() + SLACK];
                let count = ones(level, &words, first, &mut found);
                prop_assert_eq!(&found[..count], &expected[..], "{}", level.name());
            }
            let low = |&position: &u32| position.wrapping_sub(first).to_le_bytes();
            let expected: Vec<_> = expected.iter().map(low).map(|[a, b, ..]| [a, b]).collect();
            for &level in Level::available() {
                let mut found = vec![[0; 2]; expected.len() + SLACK];
                let count = lows(level, &words, &mut found);
                prop_assert_eq!(&found[..count], &expected[..], "{}", level.name());
            }
        }
    }
}
