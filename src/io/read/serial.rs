//! Blocks of inputs that are read one after the other: streams, and files of quoted records, in
//! which nobody can find the start of a record without reading the one before.

use super::block::{Block, BlockFormat, byte_order_mark};
use super::long_line::{LongLine, too_long};
use super::regular::RegularFile;
use super::rule::Taken;
use super::stream::{Stream, failed};
use crate::error::{Error, Result};
use crate::kernel::parse::PADDING;
use crate::kernel::steps;
use crate::number::Selector;
use crate::progress::Progress;
use memchr::memrchr;
use std::sync::atomic::{AtomicBool, Ordering};

/// How far an input was read.
#[derive(Default)]
pub(super) struct Place {
    /// Bytes that were claimed; for a table, pieces; for a set, the smallest value that was not
    /// claimed.
    pub(super) offset: u64,
    /// Number (from 0) of the wanted field; known after the first record.
    pub(super) column: usize,
    /// The same for the field that is a key.
    pub(super) key_column: usize,
    /// The beginning of a line whose end has not been read yet.
    carry: Vec<u8>,
    pub(super) ended: bool,
}

/// An input that is read one block after the other.
pub(super) struct Serial<'a> {
    pub(super) source: Source<'a>,
    pub(super) selector: Option<&'a Selector>,
    /// Set when nobody wants more lines.
    pub(super) stopped: &'a AtomicBool,
    pub(super) progress: &'a Progress,
}

pub(super) enum Source<'a> {
    File(&'a RegularFile),
    Stream(&'a mut Stream),
}

impl Source<'_> {
    /// Reads the bytes that are ready. `at` is where the last reading ended. Gives whether the
    /// input ends behind them.
    fn read(&mut self, reader: (Taken, &str), buffer: &mut [u8], at: u64) -> Result<(usize, bool)> {
        match self {
            Self::File(file) => file.read(reader, buffer, at, 0),
            Self::Stream(stream) => {
                let read = stream.read(buffer).map_err(failed(reader.1))?;
                Ok((read, read == 0))
            }
        }
    }

    fn pauses(&self) -> bool {
        matches!(self, Self::Stream(stream) if stream.pauses())
    }
}

/// Bytes in the buffer, and the end of the whole records among them.
struct Filled {
    end: usize,
    /// Position behind the last whole record; none if there is none.
    whole: Option<usize>,
    at_end: bool,
}

impl Serial<'_> {
    /// Fills `block` with the next records; false at the end of the input, or when nobody wants
    /// more.
    pub(super) fn next(&mut self, place: &mut Place, block: &mut Block) -> Result<bool> {
        let Some(filled) = self.fill(place, block)? else { return Ok(false) };
        let Filled { end, whole, at_end } = filled;
        place.ended = at_end;
        if end == PADDING {
            return Ok(false);
        }
        let whole = if at_end { Some(end) } else { whole };
        block.hold(PADDING..whole.unwrap_or(PADDING), place.offset);
        if let Some(width) = block.rule.format.value_bytes() {
            block.whole_values(width)?;
        }
        if let Some(whole) = whole {
            place.carry.extend_from_slice(&block.bytes.bytes()[whole..end]);
        } else {
            self.scan_long_line(place, block, end)?;
        }
        place.offset += block.claimed_bytes;
        block.skip_byte_order_mark();
        if at_end && block.rule.format.value_bytes().is_none() {
            block.terminate();
        }
        Ok(true)
    }

    /// Reads until the block is full, or the input ends, or pauses at the end of a line; none if
    /// nobody wants more.
    fn fill(&mut self, place: &mut Place, block: &mut Block) -> Result<Option<Filled>> {
        let mut room = block.room();
        let mut end = PADDING + place.carry.len();
        steps::count(place.carry.len() / 8);
        block.reserve(end, 0)?;
        block.bytes.bytes_mut()[PADDING..end].copy_from_slice(&place.carry);
        let mut lines_end = line_end(&place.carry, block.rule.terminator).map(|at| PADDING + at);
        place.carry.clear();
        loop {
            if end >= room {
                let whole = self.whole(block, end, lines_end);
                match block.rule.taken {
                    _ if whole.is_some() => {}
                    Taken::Numbers => {}
                    Taken::Lines { max_bytes } if end - PADDING > max_bytes => {
                        return Err(too_long(&block.name, place.offset, max_bytes));
                    }
                    Taken::Lines { .. } => {
                        room = PADDING + 2 * (room - PADDING);
                        block.reserve(room, end)?;
                        continue;
                    }
                }
                return Ok(Some(Filled { end, whole, at_end: false }));
            }
            if !self.is_wanted(block.rule.taken) {
                return Error::if_cancelled(self.progress).map(|()| None);
            }
            let buffer = &mut block.bytes.bytes_mut()[end..room];
            let at = place.offset + (end - PADDING) as u64;
            let (read, at_end) = if place.ended {
                (0, true)
            } else {
                self.source.read((block.rule.taken, &block.name), buffer, at)?
            };
            let new = line_end(&buffer[..read], block.rule.terminator);
            lines_end = new.map(|at| end + at).or(lines_end);
            end += read;
            if at_end {
                return Ok(Some(Filled { end, whole: None, at_end }));
            }
            if block.rule.taken != Taken::Numbers && lines_end.is_some() && self.source.pauses() {
                let whole = self.whole(block, end, lines_end);
                if whole.is_some() {
                    return Ok(Some(Filled { end, whole, at_end }));
                }
            }
        }
    }

    /// Waits for bytes of a stream; false if nobody wants more lines.
    fn is_wanted(&self, taken: Taken) -> bool {
        let wanted = || !self.stopped.load(Ordering::Relaxed) && !self.progress.is_cancelled();
        if let (Source::Stream(stream), Taken::Lines { .. }) = (&self.source, taken) {
            stream.wait(wanted);
        }
        wanted()
    }

    /// The end of the last whole record in a buffer. `lines_end` is the end of its last whole line.
    fn whole(&self, block: &Block, end: usize, lines_end: Option<usize>) -> Option<usize> {
        let bytes = &block.bytes.bytes()[PADDING..end];
        if let Some(width) = block.rule.format.value_bytes() {
            return Some(end - bytes.len() % width);
        }
        let Some(selector) = self.selector else { return lines_end };
        lines_end?;
        let record_bytes = block.rule.record_bytes();
        // A buffer that may grow does so before an open record is refused: this is faster.
        let room = match block.rule.taken {
            Taken::Lines { max_bytes } if bytes.len() <= max_bytes => {
                BlockFormat::block_of_records(record_bytes)
            }
            _ => 0,
        };
        let waits = bytes.len() < room;
        selector.complete(bytes, record_bytes, waits).map(|complete| PADDING + complete)
    }

    /// Scans a long line. The buffer holds its beginning.
    fn scan_long_line(&mut self, place: &mut Place, block: &mut Block, end: usize) -> Result<()> {
        let rule = block.rule;
        let bytes = &block.bytes.bytes()[PADDING..end];
        let mark = if block.first && rule.has_mark { byte_order_mark(bytes) } else { 0 };
        let mut line = LongLine::new(place.offset + mark as u64, rule);
        let mut rest = line.feed(&bytes[mark..]).map(<[u8]>::to_vec);
        let mut at = place.offset + bytes.len() as u64;
        let mut piece = vec![0; rule.block_bytes.min(1 << 16)];
        while rest.is_none() {
            Error::if_cancelled(self.progress)?;
            let (read, at_end) = self.source.read((rule.taken, &block.name), &mut piece, at)?;
            at += read as u64;
            rest = line.feed(&piece[..read]).map(<[u8]>::to_vec);
            if at_end {
                rest.get_or_insert_default();
                place.ended = true;
            }
        }
        block.claimed_bytes = mark as u64 + line.bytes;
        place.carry = rest.unwrap_or_default();
        block.overlong = Some(line.finish());
        Ok(())
    }
}

/// Position behind the last terminator.
fn line_end(bytes: &[u8], terminator: u8) -> Option<usize> {
    memrchr(terminator, bytes).map(|last| last + 1)
}
