//! Rows of a key and a value: the reader has one number made of both.

use crate::error::Result;
use crate::io::table::Rows;
use crate::number::{Malformed, Selector};
use std::fmt::Debug;
use std::sync::Arc;

/// Makes numbers of rows of a key and a value; all threads share one.
pub(crate) trait RowNumbers: Debug + Send + Sync {
    /// Appends the number of each row that has one; the others are kept aside. Threads call it with
    /// rows from any place of the input, and the same row always gives the same number.
    ///
    /// Before [`settle`](Self::settle) rows are a sample: their values are appended.
    fn number(&self, rows: &[(&[u8], u64)], numbers: &mut Vec<u64>);

    /// The numbers of all ids from a first to a last one of a key, which follow each other. None if
    /// there is no room for the key; [`check`](Self::check) fails then.
    ///
    /// # Errors
    ///
    /// If the ids are too large for a range.
    fn range(&self, key: &[u8], ids: [u64; 2]) -> Result<Option<[u64; 2]>, Malformed>;

    /// Ends the sample; gives the numbers of those rows of it that have one.
    fn settle(&self) -> Vec<u64>;

    /// Fails if a row could not be kept aside.
    fn check(&self) -> Result<()>;
}

/// The column of the keys, beside that of the values.
#[derive(Debug, Clone)]
pub(crate) struct KeyColumn {
    pub(crate) selector: Selector,
    pub(crate) numbers: Arc<dyn RowNumbers>,
}

impl KeyColumn {
    /// Takes rows of a table as a sample.
    pub(super) fn look_at(&self, rows: &Rows) {
        let Some(keys) = &rows.keys else { return };
        let gaps = |row: &usize| rows.gaps.binary_search_by_key(row, |gap| gap.row).is_err();
        let sample: Vec<(&[u8], u64)> = (0..rows.len())
            .filter(gaps)
            .zip(&rows.values)
            .filter_map(|(row, &value)| Some((keys.get(row)?, value)))
            .collect();
        self.numbers.number(&sample, &mut Vec::new());
    }
}
