//! Takes a sample of the inputs before they are read: range, density, length of lines.

use super::block::BlockFormat;
use super::blocks::{Claims, column_of};
use super::keyed::KeyColumn;
use super::ledger::{Invalid, Ledger};
use super::open::{Content, Opened};
use super::regular::RegularFile;
use super::scan::{Consumer, ScanOptions, parse_block};
use super::stream::{Stream, failed};
use crate::error::Result;
use crate::io::table::{Rows, Table, VALUE_BYTES};
use crate::kernel::in_usize;
use crate::number::{BYTE_ORDER_MARK, Column, Selector};
use memchr::{memchr, memrchr};
use std::io::{self, Read};
use std::sync::PoisonError;

/// A sample of the inputs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample {
    /// Values that were found, in no order.
    pub(crate) values: Vec<u64>,
    /// Number of values in those inputs that tell it; and how many of `values` come from them.
    pub(crate) counted: u64,
    pub(crate) of_counted: usize,
    /// Bytes of the other inputs in the sample.
    pub(crate) bytes: u64,
    /// Bytes of all inputs, as far as they are known.
    pub(crate) input_bytes: u64,
    /// Whether the size of every input is known.
    pub(crate) sizes_known: bool,
    /// Whether every input can be read again.
    pub(crate) can_reread: bool,
    /// Whether the sample has all values of the inputs.
    pub(crate) complete: bool,
}

/// Pieces of a file that go into the sample.
const PIECES: u64 = 64;
/// Bytes of a piece.
const PIECE_BYTES: u64 = 32 << 10;
/// Most values of a sample.
const MAX_VALUES: usize = 1 << 20;

/// Where `pieces` pieces of `piece_len` units begin in `len` units: the first one at the start, the
/// last one at the end, and each other one somewhere in its share. At a fixed distance, all could
/// meet the same place of blocks that follow each other, such as the first values of sorted ones.
pub(crate) fn spaced(len: u64, pieces: u64, piece_len: u64) -> impl Iterator<Item = u64> {
    /// The golden ratio: its multiples are spread evenly.
    const RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    let part = |of: u64, numerator: u64, denominator: u128| {
        let found = u128::from(of) * u128::from(numerator) / denominator;
        u64::try_from(found).unwrap_or(of)
    };
    (0..pieces).map(move |index| {
        let [start, end] = [index, index + 1].map(|share| part(len, share, pieces.into()));
        let spare = (end - start).saturating_sub(piece_len);
        match index {
            0 => 0,
            _ if index + 1 == pieces => end.saturating_sub(piece_len),
            _ => start + part(spare, index.wrapping_mul(RATIO), 1 << 64),
        }
    })
}

struct Keep<'a>(&'a mut Vec<u64>);

impl Consumer for Keep<'_> {
    fn values(&mut self, values: &[u64]) {
        let room = MAX_VALUES.saturating_sub(self.0.len()).min(values.len());
        self.0.extend_from_slice(&values[..room]);
    }

    fn checkpoint(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Reads the beginning, the end and pieces from all over every file, and the first `ahead_bytes` of the
/// first stream, which the stream keeps for the run.
pub(crate) fn sample(
    inputs: &[Opened],
    options: &ScanOptions<'_>,
    ahead_bytes: usize,
) -> Result<Sample> {
    let mut sample = Sample { sizes_known: true, can_reread: true, ..Sample::default() };
    sample.complete = true;
    let pieces = (PIECES / inputs.len().max(1) as u64).max(1);
    let mut looked_ahead = false;
    for input in inputs {
        match &input.content {
            Content::Regular(file) => sample.look_into_file(input, file, options, pieces)?,
            Content::Table(table) => {
                sample.look_into(table, pieces, options.block_format.keys.as_ref())?;
            }
            Content::Values(values) => {
                sample.can_reread = false;
                let mut values = values.lock().unwrap_or_else(PoisonError::into_inner);
                let (ahead, is_all) = values.look_ahead(ahead_bytes / 8);
                sample.sizes_known &= is_all;
                sample.complete &= is_all;
                sample.take_counted(ahead, ahead.len() as u64);
            }
            Content::Pieces { source, len } => {
                // To look for copies in the sample must cost less than to sort the array.
                let most = in_usize(*len / 16).min(ahead_bytes / 8 / inputs.len());
                let most = if source.ascends() { SET_VALUES } else { most.max(SET_VALUES) };
                let values = source.sample(most)?;
                sample.complete &= values.len() as u64 == *len;
                sample.take_counted(&values, *len);
            }
            Content::Stream(stream) => {
                sample.can_reread = false;
                if looked_ahead {
                    (sample.sizes_known, sample.complete) = (false, false);
                    continue;
                }
                looked_ahead = true;
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                sample.look_ahead(input, &mut stream, options, ahead_bytes)?;
            }
        }
    }
    Ok(sample)
}

/// Batches of a table in the sample. Each costs the unpacking of a page.
const TABLE_PIECES: u64 = 16;

/// Values of a set in the sample, and least ones of an array; all of a small one.
const SET_VALUES: usize = 1 << 14;

impl Sample {
    /// Reads the beginning, the end and pieces from all over a file.
    fn look_into_file(
        &mut self,
        input: &Opened,
        file: &RegularFile,
        options: &ScanOptions<'_>,
        pieces: u64,
    ) -> Result<()> {
        let len = file.len - file.begin;
        if len == 0 {
            return Ok(());
        }
        self.input_bytes += len;
        // Neighbouring pieces would lack the lines that are cut between them.
        let is_whole = len / pieces <= PIECE_BYTES;
        let (pieces, piece_bytes) = if is_whole { (1, len) } else { (pieces, PIECE_BYTES) };
        self.complete &= is_whole;
        let mut block_format = options.block_format.clone();
        for at in spaced(len, pieces, piece_bytes) {
            if self.values.len() >= MAX_VALUES {
                break;
            }
            let at = at & !7; // no binary number is cut
            let piece = file.piece(&input.name, file.begin + at, piece_bytes)?;
            if at == 0 && !fix_column(&mut block_format, &piece, options.block_format, &input.name)?
            {
                self.complete = false; // a first record of this length says little
                break;
            }
            let options = ScanOptions { block_format: &block_format, ..*options };
            self.look(input, &options, at > 0, at + piece_bytes >= len, piece)?;
        }
        self.complete &= self.values.len() < MAX_VALUES;
        Ok(())
    }

    /// Reads the first `ahead_bytes` of a stream, which keeps them.
    fn look_ahead(
        &mut self,
        input: &Opened,
        stream: &mut Stream,
        options: &ScanOptions<'_>,
        ahead_bytes: usize,
    ) -> Result<()> {
        let mut piece = vec![0; ahead_bytes];
        let read = stream.fill(&mut piece).map_err(failed(&input.name))?;
        let at_end = read < ahead_bytes;
        piece.truncate(read);
        stream.ahead.clone_from(&piece);
        self.input_bytes += read as u64;
        self.sizes_known &= at_end;
        self.complete &= at_end;
        self.look(input, options, false, at_end, piece)
    }

    /// Adds `values` of an input that has `len` values, as far as is known.
    fn take_counted(&mut self, values: &[u64], len: u64) {
        let before = self.values.len();
        Keep(&mut self.values).values(values);
        self.of_counted += self.values.len() - before;
        self.counted = self.counted.saturating_add(len);
        self.input_bytes = self.input_bytes.saturating_add(len.saturating_mul(VALUE_BYTES));
        self.complete &= self.values.len() - before == values.len();
    }

    /// Adds the first rows of evenly spaced pieces of a table.
    fn look_into(&mut self, table: &Table, pieces: u64, keys: Option<&KeyColumn>) -> Result<()> {
        self.input_bytes =
            self.input_bytes.saturating_add(table.rows().saturating_mul(VALUE_BYTES));
        let step = (table.pieces() as u64).div_ceil(pieces.min(TABLE_PIECES));
        let mut looked_at = 0;
        let mut rows = Rows::default();
        for number in (0..table.pieces()).step_by(in_usize(step.max(1))) {
            if self.values.len() < MAX_VALUES && table.piece(number)?.next(&mut rows)? {
                looked_at += rows.len() as u64;
                Keep(&mut self.values).values(&rows.values);
                if let Some(keys) = keys {
                    keys.look_at(&rows);
                }
            }
        }
        self.bytes += looked_at * VALUE_BYTES;
        if looked_at < table.rows() || self.values.len() >= MAX_VALUES {
            self.complete = false;
            let bounds =
                table.bounds().map_or_else(|| ends_of_last(table), |ends| Ok(Some(ends)))?;
            self.values.extend(bounds.iter().flat_map(|&(min, max)| [min, max]));
        }
        Ok(())
    }

    /// Parses a piece of an input. The run itself reports malformed lines, not the sample.
    fn look(
        &mut self,
        input: &Opened,
        options: &ScanOptions<'_>,
        starts_inside: bool,
        at_end: bool,
        mut piece: Vec<u8>,
    ) -> Result<()> {
        self.bytes += piece.len() as u64;
        let terminator = options.block_format.terminator;
        let is_binary = options.block_format.format.value_bytes();
        if let Some(width) = is_binary {
            piece.truncate(piece.len() / width * width);
        } else {
            // Drop the half lines at both ends: they would mislead.
            if !at_end {
                let end = memrchr(terminator, &piece);
                piece.truncate(end.map_or(0, |end| end + 1));
            }
            if starts_inside {
                let first = memchr(terminator, &piece);
                piece.drain(..first.map_or(piece.len(), |first| first + 1));
            }
        }
        let inner = ScanOptions { header: options.header && !starts_inside, ..*options };
        let piece: Box<dyn Read + Send> = Box::new(io::Cursor::new(piece));
        let piece = [Opened::reader(input.name.clone(), piece)];
        let claims = Claims::new(&piece, options.block_format, options.progress);
        let ledger = Ledger::of(std::slice::from_ref(input), Invalid::Skip);
        let mut block = claims.block();
        while claims.next(&mut block)? {
            parse_block(&block, &inner, &ledger, &mut Keep(&mut self.values));
        }
        Ok(())
    }
}

/// The smallest and the largest value of the first rows of the last piece of a table that does not
/// tell its own. The first rows of sorted pieces alone would only tell small values.
fn ends_of_last(table: &Table) -> Result<Option<(u64, u64)>> {
    /// Batches of rows that are looked at, at most.
    const MOST: usize = 64;
    let (mut ends, mut rows) = (None, Rows::default());
    let Some(last) = table.pieces().checked_sub(1) else { return Ok(None) };
    let mut piece = table.piece(last)?;
    for _ in 0..MOST {
        if !piece.next(&mut rows)? {
            break;
        }
        for &value in &rows.values {
            let (min, max) = ends.unwrap_or((value, value));
            ends = Some((value.min(min), value.max(max)));
        }
    }
    Ok(ends)
}

/// Replaces the names of columns in `block_format` by their numbers, for an input that begins with
/// `head`; false if the head does not have the whole first record.
fn fix_column(
    block_format: &mut BlockFormat,
    head: &[u8],
    asked: &BlockFormat,
    name: &str,
) -> Result<bool> {
    let Some(selector) = &asked.column else { return Ok(true) };
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let whole = selector.complete(head, asked.record_bytes(), false).is_some()
        || (head.len() as u64) < PIECE_BYTES;
    if whole {
        let numbered = |selector: &Selector| -> Result<Selector> {
            let column = column_of(selector, head, asked.record_bytes(), name)? + 1;
            Ok(Selector { column: Column::Number(column), ..selector.clone() })
        };
        block_format.column = Some(numbered(selector)?);
        if let Some(keys) = &mut block_format.keys {
            keys.selector = numbered(&keys.selector)?;
        }
    }
    Ok(whole)
}
