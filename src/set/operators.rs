//! Traits of the standard library for sets in memory.

use super::container::{Container, Op, Owned, Scratch};
use super::containers::Containers;
use super::integer_set::{IntegerSet, sound};
use super::view::Values;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::iter::FusedIterator;
use std::ops::{
    BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, RangeBounds, Sub, SubAssign,
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
    /// Adds values. Ascending values are added many at a time.
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values: I) {
        self.add_all(values);
    }
}

impl IntegerSet {
    /// Adds values; gives whether they ascended.
    fn add_all(&mut self, values: impl IntoIterator<Item = u64>) -> bool {
        let mut waiting =
            Waiting { set: self, key: 0, lows: Vec::new(), scratch: Scratch::default() };
        let (mut before, mut ascend) = (None, true);
        for value in values {
            if before == Some(value) {
                continue;
            }
            let falls = before > Some(value);
            ascend &= !falls;
            if falls || value >> 16 != waiting.key {
                waiting.flush();
                waiting.key = value >> 16;
            }
            let [low, high, ..] = value.to_le_bytes();
            waiting.lows.push([low, high]);
            before = Some(value);
        }
        waiting.flush();
        ascend
    }
}

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
                if !set.0.push_few(*key, lows) {
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
    /// Takes values in any order. Ascending values are appended, which is several times faster than
    /// inserting.
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

    /// Joins in place; reads only the containers of `other`.
    fn join_assign(&mut self, op: Op, other: &Self) {
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
    };
}

operator!(BitAnd, bitand, Op::And, "Values in both. O(containers that both have).");
operator!(BitOr, bitor, Op::Or, "Values in either. O(containers).");
operator!(BitXor, bitxor, Op::Xor, "Values in one of the two. O(containers).");
operator!(Sub, sub, Op::AndNot, "Values of the first that are not in the second. O(containers).");

impl BitAndAssign<&Self> for IntegerSet {
    /// Removes the values that are not in `other`.
    fn bitand_assign(&mut self, other: &Self) {
        *self = self.join(Op::And, other);
    }
}

impl BitOrAssign<&Self> for IntegerSet {
    /// Adds the values of `other`. O(containers of `other`).
    fn bitor_assign(&mut self, other: &Self) {
        self.join_assign(Op::Or, other);
    }
}

impl BitXorAssign<&Self> for IntegerSet {
    /// Removes the values of `other` that are in the set, and adds the others. O(containers of
    /// `other`).
    fn bitxor_assign(&mut self, other: &Self) {
        self.join_assign(Op::Xor, other);
    }
}

impl SubAssign<&Self> for IntegerSet {
    /// Removes the values of `other`. O(containers of `other`).
    fn sub_assign(&mut self, other: &Self) {
        self.join_assign(Op::AndNot, other);
    }
}

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
        Iter(self.view().range(range))
    }
}

/// Values of an [`IntegerSet`], ascending, or from the end descending. O(1) amortized for each.
#[derive(Debug, Clone)]
pub struct Iter<'a>(Values<'a>);

impl Iterator for Iter<'_> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        self.0.next().map(sound)
    }

    fn fold<B, F: FnMut(B, u64) -> B>(self, init: B, mut visit: F) -> B {
        self.0.fold(init, |state, value| visit(state, sound(value)))
    }
}

impl DoubleEndedIterator for Iter<'_> {
    #[inline]
    fn next_back(&mut self) -> Option<u64> {
        self.0.next_back().map(sound)
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
#[derive(Debug, Clone)]
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

impl Iterator for IntoIter {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.front.len() == 0 {
            let found = self.range.and_then(|(first, last)| {
                let start = self.set.range(first..=last).next()?;
                Some((start, (start | 0xFFFF).min(last), last))
            });
            let Some((start, end, last)) = found else {
                self.range = None;
                return self.back.next();
            };
            self.front = self.set.range(start..=end).collect::<Vec<_>>().into_iter();
            self.range = end.checked_add(1).filter(|&next| next <= last).map(|next| (next, last));
        }
        self.front.next()
    }
}

impl DoubleEndedIterator for IntoIter {
    fn next_back(&mut self) -> Option<u64> {
        if self.back.len() == 0 {
            let found = self.range.and_then(|(first, last)| {
                let end = self.set.range(first..=last).next_back()?;
                Some((first, (end & !0xFFFF).max(first), end))
            });
            let Some((first, start, end)) = found else {
                self.range = None;
                return self.front.next_back();
            };
            self.back = self.set.range(start..=end).collect::<Vec<_>>().into_iter();
            self.range =
                start.checked_sub(1).filter(|&next| next >= first).map(|next| (first, next));
        }
        self.back.next_back()
    }
}

impl FusedIterator for IntoIter {}
