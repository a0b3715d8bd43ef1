//! Radix sort, most significant digit first, for partitions that are too
//! sparse for a bitmap.
//!
//! One pass with as many buckets as there are values, near enough, leaves
//! evenly spread values almost sorted; insertion sort finishes them. Where a
//! bucket holds many values (clusters, duplicates) it is sorted the same way.

use super::entry::Entry;

/// Up to this many values insertion sort wins.
const SMALL: usize = 24;
/// 2^15 counters and a partition fit in a second-level cache together. With 13
/// bits a bucket of a usual partition holds 12 values, not 3, and insertion
/// sort makes the whole 15 % slower.
const MAX_DIGIT_BITS: u32 = 15;

/// Sorts `values`; `scratch` is at least as long and is overwritten.
pub(super) fn sort<E: Entry>(values: &mut [E], scratch: &mut [E]) {
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
    let range_bits = (max - min).ilog2() + 1;
    let digit_bits = (values.len().ilog2() - 1).min(MAX_DIGIT_BITS).min(range_bits);
    let shift = range_bits - digit_bits;
    #[expect(clippy::cast_possible_truncation, reason = "at most 13 bits")]
    let digit = |value: E| ((value.widen() - min) >> shift) as usize;

    // Not on the stack: values that share many high bits recurse deeply.
    let mut ends = vec![0_u32; 1 << digit_bits];
    for &value in values.iter() {
        ends[digit(value)] += 1;
    }
    let mut largest = 0;
    let mut before = 0;
    for end in &mut ends {
        largest = largest.max(*end);
        before += std::mem::replace(end, before);
    }
    // `ends` are starts now, and become ends as the values go to their places.
    for &value in values.iter() {
        let place = &mut ends[digit(value)];
        scratch[*place as usize] = value;
        *place += 1;
    }
    values.copy_from_slice(&scratch[..values.len()]);
    if largest as usize <= SMALL {
        insertion_sort(values);
        return;
    }
    let mut start = 0;
    for end in ends {
        let bucket = &mut values[start..end as usize];
        start = end as usize;
        if shift > 0 && bucket.len() > 1 {
            sort(bucket, scratch);
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
