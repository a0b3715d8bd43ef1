//! What a caller wants of an input.

use crate::error::{Error, Result};
use crate::io::table::TableFormat;

/// The use of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its values; in a table, a column.
    Values,
    /// Its lines of text; a table has none.
    Text,
    /// Its lines of any bytes.
    Bytes,
}

impl Purpose {
    /// Whether the reader wants whole lines, and not only their values.
    pub(super) fn is_lines(self) -> bool {
        self != Self::Values
    }

    /// Refuses a table where the reader wants lines of text.
    pub(super) fn check_table(self, name: &str, head: &[u8]) -> Result<()> {
        match TableFormat::of_content(head) {
            Some(format) if self == Self::Text => Err(Error::usage(format!(
                "{name} is a {format} file, which has rows, not lines: build a set of it"
            ))),
            _ => Ok(()),
        }
    }
}
