//! Columns of numbers, which a sort reads in place, in several threads.

use crate::buffer::{Column, Refused, each_block};
use crate::error::raise;
use bitsort::sort::ReadNumbers;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

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

    /// Calls `copy` with each column for a part of `out`, and with the row at which the part
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
            copy(column, row, part).map_err(|refused| self.refuse(refused, from - row))?;
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
