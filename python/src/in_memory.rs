//! Sorts numbers in memory: reads them in place, and sorts them into a new array.

use crate::buffer::Array;
use crate::columns::Columns;
use crate::numbers::Numbers;
use crate::sort::{kind_of, narrowed};
use crate::work::{FEW, watched};
use bitsort::Progress;
use bitsort::sort::{ArraySort, ReadNumbers};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::sync::Arc;

/// Sorts numbers into a new array. With counts, also gives how often each number occurs.
pub(crate) fn sort(
    py: Python<'_>,
    numbers: Numbers,
    sort: &ArraySort,
    counted: bool,
    progress: &Arc<Progress>,
    callback: Option<&Bound<'_, PyAny>>,
) -> PyResult<(Array, Option<Array>)> {
    let few = numbers.len() <= FEW && callback.is_none();
    let job = || sorted(numbers, sort, counted);
    if few { py.detach(job) } else { watched(py, progress, callback, job) }
}

fn sorted(numbers: Numbers, sort: &ArraySort, counted: bool) -> PyResult<(Array, Option<Array>)> {
    let kind = kind_of(&numbers);
    let columns = Columns::of(numbers.into_columns()?);
    let wide = kind.bytes() == 8;
    let words = if wide { columns.len() } else { columns.len().div_ceil(2) };
    let no_memory = |()| PyMemoryError::new_err("no memory for the sorted array");
    let words = bytemuck::allocation::try_zeroed_slice_box::<u64>(words).map_err(no_memory)?;
    let mut words = words.into_vec();
    let sorted = if wide {
        sort_words(sort, &columns, counted, &mut words, ArraySort::sort_u64, ArraySort::count_u64)
    } else {
        let out = &mut bytemuck::cast_slice_mut(&mut words)[..columns.len()];
        sort_words(sort, &columns, counted, out, ArraySort::sort_u32, ArraySort::count_u32)
    };
    let (len, counts) = columns.told(sorted)?;
    if kind.bytes() < 4 {
        words = narrowed(&words, len, kind.bytes());
    }
    words.truncate((len * kind.bytes()).div_ceil(8));
    words.shrink_to_fit();
    Ok((Array::new(kind, len, words), counts.map(Array::of_values)))
}

/// A function that sorts or counts numbers of one width.
type How<T, R> = fn(&ArraySort, &dyn ReadNumbers<T>, &mut [T]) -> bitsort::Result<R>;

fn sort_words<T>(
    job: &ArraySort,
    columns: &dyn ReadNumbers<T>,
    counted: bool,
    out: &mut [T],
    sort: How<T, usize>,
    count: How<T, Vec<u64>>,
) -> bitsort::Result<(usize, Option<Vec<u64>>)> {
    if counted {
        return count(job, columns, out).map(|counts| (counts.len(), Some(counts)));
    }
    sort(job, columns, out).map(|len| (len, None))
}
