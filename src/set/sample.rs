//! Draws ranks without replacement, ascending, in little memory.
//!
//! It cuts a range of ranks into parts. First it draws how many ranks each part gets, one by one,
//! as balls from an urn; then it draws from each part alone. So every subset is equally likely, for
//! any numbers: nothing is rounded.

use super::view::Selection;
use crate::error::Result;
use crate::kernel::in_usize;
use crate::set::file::SetFile;
use fastrand::Rng;
use std::ops::Range;

/// Parts that a range is cut into.
const PARTS: usize = 1 << 10;
/// Up to this many ranks are drawn and kept in memory.
const FEW: u64 = 1 << 16;

impl SetFile {
    /// Draws `wanted` values at random, or all if there are fewer, and hands them to `visit`,
    /// ascending. The same seed gives the same values each time.
    ///
    /// O(containers + wanted), or O(wanted log pieces) for a plain bitmap; O(values) if most values
    /// are wanted. It keeps about 2^16 ranks in memory.
    ///
    /// # Errors
    ///
    /// If the file is damaged, or `visit` fails.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{IntegerSet, SetFile};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("ids.bits");
    /// IntegerSet::from_iter(0..1000).write(&path)?;
    /// let mut drawn = Vec::new();
    /// SetFile::open(&path)?.sample(10, 7, |value| Ok(drawn.push(value)))?;
    /// assert!(drawn.len() == 10 && drawn.is_sorted() && drawn[9] < 1000);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn sample(
        &self,
        wanted: u64,
        seed: u64,
        mut visit: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let (count, damaged) = (self.len(), self.damaged());
        let (mut random, mut selection) = (Rng::with_seed(seed), Selection::new(self.view()));
        draw_from(&mut random, FEW, 0..count, wanted.min(count), &mut |rank| {
            visit(self.after(selection.select(rank).map_err(&damaged))?)
        })
    }
}

/// Draws from `range`, up to `few` ranks at once.
fn draw_from(
    random: &mut Rng,
    few: u64,
    range: Range<u64>,
    wanted: u64,
    visit: &mut impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let (first, count) = (range.start, range.end - range.start);
    // If most are wanted, draw the ranks that are left out.
    let left_out = wanted > count / 2;
    let drawn = if left_out { count - wanted } else { wanted };
    if drawn <= few {
        let drawn = distinct(random, count, drawn);
        return if left_out {
            let mut next = 0;
            for end in drawn.into_iter().chain([count]) {
                (next..end).try_for_each(|rank| visit(first + rank))?;
                next = end + 1;
            }
            Ok(())
        } else {
            drawn.into_iter().try_for_each(|rank| visit(first + rank))
        };
    }
    let size = count.div_ceil(PARTS as u64);
    let parts = count.div_ceil(size);
    let size_of = |part: u64| if part + 1 == parts { count - part * size } else { size };
    let mut taken = [0_u64; PARTS];
    let mut left = drawn;
    while left > 0 {
        // Draw a rank among all that are left. It belongs to the taken ones if it is below `taken`
        // of its part: these count as the first of the part.
        let rank = random.u64(0..count);
        let (part, place) = (rank / size, rank % size);
        #[expect(clippy::cast_possible_truncation, reason = "one of the parts")]
        let taken = &mut taken[part as usize];
        if place >= *taken {
            *taken += 1;
            left -= 1;
        }
    }
    for (part, taken) in (0..parts).zip(taken) {
        let (start, size_here) = (first + part * size, size_of(part));
        let here = if left_out { size_here - taken } else { taken };
        draw_from(random, few, start..start + size_here, here, visit)?;
    }
    Ok(())
}

/// Draws until there are `wanted` different numbers; each subset is equally likely.
fn distinct(random: &mut Rng, count: u64, wanted: u64) -> Vec<u64> {
    let wanted = in_usize(wanted); // few
    let mut drawn = Vec::with_capacity(wanted);
    while drawn.len() < wanted {
        // Draw only as many as are missing, so that none has to be removed.
        let missing = wanted - drawn.len();
        drawn.extend((0..missing).map(|_| random.u64(0..count)));
        drawn.sort_unstable();
        drawn.dedup();
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With `few` small, ranges are cut again and again.
    fn drawn(seed: u64, few: u64, count: u64, wanted: u64) -> Vec<u64> {
        let mut ranks = Vec::new();
        let wanted = wanted.min(count);
        let ended = draw_from(&mut Rng::with_seed(seed), few, 0..count, wanted, &mut |rank| {
            ranks.push(rank);
            Ok(())
        });
        ended.unwrap();
        ranks
    }

    #[test]
    fn as_many_as_wanted_ascend_below_the_count() {
        for (count, wanted) in [
            (0, 0),
            (1, 1),
            (5, 9),
            (20_000, 9999),
            (1 << 30, 300_000),
            (20_000, 10_001),
            (1 << 20, 1 << 19),
            (1 << 20, (1 << 20) - 9000),
            (1_000_003, 1_000_002),
            (u64::MAX, 100_000),
        ] {
            let ranks = drawn(7, 1000, count, wanted);
            assert_eq!(ranks.len() as u64, wanted.min(count), "{wanted} of {count}");
            assert!(ranks.is_sorted_by(|a, b| a < b), "{wanted} of {count}");
            assert!(ranks.iter().all(|&rank| rank < count), "{wanted} of {count}");
        }
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "a share of a count")]
    fn every_rank_is_drawn_as_often_as_any_other() {
        for (count, wanted) in [(30_000_u64, 12_000_u64), (30_000, 18_000), (30_000, 1000)] {
            let mut often = vec![0_u32; 30_000];
            for seed in 0..200 {
                for rank in drawn(seed, 500, count, wanted) {
                    often[usize::try_from(rank).unwrap()] += 1;
                }
            }
            // Sixteenths of the range, and odd and even ranks, within five deviations.
            let share = wanted as f64 / count as f64;
            let check = |ranks: Vec<usize>| {
                let found: u32 = ranks.iter().map(|&rank| often[rank]).sum();
                let trials = 200.0 * ranks.len() as f64;
                let deviation = (trials * share * (1.0 - share)).sqrt();
                assert!((f64::from(found) - trials * share).abs() < 5.0 * deviation);
            };
            (0..16).for_each(|part| check((part * 1875..(part + 1) * 1875).collect()));
            (0..2).for_each(|odd| check((odd..30_000).step_by(2).collect()));
        }
    }
}
