//! Rows of Spark's `bitmap_construct_agg`: a bucket and a bitmap of 4096 bytes.
//!
//! Spark, from 3.5 on, and Databricks, from 13.3 on, keep a set of numbers as one row for each
//! 32768 of them: `bitmap_bucket_number(id)`, and `bitmap_construct_agg(bitmap_bit_position(id))`
//! of the numbers in that bucket. Position `p` is bit `p % 8`, the least significant first, of
//! byte `p / 8`.
//!
//! | number | bucket | position |
//! |---|---|---|
//! | v > 0 | 1 + (v − 1) / 32768 | (v − 1) % 32768 |
//! | v ≤ 0 | v / 32768, towards 0 | −v % 32768 |
//!
//! So 0 is alone in bucket 0 among the natural numbers, and 32768 is the last one of bucket 1.
//! Numbers of Spark are below 2^63.
//!
//! # Examples
//!
//! ```
//! use bitsort::set::IntegerSet;
//! use bitsort::set::foreign::spark::{from_rows, rows};
//!
//! let set = IntegerSet::from([0, 1, 32_768, 32_769]);
//! let rows: Vec<_> = rows(set.view()).collect::<Result<_, _>>()?;
//! assert_eq!(rows.iter().map(|(bucket, _)| *bucket).collect::<Vec<_>>(), [0, 1, 2]);
//! assert_eq!(rows[1].1[0], 1); // the number 1, at position 0
//! let rows = rows.iter().map(|(bucket, bitmap)| (*bucket, &bitmap[..]));
//! assert_eq!(from_rows(rows)?, set);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Source: `BitmapExpressionUtils` of Spark.

use crate::error::{Error, Result};
use crate::io::table::{BitmapTable, BitmapWriter};
use crate::kernel::in_usize;
use crate::set::container::Container;
use crate::set::file::{ValueSink, in_order};
use crate::set::integer_set::IntegerSet;
use crate::set::view::{SetView, Values};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Bytes of the bitmap of a row.
pub const BITMAP_BYTES: usize = 4096;
/// Numbers of a bucket.
const BITS: u64 = 8 * BITMAP_BYTES as u64;
/// The largest number of Spark.
const MAX_VALUE: u64 = i64::MAX.cast_unsigned();
/// The name of the format in messages.
const FORMAT: &str = "spark-bitmap";

/// A row with a bit that stands for no number of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RowError {
    /// The bitmap is longer than 4096 bytes.
    #[error("the bitmap of bucket {bucket} has {bytes} bytes, and {BITMAP_BYTES} are the most")]
    TooLong {
        /// The bucket.
        bucket: i64,
        /// Its bytes.
        bytes: usize,
    },
    /// A bit stands for a number below 0.
    #[error("bucket {bucket} has the number {value}, which is below 0")]
    Negative {
        /// The bucket.
        bucket: i64,
        /// The number.
        value: i128,
    },
    /// A bit stands for a number that is too large for Spark.
    #[error("bucket {bucket} has the number {value}, which is 2^63 or more")]
    TooLarge {
        /// The bucket.
        bucket: i64,
        /// The number.
        value: i128,
    },
}

/// The number that a bit stands for.
fn number(bucket: i64, position: usize) -> Result<u64, RowError> {
    let (wide, position) = (i128::from(bucket), position as i128);
    let value = if bucket > 0 {
        (wide - 1) * i128::from(BITS) + position + 1
    } else {
        wide * i128::from(BITS) - position
    };
    match u64::try_from(value) {
        Ok(number) if number <= MAX_VALUE => Ok(number),
        Err(_) if value < 0 => Err(RowError::Negative { bucket, value }),
        _ => Err(RowError::TooLarge { bucket, value }),
    }
}

/// Adds the numbers of a row. A bitmap that is shorter than 4096 bytes ends with zeros.
fn add(set: &mut IntegerSet, bucket: i64, bitmap: &[u8]) -> Result<(), RowError> {
    if bitmap.len() > BITMAP_BYTES {
        return Err(RowError::TooLong { bucket, bytes: bitmap.len() });
    }
    let mut values = Vec::new();
    for (index, &byte) in bitmap.iter().enumerate().filter(|(_, byte)| **byte != 0) {
        for bit in (0..8).filter(|bit| byte >> bit & 1 == 1) {
            values.push(number(bucket, 8 * index + bit)?);
        }
    }
    set.extend(values);
    Ok(())
}

/// The set of rows. They may come in any order, and several may have the same bucket. O(bytes).
///
/// # Errors
///
/// If a bitmap has more than 4096 bytes, or a bit stands for a number below 0 or from 2^63 on.
pub fn from_rows<B: AsRef<[u8]>>(
    rows: impl IntoIterator<Item = (i64, B)>,
) -> Result<IntegerSet, RowError> {
    let mut set = IntegerSet::new();
    for (bucket, bitmap) in rows {
        add(&mut set, bucket, bitmap.as_ref())?;
    }
    Ok(set)
}

/// A bucket and its bitmap.
pub type Row = (i64, Box<[u8; BITMAP_BYTES]>);

/// Gathers ascending numbers in rows.
#[derive(Debug, Default)]
struct Gathering {
    row: Option<Row>,
}

impl Gathering {
    /// Takes the next number; gives the row before it, if that is complete.
    fn push(&mut self, value: u64) -> Result<Option<Row>> {
        if value > MAX_VALUE {
            return Err(Error::ValueTooLarge { value, format: FORMAT });
        }
        // The number 0 is alone in its bucket.
        let (bucket, position) = match value.checked_sub(1) {
            None => (0, 0),
            Some(before) => (1 + before / BITS, before % BITS),
        };
        let bucket = bucket.cast_signed();
        let is_next = self.row.as_ref().is_none_or(|(of_row, _)| *of_row != bucket);
        let complete =
            if is_next { self.row.replace((bucket, Box::new([0; BITMAP_BYTES]))) } else { None };
        if let Some((_, bitmap)) = &mut self.row {
            let index = in_usize(position / 8);
            bitmap[index] |= 1 << (position % 8);
        }
        Ok(complete)
    }
}

/// The rows of a set, in ascending order; see [`rows`].
#[derive(Debug)]
pub struct Rows<'a> {
    values: Values<'a>,
    gathering: Gathering,
}

/// The rows of a set, in ascending order.
///
/// If the bytes of the set are damaged, or a number is 2^63 or more, an error comes instead of a
/// row, and no row follows it.
#[must_use]
pub fn rows(set: SetView<'_>) -> Rows<'_> {
    Rows { values: set.iter(), gathering: Gathering::default() }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        for value in self.values.by_ref() {
            let value = value.map_err(|damage| damage.of_input("a set"));
            match value.and_then(|value| self.gathering.push(value)) {
                Ok(None) => {}
                Ok(Some(row)) => return Some(Ok(row)),
                Err(error) => {
                    self.gathering.row = None;
                    self.values = SetView::dense(&[], 0).iter();
                    return Some(Err(error));
                }
            }
        }
        self.gathering.row.take().map(Ok)
    }
}

/// Writes rows into a Parquet file.
pub(crate) struct RowSink<'p, W: Write + Send> {
    table: BitmapWriter<W>,
    path: &'p Path,
    gathering: Gathering,
    lows: Vec<u32>,
    values: u64,
}

impl<'p, W: Write + Send> RowSink<'p, W> {
    /// Encodes the rows in about `memory_bytes`.
    pub(crate) fn new(out: W, memory_bytes: u64, path: &'p Path) -> Result<Self> {
        let table = BitmapWriter::new(out, memory_bytes).map_err(Error::io("write", path))?;
        let (gathering, lows) = (Gathering::default(), Vec::new());
        Ok(Self { table, path, gathering, lows, values: 0 })
    }

    /// Completes the file; gives the number of values of the set.
    pub(crate) fn finish(mut self) -> Result<u64> {
        if let Some(row) = self.gathering.row.take() {
            self.write(&row)?;
        }
        self.table.finish().map_err(Error::io("write", self.path))?;
        Ok(self.values)
    }

    fn write(&mut self, (bucket, bitmap): &Row) -> Result<()> {
        self.table.row(*bucket, bitmap).map_err(Error::io("write", self.path))
    }
}

impl<W: Write + Send> ValueSink for RowSink<'_, W> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        in_order(container).map_err(Error::io("write", self.path))?;
        let mut lows = std::mem::take(&mut self.lows);
        let count = container.positions(0, &mut lows);
        self.values += count as u64;
        for &low in &lows[..count] {
            if let Some(row) = self.gathering.push(key << 16 | u64::from(low))? {
                self.write(&row)?;
            }
        }
        self.lows = lows;
        Ok(())
    }
}

/// Whether a Parquet file has the columns `bucket`, of integers of 8 bytes, and `bitmap`, of
/// bytes, and no others.
///
/// # Errors
///
/// If it cannot be read, or is no Parquet file; or the build has no feature `columnar`.
pub fn is_table(path: impl AsRef<Path>) -> Result<bool> {
    let path = path.as_ref();
    let file = File::open(path).map_err(Error::io("open", path))?;
    BitmapTable::is_one(file, &path.display().to_string())
}

/// Reads the set from a Parquet file of rows. The file must have one column of integers of 8 bytes
/// and one of bytes. Takes `memory_bytes` beside the set. O(bytes).
///
/// # Errors
///
/// If the file cannot be read or has other columns, if [`from_rows`] fails, or if a bitmap with
/// bits has no bucket. Rows without bucket and bitmap are ignored.
pub fn read_table(path: impl AsRef<Path>, memory_bytes: u64) -> Result<IntegerSet> {
    let path = path.as_ref();
    let input = path.display().to_string();
    let file = File::open(path).map_err(Error::io("open", path))?;
    let table = BitmapTable::open(file, &input, memory_bytes)?;
    let (mut set, mut row) = (IntegerSet::new(), 0);
    table.each(|bucket, bitmap| {
        row += 1;
        let refused = |what| Error::BitmapRow { input: input.clone(), row, what };
        match (bucket, bitmap) {
            (Some(bucket), Some(bitmap)) => {
                add(&mut set, bucket, bitmap).map_err(|error| refused(error.to_string()))
            }
            (None, Some(bitmap)) if bitmap.iter().any(|byte| *byte != 0) => {
                Err(refused("the bitmap has no bucket".to_owned()))
            }
            _ => Ok(()),
        }
    })?;
    Ok(set)
}
