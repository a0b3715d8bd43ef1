//! Which column has the numbers, as typed.

use crate::sort::Sort;
use crate::text::{Column, Selector};

/// One column of delimited text or of a table.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ColumnArgs {
    /// Take the values from this column of delimited text or of a Parquet or Arrow file: a number from 1, or a name
    #[arg(long, value_name = "COLUMN")]
    column: Option<String>,

    /// Byte between the fields of delimited text; `\t` is a tab
    #[arg(long, value_name = "BYTE", default_value = ",", requires = "column", value_parser = delimiter)]
    delimiter: u8,
}

impl ColumnArgs {
    /// The column, if one was chosen.
    pub(super) fn column(&self) -> Option<Column> {
        self.column.as_ref().map(|column| match column.parse() {
            Ok(number) => Column::Number(number),
            Err(_) => Column::Name(column.clone()),
        })
    }

    /// How to find it in delimited text.
    pub(super) fn selector(&self) -> Option<Selector> {
        let delimiter = self.delimiter;
        self.column().map(|column| Selector { column, delimiter, terminator: b'\n' })
    }

    /// A sort of the values of the column.
    pub(super) fn of(&self, sort: Sort) -> Sort {
        match self.column() {
            Some(column) => sort.column(column, self.delimiter),
            None => sort,
        }
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        b"\\t" => Ok(b'\t'),
        _ => Err("expected one byte, or \\t".into()),
    }
}
