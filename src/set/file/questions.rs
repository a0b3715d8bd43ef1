//! Questions to a set in a file. They are those of a set in memory, but each may fail on damage.

use super::SetFile;
use crate::error::Result;
use crate::kernel::sys::any_was_lost;
use crate::set::count::proportion;
use crate::set::integer_set::IntegerSet;
use crate::set::operand::AsSet;
use crate::set::plan::Plan;
use crate::set::view::{Damage, SetView, Values};
use crate::set::{and, andnot, or, xor};
use std::fmt;
use std::iter::FusedIterator;
use std::ops::RangeBounds;

/// The values of a [`SetFile`], ascending, or from the end descending. It ends with the first error.
#[derive(Clone)]
pub struct FileValues<'a> {
    set: &'a SetFile,
    values: Values<'a>,
    ended: bool,
}

impl fmt::Debug for FileValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileValues").finish_non_exhaustive()
    }
}

impl FileValues<'_> {
    /// The same value; an error if the file lost bytes, because these read as no values.
    fn item(&mut self, value: Option<Result<u64, Damage>>) -> Option<Result<u64>> {
        if let Some(Ok(value)) = value
            && !any_was_lost()
        {
            return Some(Ok(value)); // the length of the file is compared at the end
        }
        let value = value.map(|value| value.map_err(self.set.damaged())).transpose();
        let item = self.set.after(value).transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }
}

impl Iterator for FileValues<'_> {
    type Item = Result<u64>;

    fn next(&mut self) -> Option<Result<u64>> {
        if self.ended {
            return None;
        }
        let value = self.values.next();
        self.item(value)
    }
}

impl DoubleEndedIterator for FileValues<'_> {
    fn next_back(&mut self) -> Option<Result<u64>> {
        if self.ended {
            return None;
        }
        let value = self.values.next_back();
        self.item(value)
    }
}

impl FusedIterator for FileValues<'_> {}

impl<'a> IntoIterator for &'a SetFile {
    type Item = Result<u64>;
    type IntoIter = FileValues<'a>;

    fn into_iter(self) -> FileValues<'a> {
        self.iter()
    }
}

/// Every question fails if it finds damage. The costs are those of the same questions to an
/// [`IntegerSet`], unless the method says otherwise.
impl SetFile {
    fn ask<'s, T>(&'s self, question: impl FnOnce(SetView<'s>) -> Result<T, Damage>) -> Result<T> {
        self.after(question(self.view()).map_err(self.damaged()))
    }

    /// Whether there are no values, as the file says. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `value` is in the set. Touches one container, of a plain bitmap one word.
    ///
    /// # Errors
    ///
    /// If the file is damaged. This holds for all questions.
    pub fn contains(&self, value: u64) -> Result<bool> {
        self.ask(|view| view.contains(value))
    }

    /// Which of `values` are in the set; see [`SetView::contains_many`](crate::set::SetView::contains_many).
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn contains_many(&self, values: &[u64]) -> Result<Vec<bool>> {
        let mut found = vec![false; values.len()];
        self.ask(|view| view.contains_many(values, &mut found))?;
        Ok(found)
    }

    /// The smallest value.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn min(&self) -> Result<Option<u64>> {
        self.ask(SetView::min)
    }

    /// The largest value.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn max(&self) -> Result<Option<u64>> {
        self.ask(SetView::max)
    }

    /// Number of values up to and including `value`. O(log containers) for a `.bits` file,
    /// which has a table of ranks, else O(containers).
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn rank(&self, value: u64) -> Result<u64> {
        self.ask(|view| view.rank(value))
    }

    /// The value that has `index` values before it. The cost is that of [`rank`](Self::rank).
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn select(&self, index: u64) -> Result<Option<u64>> {
        self.ask(|view| view.select(index))
    }

    /// The smallest value from `value` on.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn next(&self, value: u64) -> Result<Option<u64>> {
        self.ask(|view| view.next(value))
    }

    /// The largest value up to `value`.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn previous(&self, value: u64) -> Result<Option<u64>> {
        self.ask(|view| view.previous(value))
    }

    /// Number of values in a range. The cost is that of [`rank`](Self::rank).
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn range_len(&self, range: impl RangeBounds<u64>) -> Result<u64> {
        self.ask(|view| view.range_len(range))
    }

    /// The values, ascending; from the end, descending. After an error no item follows.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::{IntegerSet, SetFile};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("ids.bits");
    /// IntegerSet::from([3, 40, 5]).write(&path)?;
    /// let mut sum = 0;
    /// for value in &SetFile::open(&path)? {
    ///     sum += value?;
    /// }
    /// assert_eq!(sum, 48);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn iter(&self) -> FileValues<'_> {
        self.range(..)
    }

    /// The values in a range, ascending; from the end, descending. After an error no item follows.
    #[must_use]
    pub fn range(&self, range: impl RangeBounds<u64>) -> FileValues<'_> {
        FileValues { set: self, values: self.view().range(range), ended: false }
    }

    /// A copy in memory, which can be changed. O(bytes).
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains); or [`Error::TooWide`](crate::Error::TooWide) if it is a list of
    /// ranges of more than 2^44 values.
    pub fn to_set(&self) -> Result<IntegerSet> {
        self.as_set().check_width()?;
        self.ask(SetView::to_set)
    }

    /// Number of values in both; the values themselves are not computed.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains), for either set. This holds for all questions about two
    /// sets.
    pub fn intersection_len(&self, other: &dyn AsSet) -> Result<u64> {
        and(&[self, other]).count()
    }

    /// Number of values in either.
    ///
    /// # Errors
    ///
    /// As [`intersection_len`](Self::intersection_len), or if these are all 2^64 numbers.
    pub fn union_len(&self, other: &dyn AsSet) -> Result<u64> {
        or(&[self, other]).count()
    }

    /// Number of values of this set that are not in `other`.
    ///
    /// # Errors
    ///
    /// As [`intersection_len`](Self::intersection_len).
    pub fn difference_len(&self, other: &dyn AsSet) -> Result<u64> {
        andnot(&[self, other]).count()
    }

    /// Number of values in one of the two.
    ///
    /// # Errors
    ///
    /// As [`intersection_len`](Self::intersection_len), or if these are all 2^64 numbers.
    pub fn symmetric_difference_len(&self, other: &dyn AsSet) -> Result<u64> {
        xor(&[self, other]).count()
    }

    /// The Jaccard index; see [`IntegerSet::jaccard`].
    ///
    /// # Errors
    ///
    /// As [`union_len`](Self::union_len).
    pub fn jaccard(&self, other: &dyn AsSet) -> Result<f64> {
        Ok(proportion(self.intersection_len(other)?, self.union_len(other)?))
    }

    /// Whether all values of this set are in `other`.
    ///
    /// # Errors
    ///
    /// As [`intersection_len`](Self::intersection_len).
    pub fn is_subset(&self, other: &dyn AsSet) -> Result<bool> {
        Plan::is_subset(Plan::of(self), Plan::of(other))
    }

    /// Whether all values of `other` are in this set.
    ///
    /// # Errors
    ///
    /// As [`intersection_len`](Self::intersection_len).
    pub fn is_superset(&self, other: &dyn AsSet) -> Result<bool> {
        Plan::is_subset(Plan::of(other), Plan::of(self))
    }

    /// Whether no value is in both.
    ///
    /// # Errors
    ///
    /// As [`intersection_len`](Self::intersection_len).
    pub fn is_disjoint(&self, other: &dyn AsSet) -> Result<bool> {
        Plan::is_disjoint(Plan::of(self), Plan::of(other))
    }
}
