//! Runs → containers, and the algebra of runs.

use crate::error::{Error, Result};
use crate::set::container::{Container, SPAN, run};
use crate::set::file::ValueSink;

/// Runs in ascending order, no two of which overlap or touch.
pub(crate) trait RunSource: Send {
    /// Puts the first and the last value of each of the next runs, about [`BATCH`], in the place
    /// of `runs`; none at the end, and again none behind it.
    fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<()>;

    /// Ends a long run of which somebody wants no more.
    fn check(&self) -> Result<()>;
}

/// Runs that are handed over together.
pub(crate) const BATCH: usize = 1 << 10;

/// Adds up the values of runs.
pub(crate) fn count_values(source: &mut dyn RunSource) -> Result<u128> {
    let (mut count, mut runs) = (0, Vec::new());
    loop {
        source.next(&mut runs)?;
        if runs.is_empty() {
            return Ok(count);
        }
        count += runs.iter().map(|&[first, last]| u128::from(last - first) + 1).sum::<u128>();
    }
}

/// What the runs of one source have in common with those of another, or have alone.
pub(crate) struct Cut<'s> {
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

    /// The runs that wait; none if the source has no more.
    fn waiting(&mut self) -> Result<&mut [[u64; 2]]> {
        if self.at == self.runs.len() {
            self.source.next(&mut self.runs)?;
            self.at = 0;
        }
        Ok(&mut self.runs[self.at..])
    }
}

impl<'s> Cut<'s> {
    /// What `left` has in common with `right` if `in_both`, else what it has alone.
    pub(crate) fn new(
        in_both: bool,
        left: Box<dyn RunSource + 's>,
        right: Box<dyn RunSource + 's>,
    ) -> Self {
        Self { in_both, left: Side::new(left), right: Side::new(right) }
    }
}

/// Puts what runs have in common into `out`, up to the end of one side; gives how many of each
/// are done. Nothing is guessed: which of two runs ends first is random.
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

/// Puts what the left runs have alone into `out`, up to the end of one side; gives how many of
/// each are done. Of the left run that is not done, the rest stays.
fn alone(left: &mut [[u64; 2]], right: &[[u64; 2]], out: &mut Vec<[u64; 2]>) -> [usize; 2] {
    let [mut i, mut j] = [0; 2];
    let room = left.len() + right.len();
    let (start, mut end) = (out.len(), out.len());
    out.resize(start + room, [0; 2]);
    while let (Some(a), Some(b)) = (left.get_mut(i), right.get(j)) {
        // Written over, unless it lies before what is cut out.
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

impl RunSource for Cut<'_> {
    fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<()> {
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
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.left.source.check()
    }
}

/// Containers of one set that may come of ranges: more would take 4 GiB, for a few lines.
const MAX_CONTAINERS: u64 = 1 << 28;

/// Hands the containers of runs to a sink.
pub(crate) fn push_runs(
    sink: &mut (impl ValueSink + ?Sized),
    source: &mut dyn RunSource,
) -> Result<()> {
    let mut parts: Vec<[u8; 4]> = Vec::new();
    let (mut key, mut containers, mut runs) = (0, 0, Vec::new());
    loop {
        source.next(&mut runs)?;
        if runs.is_empty() {
            break;
        }
        for &[first, last] in &runs {
            containers += (last >> 16) - (first >> 16) + 1;
            if containers > MAX_CONTAINERS {
                return Err(Error::TooWide {
                    first,
                    last,
                    limit: MAX_CONTAINERS * u64::from(SPAN),
                });
            }
            for next in first >> 16..=last >> 16 {
                if next != key {
                    if !parts.is_empty() {
                        sink.container(key, Container::Runs(&parts))?;
                        parts.clear();
                    }
                    key = next;
                    if key.is_multiple_of(1 << 12) {
                        source.check()?;
                    }
                }
                let low = |value: u64| (value & 0xFFFF) as u32;
                let from = if next == first >> 16 { low(first) } else { 0 };
                let to = if next == last >> 16 { low(last) } else { SPAN - 1 };
                parts.push(run(from, to));
            }
        }
    }
    if parts.is_empty() { Ok(()) } else { sink.container(key, Container::Runs(&parts)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::IntegerSet;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Hands over a few runs at a time.
    struct Given(std::vec::IntoIter<[u64; 2]>, usize);

    impl Given {
        fn new(runs: impl Into<Vec<[u64; 2]>>) -> Self {
            Self(runs.into().into_iter(), 7)
        }

        /// The runs of values.
        fn of(values: &BTreeSet<u64>) -> Self {
            let mut runs: Vec<[u64; 2]> = Vec::new();
            for &value in values {
                match runs.last_mut() {
                    Some(run) if run[1] == value.wrapping_sub(1) => run[1] = value,
                    _ => runs.push([value, value]),
                }
            }
            Self::new(runs)
        }
    }

    impl RunSource for Given {
        fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<()> {
            runs.clear();
            runs.extend(self.0.by_ref().take(self.1));
            Ok(())
        }

        fn check(&self) -> Result<()> {
            Ok(())
        }
    }

    /// Keeps the values of containers.
    #[derive(Default)]
    struct Keep(Vec<u64>);

    impl ValueSink for Keep {
        fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
            assert_eq!(container.disorder(), None);
            let mut lows = Vec::new();
            let count = container.positions(0, &mut lows);
            self.0.extend(lows[..count].iter().map(|&low| key << 16 | u64::from(low)));
            Ok(())
        }
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
                let [ours, theirs] = [&left, &right].map(|set| Box::new(Given::of(set)));
                let mut cut = Cut::new(in_both, ours, theirs);
                let mut kept = Keep::default();
                kept.runs(&mut cut).unwrap();
                prop_assert!(kept.0 == values);
                let [ours, theirs] = [&left, &right].map(|set| Box::new(Given::of(set)));
                let mut cut = Cut::new(in_both, ours, theirs);
                prop_assert_eq!(count_values(&mut cut).unwrap(), values.len() as u128);
            }
        }
    }

    #[test]
    fn a_set_of_too_wide_a_range_is_refused_before_it_is_written() {
        let mut kept = Keep::default();
        let refused = kept.runs(&mut Given::new([[5, 5], [1 << 20, u64::MAX]])).unwrap_err();
        assert!(matches!(refused, Error::TooWide { last: u64::MAX, .. }), "{refused}");
        assert!(kept.0.is_empty(), "{:?}", kept.0);
    }

    #[test]
    fn the_containers_of_runs_are_those_of_their_values() {
        let runs = [[3, 3], [65_530, 200_000], [200_002, 200_009], [u64::MAX - 1, u64::MAX]];
        let folder = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["x.bits", "y.bits"].map(|name| folder.path().join(name));
        let write = |path, produce: &dyn Fn(&mut dyn ValueSink) -> Result<()>| {
            let (format, spool) = (crate::set::SetFormat::Bits, crate::set::file::Spool::default());
            crate::set::write_file(path, format, &spool, false, produce).unwrap();
        };
        write(&ours, &|sink| sink.runs(&mut Given::new(runs)));
        IntegerSet::from_ranges(runs.map(|[first, last]| first..=last)).write(&theirs).unwrap();
        assert!(std::fs::read(&ours).unwrap() == std::fs::read(&theirs).unwrap());
    }
}
