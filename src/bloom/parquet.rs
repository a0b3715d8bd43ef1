//! The Bloom filters in a Parquet file. They answer without the rows.
//!
//! A column may have a split-block filter in each row group. `bitsort` writes them with its Parquet
//! files if it is asked to ([`Sort::table_filter`](crate::sort::Sort::table_filter)). Needs the
//! feature `columnar`.

use crate::error::{Error, Result};
use crate::io::table::ColumnFilters;
use crate::number::Column;
use std::fmt;
use std::fs::File;
use std::path::Path;

/// The filters of one column of a Parquet file, in memory.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::parquet::ParquetFilter;
/// use bitsort::{TableFormat, sort::Sort};
///
/// # if !cfg!(feature = "columnar") { return Ok(()) }
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("ids.parquet");
/// Sort::new().values([7, 9]).to_table(TableFormat::Parquet).table_filter(0.01).to_file(&path)?;
/// let filter = ParquetFilter::open(&path, None)?;
/// assert_eq!(filter.contains_text(b"9"), Some(true));
/// assert_eq!(filter.contains_text(b"nine"), None);
/// # Ok::<(), bitsort::Error>(())
/// ```
pub struct ParquetFilter(ColumnFilters);

impl fmt::Debug for ParquetFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParquetFilter").finish_non_exhaustive()
    }
}

impl ParquetFilter {
    /// Reads the filters of a column of any type; without one, of the only column of integers.
    /// O(bytes of the filters).
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is damaged, if it has no such column or no filter for it, or
    /// if the build lacks the feature `columnar`.
    pub fn open(path: impl AsRef<Path>, column: Option<&Column>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::io("open", path))?;
        ColumnFilters::open(file, &path.display().to_string(), column).map(Self)
    }

    /// Whether a row of the file may have the value of this text in the column; `false` is certain.
    /// None if the column cannot have such a value. Numbers are decimal, up to 2^64 − 1 in unsigned
    /// columns. A row group without a filter may have any value.
    #[must_use]
    pub fn contains_text(&self, text: &[u8]) -> Option<bool> {
        self.0.key(text).map(|key| self.0.contains(&key))
    }

    /// What a value of the column must be, in words.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        self.0.expected()
    }
}
