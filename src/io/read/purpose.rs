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
    /// Its lines of any bytes; a table has none.
    Bytes,
}

impl Purpose {
    /// Whether the reader wants whole lines, and not only their values.
    pub(super) fn is_lines(self) -> bool {
        self != Self::Values
    }

    /// Refuses a table where the reader wants lines.
    pub(super) fn check_table(self, name: &str, head: &[u8]) -> Result<()> {
        let format = match self {
            Self::Values => None,
            Self::Text => TableFormat::of_content(head),
            Self::Bytes => TableFormat::of_binary(head),
        };
        let advice = if self == Self::Text { ": build a set of it" } else { "" };
        match format {
            Some(format) => Err(Error::usage(format!(
                "{name} is a {format} file, which has rows, not lines{advice}"
            ))),
            None => Ok(()),
        }
    }
}
