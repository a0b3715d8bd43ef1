//! What a caller wants of an input, and how blocks are cut for it.

use crate::error::{Error, Result};
use crate::io::page;
use crate::io::roaring;
use crate::io::table::{TableFormat, unread_table};
use crate::number::{Format, MAX_RECORD_BYTES};

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

    /// Refuses a table where the reader wants lines, and one of a format that is not read. Where it
    /// wants binary numbers or lines of any bytes, or leaves out malformed lines, it also refuses
    /// files in the formats of this crate.
    pub(super) fn check_head(
        self,
        name: &str,
        head: &[u8],
        is_binary: bool,
        leaves_out: bool,
    ) -> Result<()> {
        if let Some(format) = unread_table(head).filter(|_| !is_binary) {
            return Err(Error::UnreadTable { input: name.to_owned(), format });
        }
        let refuses_own = is_binary || leaves_out || self == Self::Bytes;
        let is_own = refuses_own && page::may_begin(head)
            || leaves_out && !is_binary && roaring::may_begin(head);
        let format = match self {
            Self::Values => None,
            Self::Text | Self::Bytes => TableFormat::of_binary(head),
        };
        let what = match format {
            _ if is_own => {
                let wanted = match self {
                    Self::Values if is_binary => "has no binary numbers",
                    Self::Values => "no text: all of it would be left out as malformed",
                    Self::Text | Self::Bytes => "has no lines",
                };
                format!("is a set, a filter or an index, and {wanted}")
            }
            Some(format) => {
                let article = if format.title().starts_with('A') { "an" } else { "a" };
                let advice = match self {
                    Self::Text => "make a set of one of its columns",
                    _ => "write one of its columns as lines first",
                };
                let title = format.title();
                format!("is {article} {title} file, which has rows, not lines: {advice}")
            }
            None => return Ok(()),
        };
        Err(Error::usage(format!("{name} {what}")))
    }
}

/// Refuses a file that begins with `head` where lines of any bytes are wanted, if it is a table or in
/// a format of this crate.
///
/// # Errors
///
/// [`Error::Usage`], which says what it is.
pub(crate) fn refuse_others(name: &str, head: &[u8]) -> Result<()> {
    Purpose::Bytes.check_head(name, head, false, false)
}

/// What the reader wants of the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// Numbers. The reader scans a line that does not fit in a block in pieces. Regular files must
    /// not change.
    Numbers,
    /// Lines. A block grows with its longest line, and a line of more bytes is an error. If a
    /// stream pauses, the reader hands over the lines that it has; files may grow.
    Lines { max_bytes: usize },
}

/// How blocks are cut, the same for all inputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub(super) taken: Taken,
    pub(super) format: Format,
    pub(super) terminator: u8,
    /// Whether a byte-order mark at the beginning is no part of the first line.
    pub(super) has_mark: bool,
    /// Bytes of a block, before its last line is completed.
    pub(super) block_bytes: usize,
}

impl Rule {
    /// Number of values that take as much memory as a block.
    pub(super) fn block_values(&self) -> usize {
        (self.block_bytes / 8).max(1)
    }

    /// Longest record of several lines, in bytes.
    pub(super) fn record_bytes(&self) -> usize {
        match self.taken {
            Taken::Numbers => self.block_bytes / 5 * 4,
            Taken::Lines { .. } => MAX_RECORD_BYTES,
        }
    }
}
