//! Sets in memory.

use super::container::{Op, Owned, Scratch, split};
use super::containers::Containers;
use super::count::proportion;
use super::format::SetFormat;
use super::join::Joined;
use super::operand::{AsSet, Operand};
use super::plan::Plan;
use super::sink::Written;
use super::view::{Damage, SetView, Shape, ends_of};
use crate::error::Result;
use crate::progress::Progress;
use std::ops::RangeBounds;
use std::path::Path;

/// A set of natural numbers below 2^64, in memory.
///
/// It is used as a [`BTreeSet`](std::collections::BTreeSet) is (`insert`, `remove`, `range`, `iter`
/// from both ends, operators, `Extend`), and as an ordered index: [`rank`](Self::rank),
/// [`select`](Self::select), [`next`](Self::next), [`previous`](Self::previous). No query fails. Sets in files are
/// [`SetFile`](super::SetFile)s; [`and`](super::and) and its kin take both together.
///
/// Values that share all but their low 16 bits lie in one container: an array, a bitmap, or runs,
/// whichever suits. A value takes at most 2 bytes if many values are near each other, and a bit or
/// less if most possible values are there; each container takes 40 bytes more. Neighbouring
/// containers of few values take 10 bytes each beside their values: a value that is far from all
/// others costs 12 bytes, and at most 24 if values were inserted in any order.
///
/// # Examples
///
/// ```
/// use bitsort::set::IntegerSet;
///
/// let mut monday = IntegerSet::from([3, 35, 40]);
/// assert!(monday.insert(1 << 40) && !monday.insert(35));
/// let tuesday: IntegerSet = (35..50).collect();
/// assert_eq!(monday.intersection_len(&tuesday), 2);
/// let either = &monday | &tuesday;
/// assert_eq!((either.len(), either.max()), (17, Some(1 << 40)));
/// assert_eq!(either.range(..40).rev().take(2).collect::<Vec<_>>(), [39, 38]);
/// ```
#[derive(Clone, Default)]
pub struct IntegerSet(pub(super) Containers);

/// The answer of a set in memory. Only this room makes its containers, so none is damaged.
pub(super) fn sound<T, E: std::fmt::Display>(answer: Result<T, E>) -> T {
    answer.unwrap_or_else(|error| unreachable!("a set in memory is not damaged: {error}"))
}

impl AsSet for IntegerSet {
    fn as_set(&self) -> Operand<'_> {
        Operand::named(self.view(), "a set in memory")
    }
}

impl IntegerSet {
    /// An empty set. Takes no memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The values of ranges. O(ranges and containers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let ids = IntegerSet::from_ranges([10..20, 100..200]);
    /// assert_eq!((ids.len(), ids.select(10)), (110, Some(100)));
    /// ```
    #[must_use]
    pub fn from_ranges<R: RangeBounds<u64>>(ranges: impl IntoIterator<Item = R>) -> Self {
        let mut set = Self::new();
        ranges.into_iter().for_each(|range| set.insert_range(range));
        set
    }

    /// The set as a view, which every kind of set has. O(1).
    #[must_use]
    pub fn view(&self) -> SetView<'_> {
        SetView(Shape::Memory(&self.0))
    }

    /// Adds a value; gives whether it is new. O(log c) for c containers, and O(√c) for a new
    /// container; within a container the cost is that of a vector of at most 4096 values.
    pub fn insert(&mut self, value: u64) -> bool {
        self.0.insert(value)
    }

    /// Removes a value; gives whether it was in the set. The cost is that of
    /// [`insert`](Self::insert).
    pub fn remove(&mut self, value: u64) -> bool {
        self.0.remove(value)
    }

    /// Adds all values of a range. O(containers of the range): each takes 10 bytes or more, so
    /// `insert_range(..)` needs more memory than there is.
    pub fn insert_range(&mut self, range: impl RangeBounds<u64>) {
        let Some((first, last)) = ends_of(&range) else { return };
        let mut scratch = Scratch::default();
        for key in first >> 16..=last >> 16 {
            self.0.change_range(true, key, lows_at(key, first, last), &mut scratch);
        }
    }

    /// Removes all values of a range. O(removed containers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let mut ids: IntegerSet = (0..1000).collect();
    /// ids.remove_range(10..990);
    /// assert_eq!((ids.len(), ids.next(10)), (20, Some(990)));
    /// ```
    pub fn remove_range(&mut self, range: impl RangeBounds<u64>) {
        let Some((first, last)) = ends_of(&range) else { return };
        let (from, to) = (first >> 16, last >> 16);
        let mut scratch = Scratch::default();
        for key in std::iter::once(from).chain((to > from).then_some(to)) {
            self.0.change_range(false, key, lows_at(key, first, last), &mut scratch);
        }
        if to - from > 1 {
            self.0.drop_range(from + 1..=to - 1);
        }
    }

    /// Keeps the values for which `keep` is true. O(values).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let mut ids: IntegerSet = (0..10).collect();
    /// ids.retain(|id| id % 4 == 1);
    /// assert_eq!(ids, IntegerSet::from([1, 5, 9]));
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) {
        *self = self.iter().filter(|&value| keep(value)).collect();
    }

    /// Moves the values from `first` on into a set of their own. O(√containers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let mut ids = IntegerSet::from([3, 40, 1 << 40]);
    /// let large = ids.split_off(40);
    /// assert_eq!((ids, large), (IntegerSet::from([3]), IntegerSet::from([40, 1 << 40])));
    /// ```
    #[must_use = "the values are no longer in the set"]
    pub fn split_off(&mut self, first: u64) -> Self {
        let mut moved = Self(self.0.split_off(first >> 16));
        // The first container may have values on both sides.
        let kept: Vec<u64> = moved.range(..first).collect();
        moved.remove_range(..first);
        self.extend(kept);
        moved
    }

    /// Moves all values of `other` into this set; `other` is empty afterwards. The cost is that of
    /// `|=`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let (mut ids, mut more) = (IntegerSet::from([3, 40]), IntegerSet::from([1, 3]));
    /// ids.append(&mut more);
    /// assert!(more.is_empty() && ids == IntegerSet::from([1, 3, 40]));
    /// ```
    pub fn append(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        if self.is_empty() {
            *self = other;
        } else {
            *self |= &other;
        }
    }

    /// Removes the smallest value, and gives it; none of an empty set.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let mut ids = IntegerSet::from([3, 40]);
    /// let taken = [ids.pop_first(), ids.pop_last(), ids.pop_first()];
    /// assert_eq!(taken, [Some(3), Some(40), None]);
    /// ```
    pub fn pop_first(&mut self) -> Option<u64> {
        let first = self.min()?;
        self.remove(first);
        Some(first)
    }

    /// Removes the largest value, and gives it; none of an empty set.
    pub fn pop_last(&mut self) -> Option<u64> {
        let last = self.max()?;
        self.remove(last);
        Some(last)
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// Brings the containers into their smallest forms; gives whether one changed. Sets that are
    /// made of ascending values have these forms already. Call it after many values were inserted
    /// or removed, or sets were joined. O(containers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let mut ids = IntegerSet::new();
    /// for id in (1000..2000).rev() {
    ///     ids.insert(id);
    /// }
    /// assert!(ids.optimize() && !ids.optimize());
    /// ```
    pub fn optimize(&mut self) -> bool {
        self.0.optimize()
    }

    /// Whether `value` is in the set. O(log containers).
    #[must_use]
    #[inline]
    pub fn contains(&self, value: u64) -> bool {
        let (key, low) = split(value);
        self.0.container(key).is_some_and(|container| container.contains(low))
    }

    /// Which of `values` are in the set. For many values this is several times faster than asking
    /// one by one.
    #[must_use]
    pub fn contains_many(&self, values: &[u64]) -> Vec<bool> {
        let mut found = vec![false; values.len()];
        sound(self.view().contains_many(values, &mut found));
        found
    }

    /// Number of values. O(√containers).
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// About the bytes of memory that it takes. O(containers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// assert_eq!(IntegerSet::new().memory_bytes(), 0);
    /// assert!((0..1 << 20).collect::<IntegerSet>().memory_bytes() < 200_000);
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.0.bytes() as u64
    }

    /// Whether there are no values. O(1).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.last_key().is_none()
    }

    /// The smallest value. O(1).
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.next(0)
    }

    /// The largest value. O(1).
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.previous(u64::MAX)
    }

    /// Number of values up to and including `value`. O(√containers).
    #[must_use]
    pub fn rank(&self, value: u64) -> u64 {
        sound(self.view().rank(value))
    }

    /// The value that has `index` values before it. O(√containers).
    #[must_use]
    pub fn select(&self, index: u64) -> Option<u64> {
        sound(self.view().select(index))
    }

    /// The smallest value from `value` on. O(log containers).
    #[must_use]
    pub fn next(&self, value: u64) -> Option<u64> {
        sound(self.view().next(value))
    }

    /// The largest value up to `value`. O(log containers).
    #[must_use]
    pub fn previous(&self, value: u64) -> Option<u64> {
        sound(self.view().previous(value))
    }

    /// Number of values in a range. O(√containers).
    #[must_use]
    pub fn range_len(&self, range: impl RangeBounds<u64>) -> u64 {
        sound(self.view().range_len(range))
    }

    /// Number of values in both; the values themselves are not computed.
    #[must_use]
    pub fn intersection_len(&self, other: &Self) -> u64 {
        Containers::intersection_len(&self.0, &other.0)
    }

    /// Number of values in either.
    #[must_use]
    pub fn union_len(&self, other: &Self) -> u64 {
        self.len() - self.intersection_len(other) + other.len()
    }

    /// Number of values of this set that are not in `other`.
    #[must_use]
    pub fn difference_len(&self, other: &Self) -> u64 {
        self.len() - self.intersection_len(other)
    }

    /// Number of values in one of the two.
    #[must_use]
    pub fn symmetric_difference_len(&self, other: &Self) -> u64 {
        let both = self.intersection_len(other);
        self.len() - both + (other.len() - both)
    }

    /// The Jaccard index: the number of values in both sets, divided by the number in either; 1 for
    /// two empty sets.
    #[must_use]
    pub fn jaccard(&self, other: &Self) -> f64 {
        let both = self.intersection_len(other);
        proportion(both, self.len() - both + other.len())
    }

    /// Whether all values of this set are in `other`.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        Containers::is_subset(&self.0, &other.0)
    }

    /// Whether all values of `other` are in this set.
    #[must_use]
    pub fn is_superset(&self, other: &Self) -> bool {
        other.is_subset(self)
    }

    /// Whether no value is in both.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        Containers::is_disjoint(&self.0, &other.0)
    }

    /// All values of a range that are not in the set.
    ///
    /// # Panics
    ///
    /// If the range has values of more than 2^28 + 1 containers, which is about 2^44 values. They
    /// would take 10 GiB.
    #[must_use]
    #[expect(clippy::panic, reason = "the caller gives the range")]
    pub fn complement(&self, range: impl RangeBounds<u64>) -> Self {
        let Some((first, last)) = ends_of(&range) else { return Self::new() };
        let plans = vec![Plan::range(first, last), Plan::of(self)];
        let rest = Plan::join(Op::AndNot, plans).collect(&Progress::default());
        Self(rest.unwrap_or_else(|error| panic!("{error}")))
    }

    /// Adds `offset` to every value. Drops values that are then outside of 0 ..= 2^64 − 1.
    /// O(runs + containers).
    #[must_use]
    pub fn add_offset(&self, offset: i128) -> Self {
        /// Values of shorter runs are added together with those of their neighbours.
        const LONG: u64 = 256;
        const TOGETHER: usize = 1 << 16;
        let (mut moved, mut values) = (Self::new(), Vec::new());
        for run in self.view().runs() {
            let (first, last) = sound(run);
            // If even the sum in 128 bits overflows, the values are outside too.
            let sum = |value: u64| i128::from(value).checked_add(offset);
            let Some((first, last)) = sum(first).zip(sum(last)) else { continue };
            let ends = (u64::try_from(first.max(0)), u64::try_from(last.min(u64::MAX.into())));
            let (Ok(first), Ok(last)) = ends else { continue };
            let is_long = last - first >= LONG;
            if !is_long {
                values.extend(first..=last);
            }
            if is_long || values.len() >= TOGETHER {
                moved.extend(values.drain(..));
            }
            if is_long {
                moved.insert_range(first..=last);
            }
        }
        moved.extend(values);
        moved
    }

    /// Writes a `.bits` file in the representation that [`SetFormat::Bits`] chooses; it
    /// appears whole or not at all.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Written> {
        self.write_as(path, SetFormat::Bits)
    }

    /// Writes the set in this format.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or the format cannot hold a value.
    pub fn write_as(&self, path: impl AsRef<Path>, format: SetFormat) -> Result<Written> {
        Joined::of(Plan::of(self)).write_as(path, format)
    }
}

/// The lower bits of the first and the last value of `first ..= last` in the container `key`.
fn lows_at(key: u64, first: u64, last: u64) -> [u32; 2] {
    let from = if first >> 16 == key { split(first).1 } else { 0 };
    let to = if last >> 16 == key { split(last).1 } else { u16::MAX };
    [from.into(), to.into()]
}

impl SetView<'_> {
    /// A copy in memory, which can be changed. O(bytes).
    ///
    /// # Errors
    ///
    /// If the bytes are damaged, or it is a list of runs of more than 2^44 values.
    pub fn to_set(self) -> Result<IntegerSet, Damage> {
        let (mut set, mut scratch) = (IntegerSet::new(), Scratch::default());
        if self.is_too_wide() {
            return Err(Damage::of("it has more than 2^44 values of ranges: too many for memory"));
        }
        let mut cursor = self.cursor();
        while let Some((key, container)) = cursor.next_sound()? {
            set.0.push(key, Owned::copy(container, &mut scratch));
        }
        Ok(set)
    }
}
