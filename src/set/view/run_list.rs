//! A set of runs in bytes: for each run its first and its last value, and the number of values
//! before it.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::Damage;
use super::search::{last_up_to, sum};
use crate::kernel::steps;
use crate::set::container::{self, SPAN, Scratch};

/// Bytes of a run.
pub(crate) const RUN_BYTES: usize = 24;

/// A run of a [`RunList`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunEntry {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Number of values of the runs before it.
    pub(crate) before: u64,
}

const DISORDER: Damage = Damage { offset: 0, what: "the runs do not ascend, or touch" };

impl RunEntry {
    pub(crate) fn to_bytes(self) -> [u8; RUN_BYTES] {
        let mut bytes = [0; RUN_BYTES];
        let fields = [self.first, self.last, self.before];
        for (bytes, field) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *bytes = field.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; RUN_BYTES]) -> Self {
        let mut fields = bytes.as_chunks::<8>().0.iter().map(|&field| u64::from_le_bytes(field));
        let mut next = || fields.next().unwrap_or_default(); // there are three
        Self { first: next(), last: next(), before: next() }
    }

    /// Number of values up to the end of the run.
    fn end(self) -> Result<u64, Damage> {
        let more = self.last.checked_sub(self.first).ok_or(DISORDER)?;
        sum(sum(self.before, more)?, 1)
    }
}

/// Runs in borrowed bytes, ascending. No two of them touch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunList<'a>(&'a [[u8; RUN_BYTES]]);

impl<'a> RunList<'a> {
    pub(crate) fn new(runs: &'a [[u8; RUN_BYTES]]) -> Self {
        Self(runs)
    }

    /// Number of runs.
    pub(crate) fn count(self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(self, index: usize) -> Option<RunEntry> {
        self.0.get(index).map(RunEntry::from_bytes)
    }

    /// The first and the last value of a run, which lies behind the run before it.
    pub(super) fn checked(self, index: usize) -> Option<Result<(u64, u64), Damage>> {
        let run = self.get(index)?;
        let before = index.checked_sub(1).and_then(|before| self.get(before));
        let least = before.map_or(Some(0), |before| before.last.checked_add(2));
        let is_behind = least.is_some_and(|least| least <= run.first) && run.first <= run.last;
        Some(if is_behind { Ok((run.first, run.last)) } else { Err(DISORDER) })
    }

    /// Number of values.
    pub(crate) fn len(self) -> Result<u64, Damage> {
        self.0.last().map_or(Ok(0), |last| RunEntry::from_bytes(last).end())
    }

    /// The smallest value and the largest.
    pub(crate) fn ends(self) -> Option<(u64, u64)> {
        let (first, last) = (self.0.first()?, self.0.last()?);
        Some((RunEntry::from_bytes(first).first, RunEntry::from_bytes(last).last))
    }

    /// Checks the place of a run behind the one before it, and that it has `before` values before
    /// it. Gives the number of values up to its end.
    pub(crate) fn verify_run(self, index: usize, before: u64) -> Result<u64, Damage> {
        let offset = (index as u64).saturating_mul(RUN_BYTES as u64);
        let placed = |Damage { what, .. }| Damage { offset, what };
        self.checked(index).transpose().map_err(placed)?;
        let Some(run) = self.get(index) else { return Ok(before) };
        if run.before != before {
            return Err(Damage { offset, what: "the number of values before a run is wrong" });
        }
        run.end().map_err(placed)
    }

    /// Number of runs with values from `first` to `last`. O(log runs).
    pub(super) fn count_within(self, first: u64, last: u64) -> usize {
        let before = self.0.partition_point(|run| RunEntry::from_bytes(run).last < first);
        let behind = self.0.partition_point(|run| RunEntry::from_bytes(run).first <= last);
        behind.saturating_sub(before)
    }

    /// The last run that begins at `value` or before it.
    fn of_value(self, value: u64) -> Option<RunEntry> {
        steps::count(1);
        let behind = self.0.partition_point(|run| RunEntry::from_bytes(run).first <= value);
        self.get(behind.checked_sub(1)?)
    }

    /// Whether `value` is in the set. O(log runs).
    #[inline]
    pub(crate) fn contains(self, value: u64) -> bool {
        self.of_value(value).is_some_and(|run| value <= run.last)
    }

    /// Number of values below `value`, and whether it is in the set. O(log runs).
    pub(crate) fn position(self, value: u64) -> Result<(u64, bool), Damage> {
        let Some(run) = self.of_value(value) else { return Ok((0, false)) };
        if run.end()? > self.len()? {
            return Err(DISORDER);
        }
        if value > run.last {
            return Ok((run.end()?, false));
        }
        Ok((sum(run.before, value.saturating_sub(run.first))?, true))
    }

    /// The value that has `rank` values before it. O(log runs).
    pub(crate) fn select(self, rank: u64) -> Result<Option<u64>, Damage> {
        let is_there = rank < self.len()?;
        let found =
            self.of_rank(rank)?.and_then(|(index, value)| Some((index, value, self.get(index)?)));
        match found {
            Some((_, value, run)) if value <= run.last && is_there => Ok(Some(value)),
            // The run ends before it, and all others have values of larger ranks.
            Some((index, ..)) if is_there || index.saturating_add(1) < self.count() => {
                Err(DISORDER)
            }
            None if is_there => Err(DISORDER),
            _ => Ok(None),
        }
    }

    /// The last run with at most `rank` values before it, and the value of this rank if the run goes
    /// so far. None also if that value would be above all numbers.
    fn of_rank(self, rank: u64) -> Result<Option<(usize, u64)>, Damage> {
        let before = |index| Ok(self.get(index).map_or(u64::MAX, |run| run.before));
        let Some(index) = last_up_to(self.count(), rank, before)? else { return Ok(None) };
        let Some(run) = self.get(index) else { return Ok(None) };
        let within = rank.checked_sub(run.before).ok_or(DISORDER)?;
        Ok(run.first.checked_add(within).map(|value| (index, value)))
    }

    /// Fills `out` with the values from `rank` on, which must exist; with fewer values if the set
    /// ends before. Gives their number, at least one.
    pub(crate) fn decode(self, rank: u64, out: &mut [u64]) -> Result<usize, Damage> {
        let fewer = Damage::of("there are fewer values than the file says");
        let (mut index, mut from) = self.of_rank(rank)?.ok_or(fewer)?;
        let (mut slots, mut count) = (out.iter_mut(), 0_usize);
        while let Some(run) = self.get(index) {
            if from < run.first || from > run.last {
                return Err(DISORDER);
            }
            for (value, slot) in (from..=run.last).zip(slots.by_ref()) {
                *slot = value;
                count = count.saturating_add(1);
            }
            index = index.saturating_add(1);
            if slots.len() == 0 {
                break;
            }
            if let Some(next) = self.checked(index).transpose()? {
                from = next.0;
            }
        }
        if count == 0 { Err(fewer) } else { Ok(count) }
    }
}

/// Makes containers of the runs, ascending.
#[derive(Debug, Clone)]
pub(super) struct RunWalk<'a> {
    list: RunList<'a>,
    /// The first run with a value in the next container, or behind it.
    next: usize,
    /// The next container has this key or a larger one.
    from: u64,
    /// Number of values of the set. A run that goes beyond it is damaged: it might be endless.
    len: Result<u64, Damage>,
    /// The last container has all its values, as all others up to this key have.
    full_to: Option<u64>,
    /// Runs of one container.
    parts: Vec<[u8; 4]>,
}

impl<'a> RunWalk<'a> {
    pub(super) fn new(list: RunList<'a>) -> Self {
        Self { list, next: 0, from: 0, len: list.len(), full_to: None, parts: Vec::new() }
    }

    /// Moves to the container of `value`, or to the next one; never back.
    pub(super) fn seek(&mut self, value: u64) {
        if value >> 16 <= self.from {
            return;
        }
        self.from = value >> 16;
        let is_before = |run: RunEntry| run.last < value;
        if self.list.get(self.next).is_some_and(is_before) {
            let rest = self.list.0.get(self.next..).unwrap_or_default();
            let passed = rest.partition_point(|run| is_before(RunEntry::from_bytes(run)));
            self.next = self.next.saturating_add(passed);
        }
    }

    /// Passes all values.
    pub(super) fn end(&mut self) {
        self.next = self.list.count();
    }

    /// Makes the next container in `scratch`; gives its key.
    pub(super) fn container(&mut self, scratch: &mut Scratch) -> Result<Option<u64>, Damage> {
        self.full_to = None;
        let Some(next) = self.list.get(self.next) else { return Ok(None) };
        let key = self.from.max(next.first >> 16);
        let [start, end] = [key << 16, key << 16 | 0xFFFF];
        self.parts.clear();
        let mut least = start;
        while let Some(run) = self.list.get(self.next).filter(|run| run.first <= end) {
            let (from, to) = (run.first.max(start), run.last.min(end));
            if from < least || to < from || run.end()? > self.len? {
                return Err(DISORDER);
            }
            let low = |value: u64| u32::try_from(value & 0xFFFF).unwrap_or(SPAN);
            self.parts.push(container::run(low(from), low(to)));
            if (from, to) == (start, end) {
                // The container of the last value has all its values only if it ends there.
                self.full_to =
                    Some((run.last >> 16).saturating_sub(u64::from(run.last & 0xFFFF != 0xFFFF)));
            }
            if run.last > end {
                break;
            }
            self.next = self.next.saturating_add(1);
            least = to.saturating_add(2); // runs do not touch
        }
        self.from = key.saturating_add(1);
        scratch.set_runs(self.parts.iter().copied());
        Ok(Some(key))
    }

    /// The last key up to which all containers from the last one on have all their values.
    pub(super) fn full_to(&self) -> Option<u64> {
        self.full_to
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::set::view::{SetView, Shape};
    use proptest::prelude::*;

    fn list_of(runs: &[[u64; 3]]) -> Vec<[u8; RUN_BYTES]> {
        runs.iter()
            .map(|&[first, last, before]| RunEntry { first, last, before }.to_bytes())
            .collect()
    }

    fn verify(list: RunList<'_>) -> Result<u64, Damage> {
        (0..list.count()).try_fold(0, |values, index| list.verify_run(index, values))
    }

    #[test]
    fn a_sound_list_answers_and_each_fault_is_found() {
        let sound = [[3, 3, 0], [5, 9, 1], [70_000, 1 << 50, 6]];
        let bytes = list_of(&sound);
        let list = RunList::new(&bytes);
        assert_eq!(list.len(), Ok((1 << 50) - 70_000 + 7));
        assert_eq!(verify(list), list.len());
        assert_eq!(
            [4, 5, 1 << 40].map(|value| list.position(value).unwrap()),
            [(1, false), (1, true), ((1 << 40) - 69_994, true)]
        );
        let mut values = [0; 9];
        assert_eq!(list.decode(1, &mut values), Ok(9));
        assert_eq!(values, [5, 6, 7, 8, 9, 70_000, 70_001, 70_002, 70_003]);
        for (run, field) in (0..3).flat_map(|run| (0..3).map(move |field| (run, field))) {
            if run == 2 && field < 2 {
                continue; // another end is sound too: the header of a file has the ends
            }
            let mut damaged = sound;
            damaged[run][field] = if field == 1 { 1 << 60 } else { damaged[run][field] + 7 };
            assert!(verify(RunList::new(&list_of(&damaged))).is_err(), "{damaged:?}");
        }
        for touching in [[[3, 4, 0], [5, 9, 2]], [[3, 5, 0], [5, 9, 3]], [[5, 9, 0], [3, 3, 5]]] {
            assert!(verify(RunList::new(&list_of(&touching))).is_err(), "{touching:?}");
        }
        let all = list_of(&[[0, u64::MAX, 0]]);
        assert!(RunList::new(&all).len().is_err(), "2^64 values do not fit");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 400 }))]

        /// Nothing panics, and nothing is walked through for ever.
        #[test]
        fn a_damaged_list_gives_errors_or_answers(
            runs in prop::collection::vec([any::<u64>(), any::<u64>(), any::<u64>()], 0..5),
            small in any::<u8>(),
            probe: u64,
        ) {
            let small = u32::from(small % 3) * 24;
            let runs: Vec<_> = runs.iter().map(|run| run.map(|field| field >> small)).collect();
            let bytes = list_of(&runs);
            let view = SetView(Shape::Runs(RunList::new(&bytes)));
            let _ = (view.contains(probe), view.rank(probe), view.select(probe), view.len());
            let _ = (view.next(probe), view.previous(probe), view.min(), view.max());
            let _ = (view.range(probe..).take(9).count(), view.iter().rev().take(9).count());
            let _ = view.runs().take(9).count();
            let mut found = [false; 2];
            let _ = view.contains_many(&[probe, 5], &mut found);
            let mut cursor = view.cursor();
            for _ in 0..9 {
                let key = cursor.advance();
                if !matches!(key, Ok(Some(_))) {
                    break;
                }
                prop_assert_eq!(cursor.here().disorder(), None);
            }
        }
    }
}
