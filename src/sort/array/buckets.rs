//! Buckets: the ranges of values that are sorted on their own.

use crate::kernel::in_usize;
use crate::sort::partitioning::Entry;

/// About the size of a bucket in bytes: with as much scratch memory it fits in the second-level
/// cache.
const BUCKET_BYTES: usize = 1 << 18;
/// Most buckets: one cache line of each fits in the second-level cache.
const MAX_BUCKETS: usize = 1 << 12;

/// Equal ranges of values. The first and the last one also take values outside of the range of the
/// sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buckets {
    base: u64,
    shift: u32,
    pub(super) count: usize,
}

impl Buckets {
    /// Buckets for `len` values, of which `sample` has some, at least one.
    pub(super) fn of<T: Entry>(sample: &mut [T], len: usize) -> Self {
        sample.sort_unstable();
        // Do not let a few values far away from all others make the buckets wide.
        let far = sample.len() / 512;
        let (low, high) = (sample[far].widen(), sample[sample.len() - 1 - far].widen());
        let margin = (high - low) / 128;
        let base = low.saturating_sub(margin);
        let range = high.saturating_add(margin) - base;
        let wanted = (len * size_of::<T>()).div_ceil(BUCKET_BYTES).next_power_of_two();
        let bits = wanted.clamp(16, MAX_BUCKETS).ilog2();
        let shift = (u64::BITS - range.leading_zeros()).saturating_sub(bits);
        let count = usize::try_from(range >> shift).map_or(MAX_BUCKETS, |last| last + 1);
        Self { base, shift, count }
    }

    #[inline]
    pub(super) fn of_value<T: Entry>(self, value: T) -> usize {
        let bucket = value.widen().saturating_sub(self.base) >> self.shift;
        in_usize(bucket).min(self.count - 1)
    }
}
