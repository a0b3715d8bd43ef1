//! Columns of numbers, which a sort reads in place, in several threads.

use crate::buffer::{Column, Refused, each_block};
use crate::error::raise;
use bitsort::sort::{ReadNumbers, Sort};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Values that are copied out of shared memory at a time.
pub(crate) const BLOCK: usize = 1 << 16;

/// Columns, one after the other. Any number of threads read them in place.
pub(crate) struct Columns {
    parts: Vec<Column>,
    /// The index of the first value of each column.
    starts: Vec<usize>,
    count: usize,
    /// Why a value was refused, if one was.
    refused: Mutex<Option<Refused>>,
}

impl Columns {
    pub(crate) fn of(columns: Vec<Column>) -> Self {
        let mut count = 0;
        let starts = columns.iter().map(|column| {
            count += column.len();
            count - column.len()
        });
        Self { starts: starts.collect(), parts: columns, count, refused: Mutex::default() }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Fills `out` with the values from index `from` on, each made a `T` by `narrow`. Columns that have
    /// values of this size, and none to refuse, are copied as they are.
    fn fill<T: bytemuck::Pod>(
        &self,
        mut from: usize,
        mut out: &mut [T],
        narrow: impl Fn(u64) -> T,
    ) -> bitsort::Result<()> {
        let mut number = self.starts.partition_point(|start| *start <= from).saturating_sub(1);
        while !out.is_empty() {
            let (column, row) = (&self.parts[number], from - self.starts[number]);
            let count = out.len().min(column.len() - row);
            let (part, rest) = std::mem::take(&mut out).split_at_mut(count);
            let copied = if column.is_plain(size_of::<T>()) {
                column.copy_bytes(row, bytemuck::cast_slice_mut(part))
            } else {
                let mut values = Vec::with_capacity(count);
                let copied = column.copy(row, count, false, &mut values);
                part.iter_mut().zip(values).for_each(|(to, value)| *to = narrow(value));
                copied
            };
            copied.map_err(|refused| self.refuse(refused, from - row))?;
            (out, from, number) = (rest, from + count, number + 1);
        }
        Ok(())
    }

    /// Takes note why a value of a column is refused. So many values are before the column.
    fn refuse(&self, refused: Refused, before: usize) -> bitsort::Error {
        let mut noted = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        noted.get_or_insert(refused.later(before));
        bitsort::Error::Interrupted
    }

    /// The result of a sort that reads the columns. If they have values that are refused, the first of
    /// these is why it failed.
    pub(crate) fn told<T>(&self, sorted: bitsort::Result<T>) -> PyResult<T> {
        sorted.map_err(|error| {
            let Some(noted) = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take()
            else {
                return raise(error);
            };
            // Another thread may have found one before. Or the owner has changed the values since.
            let first = each_block(&self.parts, BLOCK, false, |_| Ok(()));
            first.err().unwrap_or_else(|| noted.into())
        })
    }
}

impl ReadNumbers<u64> for Columns {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, from: usize, out: &mut [u64]) -> bitsort::Result<()> {
        self.fill(from, out, |value| value)
    }
}

impl ReadNumbers<u32> for Columns {
    fn count(&self) -> usize {
        self.count
    }

    fn read(&self, from: usize, out: &mut [u32]) -> bitsort::Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "all columns are narrow")]
        self.fill(from, out, |value| value as u32)
    }
}

/// Does `job`, a sort of the columns. If a value is refused, that is why it fails.
pub(crate) fn sorted<T>(
    columns: Vec<Column>,
    sort: Sort,
    job: impl FnOnce(Sort) -> bitsort::Result<T>,
) -> PyResult<T> {
    let columns = Arc::new(Columns::of(columns));
    columns.told(job(sort.array("the array", Arc::clone(&columns) as _)))
}
