//! Values → the low ones in front of the high ones, where they are.

use super::lanes::{
    below, count, load, load_few, lowest, packed, rotated, splat, store, store_few, up_to,
};
use crate::kernel::quicksort::Sortable;
use std::arch::x86_64::__m512i;

/// Registers that are read at once.
const TOGETHER: usize = 4;

/// Which values are low.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Those below the pivot.
    Below,
    /// Those up to the pivot.
    UpTo,
}

/// A split under way: between the places of low and of high values there is as much room as
/// values have been read and not yet been written.
struct Split<'v, T> {
    values: &'v mut [T],
    side: Side,
    pivot: __m512i,
    /// Where the next low value goes.
    low: usize,
    /// Behind where the next high value goes.
    high: usize,
    /// From `left` on and before `right` lie the values that are not read yet.
    left: usize,
    right: usize,
}

/// Puts the low values in front; gives how many they are. There are at least twice
/// [`TOGETHER`] registers of values.
#[target_feature(enable = "avx512f,bmi2,popcnt")]
#[inline]
pub(super) fn split<T: Sortable>(side: Side, values: &mut [T], pivot: T) -> usize {
    let (lanes, len) = (count::<T>(), values.len());
    let block = TOGETHER * lanes;
    let whole = len / lanes * lanes;
    // Room for both sides: these are read first, and written last.
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
    /// Takes `len` values from the side that has less room: so both have room for them.
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

    /// Writes a register to each side: the values that belong to the other one are written over
    /// later.
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
