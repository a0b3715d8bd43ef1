//! Blocks of the inputs, claimed by threads.
//!
//! # Invariants
//! 1. A line belongs to the block in which it begins, and a block's span is
//!    whole lines: the last line of an input gets a terminator if it has none.
//! 2. Blocks are numbered in the order of the inputs, and a block is claimed
//!    only after all blocks before it. The blocks of a piece of a table are
//!    claimed together, by one thread, which hands in all of them.
//! 3. Memory is one block a thread, however long a line is: a line that does
//!    not fit is scanned in pieces and comes as
//!    [`Overlong`](super::long_line::Overlong).

use super::block::{Block, Cut, TAIL_BYTES, byte_order_mark};
use super::long_line::LongLine;
use super::open::{Content, Opened, Stream};
use crate::error::{Error, Result};
use crate::io::table::Piece;
use crate::kernel::parse::PADDING;
use crate::kernel::steps;
use crate::number::Format;
use crate::number::{Column, Selector};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// Hands out the blocks of all inputs.
pub(crate) struct Claims<'a> {
    inputs: &'a [Opened],
    cut: &'a Cut,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    input: usize,
    /// Bytes of this input that were claimed.
    offset: u64,
    sequence: u64,
    /// Of this input, once its first block was read.
    column: usize,
    /// The beginning of a line whose end was not read yet.
    carry: Vec<u8>,
}

impl<'a> Claims<'a> {
    pub(crate) fn new(inputs: &'a [Opened], cut: &'a Cut) -> Self {
        Self { inputs, cut, state: Mutex::default() }
    }

    /// Fills `block` with the next one; false if there is none.
    pub(crate) fn next(&self, block: &mut Block) -> Result<bool> {
        if block.next_rows()? {
            block.sequence += 1;
            return Ok(true);
        }
        block.rows = None;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let Some(input) = self.inputs.get(state.input) else { return Ok(false) };
            block.input = state.input;
            block.sequence = state.sequence;
            block.overlong = None;
            let more = match &input.content {
                Content::Regular { file, start, len } if self.cut.column.is_none() => {
                    let from = state.offset;
                    if from < *len {
                        let claimed = (*len - from).min(self.cut.block_bytes as u64);
                        state.offset += claimed;
                        state.sequence += 1;
                        drop(state);
                        block.claimed_bytes = claimed;
                        block.first = from == 0;
                        let region = Region { name: &input.name, file, start: *start, len: *len };
                        region.read(self.cut, from, block)?;
                        return Ok(true);
                    }
                    false
                }
                Content::Regular { file, start, len } => {
                    let region = Region { name: &input.name, file, start: *start, len: *len };
                    let mut read_at = state.offset + state.carry.len() as u64;
                    self.next_in_order(&mut state, block, &input.name, |buffer| {
                        let count = (*len - read_at).min(buffer.len() as u64);
                        #[expect(clippy::cast_possible_truncation, reason = "at most buffer.len()")]
                        let count = count as usize;
                        region.read_exact(&mut buffer[..count], read_at)?;
                        read_at += count as u64;
                        Ok(count)
                    })?
                }
                Content::Table(table) => {
                    let piece = usize::try_from(state.offset).unwrap_or(usize::MAX);
                    if piece < table.pieces() {
                        state.offset += 1;
                        let batches = Piece::batches(table.piece_rows(piece));
                        if batches == 0 {
                            continue;
                        }
                        state.sequence += batches;
                        drop(state);
                        return block.begin(table.piece(piece)?);
                    }
                    false
                }
                Content::Stream(stream) => {
                    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                    let stream: &mut Stream = &mut stream;
                    self.next_in_order(&mut state, block, &input.name, |buffer| {
                        stream.fill(buffer).map_err(Error::io("read", &input.name))
                    })?
                }
            };
            if more {
                state.sequence += 1;
                if let Some(selector) = &self.cut.column {
                    if block.first {
                        state.column = column_of(
                            selector,
                            block.lines(),
                            self.cut.record_bytes(),
                            &input.name,
                        )?;
                    }
                    block.column = state.column;
                }
                return Ok(true);
            }
            state.input += 1;
            state.offset = 0;
        }
    }

    /// The next block of an input that is read in order; `fill` gives less
    /// than it is asked for at the end only.
    fn next_in_order(
        &self,
        state: &mut State,
        block: &mut Block,
        name: &str,
        mut fill: impl FnMut(&mut [u8]) -> Result<usize>,
    ) -> Result<bool> {
        let room = PADDING..PADDING + self.cut.block_bytes;
        let carried = state.carry.len();
        steps::count(carried / 8);
        block.bytes[PADDING..PADDING + carried].copy_from_slice(&state.carry);
        state.carry.clear();
        let wanted = &mut block.bytes[PADDING + carried..room.end];
        let wanted_bytes = wanted.len();
        let read = fill(wanted)?;
        let end = PADDING + carried + read;
        let at_end = read < wanted_bytes;
        block.offset = state.offset;
        block.first = state.offset == 0;
        let bytes = &block.bytes[PADDING..end];
        if bytes.is_empty() {
            return Ok(false);
        }
        let mark =
            if block.first && self.cut.format == Format::Text { byte_order_mark(bytes) } else { 0 };
        let complete = match (self.cut.format.value_bytes(), &self.cut.column) {
            (Some(width), _) => {
                let whole = bytes.len() / width * width;
                if at_end && whole < bytes.len() {
                    return Err(truncated(name, self.cut.format, state.offset, bytes.len(), whole));
                }
                Some(whole)
            }
            _ if at_end => Some(bytes.len()),
            (None, Some(selector)) => selector.complete(bytes, self.cut.record_bytes()),
            (None, None) => {
                bytes.iter().rposition(|&byte| byte == self.cut.terminator).map(|at| at + 1)
            }
        };
        if let Some(complete) = complete {
            block.span = PADDING..PADDING + complete;
            block.claimed_bytes = complete as u64;
            state.offset += complete as u64;
            state.carry.extend_from_slice(&block.bytes[block.span.end..end]);
        } else {
            block.span = PADDING..PADDING;
            let mut scan = LongLine::new(state.offset + mark as u64, self.cut.terminator);
            let mut piece = vec![0; self.cut.block_bytes.min(1 << 16)];
            let mut rest = scan.feed(&bytes[mark..]).map(<[u8]>::to_vec);
            while rest.is_none() {
                let read = fill(&mut piece)?;
                rest = if read == 0 {
                    Some(Vec::new())
                } else {
                    scan.feed(&piece[..read]).map(<[u8]>::to_vec)
                };
            }
            block.claimed_bytes = mark as u64 + scan.bytes;
            state.offset += block.claimed_bytes;
            state.carry = rest.unwrap_or_default();
            block.overlong = Some(scan.finish());
        }
        block.skip_byte_order_mark(self.cut);
        if at_end && self.cut.format == Format::Text {
            block.terminate(self.cut.terminator);
        }
        Ok(true)
    }
}

/// Number (from 0) of the wanted field in an input that begins with these lines.
pub(super) fn column_of(
    selector: &Selector,
    lines: &[u8],
    record_bytes: usize,
    name: &str,
) -> Result<usize> {
    selector.index(selector.first_record(lines, record_bytes)).map_err(|found| {
        Error::NoSuchColumn {
            input: name.to_owned(),
            found,
            column: match &selector.column {
                Column::Name(name) => name.clone(),
                Column::Number(number) => number.to_string(),
            },
        }
    })
}

fn truncated(name: &str, format: Format, offset: u64, found: usize, whole: usize) -> Error {
    Error::TruncatedValue {
        input: name.to_owned(),
        offset: offset + whole as u64,
        extra: (found - whole) as u64,
        format: format.name(),
    }
}

/// A file that can be read at any place.
struct Region<'a> {
    name: &'a str,
    file: &'a File,
    start: u64,
    len: u64,
}

impl Region<'_> {
    fn read_exact(&self, buffer: &mut [u8], at: u64) -> Result<()> {
        let read = read_at(self.file, buffer, self.start + at);
        let read = read.map_err(Error::io("read", self.name))?;
        if read < buffer.len() {
            return Err(Error::InputChanged {
                input: self.name.to_owned(),
                expected: self.len,
                found: at + read as u64,
                unit: "bytes",
            });
        }
        Ok(())
    }

    /// Fills `block` with the lines that begin in the next
    /// `block.claimed_bytes` bytes from `from`.
    #[expect(clippy::cast_possible_truncation, reason = "no more than the buffer holds")]
    fn read(&self, cut: &Cut, from: u64, block: &mut Block) -> Result<()> {
        let claimed = block.claimed_bytes as usize;
        if let Some(width) = cut.format.value_bytes() {
            block.span = PADDING..PADDING + claimed;
            block.offset = from;
            self.read_exact(&mut block.bytes[PADDING..PADDING + claimed], from)?;
            let whole = claimed / width * width;
            if whole < claimed {
                return Err(truncated(self.name, cut.format, from, claimed, whole));
            }
            return Ok(());
        }
        // The byte before tells whether a line begins at `from`.
        let before = usize::from(from > 0);
        let read_from = from - before as u64;
        let behind = (self.len - from - claimed as u64).min(TAIL_BYTES as u64) as usize;
        let end = PADDING + before + claimed + behind;
        self.read_exact(&mut block.bytes[PADDING..end], read_from)?;
        let at_end = from + (claimed + behind) as u64 == self.len;
        let is_end = |byte: &u8| *byte == cut.terminator;

        let mut start = PADDING;
        if before == 1 {
            let Some(first) = block.bytes[PADDING..PADDING + claimed].iter().position(is_end)
            else {
                block.span = PADDING..PADDING;
                return Ok(());
            };
            start = PADDING + first + 1;
        }
        block.offset = read_from + (start - PADDING) as u64;
        // The last line ends at or behind the last byte of the claim.
        let last_byte = PADDING + before + claimed - 1;
        let line_end = block.bytes[last_byte..end].iter().position(is_end).map(|at| last_byte + at);
        if let Some(line_end) = line_end {
            block.span = start..line_end + 1;
        } else if at_end {
            block.span = start..end;
            block.skip_byte_order_mark(cut);
            block.terminate(cut.terminator);
            return Ok(());
        } else {
            let last_line = block.bytes[start..last_byte].iter().rposition(is_end);
            let line_start = start + last_line.map_or(0, |at| at + 1);
            block.span = start..line_start;
            let mut offset = read_from + (line_start - PADDING) as u64;
            let mark = if offset == 0 { byte_order_mark(&block.bytes[line_start..end]) } else { 0 };
            offset += mark as u64;
            let mut scan = LongLine::new(offset, cut.terminator);
            let mut found = scan.feed(&block.bytes[line_start + mark..end]).is_some();
            let mut at = read_from + (end - PADDING) as u64;
            let mut piece = vec![0; 1 << 16];
            while !found && at < self.len {
                let count = (self.len - at).min(piece.len() as u64) as usize;
                self.read_exact(&mut piece[..count], at)?;
                at += count as u64;
                found = scan.feed(&piece[..count]).is_some();
            }
            block.overlong = Some(scan.finish());
        }
        block.skip_byte_order_mark(cut);
        Ok(())
    }
}

/// Reads until `buffer` is full or the file ends; gives how many bytes it read.
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], at + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
