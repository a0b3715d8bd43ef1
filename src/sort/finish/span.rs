//! Ranges of a partition that are finished on their own, and how histograms cut them.

use crate::set::bitmap::Word;

/// A range of a partition that is finished on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) struct Span {
    /// Start of the partition's window.
    pub(in crate::sort) base: u64,
    /// First entry of the span.
    pub(in crate::sort) lo: u64,
    /// Last entry of the span.
    pub(in crate::sort) hi: u64,
    /// Whether the span is a part of the output, so that its size is the size of the part.
    pub(in crate::sort) is_part: bool,
}

impl Span {
    /// The span of all entries of `bits` bits.
    pub(in crate::sort) fn whole(base: u64, bits: u32) -> Self {
        Self { base, lo: 0, hi: u64::low_mask(bits), is_part: true }
    }

    /// The smallest value.
    pub(in crate::sort) fn first(self) -> u64 {
        self.base + self.lo
    }

    /// The largest value.
    pub(in crate::sort) fn last(self) -> u64 {
        self.base.saturating_add(self.hi)
    }

    /// Number of values that may be in it; saturates at 2^64 − 1.
    pub(in crate::sort) fn len(self) -> u64 {
        (self.hi - self.lo).saturating_add(1)
    }

    /// Number of bits of the largest offset.
    pub(in crate::sort) fn bits(self) -> u32 {
        u64::BITS - (self.hi - self.lo).leading_zeros()
    }

    /// The values from number `from` to number `to` of the span, or to its end.
    pub(in crate::sort) fn part(self, from: u64, to: u64) -> Self {
        let hi = self.lo.saturating_add(to).min(self.hi);
        Self { lo: self.lo + from, hi, is_part: false, ..self }
    }
}

/// Neighbouring buckets of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) struct Group {
    pub(in crate::sort) first: u64,
    pub(in crate::sort) last: u64,
    pub(in crate::sort) count: u64,
}

/// Joins neighbouring buckets while they have at most `room` values together. A bucket with more
/// values stays alone, so that a part of a span is less than the span.
pub(in crate::sort) fn join_buckets(
    histogram: impl IntoIterator<Item = u64>,
    room: u64,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (bucket, count) in (0_u64..).zip(histogram) {
        match groups.last_mut() {
            Some(group) if group.count.saturating_add(count) <= room => {
                group.last = bucket;
                group.count += count;
            }
            _ => groups.push(Group { first: bucket, last: bucket, count }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_joined_while_they_fit() {
        let group = |first, last, count| Group { first, last, count };
        assert_eq!(
            join_buckets([1, 2, 9, 0, 1, 1, 0, 9], 3),
            [group(0, 1, 3), group(2, 2, 9), group(3, 6, 2), group(7, 7, 9)]
        );
    }
}
