//! Rows of a key and a value: what reads them makes one number of both.

use crate::error::Result;
use crate::io::table::Rows;
use crate::number::Selector;
use std::fmt::Debug;
use std::sync::Arc;

/// Makes numbers of rows of a key and a value, for all threads.
pub(crate) trait RowNumbers: Debug + Send + Sync {
    /// Appends the number of each row that has one; the others are kept aside. Threads call it
    /// with rows of any place of the input, and a row that is read again is the same.
    ///
    /// Before [`settle`](Self::settle) rows are a sample: their values are appended.
    fn number(&self, rows: &[(&[u8], u64)], numbers: &mut Vec<u64>);

    /// Ends the sample; gives the numbers of its rows that have one.
    fn settle(&self) -> Vec<u64>;

    /// What went wrong while rows were kept aside.
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
