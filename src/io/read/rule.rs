//! How blocks are cut.

use crate::number::{Format, MAX_RECORD_BYTES};

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
