//! Intersection and difference of two sources of runs. It makes no set of them.

use super::ranges::{BATCH, RunSource, Windows};
use crate::error::Result;

/// Adds up the values of runs.
pub(crate) fn count_values(source: &mut dyn RunSource) -> Result<u128> {
    let (mut count, mut runs) = (0, Vec::new());
    while source.next(&mut runs)? {
        count += runs.iter().map(|&[first, last]| u128::from(last - first) + 1).sum::<u128>();
    }
    Ok(count)
}

/// The runs of the intersection or the difference of two sources.
pub(crate) struct RunAlgebra<'s> {
    in_both: bool,
    left: Side<'s>,
    right: Side<'s>,
}

/// A source and the runs that were taken from it.
struct Side<'s> {
    source: Box<dyn RunSource + 's>,
    runs: Vec<[u64; 2]>,
    at: usize,
}

impl<'s> Side<'s> {
    fn new(source: Box<dyn RunSource + 's>) -> Self {
        Self { source, runs: Vec::new(), at: 0 }
    }

    /// The runs that were taken and not used yet; none if the source has no more.
    fn waiting(&mut self) -> Result<&mut [[u64; 2]]> {
        if self.at == self.runs.len() {
            self.source.next(&mut self.runs)?;
            self.at = 0;
        }
        Ok(&mut self.runs[self.at..])
    }
}

impl<'s> RunAlgebra<'s> {
    /// The intersection of `left` and `right` if `in_both`, else the values of `left` that are not
    /// in `right`.
    pub(crate) fn new(
        in_both: bool,
        left: Box<dyn RunSource + 's>,
        right: Box<dyn RunSource + 's>,
    ) -> Self {
        Self { in_both, left: Side::new(left), right: Side::new(right) }
    }
}

/// Appends the intersection to `out`, up to the end of one side; gives how many runs of each side
/// are done. It has no branches to predict: which of two runs ends first is random.
fn common(left: &[[u64; 2]], right: &[[u64; 2]], out: &mut Vec<[u64; 2]>) -> [usize; 2] {
    let [mut i, mut j] = [0; 2];
    while let (Some(a), Some(b)) = (left.get(i), right.get(j)) {
        let (first, last) = (a[0].max(b[0]), a[1].min(b[1]));
        if first <= last {
            out.push([first, last]);
        }
        i += usize::from(a[1] <= b[1]);
        j += usize::from(b[1] <= a[1]);
    }
    [i, j]
}

/// Appends the values that only the left runs have to `out`, up to the end of one side; gives how
/// many runs of each side are done. If a left run is not done, the rest of it stays.
fn alone(left: &mut [[u64; 2]], right: &[[u64; 2]], out: &mut Vec<[u64; 2]>) -> [usize; 2] {
    let [mut i, mut j] = [0; 2];
    let room = left.len() + right.len();
    let (start, mut end) = (out.len(), out.len());
    out.resize(start + room, [0; 2]);
    while let (Some(a), Some(b)) = (left.get_mut(i), right.get(j)) {
        // The next run overwrites this one, unless a left run goes on before the right one.
        out[end] = [a[0], a[1].min(b[0].wrapping_sub(1))];
        end += usize::from(a[0] < b[0]);
        let is_done = a[1] <= b[1];
        a[0] = if is_done { a[0] } else { a[0].max(b[1].wrapping_add(1)) };
        i += usize::from(is_done);
        j += usize::from(!is_done);
    }
    out.truncate(end);
    [i, j]
}

impl RunSource for RunAlgebra<'_> {
    fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<bool> {
        runs.clear();
        while runs.len() < BATCH {
            let (left, right) = (self.left.waiting()?, self.right.waiting()?);
            let done = match (self.in_both, left.is_empty() || right.is_empty()) {
                (true, false) => common(left, right, runs),
                (false, false) => alone(left, right, runs),
                (false, true) if !left.is_empty() => {
                    runs.extend_from_slice(left);
                    [left.len(), 0]
                }
                (_, true) => break,
            };
            self.left.at += done[0];
            self.right.at += done[1];
        }
        Ok(!runs.is_empty())
    }

    fn check(&self) -> Result<()> {
        self.left.source.check()
    }

    fn is_narrow(&self) -> bool {
        self.left.source.is_narrow()
    }

    /// Every run is part of a left run. There are windows only if both sides can find their runs.
    fn windows(&self) -> Option<Windows> {
        let windows = self.left.source.windows()?;
        self.right.source.window([0, u64::MAX]).map(|_| windows)
    }

    fn window(&self, window: [u64; 2]) -> Option<Box<dyn RunSource + '_>> {
        let (left, right) = (self.left.source.window(window)?, self.right.source.window(window)?);
        Some(Box::new(RunAlgebra::new(self.in_both, left, right)))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::set::file::ValueSink;
    use crate::set::ranges::tests::{Given, Keep};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The runs of these values.
    pub(in crate::set) fn given(values: &BTreeSet<u64>) -> Given {
        let mut runs: Vec<[u64; 2]> = Vec::new();
        for &value in values {
            match runs.last_mut() {
                Some(run) if run[1] == value.wrapping_sub(1) => run[1] = value,
                _ => runs.push([value, value]),
            }
        }
        Given::new(runs)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

        #[test]
        fn runs_are_cut_as_their_values_are(
            left in prop::collection::btree_set(0..700_u64, 0..400),
            right in prop::collection::btree_set(0..700_u64, 0..400),
            start in prop::sample::select(vec![0, 65_200, u64::MAX - 699]),
        ) {
            let [left, right] =
                [left, right].map(|set| set.into_iter().map(|value| start + value).collect());
            let both: Vec<u64> = BTreeSet::intersection(&left, &right).copied().collect();
            let rest: Vec<u64> = BTreeSet::difference(&left, &right).copied().collect();
            for (in_both, values) in [(true, both), (false, rest)] {
                let [ours, theirs] = [&left, &right].map(|set| Box::new(given(set)));
                let mut cut = RunAlgebra::new(in_both, ours, theirs);
                let mut kept = Keep::default();
                kept.runs(&mut cut).unwrap();
                prop_assert!(kept.0 == values);
                let [ours, theirs] = [&left, &right].map(|set| Box::new(given(set)));
                let mut cut = RunAlgebra::new(in_both, ours, theirs);
                prop_assert_eq!(count_values(&mut cut).unwrap(), values.len() as u128);
            }
        }
    }
}
