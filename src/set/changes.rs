//! Takes changes in any order, and gives the values to remove and the values to add, in little
//! memory.
//!
//! Changes wait in memory until there are many. Then they become a pair of sets on disk. Two pairs
//! with about the same number of changes are joined, so each change is joined a logarithmic number
//! of times.

#[cfg(feature = "cli")]
use super::operand::AsSet;
use super::plan::Plan;
use super::sink::temporary_set;
use crate::error::Result;
use crate::progress::Progress;
use crate::set::container::Op;
use crate::set::file::{SetFile, Spool, ValueSink};
use std::path::Path;

/// A set in a nameless file.
fn temporary(
    spool: &Spool,
    produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
) -> Result<SetFile> {
    temporary_set(Path::new("a temporary set"), spool, produce)
}

/// The values of all `sets`, in a nameless file in `folder`.
///
/// # Errors
///
/// If a set is damaged, or the file cannot be written.
#[cfg(feature = "cli")]
pub(crate) fn union_of(sets: &[Box<dyn AsSet>], folder: &Path) -> Result<SetFile> {
    let spool = Spool { folder: folder.into(), ..Spool::default() };
    let plan = Plan::join(Op::Or, Plan::all(sets));
    temporary(&spool, |sink| plan.run(sink, &Progress::default()))
}

/// Most changes that wait in memory: 16 MiB, and as much again for sorting them.
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
    /// Values with `true` if they are added, in the order of the changes.
    waiting: Vec<(u64, bool)>,
    /// Pairs on disk, the oldest first, each with its number of changes.
    pairs: Vec<(u64, Changed)>,
}

/// The values that changes remove and add; no value is in both.
#[derive(Debug)]
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
        Self { spool, waiting: Vec::new(), pairs: Vec::new() }
    }

    /// Adds `value` if `comes`, else removes it. O(1), or O(log changes) when changes go to
    /// temporary files.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written.
    pub fn push(&mut self, value: u64, comes: bool) -> Result<()> {
        self.waiting.push((value, comes));
        if self.waiting.len() < WAITING {
            return Ok(());
        }
        let mut changes = WAITING as u64;
        let mut newer = self.drain()?;
        while let Some((_, older)) = self.pairs.pop_if(|(older, _)| *older <= changes) {
            newer = self.joined(&older, &newer)?;
            changes = changes.saturating_mul(2);
        }
        self.pairs.push((changes, newer));
        Ok(())
    }

    /// The pair of the changes in memory.
    fn drain(&mut self) -> Result<Changed> {
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
            temporary(&self.spool, |sink| plan.run(sink, &Progress::default()))
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

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
