//! Lines that are longer than a block.

use super::rule::Rule;
use crate::error::Error;
use crate::number::{Line, LineScanner, MAX_NOTED_BYTES, Malformed, Notation};
use crate::size::ByteSize;
use memchr::memchr;

/// Longest line that is kept whole. A block grows by doubling, and so stays below 4 GiB.
pub(super) const MAX_LINE_BYTES: usize = 1 << 31;

/// A line longer than a block.
pub(crate) struct Overlong {
    pub(crate) offset: u64,
    pub(crate) line: Line,
    /// The first bytes of the line.
    pub(crate) head: Vec<u8>,
}

/// Bytes of an overlong line that are kept.
const HEAD_BYTES: usize = MAX_NOTED_BYTES;

/// A line that is scanned in pieces.
pub(super) struct LongLine {
    scanner: LineScanner,
    offset: u64,
    /// Bytes that were taken, with the terminator.
    pub(super) bytes: u64,
    head: Vec<u8>,
    /// Bytes of the line without the terminator.
    line_bytes: u64,
    rule: Rule,
}

impl LongLine {
    pub(super) fn new(offset: u64, rule: Rule) -> Self {
        let (scanner, head) = (LineScanner::new(), Vec::new());
        Self { scanner, offset, bytes: 0, head, line_bytes: 0, rule }
    }

    /// Takes more of the line. After its terminator, gives the bytes behind that.
    pub(super) fn feed<'b>(&mut self, piece: &'b [u8]) -> Option<&'b [u8]> {
        let end = memchr(self.rule.terminator, piece);
        let line = &piece[..end.unwrap_or(piece.len())];
        self.scanner.feed(line);
        let room = HEAD_BYTES.saturating_sub(self.head.len()).min(line.len());
        self.head.extend_from_slice(&line[..room]);
        self.line_bytes += line.len() as u64;
        self.bytes += line.len() as u64 + u64::from(end.is_some());
        end.map(|end| &piece[end + 1..])
    }

    pub(super) fn finish(self) -> Overlong {
        let line = match self.rule.format.notation() {
            None | Some(Notation::DECIMAL) => self.scanner.finish(),
            // A line that is short enough for its notation is in the head as a whole.
            Some(notation) if self.line_bytes < MAX_NOTED_BYTES as u64 => {
                notation.parse_line(&self.head)
            }
            Some(_) => Line::Malformed { reason: Malformed::LineTooLong, offset: 0 },
        };
        Overlong { offset: self.offset, line, head: self.head }
    }
}

/// The error for a line at `offset` that has more than `max_bytes` bytes.
pub(super) fn too_long(name: &str, offset: u64, max_bytes: usize) -> Error {
    Error::LineTooLong {
        input: name.to_owned(),
        offset,
        limit: ByteSize::from_bytes(max_bytes as u64),
        by_memory: max_bytes < MAX_LINE_BYTES,
    }
}
