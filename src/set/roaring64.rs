//! A roaring bitmap of 64-bit values in memory.

use crate::error::{Error, Result};
use crate::set::container::Op;
use roaring::{MultiOps, RoaringBitmap, RoaringTreemap};
use std::ops::RangeInclusive;

/// The roaring crate's two bitmaps in one: values below 2^32 have no map of
/// buckets to be looked up in, so that a set of them costs what a
/// [`RoaringBitmap`] does.
#[derive(Clone, Debug, Default)]
pub(super) struct Roaring64 {
    pub(super) low: RoaringBitmap,
    /// Values from 2^32 on.
    pub(super) high: RoaringTreemap,
}

/// 2^32, the first value of `high`.
const FIRST_HIGH: u64 = 1 << 32;

impl From<RoaringBitmap> for Roaring64 {
    fn from(low: RoaringBitmap) -> Self {
        Self { low, high: RoaringTreemap::new() }
    }
}

impl From<RoaringTreemap> for Roaring64 {
    fn from(mut high: RoaringTreemap) -> Self {
        let low = match high.bitmaps().next() {
            Some((0, low)) => low.clone(),
            _ => return Self { low: RoaringBitmap::new(), high },
        };
        high.remove_range(..FIRST_HIGH);
        Self { low, high }
    }
}

impl PartialEq for Roaring64 {
    fn eq(&self, other: &Self) -> bool {
        self.buckets().eq(other.buckets())
    }
}

impl Extend<u64> for Roaring64 {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, values: I) {
        let mut values = values.into_iter();
        let mut next = values.next();
        while let Some(value) = next {
            if let Ok(first) = u32::try_from(value) {
                let others = std::iter::from_fn(|| {
                    next = values.next();
                    next.and_then(|value| u32::try_from(value).ok())
                });
                self.low.extend(std::iter::once(first).chain(others));
            } else {
                self.high.insert(value);
                next = values.next();
            }
        }
    }
}

impl Roaring64 {
    /// The set of the values of buckets, by their high 32 bits, ascending.
    pub(super) fn from_buckets(buckets: Vec<(u32, RoaringBitmap)>) -> Self {
        let mut buckets = buckets.into_iter().peekable();
        let low = buckets.next_if(|(high, _)| *high == 0).map(|(_, low)| low);
        Self { low: low.unwrap_or_default(), high: RoaringTreemap::from_bitmaps(buckets) }
    }

    /// The buckets that have values, by their high 32 bits.
    fn buckets(&self) -> impl Iterator<Item = (u32, &RoaringBitmap)> {
        let all = std::iter::once((0, &self.low)).chain(self.high.bitmaps());
        all.filter(|(_, bitmap)| !bitmap.is_empty())
    }

    #[inline]
    pub(super) fn insert(&mut self, value: u64) -> bool {
        match u32::try_from(value) {
            Ok(low) => self.low.insert(low),
            Err(_) => self.high.insert(value),
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, value: u64) -> bool {
        match u32::try_from(value) {
            Ok(low) => self.low.remove(low),
            Err(_) => self.high.remove(value),
        }
    }

    pub(super) fn insert_range(&mut self, first: u64, last: u64) {
        let (low, high) = halves(first, last);
        if let Some(low) = low {
            self.low.insert_range(low);
        }
        if let Some(high) = high {
            self.high.insert_range(high);
        }
    }

    pub(super) fn remove_range(&mut self, first: u64, last: u64) {
        let (low, high) = halves(first, last);
        if let Some(low) = low {
            self.low.remove_range(low);
        }
        if let Some(high) = high {
            self.high.remove_range(high);
        }
    }

    pub(super) fn range_cardinality(&self, first: u64, last: u64) -> u64 {
        let (low, high) = halves(first, last);
        low.map_or(0, |low| self.low.range_cardinality(low))
            + high.map_or(0, |high| self.high.range_cardinality(high))
    }

    #[inline]
    pub(super) fn contains(&self, value: u64) -> bool {
        match u32::try_from(value) {
            Ok(low) => self.low.contains(low),
            Err(_) => self.high.contains(value),
        }
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.low.len() + self.high.len()
    }

    #[inline]
    pub(super) fn min(&self) -> Option<u64> {
        self.low.min().map(u64::from).or_else(|| self.high.min())
    }

    #[inline]
    pub(super) fn max(&self) -> Option<u64> {
        if self.high.is_empty() {
            return self.low.max().map(u64::from);
        }
        self.high.max()
    }

    #[inline]
    pub(super) fn rank(&self, value: u64) -> u64 {
        match u32::try_from(value) {
            Ok(low) => self.low.rank(low),
            Err(_) => self.low.len() + self.high.rank(value),
        }
    }

    #[inline]
    pub(super) fn select(&self, index: u64) -> Option<u64> {
        let in_low = u32::try_from(index).ok().and_then(|index| self.low.select(index));
        in_low.map(u64::from).or_else(|| self.high.select(index - self.low.len()))
    }

    /// The values from `from` on, ascending. O(log n) for the first.
    pub(super) fn values_from(&self, from: u64) -> impl Iterator<Item = u64> + Send + Sync {
        let low = u32::try_from(from).ok().map(|from| {
            let mut values = self.low.iter();
            values.advance_to(from);
            values
        });
        let mut high = self.high.iter();
        high.advance_to(from);
        low.into_iter().flatten().map(u64::from).chain(high)
    }

    #[inline]
    pub(super) fn next(&self, value: u64) -> Option<u64> {
        // The first of `values_from` takes twice as long: both iterators are made, and moved.
        if let Ok(value) = u32::try_from(value) {
            let mut values = self.low.iter();
            values.advance_to(value);
            if let Some(found) = values.next() {
                return Some(found.into());
            }
        }
        let mut values = self.high.iter();
        values.advance_to(value);
        values.next()
    }

    #[inline]
    pub(super) fn previous(&self, value: u64) -> Option<u64> {
        let in_high = (value >= FIRST_HIGH).then(|| {
            let mut values = self.high.iter();
            values.advance_back_to(value);
            values.next_back()
        });
        in_high.flatten().or_else(|| {
            let mut values = self.low.iter();
            values.advance_back_to(u32::try_from(value).unwrap_or(u32::MAX));
            values.next_back().map(u64::from)
        })
    }

    /// Puts containers into their smallest forms; tells whether one changed.
    pub(super) fn optimize(&mut self) -> bool {
        // Not `||`, which would leave out the second.
        self.low.optimize() | self.high.optimize()
    }

    pub(super) fn intersection_len(&self, other: &Self) -> u64 {
        self.low.intersection_len(&other.low) + self.high.intersection_len(&other.high)
    }

    pub(super) fn is_subset(&self, other: &Self) -> bool {
        self.low.is_subset(&other.low) && self.high.is_subset(&other.high)
    }

    pub(super) fn is_disjoint(&self, other: &Self) -> bool {
        self.low.is_disjoint(&other.low) && self.high.is_disjoint(&other.high)
    }

    /// Values in all of `sets`; none if there are no sets.
    pub(super) fn intersection_of(sets: &[&Self]) -> Self {
        let low = sets.iter().map(|set| &set.low).intersection();
        Self { low, high: sets.iter().map(|set| &set.high).intersection() }
    }

    /// Values in any of `sets`.
    pub(super) fn union_of(sets: &[&Self]) -> Self {
        let low = sets.iter().map(|set| &set.low).union();
        Self { low, high: sets.iter().map(|set| &set.high).union() }
    }

    /// What `op` makes of two sets.
    ///
    /// The treemap's own operators copy one of them first; those of its bitmaps
    /// copy what remains only.
    pub(super) fn join(&self, op: Op, other: &Self) -> Self {
        let (mut left, mut right) =
            (self.high.bitmaps().peekable(), other.high.bitmaps().peekable());
        let (ours, theirs) = match op {
            Op::And => (false, false),
            Op::Or | Op::Xor => (true, true),
            Op::AndNot => (true, false),
        };
        let mut joined = Vec::new();
        let mut keep = |key: u32, bitmap: RoaringBitmap| {
            if !bitmap.is_empty() {
                joined.push((key, bitmap));
            }
        };
        loop {
            match (left.peek().copied(), right.peek().copied()) {
                (Some((key, a)), Some((other, b))) if key == other => {
                    keep(key, join_bitmaps(op, a, b));
                    left.next();
                    right.next();
                }
                (Some((key, a)), other) if other.is_none_or(|(other, _)| key < other) => {
                    if ours {
                        keep(key, a.clone());
                    }
                    left.next();
                }
                (_, Some((key, b))) => {
                    if theirs {
                        keep(key, b.clone());
                    }
                    right.next();
                }
                (_, None) => break,
            }
        }
        let high = RoaringTreemap::from_bitmaps(joined);
        Self { low: join_bitmaps(op, &self.low, &other.low), high }
    }

    pub(super) fn join_assign(&mut self, op: Op, other: &Self) {
        match op {
            Op::And => {
                self.low &= &other.low;
                self.high &= &other.high;
            }
            Op::Or => {
                self.low |= &other.low;
                self.high |= &other.high;
            }
            Op::Xor => {
                self.low ^= &other.low;
                self.high ^= &other.high;
            }
            Op::AndNot => {
                self.low -= &other.low;
                self.high -= &other.high;
            }
        }
    }

    /// The bytes of the 64-bit portable format.
    ///
    /// Source: <https://github.com/RoaringBitmap/RoaringFormatSpec#extension-for-64-bit-implementations>
    pub(super) fn encode(&self) -> Result<Vec<u8>> {
        let sizes = self.buckets().map(|(_, bitmap)| 4 + bitmap.serialized_size());
        let mut bytes = Vec::with_capacity(8 + sizes.sum::<usize>());
        bytes.extend((self.buckets().count() as u64).to_le_bytes());
        for (high, bitmap) in self.buckets() {
            bytes.extend(high.to_le_bytes());
            bitmap.serialize_into(&mut bytes).map_err(Error::io("encode", "a set"))?;
        }
        Ok(bytes)
    }
}

/// What of `first ..= last` lies below 2^32, and from there on.
#[inline]
fn halves(first: u64, last: u64) -> (Option<RangeInclusive<u32>>, Option<RangeInclusive<u64>>) {
    let low = u32::try_from(first).ok();
    let low = low.map(|first| first..=u32::try_from(last).unwrap_or(u32::MAX));
    (low, (last >= FIRST_HIGH).then(|| first.max(FIRST_HIGH)..=last))
}

fn join_bitmaps(op: Op, a: &RoaringBitmap, b: &RoaringBitmap) -> RoaringBitmap {
    match op {
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::AndNot => a - b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Of both halves, many beside the border.
    fn value() -> impl Strategy<Value = u64> {
        prop_oneof![
            3 => FIRST_HIGH - 40..FIRST_HIGH + 40,
            1 => 0_u64..70_000,
            1 => u64::MAX - 40..=u64::MAX,
        ]
    }

    fn found(set: &Roaring64) -> BTreeSet<u64> {
        set.values_from(0).collect()
    }

    proptest! {
        #[test]
        fn changes_on_both_sides_of_the_border_agree_with_the_model(
            start in prop::collection::vec(value(), 0..50),
            changes in prop::collection::vec((0..4, value(), 0_u64..90), 0..50),
        ) {
            let mut model: BTreeSet<u64> = start.iter().copied().collect();
            let mut set = Roaring64::default();
            set.extend(start.iter().copied());
            prop_assert_eq!(&found(&set), &model);
            for (change, value, more) in changes {
                let last = value.saturating_add(more);
                match change {
                    0 => prop_assert_eq!(set.insert(value), model.insert(value)),
                    1 => prop_assert_eq!(set.remove(value), model.remove(&value)),
                    2 => {
                        set.insert_range(value, last);
                        model.extend(value..=last);
                    }
                    _ => {
                        set.remove_range(value, last);
                        model.retain(|kept| !(value..=last).contains(kept));
                    }
                }
                prop_assert_eq!(set.contains(value), model.contains(&value));
                prop_assert_eq!(set.rank(value), model.range(..=value).count() as u64);
                prop_assert_eq!(set.range_cardinality(value, last), model.range(value..=last).count() as u64);
                prop_assert_eq!((set.min(), set.max()), (model.first().copied(), model.last().copied()));
            }
            prop_assert_eq!(&found(&set), &model);
            set.insert_range(9, 8);
            set.remove_range(FIRST_HIGH + 1, FIRST_HIGH - 1);
            prop_assert_eq!(set.len(), model.len() as u64);
            let theirs: RoaringTreemap = model.iter().copied().collect();
            prop_assert_eq!(&RoaringTreemap::deserialize_from(&set.encode().unwrap()[..]).unwrap(), &theirs);
            prop_assert_eq!(found(&theirs.into()), model);
        }
    }

    #[test]
    fn more_than_all_values_below_the_border_are_counted() {
        let mut set = Roaring64::from(RoaringBitmap::full());
        set.insert_range(0, FIRST_HIGH + 9);
        assert_eq!((set.len(), set.rank(FIRST_HIGH)), (FIRST_HIGH + 10, FIRST_HIGH + 1));
        let around = [FIRST_HIGH - 1, FIRST_HIGH, FIRST_HIGH + 9];
        assert_eq!(around.map(|index| set.select(index)), around.map(Some));
        assert_eq!(set.select(FIRST_HIGH + 10), None);
        // The crate lets a map have buckets without values.
        let buckets = [0, 1, 7].map(|high| (high, RoaringBitmap::new()));
        let mut empty = Roaring64::from(RoaringTreemap::from_bitmaps(buckets));
        assert!(empty == Roaring64::default() && empty != set);
        assert_eq!((empty.select(0), empty.select(u64::MAX)), (None, None));
        assert!(empty.encode().unwrap() == [0; 8] && empty.optimize() && !empty.optimize());
    }
}
