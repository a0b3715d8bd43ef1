//! Adds a range to a container, or removes one. Arrays, bitmaps and long lists of runs change in
//! place.

use super::owned::{FEW_RUNS, position};
use super::{Container, MAX_ARRAY, Op, Owned, SPAN, Scratch, ends, for_words, plain_bytes, run};
use std::ops::Range;

/// Ranges of up to so many values stay values in an array; longer ones may make runs of it.
const SHORT: u32 = 32;

impl Owned {
    /// Adds `first ..= last`, or removes it. The container may be empty afterwards.
    pub(crate) fn change_range(
        &mut self,
        adds: bool,
        [first, last]: [u32; 2],
        scratch: &mut Scratch,
    ) {
        if adds {
            self.insert_range(first, last, scratch);
        } else {
            self.remove_range(first, last, scratch);
        }
    }

    /// Adds `first ..= last`. O(values or runs of the container), or O(words of the range) in a
    /// bitmap.
    fn insert_range(&mut self, first: u32, last: u32, scratch: &mut Scratch) {
        let count = last - first + 1;
        match self {
            _ if count == SPAN => *self = Self::copy(Container::Runs(&[run(first, last)]), scratch),
            Self::Bitmap(words, len) => for_words(words, first, last, |word, bits| {
                *len += (bits & !*word).count_ones();
                *word |= bits;
            }),
            Self::Runs(runs, len) => {
                // A neighbour becomes one with the range.
                let touching = meeting(runs, first.saturating_sub(1), last + 1);
                let (mut start, mut end) = (first, last);
                for (first, last) in runs[touching.clone()].iter().map(|run| ends(*run)) {
                    (start, end) = (start.min(first), end.max(last));
                    *len -= last - first + 1;
                }
                *len += end - start + 1;
                runs.splice(touching, [run(start, end)]);
                self.settle_runs(scratch);
            }
            Self::Array(values) if count <= SHORT && values.len() <= MAX_ARRAY - SHORT as usize => {
                let lows = (first..=last).map(low);
                values.splice(within(values, first, last), lows.map(u16::to_le_bytes));
            }
            Self::Few(..) | Self::Array(_) if count <= SHORT => {
                for low in (first..=last).map(low) {
                    self.insert(low);
                }
            }
            _ => self.join(Op::Or, Container::Runs(&[run(first, last)]), scratch),
        }
    }

    /// Removes `first ..= last`. The cost is that of [`insert_range`](Self::insert_range).
    fn remove_range(&mut self, first: u32, last: u32, scratch: &mut Scratch) {
        match self {
            Self::Bitmap(words, len) => {
                for_words(words, first, last, |word, bits| {
                    *len -= (bits & *word).count_ones();
                    *word &= !bits;
                });
                if (*len as usize) < MAX_ARRAY / 2 {
                    *self = Self::plain(self.container(), self.len(), scratch);
                }
            }
            Self::Runs(runs, len) => {
                let cut = meeting(runs, first, last);
                let mut rests = [None; 2];
                for (start, end) in runs[cut.clone()].iter().map(|run| ends(*run)) {
                    *len -= end.min(last) - start.max(first) + 1;
                    if start < first {
                        rests[0] = Some(run(start, first - 1));
                    }
                    if last < end {
                        rests[1] = Some(run(last + 1, end));
                    }
                }
                runs.splice(cut, rests.into_iter().flatten());
                self.settle_runs(scratch);
            }
            Self::Array(values) => drop(values.drain(within(values, first, last))),
            Self::Few(..) | Self::FewRuns(..) => {
                self.join(Op::AndNot, Container::Runs(&[run(first, last)]), scratch);
            }
        }
    }

    /// Makes an array or a bitmap of runs that take more memory, and gives back memory that most runs
    /// have left.
    fn settle_runs(&mut self, scratch: &mut Scratch) {
        let Self::Runs(runs, len) = self else { return };
        if 2 + 4 * runs.len() > plain_bytes(*len) {
            *self = Self::plain(self.container(), self.len(), scratch);
        } else if runs.len() <= FEW_RUNS / 2 {
            *self = Self::runs(runs, *len);
        } else if runs.capacity() > 4 * runs.len() {
            runs.shrink_to(2 * runs.len());
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "of a container")]
fn low(value: u32) -> u16 {
    value as u16
}

/// The runs that have a value of `first ..= last`.
fn meeting(runs: &[[u8; 4]], first: u32, last: u32) -> Range<usize> {
    let start = runs.partition_point(|run| ends(*run).1 < first);
    let count = runs[start..].partition_point(|run| ends(*run).0 <= last);
    start..start + count
}

/// The places of the values from `first` to `last`.
fn within(values: &[[u8; 2]], first: u32, last: u32) -> Range<usize> {
    let start = position(values, low(first)).unwrap_or_else(|place| place);
    start..position(values, low(last)).map_or_else(|place| place, |place| place + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;
    use std::collections::BTreeSet;

    const CHANGES: usize = if cfg!(miri) { 8 } else { 150 };

    fn kind(owned: &Owned) -> &'static str {
        match owned {
            Owned::Few(..) => "few values",
            Owned::Array(_) => "array",
            Owned::Bitmap(..) => "bitmap",
            Owned::FewRuns(..) => "few runs",
            Owned::Runs(..) => "runs",
        }
    }

    fn decoded(owned: &Owned) -> Vec<u32> {
        let mut positions = Vec::new();
        let count = owned.container().positions(0, &mut positions);
        positions.truncate(count);
        positions
    }

    /// Sets that begin as each kind, and edges that meet runs, values and the ends of the container.
    #[test]
    fn ranges_are_added_and_removed_as_in_the_model() {
        let mut met = BTreeSet::new();
        let mut scratch = Scratch::default();
        for seed in 0..if cfg!(miri) { 5 } else { 20 } {
            let mut random = Rng::with_seed(seed);
            let (step, len) = [(1 << 17, 1), (20_000, 5000), (40, 12), (200, 1), (7, 2)]
                [usize::try_from(seed % 5).unwrap()];
            let mut model: BTreeSet<u32> = (0..SPAN).filter(|low| low % step < len).collect();
            let lows: Vec<_> = model.iter().map(|&value| low(value).to_le_bytes()).collect();
            let mut owned = if lows.len() <= MAX_ARRAY {
                Owned::smallest(Container::Array(&lows), &mut scratch)
            } else {
                let words = Scratch::words_of(Container::Array(&lows));
                Owned::smallest(Container::Bitmap(&words), &mut scratch)
            };
            for _ in 0..CHANGES {
                let near = model.iter().nth(random.usize(..model.len().max(1))).copied();
                let most = [3, 40, 300, 3000, SPAN][random.usize(..5)];
                let first = match random.u8(..8) {
                    0 => 0,
                    1..4 => (near.unwrap_or(9) + random.u32(..3)).saturating_sub(1).min(SPAN - 1),
                    _ => random.u32(..SPAN),
                };
                let last = (first + random.u32(..most)).min(SPAN - 1);
                let adds = random.bool();
                met.insert((kind(&owned), adds));
                owned.change_range(adds, [first, last], &mut scratch);
                let behind = model.split_off(&first).split_off(&(last + 1));
                model.extend(behind);
                if adds {
                    model.extend(first..=last);
                }
                assert_eq!(owned.len() as usize, model.len(), "{first}..={last}");
                assert!(decoded(&owned).iter().eq(&model), "{first}..={last}");
                assert_eq!(owned.container().disorder(), None, "{first}..={last}");
            }
        }
        assert!(cfg!(miri) || met.len() == 10, "{met:?}");
    }

    /// Changes that go up and down keep no container of much more memory than its values need.
    #[test]
    fn few_values_take_little_memory() {
        let mut scratch = Scratch::default();
        let mut owned = Owned::copy(Container::Runs(&[run(0, SPAN - 1)]), &mut scratch);
        for start in (0..SPAN).step_by(64) {
            owned.change_range(false, [start, start + 61], &mut scratch);
        }
        assert_eq!(owned.len(), SPAN / 32);
        assert!(owned.heap_bytes() <= 2 * plain_bytes(owned.len()), "{}", owned.heap_bytes());
        owned.change_range(true, [0, SPAN - 1], &mut scratch);
        assert_eq!((owned.heap_bytes(), kind(&owned)), (0, "few runs"));
        // Of many runs a few are left; room for more runs goes with `optimize`.
        for start in (0..60_000).step_by(60) {
            owned.change_range(false, [start, start + 19], &mut scratch);
        }
        let heap_bytes = owned.heap_bytes();
        assert_eq!((kind(&owned), heap_bytes >= 4000), ("runs", true));
        assert!(!owned.optimize(&mut scratch) && owned.heap_bytes() < heap_bytes);
        owned.change_range(false, [200, SPAN - 1], &mut scratch);
        assert!(owned.heap_bytes() <= 64, "{}", owned.heap_bytes());
    }
}
