//! Set algebra over sets of any kind, in any mixture.

use super::container::Op;
use super::file::{Spool, ValueSink};
use super::format::SetFormat;
use super::integer_set::IntegerSet;
use super::operand::AsSet;
use super::plan::Plan;
use super::sink::{Written, write_file};
use crate::error::Result;
use crate::progress::Progress;
use std::path::Path;
use std::sync::Arc;

/// A set that algebra describes and that is not computed yet. Its methods compute it in memory, as
/// a number, or into a file. [`and`], [`or`], [`xor`], [`andnot`], [`at_least`] and
/// [`Expression::eval`](super::Expression::eval) give one.
///
/// It is computed container by container, so counting and writing take little memory for sets of
/// any size.
///
/// # Examples
///
/// ```
/// use bitsort::set::{self, IntegerSet, SetFile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let (monday, new) = (folder.path().join("monday.bits"), folder.path().join("new.bits"));
/// IntegerSet::from([3, 40, 41]).write(&monday)?;
/// let (monday, tuesday) = (SetFile::open(&monday)?, IntegerSet::from([41, 7]));
/// assert_eq!(set::and(&[&monday, &tuesday]).count()?, 1);
/// assert_eq!(set::or(&[&monday, &tuesday]).to_set()?, [3, 7, 40, 41].into());
/// assert_eq!(set::andnot(&[&tuesday, &monday]).write(&new)?.cardinality, 1);
/// # Ok::<(), bitsort::Error>(())
/// ```
#[must_use = "nothing is computed yet"]
pub struct Joined<'a> {
    plan: Plan<'a>,
    progress: Arc<Progress>,
}

#[cfg(feature = "cli")]
impl<'a> From<Joined<'a>> for Plan<'a> {
    fn from(joined: Joined<'a>) -> Self {
        joined.plan
    }
}

impl std::fmt::Debug for Joined<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joined").finish_non_exhaustive()
    }
}

fn join<'a>(op: Op, sets: &[&'a dyn AsSet]) -> Joined<'a> {
    Joined::of(Plan::join(op, Plan::all(sets.iter().copied())))
}

/// Values in all of `sets`; none if there are no sets.
pub fn and<'a>(sets: &[&'a dyn AsSet]) -> Joined<'a> {
    join(Op::And, sets)
}

/// Values in any of `sets`.
pub fn or<'a>(sets: &[&'a dyn AsSet]) -> Joined<'a> {
    join(Op::Or, sets)
}

/// Values in an odd number of `sets`.
pub fn xor<'a>(sets: &[&'a dyn AsSet]) -> Joined<'a> {
    join(Op::Xor, sets)
}

/// Values of the first of `sets` that are in no other.
pub fn andnot<'a>(sets: &[&'a dyn AsSet]) -> Joined<'a> {
    join(Op::AndNot, sets)
}

/// Values in at least `least` of `sets`; in any, if `least` is 0.
///
/// # Examples
///
/// ```
/// use bitsort::set::{self, IntegerSet};
///
/// let sets = [[1, 2, 3], [2, 3, 4], [3, 4, 5]].map(IntegerSet::from);
/// let found = set::at_least(2, &[&sets[0], &sets[1], &sets[2]]).to_set()?;
/// assert_eq!(found, IntegerSet::from([2, 3, 4]));
/// # Ok::<(), bitsort::Error>(())
/// ```
pub fn at_least<'a>(least: usize, sets: &[&'a dyn AsSet]) -> Joined<'a> {
    Joined::of(Plan::at_least(least.max(1), Plan::all(sets.iter().copied())))
}

impl<'a> Joined<'a> {
    pub(super) fn of(plan: Plan<'a>) -> Self {
        Self { plan, progress: Arc::default() }
    }

    /// Hands the values to `sink`, which makes a file of them: if they are those of one file, its
    /// checksums are compared first.
    pub(super) fn run(self, sink: &mut dyn ValueSink) -> Result<()> {
        self.plan.verify_bytes(&self.progress)?;
        self.plan.run(sink, &self.progress)
    }

    /// Counts progress there. The computation ends when that is cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{self, IntegerSet};
    /// use bitsort::{Error, Progress};
    /// use std::sync::{Arc, atomic::Ordering};
    ///
    /// let (a, b) = (IntegerSet::from([1, 2]), IntegerSet::from([2, 3]));
    /// let progress = Arc::new(Progress::default());
    /// progress.cancel_flag().store(true, Ordering::Relaxed);
    /// let either = set::or(&[&a, &b]).progress(progress);
    /// assert!(matches!(either.to_set(), Err(Error::Interrupted)));
    /// ```
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// The set in memory. O(containers that can matter). All processors join sparse files of many
    /// values, as they do to [`count`](Self::count) them.
    ///
    /// # Errors
    ///
    /// If a file is damaged; this holds for all methods. [`TooWide`](crate::Error::TooWide) if the set
    /// has a range that is too wide for memory, of more than about 2^44 values.
    pub fn to_set(self) -> Result<IntegerSet> {
        self.plan.collect(&self.progress).map(IntegerSet)
    }

    /// Number of values. For two sets the values are not computed.
    ///
    /// # Errors
    ///
    /// If a file is damaged, or the set has all 2^64 numbers.
    pub fn count(self) -> Result<u64> {
        self.plan.count(&self.progress)
    }

    /// Writes a `.bits` file in the representation that [`SetFormat::Bits`] chooses; it
    /// appears whole or not at all. If it is to have the values of one file, the checksums of that are
    /// compared first.
    ///
    /// # Errors
    ///
    /// As [`to_set`](Self::to_set), or if the file cannot be written.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Written> {
        self.write_as(path, SetFormat::Bits)
    }

    /// Writes the set in this format.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), or if the format cannot hold a value.
    pub fn write_as(self, path: impl AsRef<Path>, format: SetFormat) -> Result<Written> {
        write_file(path.as_ref(), format, &Spool::default(), false, |sink| self.run(sink))
    }
}
