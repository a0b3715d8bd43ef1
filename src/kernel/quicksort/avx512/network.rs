//! Sorts a few values in registers, without branches that depend on values.
//!
//! A network sorts each lane across the registers. Then bitonic networks (K. Batcher, 1968) merge
//! neighbouring groups of lanes, until one group has all lanes; the values are then in order row by
//! row. During a merge a sequence is folded: each value meets the one in the mirrored lane of the
//! mirrored row.

use super::lanes::{count, higher, load, load_few, lower, ordered, store, store_few, swapped};
use crate::kernel::quicksort::Sortable;
use std::arch::x86_64::{__m512i, _mm512_set1_epi64};

/// Most registers.
const ROWS: usize = 16;

/// Most values that [`sort_few`] can sort.
pub(super) const fn most<T>() -> usize {
    ROWS * count::<T>()
}

/// Puts the values of pairs of rows in order, lane by lane.
macro_rules! exchange {
    ($T:ty, $rows:ident, $($a:literal $b:literal),*) => { $(
        let (a, b) = ($rows[$a], $rows[$b]);
        ($rows[$a], $rows[$b]) = (lower::<$T>(a, b), higher::<$T>(a, b));
    )* };
}

/// Sorts at most [`most`] values.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn sort_few<T: Sortable>(values: &mut [T]) {
    match values.len().div_ceil(count::<T>()) {
        0..=4 => in_rows::<T, 4>(values, |rows| columns_of_4::<T>(rows)),
        5..=8 => in_rows::<T, 8>(values, |rows| columns_of_8::<T>(rows)),
        _ => in_rows::<T, ROWS>(values, |rows| columns_of_16::<T>(rows)),
    }
}

#[target_feature(enable = "avx512f")]
#[inline]
fn in_rows<T: Sortable, const R: usize>(
    values: &mut [T],
    sort_columns: impl Fn(&mut [__m512i; R]),
) {
    let lanes = count::<T>();
    let (full, tail) = (values.len() / lanes, values.len() / lanes * lanes);
    let mut rows = [_mm512_set1_epi64(-1); R];
    for (row, register) in rows.iter_mut().enumerate() {
        if row < full {
            *register = load(values, row * lanes);
        } else if row == full {
            *register = load_few(&values[tail..]);
        }
    }
    sort_columns(&mut rows);
    merge::<T, R, 1>(&mut rows);
    merge::<T, R, 3>(&mut rows);
    merge::<T, R, 7>(&mut rows);
    if lanes == 16 {
        merge::<T, R, 15>(&mut rows);
    }
    for (row, register) in rows.into_iter().enumerate() {
        if row < full {
            store(values, row * lanes, register);
        } else if row == full {
            store_few(&mut values[tail..], register);
        }
    }
}

/// Merges pairs of groups of lanes. Lane `i` of one group is the mirror of lane `i ^ MIRROR` of the
/// other.
#[target_feature(enable = "avx512f")]
#[inline]
fn merge<T, const R: usize, const MIRROR: u32>(rows: &mut [__m512i; R]) {
    let mut height = R;
    while height > 1 {
        for from in (0..R).step_by(height) {
            let old = *rows;
            for row in 0..height / 2 {
                let a = old[from + row];
                let b = swapped::<T, MIRROR>(old[from + height - 1 - row]);
                rows[from + row] = lower::<T>(a, b);
                rows[from + height / 2 + row] = higher::<T>(a, b);
            }
        }
        height /= 2;
    }
    for row in rows {
        let mirrored = swapped::<T, MIRROR>(*row);
        *row = ordered::<T>(*row, mirrored, const { upper(MIRROR.div_ceil(2)) });
        if MIRROR == 15 {
            *row = half_cleaned::<T, 4>(*row);
        }
        if MIRROR >= 7 {
            *row = half_cleaned::<T, 2>(*row);
        }
        if MIRROR >= 3 {
            *row = half_cleaned::<T, 1>(*row);
        }
    }
}

/// Puts the values of lanes that are `DISTANCE` away from each other in order.
#[target_feature(enable = "avx512f")]
#[inline]
fn half_cleaned<T, const DISTANCE: u32>(row: __m512i) -> __m512i {
    ordered::<T>(row, swapped::<T, DISTANCE>(row), const { upper(DISTANCE) })
}

/// A mask of the lanes whose numbers have this bit.
const fn upper(bit: u32) -> u16 {
    let mut mask = 0;
    let mut lane = 0;
    while lane < 16 {
        if lane & bit != 0 {
            mask |= 1 << lane;
        }
        lane += 1;
    }
    mask
}

#[target_feature(enable = "avx512f")]
#[inline]
fn columns_of_4<T>(rows: &mut [__m512i; 4]) {
    exchange!(T, rows, 0 1, 2 3, 0 2, 1 3, 1 2);
}

#[target_feature(enable = "avx512f")]
#[inline]
fn columns_of_8<T>(rows: &mut [__m512i; 8]) {
    exchange!(T, rows, 0 1, 2 3, 4 5, 6 7, 0 2, 1 3, 4 6, 5 7, 1 2, 5 6);
    exchange!(T, rows, 0 4, 1 5, 2 6, 3 7, 2 4, 3 5, 1 2, 3 4, 5 6);
}

/// The network of 60 exchanges by M. Green.
#[target_feature(enable = "avx512f")]
#[inline]
fn columns_of_16<T>(rows: &mut [__m512i; 16]) {
    exchange!(T, rows, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 12 13, 14 15);
    exchange!(T, rows, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 12 14, 13 15);
    exchange!(T, rows, 0 4, 1 5, 2 6, 3 7, 8 12, 9 13, 10 14, 11 15);
    exchange!(T, rows, 0 8, 1 9, 2 10, 3 11, 4 12, 5 13, 6 14, 7 15);
    exchange!(T, rows, 5 10, 6 9, 3 12, 13 14, 4 8, 7 11, 1 2);
    exchange!(T, rows, 1 4, 7 13, 2 8, 11 14);
    exchange!(T, rows, 2 4, 5 6, 9 10, 11 13, 3 8, 7 12);
    exchange!(T, rows, 6 8, 10 12, 3 5, 7 9);
    exchange!(T, rows, 3 4, 5 6, 7 8, 9 10, 11 12);
    exchange!(T, rows, 6 7, 8 9);
}
