//! A roaring bitmap of 64-bit values in memory.

use crate::container::Op;
use crate::error::{Error, Result};
use roaring::{RoaringBitmap, RoaringTreemap};

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

    fn buckets(&self) -> impl Iterator<Item = (u32, &RoaringBitmap)> {
        let low = (!self.low.is_empty()).then_some((0, &self.low));
        low.into_iter().chain(self.high.bitmaps())
    }

    pub(super) fn insert(&mut self, value: u64) -> bool {
        match u32::try_from(value) {
            Ok(low) => self.low.insert(low),
            Err(_) => self.high.insert(value),
        }
    }

    pub(super) fn remove(&mut self, value: u64) -> bool {
        match u32::try_from(value) {
            Ok(low) => self.low.remove(low),
            Err(_) => self.high.remove(value),
        }
    }

    pub(super) fn insert_range(&mut self, first: u64, last: u64) {
        if let Ok(first) = u32::try_from(first) {
            self.low.insert_range(first..=u32::try_from(last).unwrap_or(u32::MAX));
        }
        self.high.insert_range(first.max(FIRST_HIGH)..=last);
    }

    #[inline]
    pub(super) fn contains(&self, value: u64) -> bool {
        match u32::try_from(value) {
            Ok(low) => self.low.contains(low),
            Err(_) => self.high.contains(value),
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.low.len() + self.high.len()
    }

    pub(super) fn min(&self) -> Option<u64> {
        self.low.min().map(u64::from).or_else(|| self.high.min())
    }

    pub(super) fn max(&self) -> Option<u64> {
        self.high.max().or_else(|| self.low.max().map(u64::from))
    }

    pub(super) fn rank(&self, value: u64) -> u64 {
        match u32::try_from(value) {
            Ok(low) => self.low.rank(low),
            Err(_) => self.low.len() + self.high.rank(value),
        }
    }

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

    pub(super) fn next(&self, value: u64) -> Option<u64> {
        self.values_from(value).next()
    }

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

    pub(super) fn is_disjoint(&self, other: &Self) -> bool {
        self.low.is_disjoint(&other.low) && self.high.is_disjoint(&other.high)
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
            changes in prop::collection::vec((0..3, value(), 0_u64..90), 0..50),
        ) {
            let mut model: BTreeSet<u64> = start.iter().copied().collect();
            let mut set = Roaring64::default();
            set.extend(start.iter().copied());
            prop_assert_eq!(&found(&set), &model);
            for (change, value, more) in changes {
                match change {
                    0 => prop_assert_eq!(set.insert(value), model.insert(value)),
                    1 => prop_assert_eq!(set.remove(value), model.remove(&value)),
                    _ => {
                        let last = value.saturating_add(more);
                        set.insert_range(value, last);
                        model.extend(value..=last);
                    }
                }
                prop_assert_eq!(set.contains(value), model.contains(&value));
                prop_assert_eq!(set.rank(value), model.range(..=value).count() as u64);
                prop_assert_eq!((set.min(), set.max()), (model.first().copied(), model.last().copied()));
            }
            prop_assert_eq!(&found(&set), &model);
            set.insert_range(9, 8);
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
        let mut empty = Roaring64::from(RoaringTreemap::new());
        assert_eq!((empty.select(0), empty.select(u64::MAX)), (None, None));
        assert!(!empty.optimize() && empty.encode().unwrap() == [0; 8]);
    }
}
