//! Blocks: the bytes of an input that a thread reads at a time.

use super::keyed::KeyColumn;
use super::long_line::{LongLine, Overlong, too_long};
use super::regular::RegularFile;
use super::rule::{Rule, Taken};
use super::values::{PieceSource, ValuePiece};
use crate::error::{Error, Result};
use crate::io::table::{Piece, Rows, VALUE_BYTES};
use crate::kernel::in_usize;
use crate::kernel::parse::PADDING;
use crate::kernel::sys::Pages;
use crate::number::{BYTE_ORDER_MARK, Format, Selector};
use memchr::{memchr, memrchr};
use std::ops::Range;
use std::sync::Arc;

/// Bytes read behind a block for the end of its last line.
pub(super) const TAIL_BYTES: usize = 256;

/// How inputs are cut into blocks, and what the blocks hold.
#[derive(Debug, Clone)]
pub(crate) struct BlockFormat {
    pub(crate) format: Format,
    pub(crate) terminator: u8,
    pub(crate) column: Option<Selector>,
    /// The column of keys, where rows have one.
    pub(crate) keys: Option<KeyColumn>,
    /// Bytes of a block, before its last line is completed.
    pub(crate) block_bytes: usize,
}

impl BlockFormat {
    /// Bytes of a block of delimited text, whose records have at most `record_bytes`. A block has
    /// room for a record and a quarter. With less, a record that is too long would be read again
    /// from each of its lines, a block for each line.
    pub(crate) const fn block_of_records(record_bytes: usize) -> usize {
        record_bytes + record_bytes / 4
    }

    /// Most bytes of a record.
    pub(super) fn record_bytes(&self) -> usize {
        self.rule().record_bytes()
    }

    /// How blocks of numbers are cut.
    pub(super) fn rule(&self) -> Rule {
        Rule {
            taken: Taken::Numbers,
            format: self.format,
            terminator: self.terminator,
            has_mark: self.format.is_text(),
            block_bytes: self.block_bytes,
        }
    }
}

/// A share of an input that a thread claimed and has not read yet.
enum Claim {
    /// The lines of a regular file that begin in these bytes.
    Lines { file: Arc<RegularFile>, bytes: Range<u64> },
    /// Values of a set or an array.
    Piece { source: Arc<dyn PieceSource>, piece: ValuePiece },
}

/// Whole lines of one input, in a buffer with padding around them.
pub(crate) struct Block {
    pub(super) bytes: Pages,
    /// The place of the lines in the buffer.
    pub(super) span: Range<usize>,
    pub(super) rule: Rule,
    /// Number of the input.
    pub(crate) input: usize,
    /// Its name, as the user gave it.
    pub(crate) name: String,
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
    /// Number (from 0) of the wanted field; only in delimited text.
    pub(crate) column: usize,
    /// The same for the field that is a key.
    pub(crate) key_column: usize,
    /// Rows of a table, which stand for lines.
    pub(crate) rows: Option<Rows>,
    /// The piece of the table that has these rows, if it has more rows.
    piece: Option<Piece>,
    claim: Option<Claim>,
    /// Whether [`next_lines`](Self::next_lines) has still to give the lines that are in the buffer.
    is_new: bool,
}

impl Block {
    /// An empty block. It allocates its buffer when it is filled.
    pub(super) fn new(rule: Rule) -> Self {
        Self {
            bytes: Pages::default(),
            span: PADDING..PADDING,
            rule,
            input: 0,
            name: String::new(),
            sequence: 0,
            offset: 0,
            first: false,
            claimed_bytes: 0,
            overlong: None,
            column: 0,
            key_column: 0,
            rows: None,
            piece: None,
            claim: None,
            is_new: false,
        }
    }

    /// Empties the block, and drops its claim.
    pub(super) fn clear(&mut self) {
        (self.span, self.claimed_bytes) = (PADDING..PADDING, 0);
        (self.overlong, self.rows, self.claim, self.is_new) = (None, None, None, false);
    }

    /// Takes the next rows of the piece of a table that it has begun; false if it has begun none,
    /// or the piece has no more rows.
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

    /// Whether it has begun a piece of a table that has more rows.
    pub(crate) fn is_begun(&self) -> bool {
        self.piece.is_some()
    }

    /// The buffer, and the place of its lines; the last line has its terminator.
    pub(crate) fn padded(&self) -> (&[u8], Range<usize>) {
        (self.bytes.bytes(), self.span.clone())
    }

    /// The lines; the last one has its terminator.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.bytes.bytes()[self.span.clone()]
    }

    /// The end of a full block in the buffer. The rest of its last line may follow.
    pub(super) fn room(&self) -> usize {
        PADDING + self.rule.block_bytes
    }

    /// Makes room for a block, the byte before it, and the bytes that are read behind it.
    pub(super) fn reserve_block(&mut self) -> Result<()> {
        self.reserve(self.room() + 1 + TAIL_BYTES, 0)
    }

    /// Makes room up to `end`, for a terminator that may be missing there, and for
    /// padding; keeps the first `used` bytes.
    pub(super) fn reserve(&mut self, end: usize, used: usize) -> Result<()> {
        let (old, needed) = (self.bytes.bytes(), end + 1 + PADDING);
        if needed <= old.len() {
            return Ok(());
        }
        let bytes = needed.max(2 * old.len());
        let larger = Pages::zeroed(bytes.div_ceil(8));
        let mut larger = larger.map_err(Error::no_memory(bytes))?;
        larger.bytes_mut()[..used].copy_from_slice(&old[..used]);
        self.bytes = larger;
        Ok(())
    }

    /// Completes the last line of an input.
    pub(super) fn terminate(&mut self) {
        let Range { start, end } = self.span;
        if start < end && self.bytes.bytes()[end - 1] != self.rule.terminator {
            self.bytes.bytes_mut()[end] = self.rule.terminator;
            self.span.end += 1;
        }
    }

    pub(super) fn skip_byte_order_mark(&mut self) {
        if self.first && self.rule.has_mark {
            let mark = byte_order_mark(self.lines());
            self.span.start += mark;
            self.offset += mark as u64;
        }
    }

    /// Claims the lines that begin in these bytes of a regular file. The thread that has the block
    /// reads them later.
    pub(super) fn claim(&mut self, file: Arc<RegularFile>, bytes: Range<u64>) {
        self.claimed_bytes = bytes.end - bytes.start;
        self.claim = Some(Claim::Lines { file, bytes });
    }

    /// Claims a piece of a set or an array. The thread that has the block reads it later.
    pub(super) fn claim_piece(&mut self, source: Arc<dyn PieceSource>, piece: ValuePiece) {
        self.claimed_bytes = piece.len as u64 * VALUE_BYTES;
        self.claim = Some(Claim::Piece { source, piece });
    }

    /// Takes note of bytes that were read into the buffer from an input in order.
    pub(super) fn hold(&mut self, span: Range<usize>, offset: u64) {
        self.claimed_bytes = span.len() as u64;
        (self.span, self.offset, self.first) = (span, offset, offset == 0);
        self.is_new = true;
    }

    /// Takes values that have no bytes; false if there are none.
    pub(super) fn hold_values(&mut self, values: Vec<u64>) -> bool {
        self.claimed_bytes = values.len() as u64 * VALUE_BYTES;
        let has_some = !values.is_empty();
        self.rows = has_some.then(|| Rows::from(values));
        has_some
    }

    /// Reads the next lines that the block claimed: about `bytes` bytes, and at least one line;
    /// false if there are no more.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, changed, or has a line that is too long.
    pub(crate) fn next_lines(&mut self, bytes: usize) -> Result<bool> {
        while self.is_new || self.claim.is_some() {
            self.read(bytes)?;
            self.is_new = false;
            if !self.span.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the lines that begin in the next `bytes` of the claim, unless it has read them
    /// already.
    pub(super) fn read(&mut self, bytes: usize) -> Result<()> {
        let (file, claim) = match self.claim.take() {
            None => return Ok(()),
            Some(Claim::Lines { file, bytes }) => (file, bytes),
            Some(Claim::Piece { source, piece }) => {
                let mut values = Vec::with_capacity(piece.len);
                source.read(&piece, &mut values)?;
                self.rows = Some(Rows::from(values));
                return Ok(());
            }
        };
        let left = in_usize(claim.end - claim.start);
        let claimed = left.min(bytes.max(1));
        let from = claim.start;
        let rest = from + claimed as u64..claim.end;
        (self.offset, self.first, self.overlong) = (from, from == 0, None);
        if let Some(width) = self.rule.format.value_bytes() {
            self.read_values(&file, claimed, width)?;
        } else {
            self.read_lines(&file, claimed)?;
            self.skip_byte_order_mark();
            self.terminate();
        }
        if !rest.is_empty() {
            self.claim = Some(Claim::Lines { file, bytes: rest });
        }
        Ok(())
    }

    /// Appends bytes behind `end` of the buffer: at least `least` from place `at` of the file, and
    /// at most `more` others. Gives the new end, and whether the input ends there.
    fn append(
        &mut self,
        file: &RegularFile,
        end: usize,
        at: u64,
        least: usize,
        more: usize,
    ) -> Result<(usize, bool)> {
        let wanted = least + more;
        self.reserve(end + wanted, end)?;
        let buffer = &mut self.bytes.bytes_mut()[end..end + wanted];
        let (read, ends) = file.read((self.rule.taken, &self.name), buffer, at, least)?;
        Ok((end + read, ends))
    }

    /// Reads values of a fixed width.
    fn read_values(&mut self, file: &RegularFile, claimed: usize, width: usize) -> Result<()> {
        let (end, _) = self.append(file, PADDING, self.offset, claimed, 0)?;
        self.span = PADDING..end;
        self.whole_values(width)
    }

    /// Fails if the input ends inside of a value.
    pub(super) fn whole_values(&self, width: usize) -> Result<()> {
        let extra = self.span.len() % width;
        if extra == 0 {
            return Ok(());
        }
        Err(Error::TruncatedValue {
            input: self.name.clone(),
            offset: self.offset + (self.span.len() - extra) as u64,
            extra: extra as u64,
            format: self.rule.format.name(),
        })
    }

    /// Reads the lines that begin in the `claimed` bytes from `self.offset` on.
    fn read_lines(&mut self, file: &RegularFile, claimed: usize) -> Result<()> {
        // A line begins here if the byte before is a terminator.
        let before = usize::from(self.offset > 0);
        let origin = self.offset - before as u64;
        let least = before + claimed;
        let (mut end, mut at_end) = self.append(file, PADDING, origin, least, TAIL_BYTES)?;
        let place = |at: usize| origin + (at - PADDING) as u64;
        let begin = PADDING + before;
        let last_byte = begin + claimed - 1;
        let start = match before {
            0 => Some(begin),
            _ => self.end_of_line(PADDING..last_byte),
        };
        let Some(start) = start else {
            self.span = PADDING..PADDING;
            return Ok(());
        };
        self.offset = place(start);
        // The last line ends at or behind the last byte of the claim.
        let last_line = self.start_of_last_line(start..last_byte);
        let mut looked_at = last_byte;
        loop {
            if let Some(line_end) = self.end_of_line(looked_at..end) {
                self.span = start..line_end;
                return Ok(());
            }
            if at_end {
                self.span = start..end;
                return match self.rule.taken {
                    Taken::Numbers => Ok(()),
                    Taken::Lines { .. } => file.end(&self.name, place(end)),
                };
            }
            match self.rule.taken {
                Taken::Numbers => {
                    self.span = start..last_line;
                    return self.scan_long_line(file, last_line..end, place(last_line));
                }
                Taken::Lines { max_bytes } if end - last_line > max_bytes => {
                    return Err(too_long(&self.name, place(last_line), max_bytes));
                }
                Taken::Lines { .. } => {}
            }
            looked_at = end;
            (end, at_end) = self.append(file, end, place(end), 0, end - last_line)?;
        }
    }

    /// Position behind the first terminator in `part` of the buffer.
    fn end_of_line(&self, part: Range<usize>) -> Option<usize> {
        let end = memchr(self.rule.terminator, &self.bytes.bytes()[part.clone()])?;
        Some(part.start + end + 1)
    }

    /// The start of the line that is not complete at the end of `part`; `part` begins with a line.
    fn start_of_last_line(&self, part: Range<usize>) -> usize {
        let end = memrchr(self.rule.terminator, &self.bytes.bytes()[part.clone()]);
        part.start + end.map_or(0, |end| end + 1)
    }

    /// Scans a long line of a file. `part` of the buffer holds its beginning.
    fn scan_long_line(&mut self, file: &RegularFile, part: Range<usize>, at: u64) -> Result<()> {
        let bytes = &self.bytes.bytes()[part];
        let mark = if at == 0 && self.rule.has_mark { byte_order_mark(bytes) } else { 0 };
        let mut line = LongLine::new(at + mark as u64, self.rule);
        let mut found = line.feed(&bytes[mark..]).is_some();
        let mut at = at + bytes.len() as u64;
        let (mut piece, mut at_end) = (vec![0; 1 << 16], false);
        while !found && !at_end {
            let read;
            (read, at_end) = file.read((self.rule.taken, &self.name), &mut piece, at, 0)?;
            at += read as u64;
            found = line.feed(&piece[..read]).is_some();
        }
        self.overlong = Some(line.finish());
        Ok(())
    }
}

/// Length of the byte-order mark at the start of `bytes`; 0 without one.
pub(super) fn byte_order_mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}
