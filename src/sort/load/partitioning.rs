//! Which partition a value belongs to, and which of its bits are kept there.

use crate::sort::entry::{Entry, Window, low_mask};

/// How a window is divided into partitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) struct Partitioning {
    pub(in crate::sort) window: Window,
    /// Number of low bits of a value that are kept as its entry.
    pub(in crate::sort) shift: u32,
    /// Number of partitions.
    pub(in crate::sort) count: usize,
}

impl Partitioning {
    /// At most `most` (a power of two) partitions of equal size, which hold `window`.
    ///
    /// The last partition may end behind the window, but never behind 2^64 − 1: there, offsets from
    /// the base would start again at 0, and values below the base would go to the last partition.
    /// In that case the first partition begins before the window.
    pub(in crate::sort) fn new(window: Window, most: usize) -> Self {
        let shift = window.bits().saturating_sub(most.max(2).ilog2());
        #[expect(clippy::cast_possible_truncation, reason = "at most `most`")]
        let count = ((window.last - window.base) >> shift) as usize + 1;
        let room_behind = u64::MAX - window.base;
        let reach = ((count as u64 - 1) << shift) | low_mask(shift);
        let base = window.base - reach.saturating_sub(room_behind);
        Self { window: Window { base, last: window.last }, shift, count }
    }

    /// The partition of a value; `count` or more if the value is outside of all partitions. For a
    /// value below the base the offset wraps; it is then larger than any offset in a partition,
    /// because partitions end at 2^64 − 1 at the latest.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "compared with the count")]
    pub(in crate::sort) fn number_of(&self, value: u64) -> usize {
        (value.wrapping_sub(self.window.base) >> self.shift) as usize
    }

    /// The entry of a value of the window.
    #[inline]
    pub(in crate::sort) fn entry_of<E: Entry>(&self, value: u64) -> E {
        E::narrow(value.wrapping_sub(self.window.base) & low_mask(self.shift))
    }

    /// The values of partition `number`.
    pub(in crate::sort) fn window_of(&self, number: usize) -> Window {
        let base = self.window.base + ((number as u64) << self.shift);
        Window { base, last: base + low_mask(self.shift) }
    }

    /// All values below the first partition, and all behind the last one.
    pub(in crate::sort) fn outside(&self) -> [Option<Window>; 2] {
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
            let (a, b) = (a & low_mask(bits.0), b | !low_mask(bits.1));
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
