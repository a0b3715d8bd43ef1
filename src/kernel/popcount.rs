//! Counts the set bits of little-endian words.

use super::Level;
#[cfg(target_arch = "aarch64")]
use super::level::Isa;
use super::task::{Task, run};
use super::words::{self, Op};

/// Number of set bits of `words`.
pub(crate) fn ones(level: Level, words: &[[u8; 8]]) -> u64 {
    #[cfg(target_arch = "aarch64")]
    if level.isa() == Isa::Neon {
        // SAFETY: `Level::available` is the only maker of this level, after the CPU
        // reported NEON.
        return unsafe { words::neon::ones(words.as_flattened()) };
    }
    run(level, Ones(words))
}

/// Number of bits that are set in both `a` and `b`, up to the end of the shorter one.
pub(crate) fn common_ones(level: Level, a: &[[u8; 8]], b: &[[u8; 8]]) -> u64 {
    words::count(level, Op::And, a, b)
}

struct Ones<'a>(&'a [[u8; 8]]);

impl Task for Ones<'_> {
    type Output = u64;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> u64 {
        self.0.iter().map(|&word| u64::from(u64::from_le_bytes(word).count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_level_counts_alike(pairs in prop::collection::vec(any::<(u64, u64)>(), 0..200)) {
            let (a, b): (Vec<_>, Vec<_>) =
                pairs.iter().map(|(a, b)| (a.to_le_bytes(), b.to_le_bytes())).unzip();
            for &level in Level::available() {
                let count = |words: &mut dyn Iterator<Item = u64>| -> u64 {
                    words.map(|word| u64::from(word.count_ones())).sum()
                };
                let all = count(&mut pairs.iter().map(|(a, _)| *a));
                prop_assert_eq!(ones(level, &a), all, "{}", level.name());
                let both = count(&mut pairs.iter().map(|(a, b)| a & b));
                prop_assert_eq!(common_ones(level, &a, &b), both);
            }
        }
    }

    #[test]
    fn counts_of_full_words_do_not_overflow() {
        for &level in Level::available() {
            for count in 0..150 {
                let words = vec![[0xFF; 8]; count];
                assert_eq!(ones(level, &words), 64 * count as u64, "{}", level.name());
                assert_eq!(common_ones(level, &words, &words), 64 * count as u64);
            }
        }
    }
}
