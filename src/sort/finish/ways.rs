//! Counts which ways of finishing values a run took; tests use it.

use std::ops::AddAssign;

/// A way to finish values, or a step on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Way {
    /// A bitmap of a partition, made when it is finished.
    Bitmap,
    /// A bitmap that absorbed values while they were loaded.
    Absorbed,
    /// Counters of a window.
    Counting,
    /// Radix sort.
    Radix,
    /// Sub-windows.
    Split,
    /// Sub-windows that are too many to read the same chain, so that each got one of its own.
    Scattered,
    /// A span of a large partition, cut by a histogram.
    Span,
    /// A span of the counters that all threads made of a large partition.
    Counted,
    /// Copies of one value, of which only the number is kept.
    OneValue,
    /// Values below all partitions.
    Below,
    /// Values above all partitions.
    Above,
    /// A partition with entries in temporary files.
    Spilled,
    /// A slice that was read in a pass of its own.
    Slice,
}

impl Way {
    /// Every way.
    pub const ALL: [Self; 13] = [
        Self::Bitmap,
        Self::Absorbed,
        Self::Counting,
        Self::Radix,
        Self::Split,
        Self::Scattered,
        Self::Span,
        Self::Counted,
        Self::OneValue,
        Self::Below,
        Self::Above,
        Self::Spilled,
        Self::Slice,
    ];
}

/// How often each way was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ways([u64; Way::ALL.len()]);

impl Ways {
    /// How often `way` was taken.
    #[cfg(feature = "_testing")]
    #[must_use]
    pub fn times(&self, way: Way) -> u64 {
        self.0[way as usize]
    }

    pub(in crate::sort) fn take(&mut self, way: Way) {
        self.0[way as usize] += 1;
    }
}

impl AddAssign for Ways {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, times)| *sum += times);
    }
}
