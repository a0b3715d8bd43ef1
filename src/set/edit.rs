//! Changing an [`IntegerSet`] in memory.

use super::integer_set::{Inner, IntegerSet};
use crate::error::{Error, Result};
use crate::set::file::SetFile;

impl IntegerSet {
    /// Adds a value; tells whether it is new.
    ///
    /// # Errors
    ///
    /// If the set is a mapped file, or a plain bitmap that has no bit for it.
    #[inline]
    pub fn insert(&mut self, value: u64) -> Result<bool> {
        match &mut self.0 {
            Inner::Dense(bitmap, _) => {
                bitmap.try_insert(value).map_err(|outside| Error::usage(format!("{outside}")))
            }
            Inner::Roaring(set) => Ok(set.insert(value)),
            Inner::File(file) => Err(read_only(file)),
        }
    }

    /// Removes a value; tells whether it was there.
    ///
    /// # Errors
    ///
    /// If the set is a mapped file.
    #[inline]
    pub fn remove(&mut self, value: u64) -> Result<bool> {
        match &mut self.0 {
            Inner::Dense(bitmap, _) => Ok(bitmap.remove(value)),
            Inner::Roaring(set) => Ok(set.remove(value)),
            Inner::File(file) => Err(read_only(file)),
        }
    }

    /// Adds all values of `first ..= last`. O(containers), or words of the range.
    ///
    /// # Errors
    ///
    /// As [`insert`](Self::insert).
    pub fn insert_range(&mut self, first: u64, last: u64) -> Result<()> {
        match &mut self.0 {
            Inner::Dense(bitmap, _) => bitmap
                .insert_range(first..=last)
                .map_err(|outside| Error::usage(format!("{outside}"))),
            Inner::Roaring(set) => {
                set.insert_range(first, last);
                Ok(())
            }
            Inner::File(file) => Err(read_only(file)),
        }
    }

    /// Removes all values of `first ..= last`. O(containers), or words of the range.
    ///
    /// # Errors
    ///
    /// As [`remove`](Self::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let mut ids = IntegerSet::from_iter(0..1000);
    /// ids.remove_range(10, 989)?;
    /// assert_eq!((ids.cardinality()?, ids.next(10)?), (20, Some(990)));
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn remove_range(&mut self, first: u64, last: u64) -> Result<()> {
        match &mut self.0 {
            Inner::Dense(bitmap, _) => bitmap.remove_range(first..=last),
            Inner::Roaring(set) => set.remove_range(first, last),
            Inner::File(file) => return Err(read_only(file)),
        }
        Ok(())
    }

    /// Takes up the memory that is least for the values: containers of a roaring
    /// bitmap become runs, arrays or bitmaps, whichever is smallest; tells whether
    /// one did. Sets of ascending values or copied from files are so already; call
    /// it when many values were inserted or removed, or roaring bitmaps joined.
    /// O(containers).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::IntegerSet;
    /// let mut ids = IntegerSet::new();
    /// for id in (1000..2000).rev() {
    ///     ids.insert(id)?;
    /// }
    /// assert!(ids.optimize() && !ids.optimize());
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn optimize(&mut self) -> bool {
        match &mut self.0 {
            Inner::Roaring(set) => set.optimize(),
            Inner::Dense(..) | Inner::File(_) => false,
        }
    }
}

fn read_only(file: &SetFile) -> Error {
    let path = file.path().display();
    Error::usage(format!("{path} is mapped for reading; to_roaring gives a set to change"))
}
