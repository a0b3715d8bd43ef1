//! Counts the runs of values, and checks whether values ascend.

use super::Level;
use super::task::{Task, run};
use crate::kernel::in_usize;

struct Array<'a>(&'a [[u8; 2]]);

/// Values whose gaps are counted in 16 bits.
const PART: usize = 1 << 12;

impl Task for Array<'_> {
    type Output = usize;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> usize {
        let Some((_, behind)) = self.0.split_first() else { return 0 };
        let mut count = 1;
        for (values, behind) in self.0.chunks(PART).zip(behind.chunks(PART)) {
            let gaps = values.iter().zip(behind).map(|(&value, &next)| {
                u16::from(u16::from_le_bytes(value).wrapping_add(1) != u16::from_le_bytes(next))
            });
            count += usize::from(gaps.sum::<u16>());
        }
        count
    }
}

struct Ascend<'a>(&'a [[u8; 2]]);

impl Task for Ascend<'_> {
    type Output = bool;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> bool {
        let Some((_, behind)) = self.0.split_first() else { return true };
        // It reads to the end in any case, because vectors have no early exit.
        let falls = self.0.iter().zip(behind).fold(0, |falls, (&value, &next)| {
            falls | u16::from(u16::from_le_bytes(value) >= u16::from_le_bytes(next))
        });
        falls == 0
    }
}

struct Bitmap<'a>(&'a [[u8; 8]]);

impl Task for Bitmap<'_> {
    type Output = usize;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> usize {
        let Some((&first, behind)) = self.0.split_first() else { return 0 };
        let first = u64::from_le_bytes(first);
        let starts = self.0.iter().zip(behind).map(|(&before, &word)| {
            let (before, word) = (u64::from_le_bytes(before), u64::from_le_bytes(word));
            u64::from((word & !(word << 1 | before >> 63)).count_ones())
        });
        (first & !(first << 1)).count_ones() as usize + in_usize(starts.sum::<u64>())
    }
}

/// Number of runs of ascending values.
pub(crate) fn of_array(level: Level, values: &[[u8; 2]]) -> usize {
    run(level, Array(values))
}

/// Whether each value is larger than the one before it.
pub(crate) fn ascend(level: Level, values: &[[u8; 2]]) -> bool {
    run(level, Ascend(values))
}

/// Number of runs of set bits.
pub(crate) fn of_bitmap(level: Level, words: &[[u8; 8]]) -> usize {
    run(level, Bitmap(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn every_level_counts_alike(
            values in prop::collection::btree_set(0_u16..9000, 0..if cfg!(miri) { 60 } else { 6000 }),
            run in 0_u16..8000,
            place in any::<prop::sample::Index>(),
            wrong in any::<u16>(),
        ) {
            let values: BTreeSet<u16> = values.into_iter().chain(run..run + 900).collect();
            let starts = values.iter().filter(|&&v| v == 0 || !values.contains(&(v - 1))).count();
            let array: Vec<[u8; 2]> = values.iter().map(|v| v.to_le_bytes()).collect();
            let mut words = vec![0_u64; 1024];
            for value in &values {
                words[usize::from(value >> 6)] |= 1 << (value & 63);
            }
            let words: Vec<[u8; 8]> = words.into_iter().map(u64::to_le_bytes).collect();
            let mut changed = array.clone();
            changed[place.index(array.len())] = wrong.to_le_bytes();
            let is_sorted =
                changed.is_sorted_by(|&a, &b| u16::from_le_bytes(a) < u16::from_le_bytes(b));
            for &level in Level::available() {
                prop_assert_eq!(of_array(level, &array), starts, "{}", level.name());
                prop_assert_eq!(of_bitmap(level, &words), starts, "{}", level.name());
                prop_assert!(ascend(level, &array) && ascend(level, &[]), "{}", level.name());
                prop_assert_eq!(ascend(level, &changed), is_sorted, "{}", level.name());
            }
        }
    }
}
