//! Threads that claim blocks, parse them, and hand on the values.

use super::binary;
use super::block::{Block, Cut};
use super::blocks::Claims;
use super::ledger::{Entry, Ledger};
use super::open::Opened;
use crate::error::{Error, Result};
use crate::io::table::Rows;
use crate::kernel::{Level, on_each};
use crate::number::{Line, LineSink, Malformed, block_values};
use crate::progress::Progress;
use std::ops::{ControlFlow, Range};

/// Takes the values of one thread.
pub(crate) trait Consumer {
    /// Takes values in the order of the block.
    fn values(&mut self, values: &[u64]);

    /// Called between blocks; an error ends the run.
    fn checkpoint(&mut self) -> Result<()>;
}

/// How inputs are read.
pub(crate) struct ScanOptions<'a> {
    pub(crate) cut: &'a Cut,
    /// Whether the first line of each input carries no number.
    pub(crate) header: bool,
    pub(crate) level: Level,
    pub(crate) progress: &'a Progress,
}

/// Reads all inputs once, one thread a consumer, and gives the consumers back.
///
/// # Errors
///
/// The first error of a thread. Malformed lines are the ledger's to report.
pub(crate) fn scan<C: Consumer + Send>(
    inputs: &[Opened],
    options: &ScanOptions<'_>,
    ledger: &Ledger<'_>,
    consumers: Vec<C>,
) -> Result<Vec<C>> {
    let claims = Claims::new(inputs, options.cut);
    let run = |mut consumer: C| -> Result<C> {
        let mut block = claims.block();
        let result = loop {
            if options.progress.is_cancelled() {
                break Err(Error::Interrupted);
            }
            // What comes before the first malformed line may still be there.
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
            if let Err(error) = consumer.checkpoint() {
                break Err(error);
            }
        };
        if result.is_err() {
            ledger.stop();
        }
        result.map(|()| consumer)
    };
    on_each(consumers, run).into_iter().collect()
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
    if let Some(rows) = &block.rows {
        sink.rows(rows);
        return sink.entry();
    }
    if options.cut.format.value_bytes().is_some() {
        binary::values(options.cut.format, &bytes[span], |values| sink.take(values));
        return sink.entry();
    }
    if options.header && block.first && span.is_empty() && block.overlong.is_some() {
        sink.entry.tally.headers += 1;
        return sink.entry();
    }
    if options.header && block.first && !span.is_empty() {
        let end = match &options.cut.column {
            Some(selector) => {
                selector.first_record(&bytes[span.clone()], options.cut.record_bytes()).len()
            }
            None => bytes[span.clone()]
                .iter()
                .position(|&byte| byte == options.cut.terminator)
                .unwrap_or(span.len()),
        };
        let header = span.start..span.start + end;
        span.start = (header.end + 1).min(span.end);
        sink.entry.tally.headers += 1;
        sink.entry.inner_lines += count(&bytes[header], options.cut.terminator);
    }
    if let Some(selector) = &options.cut.column {
        let mut batch = Vec::with_capacity(1024);
        let terminator = options.cut.terminator;
        let quoted = bytes[span.clone()].contains(&b'"');
        let limit = options.cut.record_bytes();
        for (record, line) in selector.records(&bytes[span.clone()], block.column, limit) {
            let record = record.start + span.start..record.end + span.start;
            // Whether a record is too long must not depend on where blocks end.
            let line = if record.len() < limit {
                line
            } else {
                Line::Malformed { reason: Malformed::RecordTooLong, offset: 0 }
            };
            let inner_lines = if quoted { count(&bytes[record.clone()], terminator) } else { 0 };
            if let Line::Value(value) = line {
                batch.push(value);
                if batch.len() < batch.capacity() {
                    sink.entry.inner_lines += inner_lines;
                    continue;
                }
            }
            sink.take(&batch);
            batch.clear();
            let flow = match line {
                Line::Value(_) => ControlFlow::Continue(()),
                Line::Blank => {
                    sink.take_blank();
                    ControlFlow::Continue(())
                }
                Line::Malformed { reason, offset } => sink.malformed(record, reason, offset),
            };
            if flow == ControlFlow::Break(()) {
                return sink.entry();
            }
            sink.entry.inner_lines += inner_lines;
        }
        sink.take(&batch);
    } else {
        block_values(options.level, bytes, span, options.cut.terminator, &mut sink);
    }
    if let Some(long) = &block.overlong {
        match long.line {
            _ if options.cut.column.is_some() => {
                sink.bad(Malformed::RecordTooLong, long.offset, &long.head);
            }
            Line::Value(value) => sink.take(&[value]),
            Line::Blank => sink.take_blank(),
            Line::Malformed { reason, offset } => {
                sink.bad(reason, long.offset + offset, &long.head);
            }
        }
    }
    sink.entry()
}

/// Terminators in `bytes`.
pub(super) fn count(bytes: &[u8], terminator: u8) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte == terminator)).sum()
}

/// Counts what a block has while its values pass.
struct Sink<'a, C> {
    consumer: &'a mut C,
    entry: Entry,
    bytes: &'a [u8],
    /// Add a position in `bytes` to it for the offset in the input.
    origin: u64,
    keep_text: bool,
    fail: bool,
}

impl<C> Sink<'_, C> {
    fn lines(&self) -> u64 {
        let Entry { tally, .. } = &self.entry;
        tally.values + tally.blank + tally.rejected + tally.headers
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
    fn rows(&mut self, rows: &Rows) {
        self.entry.has_rows = true;
        let mut rest = &rows.values[..];
        let mut done = 0;
        for gap in &rows.gaps {
            let (before, behind) = rest.split_at(gap.row - done);
            self.take(before);
            (rest, done) = (behind, gap.row + 1);
            match gap.negative {
                None => self.take_blank(),
                Some(value) => self.bad(Malformed::Negative, 0, value.to_string().as_bytes()),
            }
        }
        self.take(rest);
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
