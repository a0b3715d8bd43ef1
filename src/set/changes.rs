//! Takes changes in any order, and gives the values to remove and the values to add, in little
//! memory.
//!
//! Changes wait in memory until there are many. Then they become a pair of sets on disk. Two pairs
//! with about the same number of changes are joined, so each change is joined a logarithmic number
//! of times.

use super::plan::Plan;
use super::ranges::{BATCH, RunSource};
use super::sink::temporary_set;
use crate::error::Result;
#[cfg(feature = "cli")]
use crate::kernel::in_usize;
use crate::progress::Progress;
use crate::set::container::Op;
use crate::set::file::{SetFile, Spool, ValueSink};
use std::collections::{BTreeMap, btree_map::Range};
use std::path::Path;

/// A set in a nameless file.
fn temporary(
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<SetFile> {
    temporary_set(Path::new("a temporary set"), spool, produce)
}

/// The result of a plan, in a nameless file.
pub(crate) fn computed(spool: &Spool, plan: Plan<'_>, progress: &Progress) -> Result<SetFile> {
    temporary(spool, |sink| plan.run(sink, progress))
}

/// Most changes that wait in memory: 16 MiB, and as much again for sorting them. Of ranges a quarter as
/// many wait, each in about 48 bytes.
const WAITING: usize = 1 << 20;

/// Additions and removals of values in any order. For each value, the last change counts.
///
/// It keeps a million changes in memory; more of them go to temporary files.
///
/// # Examples
///
/// ```
/// use bitsort::set::{Changes, IntegerSet, SetFile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("ids.bits");
/// IntegerSet::from_iter([3, 40]).write(&path)?;
/// let mut changes = Changes::new(folder.path());
/// for (value, comes) in [(40, false), (7, true), (7, false), (9, true)] {
///     changes.push(value, comes)?;
/// }
/// let pair = changes.finish()?;
/// SetFile::update(&path).remove(&pair.removed).add(&pair.added).run()?;
/// let values: Result<Vec<u64>, _> = SetFile::open(&path)?.view().iter().collect();
/// assert_eq!(values, Ok(vec![3, 9]));
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug)]
pub struct Changes {
    spool: Spool,
    /// Most changes that wait.
    most_waiting: usize,
    /// Values with `true` if they are added, in the order of the changes.
    waiting: Vec<(u64, bool)>,
    /// Ranges that share no value, by their first values: the last value, and `true` if the values
    /// are added. They come behind all pairs.
    ranges: BTreeMap<u64, (u64, bool)>,
    /// Pairs on disk, the oldest first, each with its number of changes.
    pairs: Vec<(u64, Changed)>,
}

/// The values that changes remove and add; no value is in both.
#[derive(Debug)]
#[non_exhaustive]
pub struct Changed {
    /// Values to remove.
    pub removed: SetFile,
    /// Values to add.
    pub added: SetFile,
}

impl Changes {
    /// No changes. Temporary files go to `folder`.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let spool = Spool { folder: folder.into(), ..Spool::default() };
        Self {
            spool,
            most_waiting: WAITING,
            waiting: Vec::new(),
            ranges: BTreeMap::new(),
            pairs: Vec::new(),
        }
    }

    /// Keeps fewer changes in memory if they would take more than so many bytes.
    #[cfg(feature = "cli")]
    pub(crate) fn memory(mut self, bytes: u64) -> Self {
        let bytes = in_usize(bytes);
        self.most_waiting = self.most_waiting.min(bytes / 48).max(1 << 10);
        self
    }

    /// Adds `value` if `comes`, else removes it. O(1), or O(log changes) when changes go to
    /// temporary files.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written.
    pub fn push(&mut self, value: u64, comes: bool) -> Result<()> {
        if !self.ranges.is_empty() {
            self.flush()?;
        }
        self.waiting.push((value, comes));
        if self.waiting.len() < self.most_waiting { Ok(()) } else { self.flush() }
    }

    /// Adds all values from `first` to `last` if `comes`, else removes them. O(log changes) for a
    /// range of any width.
    /// A change from single values to ranges, or back, costs a temporary file; a range may have one
    /// value.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written, or the range has all numbers below 2^64.
    pub fn push_range(&mut self, first: u64, last: u64, comes: bool) -> Result<()> {
        if first > last {
            return Ok(());
        }
        if !self.waiting.is_empty() {
            self.flush()?;
        }
        overwrite(&mut self.ranges, [first, last], comes);
        // No file has all numbers: let the caller know now.
        let is_full = (first, last) == (0, u64::MAX);
        if is_full || self.ranges.len() >= self.most_waiting / 4 { self.flush() } else { Ok(()) }
    }

    /// Makes a pair of the changes in memory.
    fn flush(&mut self) -> Result<()> {
        let newer = self.drain()?;
        self.keep(self.most_waiting as u64, newer)
    }

    /// Keeps a pair of so many changes.
    fn keep(&mut self, mut changes: u64, mut newer: Changed) -> Result<()> {
        while let Some((_, older)) = self.pairs.pop_if(|(older, _)| *older <= changes) {
            newer = self.joined(&older, &newer)?;
            changes = changes.saturating_mul(2);
        }
        self.pairs.push((changes, newer));
        Ok(())
    }

    /// The pair of the changes in memory.
    fn drain(&mut self) -> Result<Changed> {
        if !self.ranges.is_empty() {
            let ranges = std::mem::take(&mut self.ranges);
            let written = |comes: bool| {
                let mut words = RangeWords { left: ranges.range(..), comes };
                temporary(&self.spool, |sink| sink.runs(&mut words))
            };
            return Ok(Changed { removed: written(false)?, added: written(true)? });
        }
        self.waiting.sort_by_key(|&(value, _)| value); // a stable sort: the last change of a value stays last
        let last_words = |comes: bool| {
            let words = self.waiting.chunk_by(|a, b| a.0 == b.0).filter_map(<[_]>::last);
            let values = words.filter(|word| word.1 == comes).map(|&(value, _)| value);
            temporary(&self.spool, |sink| sink.values(&values.collect::<Vec<_>>()))
        };
        let pair = Changed { removed: last_words(false)?, added: last_words(true)? };
        self.waiting.clear();
        Ok(pair)
    }

    /// The pair that does what `older` and then `newer` do.
    fn joined(&self, older: &Changed, newer: &Changed) -> Result<Changed> {
        let join = |old: &SetFile, undone: &SetFile, new: &SetFile| {
            let kept = Plan::join(Op::AndNot, Plan::all([old, undone]));
            let plan = Plan::join(Op::Or, vec![kept, Plan::of(new)]);
            computed(&self.spool, plan, &Progress::default())
        };
        Ok(Changed {
            removed: join(&older.removed, &newer.added, &newer.removed)?,
            added: join(&older.added, &newer.removed, &newer.added)?,
        })
    }

    /// The pair that does what all changes do, one after the other.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub fn finish(mut self) -> Result<Changed> {
        let mut newer = self.drain()?;
        self.waiting = Vec::new();
        while let Some((_, older)) = self.pairs.pop() {
            newer = self.joined(&older, &newer)?;
        }
        Ok(newer)
    }
}

/// Makes `comes` the word on all values of a range. Neighbours with the same word become one range.
fn overwrite(ranges: &mut BTreeMap<u64, (u64, bool)>, [first, last]: [u64; 2], comes: bool) {
    let (mut start, mut end) = (first, last);
    // A range before this one may reach into it, or up to it.
    if let Some((&other, &(other_end, word))) = ranges.range(..first).next_back()
        && other_end >= first - 1
    {
        ranges.insert(other, (first - 1, word));
        if other_end > last {
            ranges.insert(last + 1, (other_end, word));
        }
        if word == comes {
            start = other;
        }
    }
    let behind = last.saturating_add(1);
    while let Some((&other, &(other_end, word))) = ranges.range(first..=behind).next() {
        if other > last {
            if word == comes {
                end = other_end;
                ranges.remove(&other);
            }
            break;
        }
        ranges.remove(&other);
        if other_end > last {
            ranges.insert(last + 1, (other_end, word));
        }
    }
    ranges.insert(start, (end, comes));
}

/// The ranges whose values are added, or those whose values are removed.
struct RangeWords<'m> {
    left: Range<'m, u64, (u64, bool)>,
    comes: bool,
}

impl RunSource for RangeWords<'_> {
    fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<bool> {
        runs.clear();
        let found = self.left.by_ref().filter(|(_, (_, word))| *word == self.comes);
        runs.extend(found.map(|(&first, &(last, _))| [first, last]).take(BATCH));
        Ok(!runs.is_empty())
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn is_narrow(&self) -> bool {
        self.left.clone().next_back().is_none_or(|(_, &(last, _))| u32::try_from(last).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn the_last_word_on_each_value_stands_in_ranges_that_do_not_touch() {
        let mut random = fastrand::Rng::with_seed(7);
        for base in [0, (1 << 32) - 30, u64::MAX - 63] {
            let (mut ranges, mut model) = (BTreeMap::new(), [None; 64]);
            for _ in 0..2000 {
                let first = random.usize(0..64);
                let last = first + random.usize(0..64 - first);
                let comes = random.bool();
                overwrite(&mut ranges, [first, last].map(|at| base + at as u64), comes);
                model[first..=last].fill(Some(comes));
                let mut found = [None; 64];
                let mut before = None;
                for (&first, &(last, word)) in &ranges {
                    assert!(first <= last && before.is_none_or(|(end, _)| end < first));
                    assert_ne!(before.map(|(end, word)| (end + 1, word)), Some((first, word)));
                    before = Some((last, word));
                    for value in first..=last {
                        found[usize::try_from(value - base).unwrap()] = Some(word);
                    }
                }
                assert_eq!(found, model);
            }
        }
    }

    #[test]
    fn the_last_word_on_a_range_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut changes = Changes::new(folder.path());
        // The values where a change begins or ends, and their neighbours.
        let mut asked = BTreeSet::new();
        let mut model = Vec::new();
        let mut random = fastrand::Rng::with_seed(6);
        let (mut pairs, mut wide) = (0, 0);
        for round in 0..3000 {
            let first = random.u64(0..1 << 40);
            let is_wide = round % 500 == 3;
            let bits = random.u32(0..26);
            let most = if is_wide { 1 << 36 } else { random.u64(0..1 << bits) };
            let (last, comes) = (first + most, random.bool());
            if round % 70 == 0 {
                changes.push(first, comes).unwrap();
                model.push((first, first, comes));
            } else {
                changes.push_range(first, last, comes).unwrap();
                wide += usize::from(is_wide);
                model.push((first, last, comes));
            }
            pairs = pairs.max(changes.pairs.len());
            asked.extend([first.saturating_sub(1), first, last, last + 1]);
        }
        assert!(pairs > 1 && wide > 0, "{pairs} pairs, {wide} wide ranges");
        let pair = changes.finish().unwrap();
        for value in asked {
            let word = model.iter().rfind(|(first, last, _)| (*first..=*last).contains(&value));
            let word = word.map(|&(.., comes)| comes);
            assert_eq!(pair.removed.view().contains(value), Ok(word == Some(false)), "{value}");
            assert_eq!(pair.added.view().contains(value), Ok(word == Some(true)), "{value}");
        }
        let mut changes = Changes::new(folder.path());
        assert!(changes.push_range(0, u64::MAX, true).is_err(), "a file counts up to 2^64 - 1");
        changes.push_range(1, u64::MAX, true).unwrap();
        changes.push(1 << 50, false).unwrap();
        let pair = changes.finish().unwrap();
        assert_eq!((pair.added.len(), pair.removed.len()), (u64::MAX - 1, 1));
    }

    #[test]
    fn the_last_word_on_a_value_counts() {
        let folder = tempfile::tempdir().unwrap();
        let mut changes = Changes::new(folder.path());
        let mut model = BTreeMap::new();
        let mut random = fastrand::Rng::with_seed(5);
        for round in 0..5 * WAITING as u64 / 2 {
            let value = random.u64(0..1 << 22) + (round >> 19 << 40);
            let comes = random.bool();
            changes.push(value, comes).unwrap();
            model.insert(value, comes);
        }
        assert_eq!(changes.pairs.len(), 1, "two pairs were joined");
        let pair = changes.finish().unwrap();
        for (set, comes) in [(pair.removed, false), (pair.added, true)] {
            let expected = model.iter().filter(|word| *word.1 == comes).map(|word| *word.0);
            assert!(set.iter().map(Result::unwrap).eq(expected));
        }
    }
}
