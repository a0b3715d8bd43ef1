//! Sorts numbers in memory: reads them in place, and sorts them into a new array.

use crate::buffer::{Array, Column, Refused, each_block};
use crate::error::raise;
use crate::numbers::{BLOCK, Numbers};
use crate::sort::{kind_of, narrowed};
use crate::work::{FEW, watched};
use bitsort::Progress;
use bitsort::sort::{ArraySort, ReadNumbers};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::sync::Arc;

/// Columns, one after the other.
struct Columns {
    parts: Vec<Column>,
    /// The index of the first value of each column.
    starts: Vec<usize>,
    count: usize,
}

impl Columns {
    fn of(columns: Vec<Column>) -> Self {
        let mut count = 0;
        let starts = columns.iter().map(|column| {
            count += column.len();
            count - column.len()
        });
        Self { starts: starts.collect(), parts: columns, count }
    }

    /// Calls `visit` with each column for a part of `out`, and with the row at which the part
    /// begins. The first value of `out` has the index `from`.
    fn each_part<T>(
        &self,
        mut from: usize,
        mut out: &mut [T],
        copy: impl Fn(&Column, usize, &mut [T]) -> Result<(), Refused>,
    ) -> bitsort::Result<()> {
        let mut number = self.starts.partition_point(|start| *start <= from).saturating_sub(1);
        while !out.is_empty() {
            let (column, row) = (&self.parts[number], from - self.starts[number]);
            let count = out.len().min(column.len() - row);
            let (part, rest) = std::mem::take(&mut out).split_at_mut(count);
            // `first_refusal` finds out which value it was.
            let refused = |_| bitsort::Error::Interrupted;
            copy(column, row, part).map_err(refused)?;
            (out, from, number) = (rest, from + count, number + 1);
        }
        Ok(())
    }

    /// The exception for the first refused value; `error` if there is none.
    fn first_refusal(&self, error: bitsort::Error) -> PyErr {
        let refused = each_block(&self.parts, BLOCK, false, |_| Ok(()));
        refused.err().unwrap_or_else(|| raise(error))
    }
}

fn copy_widened<T>(
    column: &Column,
    row: usize,
    out: &mut [T],
    narrow: impl Fn(u64) -> T,
) -> Result<(), Refused> {
    let mut values = Vec::with_capacity(out.len());
    column.copy(row, out.len(), false, &mut values)?;
    out.iter_mut().zip(values).for_each(|(to, value)| *to = narrow(value));
    Ok(())
}

impl ReadNumbers<u64> for Columns {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, from: usize, out: &mut [u64]) -> bitsort::Result<()> {
        self.each_part(from, out, |column, row, out| {
            if column.is_plain(8) {
                return column.copy_bytes(row, bytemuck::cast_slice_mut(out));
            }
            copy_widened(column, row, out, |value| value)
        })
    }
}

impl ReadNumbers<u32> for Columns {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, from: usize, out: &mut [u32]) -> bitsort::Result<()> {
        self.each_part(from, out, |column, row, out| {
            if column.is_plain(4) {
                return column.copy_bytes(row, bytemuck::cast_slice_mut(out));
            }
            #[expect(clippy::cast_possible_truncation, reason = "all columns are narrow")]
            copy_widened(column, row, out, |value| value as u32)
        })
    }
}

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
    let words = if wide { columns.count } else { columns.count.div_ceil(2) };
    let no_memory = |()| PyMemoryError::new_err("no memory for the sorted array");
    let words = bytemuck::allocation::try_zeroed_slice_box::<u64>(words).map_err(no_memory)?;
    let mut words = words.into_vec();
    let (len, counts) = if wide {
        sort_words(sort, &columns, counted, &mut words, ArraySort::sort_u64, ArraySort::count_u64)
    } else {
        let out = &mut bytemuck::cast_slice_mut(&mut words)[..columns.count];
        sort_words(sort, &columns, counted, out, ArraySort::sort_u32, ArraySort::count_u32)
    }
    .map_err(|error| columns.first_refusal(error))?;
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
