//! Traits of the standard library for sets in memory.

use super::container::{Container, Op, Owned, Scratch};
use super::containers::Containers;
use super::integer_set::{IntegerSet, sound};
use super::view::Values;
use crate::kernel::in_usize;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::ops::{
    BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Range, RangeBounds, Sub,
    SubAssign,
};
use std::vec;

impl fmt::Debug for IntegerSet {
    /// Shows the first values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        let mut set = f.debug_set();
        set.entries(self.iter().take(SHOWN));
        if self.len() > SHOWN as u64 { set.finish_non_exhaustive() } else { set.finish() }
    }
}

impl PartialEq for IntegerSet {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.is_subset(other)
    }
}

impl Eq for IntegerSet {}

impl Hash for IntegerSet {
    /// O(values).
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|value| value.hash(state));
    }
}

impl Extend<u64> for IntegerSet {
    /// Adds values in any order. Values that ascend are added many at a time. Others are sorted first,
    /// up to 2^24 together; if they are many beside the values of the set, the set is copied, and for
    /// that time takes twice its memory.
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values: I) {
        self.add_all(values);
    }
}

impl IntegerSet {
    /// Adds values; gives whether they ascended. Sorts the others, many at a time.
    fn add_all(&mut self, values: impl IntoIterator<Item = u64>) -> bool {
        let mut values = values.into_iter();
        let Some(first_lower) = self.add_ascending(&mut values) else { return true };
        let (mut unordered, mut most) = (vec![first_lower], MIN_UNORDERED);
        loop {
            unordered.extend(values.by_ref().take(most - unordered.len()));
            unordered.sort_unstable();
            self.add_sorted(&unordered);
            if unordered.len() < most {
                return false;
            }
            unordered.clear();
            most = (self.0.bytes() / 16).clamp(MIN_UNORDERED, MAX_UNORDERED);
        }
    }

    /// Adds values as long as they ascend; gives the first one that does not.
    fn add_ascending(&mut self, values: impl Iterator<Item = u64>) -> Option<u64> {
        let mut waiting =
            Waiting { set: self, key: 0, lows: Vec::new(), scratch: Scratch::default() };
        let (mut before, mut first_lower) = (None, None);
        for value in values {
            if before == Some(value) {
                continue;
            }
            if before > Some(value) {
                first_lower = Some(value);
                break;
            }
            if value >> 16 != waiting.key {
                waiting.flush();
                waiting.key = value >> 16;
            }
            let [low, high, ..] = value.to_le_bytes();
            waiting.lows.push([low, high]);
            before = Some(value);
        }
        waiting.flush();
        first_lower
    }

    /// Adds values that ascend. Many are joined as a set, which copies each container once.
    fn add_sorted(&mut self, values: &[u64]) {
        let copied = || values.iter().copied();
        if self.is_empty() || (values.len() as u64) < self.len() / 8 {
            self.add_ascending(copied());
        } else {
            let mut added = Self::new();
            added.add_ascending(copied());
            *self = self.join(Op::Or, &added);
        }
    }
}

/// Values that are sorted together, at least: 512 KiB of them.
const MIN_UNORDERED: usize = 1 << 16;
/// Values that are sorted together, at most: 128 MiB of them.
const MAX_UNORDERED: usize = 1 << 24;

/// Ascending values of one container that are not added yet.
struct Waiting<'s> {
    set: &'s mut IntegerSet,
    key: u64,
    lows: Vec<[u8; 2]>,
    scratch: Scratch,
}

impl Waiting<'_> {
    fn flush(&mut self) {
        let Self { set, key, lows, scratch } = self;
        let container = Container::Array(lows);
        match lows[..] {
            [] => {}
            _ if set.0.last_key().is_none_or(|last| last < *key) => {
                if !set.0.push_few(*key, container) {
                    set.0.push(*key, Owned::smallest(container, scratch));
                }
            }
            [low] => {
                set.insert(*key << 16 | u64::from(u16::from_le_bytes(low)));
            }
            _ => set.0.join(Op::Or, *key, container, scratch),
        }
        self.lows.clear();
    }
}

impl<'a> Extend<&'a u64> for IntegerSet {
    fn extend<I: IntoIterator<Item = &'a u64>>(&mut self, values: I) {
        self.extend(values.into_iter().copied());
    }
}

impl FromIterator<u64> for IntegerSet {
    /// Takes values in any order, as [`extend`](Self::extend) does.
    fn from_iter<I: IntoIterator<Item = u64>>(values: I) -> Self {
        let mut set = Self::new();
        if !set.add_all(values) {
            set.optimize();
        }
        set
    }
}

impl<'a> FromIterator<&'a u64> for IntegerSet {
    fn from_iter<I: IntoIterator<Item = &'a u64>>(values: I) -> Self {
        values.into_iter().copied().collect()
    }
}

impl<const N: usize> From<[u64; N]> for IntegerSet {
    fn from(values: [u64; N]) -> Self {
        values.into_iter().collect()
    }
}

impl IntegerSet {
    fn join(&self, op: Op, other: &Self) -> Self {
        Self(Containers::joined(op, &self.0, &other.0))
    }

    /// Joins in place; except for `Op::And`, it reads only the containers of `other`.
    fn join_assign(&mut self, op: Op, other: &Self) {
        if op == Op::And {
            *self = self.join(op, other);
            return;
        }
        let mut scratch = Scratch::default();
        let mut cursor = other.view().cursor();
        while let Some((key, container)) = sound(cursor.next()) {
            self.0.join(op, key, container, &mut scratch);
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:expr, $doc:literal) => {
        impl $trait<&IntegerSet> for &IntegerSet {
            type Output = IntegerSet;

            #[doc = $doc]
            fn $method(self, other: &IntegerSet) -> IntegerSet {
                self.join($op, other)
            }
        }

        impl $trait for IntegerSet {
            type Output = Self;

            #[doc = $doc]
            fn $method(self, other: Self) -> Self {
                self.join($op, &other)
            }
        }

        impl $trait<&Self> for IntegerSet {
            type Output = Self;

            #[doc = $doc]
            fn $method(self, other: &Self) -> Self {
                self.join($op, other)
            }
        }

        impl $trait<IntegerSet> for &IntegerSet {
            type Output = IntegerSet;

            #[doc = $doc]
            fn $method(self, other: IntegerSet) -> IntegerSet {
                self.join($op, &other)
            }
        }
    };
}

operator!(BitAnd, bitand, Op::And, "Values in both. O(containers that both have).");
operator!(BitOr, bitor, Op::Or, "Values in either. O(containers).");
operator!(BitXor, bitxor, Op::Xor, "Values in one of the two. O(containers).");
operator!(Sub, sub, Op::AndNot, "Values of the first that are not in the second. O(containers).");

macro_rules! assignment {
    ($trait:ident, $method:ident, $op:expr, $doc:literal) => {
        impl $trait<&Self> for IntegerSet {
            #[doc = $doc]
            fn $method(&mut self, other: &Self) {
                self.join_assign($op, other);
            }
        }

        impl $trait for IntegerSet {
            #[doc = $doc]
            fn $method(&mut self, other: Self) {
                self.join_assign($op, &other);
            }
        }
    };
}

assignment!(BitAndAssign, bitand_assign, Op::And, "Removes the values that are not in `other`.");
assignment!(
    BitOrAssign,
    bitor_assign,
    Op::Or,
    "Adds the values of `other`. O(containers of `other`)."
);
assignment!(
    BitXorAssign,
    bitxor_assign,
    Op::Xor,
    "Removes the values of `other` that are in the set, and adds the others. O(containers of `other`)."
);
assignment!(
    SubAssign,
    sub_assign,
    Op::AndNot,
    "Removes the values of `other`. O(containers of `other`)."
);

impl IntegerSet {
    /// The values, ascending; from the end, descending.
    #[must_use]
    pub fn iter(&self) -> Iter<'_> {
        self.range(..)
    }

    /// The values in a range, ascending; from the end, descending. O(log containers) for
    /// the first.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let set = IntegerSet::from([3, 40, 1 << 40]);
    /// assert_eq!(set.range(4..).collect::<Vec<_>>(), [40, 1 << 40]);
    /// assert_eq!(set.range(..=40).next_back(), Some(40));
    /// ```
    #[must_use]
    pub fn range(&self, range: impl RangeBounds<u64>) -> Iter<'_> {
        Iter { set: self, values: self.view().range(range) }
    }
}

/// Values of an [`IntegerSet`], ascending, or from the end descending. O(1) amortized for each.
///
/// To count the values that are left, or to pass many of them ([`nth`](Iterator::nth)), takes
/// O(√containers).
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    set: &'a IntegerSet,
    values: Values<'a>,
}

/// Fewer values are passed one by one, which takes less than to decode a container again.
const MANY: usize = 1 << 16;

impl Iter<'_> {
    /// Ranks of the values that are left.
    fn ranks(&self) -> Range<u64> {
        let Some((first, last)) = self.values.bounds() else { return 0..0 };
        self.set.range_len(..first)..self.set.rank(last)
    }

    /// Keeps the values with these ranks, of those that are left.
    fn keep(&mut self, ranks: Range<u64>) {
        let last = ranks.end.checked_sub(1).filter(|_| !ranks.is_empty());
        let ends =
            last.and_then(|last| Some((self.set.select(ranks.start)?, self.set.select(last)?)));
        let (first, last) = ends.unwrap_or((1, 0));
        *self = self.set.range(first..=last);
    }

    fn left(&self) -> usize {
        let Range { start, end } = self.ranks();
        in_usize(end - start)
    }
}

impl Iterator for Iter<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.values.next().map(sound)
    }

    fn nth(&mut self, passed: usize) -> Option<u64> {
        if passed < MANY {
            return self.values.nth(passed).map(sound);
        }
        let Range { start, end } = self.ranks();
        self.keep(start.saturating_add(passed as u64)..end);
        self.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let Range { start, end } = self.ranks();
        (in_usize(end - start), usize::try_from(end - start).ok())
    }

    fn count(self) -> usize {
        self.left()
    }

    fn min(mut self) -> Option<u64> {
        self.next()
    }

    fn max(mut self) -> Option<u64> {
        self.next_back()
    }

    fn last(mut self) -> Option<u64> {
        self.next_back()
    }

    fn fold<B, F: FnMut(B, u64) -> B>(self, init: B, mut visit: F) -> B {
        self.values.fold(init, |state, value| visit(state, sound(value)))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<u64> {
        self.values.next_back().map(sound)
    }

    fn nth_back(&mut self, passed: usize) -> Option<u64> {
        if passed < MANY {
            return self.values.nth_back(passed).map(sound);
        }
        let Range { start, end } = self.ranks();
        self.keep(start..end.saturating_sub(passed as u64).max(start));
        self.next_back()
    }
}

impl FusedIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a IntegerSet {
    type Item = u64;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// Values of an [`IntegerSet`] that is consumed; see [`Iter`].
#[derive(Clone)]
pub struct IntoIter {
    set: IntegerSet,
    /// The range of the values that are not decoded yet.
    range: Option<(u64, u64)>,
    front: vec::IntoIter<u64>,
    back: vec::IntoIter<u64>,
}

impl IntoIterator for IntegerSet {
    type Item = u64;
    type IntoIter = IntoIter;

    fn into_iter(self) -> IntoIter {
        let (front, back) = (vec::IntoIter::default(), vec::IntoIter::default());
        IntoIter { range: Some((0, u64::MAX)), set: self, front, back }
    }
}

impl fmt::Debug for IntoIter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntoIter").field("left", &self.size_hint().0).finish_non_exhaustive()
    }
}

/// Values that are decoded together, at least, with the others of the last container.
const TOGETHER: usize = 1 << 12;

impl Iterator for IntoIter {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.front.len() == 0
            && let Some((first, last)) = self.range
        {
            let mut values = self.set.range(first..=last);
            let mut decoded: Vec<u64> = values.by_ref().take(TOGETHER).collect();
            if let Some(end) = decoded.last().map(|value| value | 0xFFFF) {
                decoded.extend(values.take_while(|&value| value <= end));
            }
            let behind = decoded.last().and_then(|end| end.checked_add(1));
            self.range = behind.filter(|&next| next <= last).map(|next| (next, last));
            self.front = decoded.into_iter();
        }
        self.front.next().or_else(|| self.back.next())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let between = self.range.map_or(0, |(first, last)| self.set.range_len(first..=last));
        let left = between + self.front.len() as u64 + self.back.len() as u64;
        (in_usize(left), usize::try_from(left).ok())
    }

    fn nth(&mut self, passed: usize) -> Option<u64> {
        if passed < self.front.len() {
            return self.front.nth(passed);
        }
        let passed = passed - std::mem::take(&mut self.front).len();
        let Some((first, last)) = self.range.take() else { return self.back.nth(passed) };
        if let Some(found) = self.set.range(first..=last).nth(passed) {
            self.range = Some((found, last));
            return self.next();
        }
        self.back.nth(passed - self.set.range(first..=last).count())
    }

    fn count(self) -> usize {
        self.size_hint().0
    }

    fn min(mut self) -> Option<u64> {
        self.next()
    }

    fn max(mut self) -> Option<u64> {
        self.next_back()
    }

    fn last(mut self) -> Option<u64> {
        self.next_back()
    }
}

impl DoubleEndedIterator for IntoIter {
    fn next_back(&mut self) -> Option<u64> {
        if self.back.len() == 0
            && let Some((first, last)) = self.range
        {
            let mut values = self.set.range(first..=last).rev();
            let mut decoded: Vec<u64> = values.by_ref().take(TOGETHER).collect();
            if let Some(start) = decoded.last().map(|value| value & !0xFFFF) {
                decoded.extend(values.take_while(|&value| value >= start));
            }
            let before = decoded.last().and_then(|start| start.checked_sub(1));
            self.range = before.filter(|&next| next >= first).map(|next| (first, next));
            decoded.reverse();
            self.back = decoded.into_iter();
        }
        self.back.next_back().or_else(|| self.front.next_back())
    }

    fn nth_back(&mut self, passed: usize) -> Option<u64> {
        if passed < self.back.len() {
            return self.back.nth_back(passed);
        }
        let passed = passed - std::mem::take(&mut self.back).len();
        let Some((first, last)) = self.range.take() else { return self.front.nth_back(passed) };
        if let Some(found) = self.set.range(first..=last).nth_back(passed) {
            self.range = Some((first, found));
            return self.next_back();
        }
        self.front.nth_back(passed - self.set.range(first..=last).count())
    }
}

impl FusedIterator for IntoIter {}
