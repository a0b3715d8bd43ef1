//! Threads that claim blocks, parse them, and hand on the values.

use super::binary;
use super::block::{Block, BlockFormat};
use super::blocks::Claims;
use super::keyed::KeyColumn;
use super::ledger::{Entry, Ledger};
use super::long_line::Overlong;
use super::open::Opened;
use crate::error::{Error, Result};
use crate::io::in_order::OnPanic;
use crate::io::table::{GapContent, Keys, Rows};
use crate::kernel::{Level, on_each};
use crate::number::{
    Line, LineSink, Malformed, RangeSink, Selector, block_ranges, block_values, undouble,
};
use crate::progress::Progress;
use memchr::memchr;
use std::ops::{ControlFlow, Range};

/// Takes the values of one thread.
pub(crate) trait Consumer {
    /// Takes values in the order of the block.
    fn values(&mut self, values: &[u64]);

    /// Takes all values of ranges, in the order of the block. A consumer that can store ranges
    /// overrides this.
    fn ranges(&mut self, ranges: &[[u64; 2]]) {
        for &[first, last] in ranges {
            (first..=last).for_each(|value| self.values(&[value]));
        }
    }

    /// Called between blocks; an error ends the run.
    fn checkpoint(&mut self) -> Result<()>;
}

/// How inputs are read.
pub(crate) struct ScanOptions<'a> {
    pub(crate) block_format: &'a BlockFormat,
    /// Whether the first line of each input carries no number.
    pub(crate) header: bool,
    pub(crate) level: Level,
    pub(crate) progress: &'a Progress,
}

/// Reads all inputs once, one thread a consumer, and gives the consumers back.
///
/// # Errors
///
/// The first error of a thread. The ledger reports malformed lines.
pub(crate) fn scan<C: Consumer + Send>(
    inputs: &[Opened],
    options: &ScanOptions<'_>,
    ledger: &Ledger<'_>,
    consumers: Vec<C>,
) -> Result<Vec<C>> {
    let claims = Claims::new(inputs, options.block_format, options.progress);
    let run = |mut consumer: C| -> Result<C> {
        // A thread that waits for the blocks of another one must end with it.
        let _guard = OnPanic(|| ledger.stop());
        let mut block = claims.block();
        let result = loop {
            if options.progress.is_cancelled() {
                break Err(Error::Interrupted);
            }
            // Another thread may still parse a block before the first malformed line.
            if ledger.is_stopped() && !block.is_begun() {
                break Ok(());
            }
            match claims.next(&mut block) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            let entry = parse_block(&block, options, ledger, &mut consumer);
            let ends_run = ledger.fails() && entry.has_rejects();
            ledger.enter(block.sequence, entry);
            if ends_run {
                ledger.stop();
                break Ok(());
            }
            options.progress.read(block.claimed_bytes);
            let kept =
                options.block_format.keys.as_ref().map_or(Ok(()), |keys| keys.numbers.check());
            if let Err(error) = kept.and_then(|()| consumer.checkpoint()) {
                break Err(error);
            }
        };
        if result.is_err() {
            ledger.stop();
        }
        result.map(|()| consumer)
    };
    let consumers = on_each(consumers, run).into_iter().collect::<Result<_>>()?;
    // It cannot happen, unless a plan is wrong: then no value may be lost in silence.
    if !ledger.is_stopped() && !claims.are_at_end() {
        return Err(Error::Accounting { what: "the inputs were not read to their ends".into() });
    }
    Ok(consumers)
}

/// Parses one block into `consumer`.
pub(crate) fn parse_block<C: Consumer>(
    block: &Block,
    options: &ScanOptions<'_>,
    ledger: &Ledger<'_>,
    consumer: &mut C,
) -> Entry {
    let (bytes, mut span) = block.padded();
    let mut sink = Sink {
        consumer,
        entry: Entry::new(block.input),
        bytes,
        origin: block.offset.wrapping_sub(span.start as u64),
        keep_text: ledger.keeps_text(),
        fail: ledger.fails(),
    };
    let block_format = options.block_format;
    if let Some(rows) = &block.rows {
        match (&block_format.keys, &rows.keys) {
            (Some(column), Some(keys)) => sink.keyed_rows(column, rows, keys),
            _ => sink.rows(rows),
        }
        return sink.entry();
    }
    let Some(notation) = block_format.format.notation() else {
        binary::values(block_format.format, &bytes[span], |values| sink.take(values));
        return sink.entry();
    };
    if options.header && block.first {
        if span.is_empty() {
            // The header is longer than the block; or the input is empty and has none.
            sink.entry.tally.headers += u64::from(block.overlong.is_some());
            return sink.entry();
        }
        span.start = sink.skip_header(block_format, span.clone());
    }
    let flow = if let (Some(selector), Some(keys)) = (&block_format.column, &block_format.keys) {
        sink.keyed_records(block_format, (selector, block.column), (keys, block.key_column), span)
    } else if let Some(selector) = &block_format.column {
        sink.records(block_format, selector, block.column, span)
    } else if notation.takes_ranges() {
        block_ranges(options.level, notation, bytes, span, block_format.terminator, &mut sink);
        ControlFlow::Continue(())
    } else {
        block_values(options.level, notation, bytes, span, block_format.terminator, &mut sink);
        ControlFlow::Continue(())
    };
    if let (ControlFlow::Continue(()), Some(long)) = (flow, &block.overlong) {
        sink.take_overlong(long, block_format.column.is_some());
    }
    sink.entry()
}

/// Number of terminators in `bytes`.
pub(super) fn count(bytes: &[u8], terminator: u8) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte == terminator)).sum()
}

/// Takes what the parser finds in a block: counts lines, hands the values to the consumer, and
/// notes malformed lines.
struct Sink<'a, C> {
    consumer: &'a mut C,
    entry: Entry,
    bytes: &'a [u8],
    /// The offset of a byte in the input is its place in `bytes` plus this.
    origin: u64,
    keep_text: bool,
    fail: bool,
}

impl<C> Sink<'_, C> {
    fn lines(&self) -> u64 {
        let Entry { tally, .. } = &self.entry;
        tally.values + tally.aside + tally.blank + tally.rejected + tally.headers
    }

    fn take_blank(&mut self) {
        self.entry.tally.blank += 1;
    }

    fn bad(&mut self, reason: Malformed, offset: u64, text: &[u8]) {
        if self.keep_text && !(self.fail && self.entry.has_rejects()) {
            let line = self.lines() + self.entry.inner_lines;
            self.entry.reject(line, offset, reason, text);
        }
        self.entry.tally.rejected += 1;
    }

    fn entry(mut self) -> Entry {
        self.entry.tally.lines = self.lines();
        self.entry
    }
}

impl<C: Consumer> Sink<'_, C> {
    /// Counts the header, with which `span` begins; gives the start of the line behind it.
    fn skip_header(&mut self, block_format: &BlockFormat, span: Range<usize>) -> usize {
        let bytes = &self.bytes[span.clone()];
        let end = if let Some(selector) = &block_format.column {
            selector.first_record(bytes, block_format.record_bytes()).len()
        } else {
            memchr(block_format.terminator, bytes).unwrap_or(bytes.len())
        };
        self.entry.tally.headers += 1;
        self.entry.inner_lines += count(&bytes[..end], block_format.terminator);
        (span.start + end + 1).min(span.end)
    }

    /// Takes the records of delimited text in `span`. Stops at a malformed one if that ends the
    /// run.
    fn records(
        &mut self,
        block_format: &BlockFormat,
        selector: &Selector,
        column: usize,
        span: Range<usize>,
    ) -> ControlFlow<()> {
        let bytes = self.bytes;
        let mut batch = Vec::with_capacity(1024);
        let quoted = bytes[span.clone()].contains(&b'"');
        let limit = block_format.record_bytes();
        for (record, line) in selector.records(&bytes[span.clone()], column, limit) {
            let record = record.start + span.start..record.end + span.start;
            let inner_lines =
                if quoted { count(&bytes[record.clone()], block_format.terminator) } else { 0 };
            if let Line::Value(value) = line {
                batch.push(value);
                if batch.len() < batch.capacity() {
                    self.entry.inner_lines += inner_lines;
                    continue;
                }
            }
            self.take(&batch);
            batch.clear();
            match line {
                Line::Value(_) => {}
                Line::Range { first, last } => self.ranges(&[[first, last]]),
                Line::Blank => self.take_blank(),
                Line::Malformed { reason, offset } => self.malformed(record, reason, offset)?,
            }
            self.entry.inner_lines += inner_lines;
        }
        self.take(&batch);
        ControlFlow::Continue(())
    }

    /// Takes the rows of delimited text in `span`, as [`records`](Self::records) does, each with
    /// its key.
    fn keyed_records(
        &mut self,
        block_format: &BlockFormat,
        (selector, column): (&Selector, usize),
        (keys, key_column): (&KeyColumn, usize),
        span: Range<usize>,
    ) -> ControlFlow<()> {
        const BATCH: usize = 1024;
        let bytes = &self.bytes[span.clone()];
        let quoted = bytes.contains(&b'"');
        let (mut batch, mut plain, mut numbers) = (Vec::with_capacity(BATCH), Vec::new(), vec![]);
        let limit = block_format.record_bytes();
        for (record, line, [value, key]) in selector.pairs(bytes, column, key_column, limit) {
            let inner_lines =
                if quoted { count(&bytes[record.clone()], block_format.terminator) } else { 0 };
            let is_quoted = quoted && key.start > record.start && bytes[key.start - 1] == b'"';
            let key = &bytes[key];
            let is_doubled = is_quoted && key.contains(&b'"');
            if let (Line::Value(value), false) = (&line, is_doubled) {
                batch.push((key, *value));
                if batch.len() < BATCH {
                    self.entry.inner_lines += inner_lines;
                    continue;
                }
            }
            self.take_rows(keys, &batch, &mut numbers);
            batch.clear();
            let place = record.start + span.start..record.end + span.start;
            match line {
                Line::Value(value) if is_doubled => {
                    plain.clear();
                    undouble(key, &mut plain);
                    self.take_rows(keys, &[(&plain, value)], &mut numbers);
                }
                Line::Value(_) => {}
                Line::Blank => self.take_blank(),
                Line::Range { first, last } => {
                    plain.clear();
                    let key = if is_doubled {
                        undouble(key, &mut plain);
                        &plain[..]
                    } else {
                        key
                    };
                    if let Err(reason) = self.take_range(keys, key, [first, last]) {
                        let offset = (value.start - record.start) as u64;
                        self.malformed(place, reason, offset)?;
                    }
                }
                Line::Malformed { reason, offset } => self.malformed(place, reason, offset)?,
            }
            self.entry.inner_lines += inner_lines;
        }
        self.take_rows(keys, &batch, &mut numbers);
        ControlFlow::Continue(())
    }

    /// Takes rows as the numbers that stand for them. Counts the rows that are kept aside and have
    /// no number.
    fn take_rows(&mut self, keys: &KeyColumn, rows: &[(&[u8], u64)], numbers: &mut Vec<u64>) {
        numbers.clear();
        keys.numbers.number(rows, numbers);
        self.entry.tally.aside += (rows.len() - numbers.len()) as u64;
        self.take(numbers);
    }

    /// Takes a row with a range of ids as the numbers that stand for them.
    fn take_range(&mut self, keys: &KeyColumn, key: &[u8], ids: [u64; 2]) -> Result<(), Malformed> {
        if let Some(range) = keys.numbers.range(key, ids)? {
            self.ranges(&[range]);
        }
        Ok(())
    }

    /// Takes a line that is longer than the block.
    fn take_overlong(&mut self, long: &Overlong, is_record: bool) {
        match long.line {
            _ if is_record => self.bad(Malformed::RecordTooLong, long.offset, &long.head),
            Line::Value(value) => self.take(&[value]),
            Line::Range { first, last } => self.ranges(&[[first, last]]),
            Line::Blank => self.take_blank(),
            Line::Malformed { reason, offset } => {
                self.bad(reason, long.offset + offset, &long.head);
            }
        }
    }

    /// Takes a row that is not one number; `range` takes those of a range.
    fn take_gap(&mut self, content: &GapContent, range: impl FnOnce(&mut Self, [u64; 2])) {
        match content {
            GapContent::Nothing => self.take_blank(),
            GapContent::Range(ids) => range(self, *ids),
            GapContent::Malformed(reason, text) => self.bad(*reason, 0, text),
        }
    }

    fn rows(&mut self, rows: &Rows) {
        self.entry.has_rows = true;
        let mut rest = &rows.values[..];
        let mut done = 0;
        for gap in &rows.gaps {
            let (before, behind) = rest.split_at(gap.row - done);
            self.take(before);
            (rest, done) = (behind, gap.row + 1);
            self.take_gap(&gap.content, |sink, range| sink.ranges(&[range]));
        }
        self.take(rest);
    }

    /// Takes rows with their keys. A row without a key or a value counts as blank, whatever the other
    /// one is.
    fn keyed_rows(&mut self, column: &KeyColumn, rows: &Rows, keys: &Keys) {
        self.entry.has_rows = true;
        let (mut values, mut gaps) = (rows.values.iter(), rows.gaps.iter().peekable());
        let (mut batch, mut numbers) = (Vec::with_capacity(1024), Vec::new());
        for row in 0..rows.len() {
            if let Some(gap) = gaps.next_if(|gap| gap.row == row) {
                self.take_rows(column, &batch, &mut numbers);
                batch.clear();
                match keys.get(row) {
                    Some(key) => self.take_gap(&gap.content, |sink, range| {
                        if let Err(reason) = sink.take_range(column, key, range) {
                            sink.bad(reason, 0, format!("{}-{}", range[0], range[1]).as_bytes());
                        }
                    }),
                    None => self.take_blank(),
                }
                continue;
            }
            if let (Some(key), Some(&value)) = (keys.get(row), values.next()) {
                batch.push((key, value));
            } else {
                self.take_rows(column, &batch, &mut numbers);
                batch.clear();
                self.take_blank();
            }
            if batch.len() == batch.capacity() {
                self.take_rows(column, &batch, &mut numbers);
                batch.clear();
            }
        }
        self.take_rows(column, &batch, &mut numbers);
    }

    #[inline]
    fn take(&mut self, values: &[u64]) {
        self.entry.tally.values += values.len() as u64;
        self.consumer.values(values);
    }
}

impl<C: Consumer> LineSink for Sink<'_, C> {
    #[inline]
    fn values(&mut self, values: &[u64], _: &[u32]) {
        self.take(values);
    }

    fn blank(&mut self, _: u32) {
        self.take_blank();
    }

    fn malformed(&mut self, line: Range<usize>, reason: Malformed, offset: u64) -> ControlFlow<()> {
        let place = self.origin.wrapping_add(line.start as u64 + offset);
        self.bad(reason, place, &self.bytes[line]);
        if self.fail { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl<C: Consumer> RangeSink for Sink<'_, C> {
    #[inline]
    fn ranges(&mut self, ranges: &[[u64; 2]]) {
        self.entry.tally.values += ranges.len() as u64;
        self.consumer.ranges(ranges);
    }
}
