//! Moves low values before high ones, in place.

use super::lanes::{
    below, count, load, load_few, lowest, packed, rotated, splat, store, store_few, up_to,
};
use crate::kernel::quicksort::Sortable;
use std::arch::x86_64::__m512i;

/// Registers that are read at once.
const TOGETHER: usize = 4;

/// Which values count as low.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Values below the pivot.
    Below,
    /// Values up to the pivot.
    UpTo,
}

/// A split in progress. Between the low and the high values there is room for as many values as
/// were read and not written yet.
struct Split<'v, T> {
    values: &'v mut [T],
    side: Side,
    pivot: __m512i,
    /// Place of the next low value.
    low: usize,
    /// Place behind the next high value.
    high: usize,
    /// The values that were not read yet are from `left` up to `right`.
    left: usize,
    right: usize,
}

/// Moves the low values to the front; gives how many there are. `values` has at least twice
/// [`TOGETHER`] registers.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
#[inline]
pub(super) fn split<T: Sortable>(side: Side, values: &mut [T], pivot: T) -> usize {
    let (lanes, len) = (count::<T>(), values.len());
    let block = TOGETHER * lanes;
    let whole = len / lanes * lanes;
    // These are read first and written last, so both sides have room.
    let first: [_; TOGETHER] = std::array::from_fn(|row| load(values, row * lanes));
    let last: [_; TOGETHER] = std::array::from_fn(|row| load(values, whole - block + row * lanes));
    let (tail, in_tail) = (load_few(&values[whole..]), lowest(len - whole));
    let (left, right) = (block, whole - block);
    let pivot = splat(pivot);
    let mut split = Split { values, side, pivot, low: 0, high: len, left, right };
    while split.right - split.left >= block {
        let from = split.next(block);
        let rows: [_; TOGETHER] = std::array::from_fn(|row| load(split.values, from + row * lanes));
        for row in rows {
            split.put(row);
        }
    }
    while split.right > split.left {
        let from = split.next(lanes);
        let row = load(split.values, from);
        split.put(row);
    }
    for row in first.into_iter().chain(last) {
        split.put_few(row, lowest(lanes));
    }
    split.put_few(tail, in_tail);
    split.low
}

impl<T: Sortable> Split<'_, T> {
    /// Takes `len` values from the side with less room, so that both sides have room for them.
    #[inline]
    fn next(&mut self, len: usize) -> usize {
        if self.left - self.low <= self.high - self.right {
            self.left += len;
            self.left - len
        } else {
            self.right -= len;
            self.right
        }
    }

    /// The lanes of low values.
    #[target_feature(enable = "avx512f")]
    #[inline]
    fn low_lanes(&self, row: __m512i) -> u16 {
        match self.side {
            Side::Below => below::<T>(row, self.pivot),
            Side::UpTo => up_to::<T>(row, self.pivot),
        }
    }

    /// Writes a register to both sides. Values that belong to the other side are overwritten later.
    #[target_feature(enable = "avx512f,bmi2,popcnt")]
    #[inline]
    fn put(&mut self, row: __m512i) {
        let lanes = count::<T>();
        let mask = self.low_lanes(row);
        let lows = mask.count_ones() as usize;
        store(self.values, self.low, packed::<T>(mask, row));
        self.low += lows;
        let highs = rotated::<T>(packed::<T>(!mask, row), lows);
        store(self.values, self.high - lanes, highs);
        self.high -= lanes - lows;
    }

    /// Writes the values of some lanes, and nothing else.
    #[target_feature(enable = "avx512f,bmi2,popcnt")]
    #[inline]
    fn put_few(&mut self, row: __m512i, lanes: u16) {
        let mask = self.low_lanes(row);
        let (lows, highs) = (mask & lanes, !mask & lanes);
        let place = self.low;
        self.low += lows.count_ones() as usize;
        store_few(&mut self.values[place..self.low], packed::<T>(lows, row));
        let end = self.high;
        self.high -= highs.count_ones() as usize;
        store_few(&mut self.values[self.high..end], packed::<T>(highs, row));
    }
}
