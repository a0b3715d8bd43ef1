//! Radix sort, most significant digit first, for partitions that are too
//! sparse for a bitmap.
//!
//! One pass with about as many buckets as values leaves evenly spread values almost sorted.
//! Exchanges of neighbours and insertion sort do the rest. A bucket of many values (clusters,
//! duplicates) is sorted again in the same way.

use crate::kernel::{Level, order};
use crate::sort::partitioning::Entry;

/// For up to this many values, insertion sort is fastest.
const SMALL: usize = 24;
/// 2^16 counters fill a quarter of a second-level cache. Twice as many leave fewer values to
/// exchange, but take as long.
const MAX_DIGIT_BITS: u32 = 16;
/// After so many rounds of exchanges, insertion sort seldom has to move a value if buckets have at
/// most two values on average, so its branches are seldom mispredicted.
const ROUNDS: usize = 5;

/// Most counters that a sort of so many values needs.
pub(in crate::sort) fn counters_for(values: usize) -> usize {
    1 << digit_bits(values)
}

fn digit_bits(values: usize) -> u32 {
    (values.max(4).ilog2() + 1).min(MAX_DIGIT_BITS)
}

/// Sorts `values`. `scratch` is at least as long; its content is lost.
pub(in crate::sort) fn sort<E: Entry>(values: &mut [E], scratch: &mut [E]) {
    sort_with(values, scratch, &mut Vec::new());
}

/// The same with counters that can be used again. They grow to [`counters_for`] the values.
pub(in crate::sort) fn sort_with<E: Entry>(
    values: &mut [E],
    scratch: &mut [E],
    counters: &mut Vec<u32>,
) {
    if values.len() <= SMALL {
        insertion_sort(values);
        return;
    }
    let (mut min, mut max) = (u64::MAX, 0);
    for value in values.iter() {
        min = min.min(value.widen());
        max = max.max(value.widen());
    }
    if min == max {
        return;
    }
    let digits = Digits::new(min, (max - min).ilog2() + 1, values.len());
    // Not on the stack: values that share many high bits lead to deep recursion.
    if counters.len() < digits.count {
        counters.resize(digits.count, 0);
    }
    let mut buckets = digits.count(counters, |sink| sink(values));
    let scratch_part = &mut scratch[..values.len()];
    buckets.distribute(&digits, |sink| sink(values), scratch_part);
    values.copy_from_slice(scratch_part);
    buckets.sort_each(&digits, values, scratch);
}

/// Sorts the entries that `each` hands to its sink into `values`. `each` must hand over the same
/// entries twice, as many as `values` has, all below `2^bits`. This saves the copy that sorting in
/// place needs. It always uses [`counters_for`] so many values; `scratch` grows to the size of the
/// fullest bucket.
pub(in crate::sort) fn sort_into<E: Entry>(
    each: impl Fn(&mut dyn FnMut(&[E])),
    bits: u32,
    values: &mut [E],
    counters: &mut [u32],
    scratch: &mut Vec<E>,
) {
    let digits = Digits::new(0, bits, values.len());
    let mut buckets = digits.count(counters, |sink| each(sink));
    buckets.distribute(&digits, |sink| each(sink), values);
    let largest = buckets.largest as usize;
    if largest > SMALL && scratch.len() < largest {
        scratch.resize(largest, E::default());
    }
    buckets.sort_each(&digits, values, scratch);
}

/// The most significant digit of entries in `min .. min + 2^range_bits`.
struct Digits {
    min: u64,
    shift: u32,
    count: usize,
}

impl Digits {
    fn new(min: u64, range_bits: u32, values: usize) -> Self {
        let bits = digit_bits(values).min(range_bits);
        Self { min, shift: range_bits - bits, count: 1 << bits }
    }

    #[expect(clippy::cast_possible_truncation, reason = "at most 17 bits")]
    fn of<E: Entry>(&self, entry: E) -> usize {
        ((entry.widen() - self.min) >> self.shift) as usize
    }

    fn count<'c, E: Entry>(
        &self,
        counters: &'c mut [u32],
        each: impl FnOnce(&mut dyn FnMut(&[E])),
    ) -> Buckets<'c> {
        let ends = &mut counters[..self.count];
        ends.fill(0);
        each(&mut |entries| {
            for &entry in entries {
                ends[self.of(entry)] += 1;
            }
        });
        let mut largest = 0;
        let mut before = 0;
        for end in ends.iter_mut() {
            largest = largest.max(*end);
            before += std::mem::replace(end, before);
        }
        Buckets { ends, largest }
    }
}

/// The start of each bucket; after the entries are moved there, its end.
struct Buckets<'c> {
    ends: &'c mut [u32],
    /// Number of entries in the fullest bucket.
    largest: u32,
}

impl Buckets<'_> {
    fn distribute<E: Entry>(
        &mut self,
        digits: &Digits,
        each: impl FnOnce(&mut dyn FnMut(&[E])),
        to: &mut [E],
    ) {
        let ends = &mut *self.ends;
        each(&mut |entries| {
            for &entry in entries {
                let place = &mut ends[digits.of(entry)];
                to[*place as usize] = entry;
                *place += 1;
            }
        });
    }

    fn sort_each<E: Entry>(self, digits: &Digits, values: &mut [E], scratch: &mut [E]) {
        if self.largest as usize <= SMALL {
            let level = Level::best();
            if level.is_vector() {
                order::transpose(level, ROUNDS, values);
            }
            insertion_sort(values);
            return;
        }
        let mut start = 0;
        for &mut end in self.ends {
            let bucket = &mut values[start..end as usize];
            start = end as usize;
            if digits.shift > 0 && bucket.len() > 1 {
                sort(bucket, scratch);
            }
        }
    }
}

fn insertion_sort<E: Entry>(values: &mut [E]) {
    for sorted in 1..values.len() {
        let value = values[sorted];
        let mut place = sorted;
        while place > 0 && values[place - 1] > value {
            values[place] = values[place - 1];
            place -= 1;
        }
        values[place] = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<E: Entry>(mut values: Vec<E>) {
        let mut expected = values.clone();
        expected.sort_unstable();
        let mut scratch = vec![E::default(); values.len()];
        let parts = values.clone();
        let each = |sink: &mut dyn FnMut(&[E])| parts.chunks(100).for_each(sink);
        let mut gathered = vec![E::default(); values.len()];
        let mut counters = vec![7; counters_for(gathered.len())];
        sort_into(each, E::BITS, &mut gathered, &mut counters, &mut Vec::new());
        assert_eq!(gathered, expected);
        sort(&mut values, &mut scratch);
        assert_eq!(values, expected);
    }

    proptest! {
        #[test]
        fn any_values_are_sorted(
            wide in prop::collection::vec(any::<u64>(), 0..3000),
            narrow in prop::collection::vec(0_u32..500, 0..3000),
            centres in prop::collection::vec((any::<u64>(), 0_u64..40), 0..3000),
        ) {
            check(wide);
            check(narrow);
            check(centres.into_iter().map(|(c, d)| (c & 0xFF << 50).wrapping_add(d)).collect());
        }
    }

    #[test]
    fn extremes_and_runs_are_sorted() {
        check([u64::MAX, 0, u64::MAX, 1].repeat(100));
        check((0..5000_u32).rev().collect());
        check((0..5000_u64).collect());
        check(vec![7_u32; 100]);
    }
}
