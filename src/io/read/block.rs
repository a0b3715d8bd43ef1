//! What a thread reads of an input at a time.

use super::long_line::Overlong;
use crate::error::Result;
use crate::io::table::{Piece, Rows, VALUE_BYTES};
use crate::kernel::parse::PADDING;
use crate::number::Format;
use crate::number::{BYTE_ORDER_MARK, Selector};
use std::ops::Range;

/// Bytes read behind a block for the end of its last line.
pub(super) const TAIL_BYTES: usize = 256;

/// How inputs are cut.
#[derive(Debug, Clone)]
pub(crate) struct Cut {
    pub(crate) format: Format,
    pub(crate) terminator: u8,
    pub(crate) column: Option<Selector>,
    /// Bytes of a block, before its last line is completed.
    pub(crate) block_bytes: usize,
}

impl Cut {
    /// Bytes of a block whose records of several lines may have so many. A block has room
    /// for more than one: else each line of a record that is too long would need a block of
    /// its own, to see that the record that it begins is too long as well.
    pub(crate) const fn block_of_records(record_bytes: usize) -> usize {
        record_bytes + record_bytes / 4
    }

    /// Bytes that a record of several lines may have.
    pub(crate) fn record_bytes(&self) -> usize {
        self.block_bytes / 5 * 4
    }
}

/// Whole lines of one input, in a buffer with padding around them.
pub(crate) struct Block {
    pub(super) bytes: Vec<u8>,
    pub(super) span: Range<usize>,
    /// Number of the input.
    pub(crate) input: usize,
    /// Number of the block, over all inputs.
    pub(crate) sequence: u64,
    /// Offset of the span in its input.
    pub(crate) offset: u64,
    /// Whether the input begins with this block.
    pub(crate) first: bool,
    /// Bytes of the input that this block stands for.
    pub(crate) claimed_bytes: u64,
    /// The line behind the span, if it was too long for a buffer.
    pub(crate) overlong: Option<Overlong>,
    /// Number (from 0) of the wanted field, of delimited text.
    pub(crate) column: usize,
    /// The rows that stand for lines, of a table.
    pub(crate) rows: Option<Rows>,
    /// The piece of the table that they are of, if this has more of them.
    piece: Option<Piece>,
}

impl Block {
    /// Memory for blocks cut this way.
    pub(crate) fn new(cut: &Cut) -> Self {
        Self {
            bytes: vec![0; Self::memory_bytes(cut.block_bytes)],
            span: PADDING..PADDING,
            input: 0,
            sequence: 0,
            offset: 0,
            first: false,
            claimed_bytes: 0,
            overlong: None,
            column: 0,
            rows: None,
            piece: None,
        }
    }

    /// Takes the next rows of the piece of a table that was begun; false if there
    /// is none, or it has no more.
    pub(super) fn next_rows(&mut self) -> Result<bool> {
        let Some(piece) = &mut self.piece else { return Ok(false) };
        let rows = self.rows.get_or_insert_default();
        if !piece.next(rows)? {
            self.piece = None;
            return Ok(false);
        }
        self.claimed_bytes = rows.len() as u64 * VALUE_BYTES;
        self.span = PADDING..PADDING;
        Ok(true)
    }

    /// Begins a piece of a table; false if it has no rows.
    pub(super) fn begin(&mut self, piece: Piece) -> Result<bool> {
        self.piece = Some(piece);
        self.next_rows()
    }

    /// Whether blocks that were claimed are still to come.
    pub(crate) fn is_begun(&self) -> bool {
        self.piece.is_some()
    }

    /// Bytes of memory of a block's buffer: with the byte before, what is read
    /// behind, and a terminator that may be missing there.
    pub(crate) const fn memory_bytes(block_bytes: usize) -> usize {
        PADDING + 1 + block_bytes + TAIL_BYTES + 1 + PADDING
    }

    /// The buffer and where its lines lie.
    pub(crate) fn padded(&self) -> (&[u8], Range<usize>) {
        (&self.bytes, self.span.clone())
    }

    /// The lines.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.bytes[self.span.clone()]
    }

    /// Completes the last line of an input.
    pub(super) fn terminate(&mut self, terminator: u8) {
        if !self.span.is_empty() && self.bytes[self.span.end - 1] != terminator {
            self.bytes[self.span.end] = terminator;
            self.span.end += 1;
        }
    }

    pub(super) fn skip_byte_order_mark(&mut self, cut: &Cut) {
        if self.first && cut.format == Format::Text {
            let mark = byte_order_mark(self.lines());
            self.span.start += mark;
            self.offset += mark as u64;
        }
    }
}

/// Bytes of the mark that `bytes` begin with, if they do.
pub(super) fn byte_order_mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}
