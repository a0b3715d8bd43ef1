//! Reads the values of one input in its order, a block at a time.

use super::block::Block;
use super::blocks::Claims;
use super::ledger::{Invalid, Ledger, Tally};
use super::open::Opened;
use super::scan::{Consumer, ScanOptions, count, parse_block};
use crate::error::{Error, Result};
use crate::number::Line;

/// Reads one input from its beginning to its end.
pub(crate) struct Ordered<'a> {
    input: &'a Opened,
    options: &'a ScanOptions<'a>,
    claims: Claims<'a>,
    block: Block,
    ledger: Option<Ledger<'a>>,
    /// Lines before this block.
    lines_before: u64,
    lines: u64,
    tally: Tally,
}

struct Append<'a>(&'a mut Vec<u64>);

impl Consumer for Append<'_> {
    fn values(&mut self, values: &[u64]) {
        self.0.extend_from_slice(values);
    }

    fn checkpoint(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<'a> Ordered<'a> {
    pub(crate) fn new(
        input: &'a Opened,
        options: &'a ScanOptions<'a>,
        invalid: Invalid<'a>,
    ) -> Self {
        let inputs = std::slice::from_ref(input);
        let claims = Claims::new(inputs, options.block_format, options.progress);
        Self {
            input,
            options,
            block: claims.block(),
            claims,
            ledger: Some(Ledger::of(std::slice::from_ref(input), invalid)),
            lines_before: 0,
            lines: 0,
            tally: Tally::default(),
        }
    }

    /// Replaces `values` with those of the next block that has any; false at
    /// the end.
    pub(crate) fn next(&mut self, values: &mut Vec<u64>) -> Result<bool> {
        values.clear();
        while let Some(ledger) = &self.ledger {
            Error::if_cancelled(self.options.progress)?;
            // The values before a malformed line were handed over first.
            let more = !ledger.is_stopped() && self.claims.next(&mut self.block)?;
            if more {
                let options = self.options;
                let entry = parse_block(&self.block, options, ledger, &mut Append(values));
                self.lines_before = self.lines;
                self.lines += entry.tally.lines + entry.inner_lines;
                ledger.enter(self.block.sequence, entry);
                options.progress.read(self.block.claimed_bytes);
                if !values.is_empty() {
                    return Ok(true);
                }
            }
            if (!more || ledger.is_stopped())
                && let Some(ledger) = self.ledger.take()
            {
                self.tally = ledger.finish()?;
            }
        }
        Ok(false)
    }

    /// Number (from 1) of the line that has value `index` of the current block.
    pub(crate) fn line_of(&self, index: usize) -> u64 {
        let block_format = self.options.block_format;
        let bytes = self.block.lines();
        // A header has no value, even if it looks like a number.
        let headers = usize::from(self.options.header && self.block.first);
        let within = if let Some(rows) = &self.block.rows {
            rows.row_of(index) as u64
        } else if block_format.format.value_bytes().is_some() {
            index as u64
        } else if let Some(selector) = &block_format.column {
            let records = selector.records(bytes, self.block.column, block_format.record_bytes());
            let records = records.skip(headers);
            let mut values = records.filter(|(_, line)| matches!(line, Line::Value(_)));
            let start = values.nth(index).map_or(0, |(record, _)| record.start);
            count(&bytes[..start], block_format.terminator)
        } else {
            let notation = block_format.format.notation().unwrap_or_default();
            let lines =
                bytes.split(|&byte| byte == block_format.terminator).enumerate().skip(headers);
            let mut values =
                lines.filter(|(_, line)| matches!(notation.parse_line(line), Line::Value(_)));
            // A line that is longer than a block is the last one of it, and is not among these.
            let last = self.lines.saturating_sub(self.lines_before + 1);
            values.nth(index).map_or(last, |(line, _)| line as u64)
        };
        self.lines_before + within + 1
    }

    /// The name of the input.
    pub(crate) fn name(&self) -> &str {
        &self.input.name
    }

    /// The counts, complete at the end.
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }
}
