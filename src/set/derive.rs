//! Sets and files made of one [`IntegerSet`].

use super::algebra::collect;
use super::integer_set::{Inner, IntegerSet};
use super::plan::Plan;
use super::sink::{SetFormat, Written, write_file};
use crate::bits::Spool;
use crate::container::Op;
use crate::error::Result;
use crate::progress::Progress;
use std::path::Path;

impl IntegerSet {
    /// All values of `first ..= last` that are not in the set.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn complement(&self, first: u64, last: u64) -> Result<Self> {
        let readable = self.readable()?;
        let blame = readable.blame();
        let set = Plan::set(readable.view(), &blame);
        collect(Plan::join(Op::AndNot, vec![Plan::Range(first, last), set]))
    }

    /// Every value plus `offset`; values that leave 0 ..= 2^64 − 1 are dropped.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn add_offset(&self, offset: i128) -> Result<Self> {
        let mut error = None;
        let values = self.iter().map_while(|value| value.map_err(|e| error = Some(e)).ok());
        // Where even the sum of 128 bits overflows, the value has left, too.
        let moved = values.filter_map(|value| i128::from(value).checked_add(offset));
        let moved = moved.filter_map(|value| u64::try_from(value).ok());
        let moved = moved.collect();
        error.map_or(Ok(moved), Err)
    }

    /// The same values as a roaring bitmap in memory, which can be changed.
    ///
    /// # Errors
    ///
    /// As [`contains`](Self::contains).
    pub fn to_roaring(&self) -> Result<Self> {
        if let Inner::Roaring(_) = &self.0 {
            return Ok(self.clone());
        }
        let readable = self.readable()?;
        let blame = readable.blame();
        collect(Plan::set(readable.view(), &blame))
    }

    /// Writes a `.bits` file, dense or roaring, whichever is smaller; it appears
    /// whole or not at all.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<Written> {
        self.write_as(path, SetFormat::Bits)
    }

    /// Writes the set in this format.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, or the format cannot hold a value.
    pub fn write_as(&self, path: impl AsRef<Path>, format: SetFormat) -> Result<Written> {
        let readable = self.readable()?;
        let blame = readable.blame();
        let plan = Plan::set(readable.view(), &blame);
        write_file(path.as_ref(), format, &Spool::default(), false, |sink| {
            plan.run(sink, &Progress::default())
        })
    }
}
