//! A quicksort after Blacher, Giesen and Kühne (2021). Compression splits registers at a pivot and
//! writes them to both ends of the slice. A few values are sorted in registers.

mod lanes;
mod network;
mod split;

use super::Sortable;
use network::sort_few;
use split::{Side, split};

/// Up to this many values are sorted by one thread.
const TOGETHER: usize = 1 << 16;
/// Most registers of values from which a pivot is chosen.
const SAMPLE: usize = 4;

/// Sorts `values`; with `shared`, in several threads.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
pub(super) fn sort<T: Sortable>(
    shared: bool,
    values: &mut [T],
    done: &(impl Fn(usize) -> bool + Sync),
) {
    let splits = 2 * values.len().max(1).ilog2();
    sort_parts(shared, values, splits, done);
}

#[target_feature(enable = "avx512f,bmi2,popcnt")]
fn sort_parts<T: Sortable>(
    shared: bool,
    values: &mut [T],
    splits: u32,
    done: &(impl Fn(usize) -> bool + Sync),
) {
    if values.len() <= TOGETHER {
        sort_within(values, splits);
        done(values.len());
        return;
    }
    let (lower, equal, upper) = parts(values);
    if !done(equal) {
        return;
    }
    let Some(splits) = splits.checked_sub(1) else {
        lower.sort_unstable();
        upper.sort_unstable();
        done(lower.len() + upper.len());
        return;
    };
    if shared {
        let lower = || sort_parts(shared, lower, splits, done);
        rayon::join(lower, || sort_parts(shared, upper, splits, done));
    } else {
        sort_parts(shared, lower, splits, done);
        sort_parts(shared, upper, splits, done);
    }
}

/// Sorts `values`. After so many bad splits, the sort of the standard library takes over, so the
/// time is never quadratic.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
fn sort_within<T: Sortable>(mut values: &mut [T], mut splits: u32) {
    while values.len() > network::most::<T>() {
        let Some(fewer) = splits.checked_sub(1) else {
            return values.sort_unstable();
        };
        splits = fewer;
        let (lower, _, upper) = parts(values);
        sort_within(lower, splits);
        values = upper;
    }
    sort_few(values);
}

/// Splits `values` into those below the pivot and all others. If the pivot is the lowest value, it
/// splits them into those equal to it, whose number it gives, and all others.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
fn parts<T: Sortable>(values: &mut [T]) -> (&mut [T], usize, &mut [T]) {
    let pivot = pivot(values);
    match split(Side::Below, values, pivot) {
        0 => {
            let equal = split(Side::UpTo, values, pivot);
            (&mut [], equal, &mut values[equal..])
        }
        count => {
            let (lower, upper) = values.split_at_mut(count);
            (lower, 0, upper)
        }
    }
}

/// The median of some values.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
#[inline]
fn pivot<T: Sortable>(values: &[T]) -> T {
    let mut sample = [T::default(); SAMPLE * 16];
    let sample = &mut sample[..SAMPLE * lanes::count::<T>()];
    let step = (values.len() / sample.len()).max(1);
    for (place, value) in sample.iter_mut().zip(values.iter().step_by(step)) {
        *place = *value;
    }
    sort_few(sample);
    sample[sample.len() / 2]
}
