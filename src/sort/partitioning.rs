//! Windows of values, the partitions of a window, and entries: the low bits of values, which a
//! partition keeps.

use crate::error::{Error, Result};
use crate::kernel::decimal::Low;
use crate::kernel::quicksort::Sortable;
use crate::set::bitmap::Word;

/// The low bits of a value, in a word that is just wide enough.
pub(super) trait Entry:
    Low + Sortable + bytemuck::Pod + Ord + Default + Send + Sync + std::fmt::Debug
{
    /// Bits of the word.
    const BITS: u32;
    /// Entries in a cache line.
    const LINE: usize = 512 / Self::BITS as usize;

    /// The low bits of `value`.
    fn narrow(value: u64) -> Self;
}

impl Entry for u32 {
    const BITS: u32 = 32;

    #[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
    fn narrow(value: u64) -> Self {
        value as Self
    }
}

impl Entry for u64 {
    const BITS: u32 = 64;

    fn narrow(value: u64) -> Self {
        value
    }
}

/// A range of values, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) base: u64,
    pub(super) last: u64,
}

impl Window {
    /// All values.
    pub(super) const ALL: Self = Self { base: 0, last: u64::MAX };

    /// The `2^bits` values from `base` on, cut off at 2^64.
    pub(super) fn of_bits(base: u64, bits: u32) -> Self {
        Self { base, last: base.saturating_add(u64::low_mask(bits)) }
    }

    /// Checks that the output has this window behind the window `previous`.
    pub(super) fn check_behind(self, previous: Option<Self>, reverse: bool) -> Result<()> {
        let follows = |other: Self| {
            let (lower, upper) = if reverse { (self, other) } else { (other, self) };
            lower.base <= lower.last && lower.last < upper.base && upper.base <= upper.last
        };
        if previous.is_none_or(follows) {
            return Ok(());
        }
        let what = format!("a part with values of {self:?} was to follow one of {previous:?}");
        Err(Error::Accounting { what })
    }

    /// Number of bits of the largest offset from the base: 0 to 64.
    pub(super) fn bits(self) -> u32 {
        u64::BITS - (self.last - self.base).leading_zeros()
    }
}

/// How a window is divided into partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partitioning {
    pub(super) window: Window,
    /// Number of low bits of a value that are kept as its entry.
    pub(super) shift: u32,
    /// Number of partitions.
    pub(super) count: usize,
}

impl Partitioning {
    /// At most `most` (a power of two) partitions of equal size, which hold `window`.
    ///
    /// The last partition may end behind the window, but never behind 2^64 − 1: there, offsets from
    /// the base would start again at 0, and values below the base would go to the last partition.
    /// In that case the first partition begins before the window.
    pub(super) fn new(window: Window, most: usize) -> Self {
        let shift = window.bits().saturating_sub(most.max(2).ilog2());
        #[expect(clippy::cast_possible_truncation, reason = "at most `most`")]
        let count = ((window.last - window.base) >> shift) as usize + 1;
        let room_behind = u64::MAX - window.base;
        let reach = ((count as u64 - 1) << shift) | u64::low_mask(shift);
        let base = window.base - reach.saturating_sub(room_behind);
        Self { window: Window { base, last: window.last }, shift, count }
    }

    /// The partition of a value; `count` or more if the value is outside of all partitions. For a
    /// value below the base the offset wraps; it is then larger than any offset in a partition,
    /// because partitions end at 2^64 − 1 at the latest.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "compared with the count")]
    pub(super) fn number_of(&self, value: u64) -> usize {
        (value.wrapping_sub(self.window.base) >> self.shift) as usize
    }

    /// The entry of a value of the window.
    #[inline]
    pub(super) fn entry_of<E: Entry>(&self, value: u64) -> E {
        E::narrow(value.wrapping_sub(self.window.base) & u64::low_mask(self.shift))
    }

    /// The values of partition `number`.
    pub(super) fn window_of(&self, number: usize) -> Window {
        let base = self.window.base + ((number as u64) << self.shift);
        Window { base, last: base + u64::low_mask(self.shift) }
    }

    /// Words of the bitmap of one partition.
    pub(super) fn segment_words(&self) -> u64 {
        u64::low_mask(self.shift) / 64 + 1
    }

    /// Bytes of the bitmaps of all partitions; of more than 2^32 values each there is none.
    pub(super) fn bitmap_bytes(&self) -> u64 {
        self.segment_words().saturating_mul(8 * self.count as u64)
    }

    /// All values below the first partition, and all behind the last one.
    pub(super) fn outside(&self) -> [Option<Window>; 2] {
        let behind = self.window_of(self.count - 1).last.checked_add(1);
        [
            self.window.base.checked_sub(1).map(|last| Window { base: 0, last }),
            behind.map(|base| Window { base, last: u64::MAX }),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn partitioning() -> impl Strategy<Value = Partitioning> {
        let edge = prop_oneof![any::<u64>(), 0..300_u64, (0..300_u64).prop_map(|low| !low)];
        let bits = (0..=64_u32, 0..=64_u32);
        (edge.clone(), edge, bits, 1..=12_u32).prop_map(|(a, b, bits, most)| {
            let (a, b) = (a & u64::low_mask(bits.0), b | !u64::low_mask(bits.1));
            let window = Window { base: a.min(b), last: a.max(b) };
            Partitioning::new(window, 1 << most)
        })
    }

    proptest! {
        #[test]
        fn a_value_is_in_the_window_of_its_partition_or_outside_of_all(
            partitioning in partitioning(),
            values in prop::collection::vec(any::<u64>(), 50),
            offsets in prop::collection::vec(0..3_u64, 50),
        ) {
            let [below, above] = partitioning.outside();
            let Window { base, last } = partitioning.window;
            let near = offsets.iter().flat_map(|offset| {
                [base.wrapping_sub(*offset), base.wrapping_add(*offset)]
                    .into_iter()
                    .chain([last.wrapping_sub(*offset), last.wrapping_add(*offset)])
            });
            for value in values.iter().copied().chain(near) {
                let holds = |window: Window| (window.base..=window.last).contains(&value);
                let number = partitioning.number_of(value);
                if number < partitioning.count {
                    let window = partitioning.window_of(number);
                    prop_assert!(holds(window), "{value} in {number} of {partitioning:?}");
                    prop_assert_eq!(window.base + partitioning.entry_of::<u64>(value), value);
                } else {
                    prop_assert!(below.is_some_and(holds) || above.is_some_and(holds));
                    prop_assert!(!(base..=last).contains(&value));
                }
            }
        }
    }
}
