//! One set type over all representations.

use super::memory;
use super::readable::Readable;
use super::roaring64::Roaring64;
use crate::bitmap::{Bitmap, BitmapView};
use crate::bits::SetFile;
use crate::error::Result;
use crate::view::Shape;
use roaring::{RoaringBitmap, RoaringTreemap};
use std::path::Path;
use std::sync::Arc;

/// A set of natural numbers below 2^64: a plain bitmap or a roaring bitmap in
/// memory, or a file that is mapped.
///
/// All queries and operations work on all representations, mixed as they come.
/// They fail only where a mapped file turns out to be damaged, or where a set
/// cannot be changed; on sets in memory they succeed.
///
/// # Examples
///
/// ```
/// use bitsort::set::IntegerSet;
///
/// let mut monday: IntegerSet = [3, 35, 40].into_iter().collect();
/// assert!(monday.insert(1 << 40)? && !monday.insert(35)?);
/// let tuesday = IntegerSet::from_iter([35, 41]);
/// assert_eq!(monday.intersection_len(&tuesday)?, 1);
/// let either = monday.union(&tuesday)?;
/// assert_eq!((either.cardinality()?, either.max()?), (5, Some(1 << 40)));
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Clone)]
pub struct IntegerSet(pub(super) Inner);

#[derive(Clone)]
pub(super) enum Inner {
    /// The base is a multiple of 2^16, as is the number of bits.
    Dense(Bitmap, u64),
    Roaring(Roaring64),
    File(Arc<SetFile>),
}

impl Default for IntegerSet {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for IntegerSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match &self.0 {
            Inner::Dense(..) => "dense",
            Inner::Roaring(_) => "roaring",
            Inner::File(_) => "file",
        };
        let mut out = f.debug_struct("IntegerSet");
        out.field("representation", &kind);
        out.field("cardinality", &self.cardinality().ok()).finish_non_exhaustive()
    }
}

impl FromIterator<u64> for IntegerSet {
    /// A roaring bitmap. Values that ascend are appended, which is some five times
    /// faster than inserting those behind the first one that does not.
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        Self(Inner::Roaring(memory::from_values(values)))
    }
}

impl From<RoaringBitmap> for IntegerSet {
    fn from(set: RoaringBitmap) -> Self {
        Self(Inner::Roaring(set.into()))
    }
}

impl From<RoaringTreemap> for IntegerSet {
    /// The values below 2^32 are copied, and the rest moved.
    fn from(set: RoaringTreemap) -> Self {
        Self(Inner::Roaring(set.into()))
    }
}

impl From<SetFile> for IntegerSet {
    fn from(file: SetFile) -> Self {
        Self(Inner::File(Arc::new(file)))
    }
}

impl IntegerSet {
    /// An empty set, a roaring bitmap.
    #[must_use]
    pub fn new() -> Self {
        Self(Inner::Roaring(Roaring64::default()))
    }

    /// An empty set, a plain bitmap of the values from `first` to `last`,
    /// rounded outward to multiples of 2^16. Takes a bit a value.
    ///
    /// # Panics
    ///
    /// If that is more memory than can be addressed.
    #[must_use]
    pub fn dense(first: u64, last: u64) -> Self {
        let base = first & !0xFFFF;
        let pieces = (last.max(first) >> 16) - (first >> 16) + 1;
        Self(Inner::Dense(Bitmap::with_base(base, pieces << 16), base))
    }

    /// The set in a `.bits` file or a bare portable roaring file, mapped.
    ///
    /// # Errors
    ///
    /// As [`SetFile::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        SetFile::open(path).map(Self::from)
    }

    pub(super) fn readable(&self) -> Result<Readable<'_>> {
        match &self.0 {
            Inner::Dense(bitmap, base) => Ok(Readable::Dense(bitmap, *base)),
            Inner::Roaring(set) => Readable::encode(set),
            Inner::File(file) => Ok(Readable::File(file)),
        }
    }

    /// The plain bitmap that the set is, in memory or in a file.
    pub(super) fn bits(&self) -> Option<BitmapView<'_>> {
        match &self.0 {
            Inner::Dense(bitmap, base) => {
                Some(BitmapView::from_le_bytes(*base, bytemuck::cast_slice(bitmap.as_words())))
            }
            Inner::Roaring(_) => None,
            Inner::File(file) => match file.view().0 {
                Shape::Dense(dense) => Some(dense.bitmap()),
                _ => None,
            },
        }
    }

    /// Whether `value` is in the set.
    ///
    /// # Errors
    ///
    /// If a mapped file is damaged; so for all queries below.
    #[inline]
    pub fn contains(&self, value: u64) -> Result<bool> {
        match &self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.contains(value)),
            Inner::Roaring(set) => Ok(set.contains(value)),
            Inner::File(file) => file.view().contains(value).map_err(file.damaged()),
        }
    }

    /// Which of `values` are in the set.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn contains_many(&self, values: &[u64]) -> Result<Vec<bool>> {
        match &self.0 {
            Inner::File(file) => {
                let view = file.view();
                let mut found = vec![false; values.len()];
                view.contains_many(values, &mut found).map_err(file.damaged())?;
                Ok(found)
            }
            _ => values.iter().map(|&value| self.contains(value)).collect(),
        }
    }

    /// Number of values. O(1) for files.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn cardinality(&self) -> Result<u64> {
        Ok(match &self.0 {
            Inner::Dense(bitmap, _) => bitmap.cardinality(),
            Inner::Roaring(set) => set.len(),
            Inner::File(file) => file.cardinality(),
        })
    }

    /// Whether there are no values.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.min()?.is_none())
    }

    /// The smallest value.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    #[inline]
    pub fn min(&self) -> Result<Option<u64>> {
        match &self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.min()),
            Inner::Roaring(set) => Ok(set.min()),
            Inner::File(file) => file.view().min().map_err(file.damaged()),
        }
    }

    /// The largest value.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    #[inline]
    pub fn max(&self) -> Result<Option<u64>> {
        match &self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.max()),
            Inner::Roaring(set) => Ok(set.max()),
            Inner::File(file) => file.view().max().map_err(file.damaged()),
        }
    }

    /// Number of values up to and including `value`.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn rank(&self, value: u64) -> Result<u64> {
        match &self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.rank(value)),
            Inner::Roaring(set) => Ok(set.rank(value)),
            Inner::File(file) => file.view().rank(value).map_err(file.damaged()),
        }
    }

    /// The value that has `index` values before it.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn select(&self, index: u64) -> Result<Option<u64>> {
        match &self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.select(index)),
            Inner::Roaring(set) => Ok(set.select(index)),
            Inner::File(file) => file.view().select(index).map_err(file.damaged()),
        }
    }

    /// The smallest value from `value` on.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    #[inline]
    pub fn next(&self, value: u64) -> Result<Option<u64>> {
        match &self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.next(value)),
            Inner::Roaring(set) => Ok(set.next(value)),
            Inner::File(file) => file.view().next(value).map_err(file.damaged()),
        }
    }

    /// The largest value up to `value`.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    #[inline]
    pub fn previous(&self, value: u64) -> Result<Option<u64>> {
        match &self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.previous(value)),
            Inner::Roaring(set) => Ok(set.previous(value)),
            Inner::File(file) => file.view().previous(value).map_err(file.damaged()),
        }
    }

    /// Number of values of `first ..= last`.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn range_cardinality(&self, first: u64, last: u64) -> Result<u64> {
        if first > last {
            return Ok(0);
        }
        match &self.0 {
            Inner::Dense(bitmap, _) => {
                let before = first.checked_sub(1).map_or(0, |before| bitmap.rank(before));
                Ok(bitmap.rank(last) - before)
            }
            Inner::Roaring(set) => Ok(set.range_cardinality(first, last)),
            Inner::File(file) => file.view().range_cardinality(first, last).map_err(file.damaged()),
        }
    }
}

impl PartialEq for IntegerSet {
    /// Whether both have the same values; a damaged file equals nothing. Who wants to hear of
    /// the damage asks for [`symmetric_difference_len`](Self::symmetric_difference_len).
    fn eq(&self, other: &Self) -> bool {
        if let (Inner::Roaring(a), Inner::Roaring(b)) = (&self.0, &other.0) {
            return a == b;
        }
        let sizes = self.cardinality().ok().zip(other.cardinality().ok());
        sizes.is_some_and(|(a, b)| a == b && self.intersection_len(other).is_ok_and(|n| n == a))
    }
}
