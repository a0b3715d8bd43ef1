//! The lines of a claim, and the answers to them.

use super::LineAnswer;
use crate::error::{Error, Result, excerpt};
use crate::io::read::Block;
use crate::kernel::sys::Pages;
use crate::kernel::{decimal, in_usize};
use crate::number::{Line, LineSink, MAX_RECORD_BYTES, Malformed, Notation, Selector};
use crate::set::view::{BATCH, Damage, Passed, Prober, Queue};
use std::mem;
use std::ops::{ControlFlow, Range};

/// Where a line begins, in the low half, and its terminator is, in the high half.
type Span = u64;

/// The lines of a claim, and the answers to them.
pub(super) struct Lines<'a> {
    notation: Notation,
    skip_invalid: bool,
    prober: Prober<'a>,
    pub(super) screen: Option<Queue<'a, Span>>,
    pub(super) screened_in_vain: bool,
    passed: Passed<Span>,
    /// Values to look up: of all lines that have one or, with a screen, of those that passed it.
    values: Pages,
    /// Where the lines of these values lie.
    spans: Pages,
    looked_up: usize,
    /// Text of the first `kept_count` lines, which were copied because their blocks are gone.
    kept: Vec<u8>,
    kept_count: usize,
    /// Lines that have a value, since answers were given.
    unanswered: u64,
    /// Lines of the block that have none.
    without: Vec<Span>,
    /// Where the next line begins.
    next: u32,
    pub(super) wrong: Option<Wrong>,
    /// Places of values that passed the screen, of which it is not sure.
    unsure: Vec<usize>,
    found: Vec<bool>,
    pub(super) out: Vec<u8>,
    pub(super) counts: Counts,
}

/// Counts of the lines of one claim.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Lines, or records.
    pub(super) lines: u64,
    /// Line ends inside of records, which an editor counts too.
    pub(super) inner_ends: u64,
    /// Those that have a value.
    pub(super) asked: u64,
    /// Those whose value was found.
    pub(super) found: u64,
    /// Malformed ones that were left out.
    pub(super) rejected: u64,
}

/// A malformed line, with which the claim ends.
pub(super) struct Wrong {
    line: Range<usize>,
    reason: Malformed,
    offset: u64,
}

impl Wrong {
    /// The error, if the line is that of this number.
    pub(super) fn error(self, block: &Block, number: u64) -> Error {
        let (bytes, span) = block.padded();
        let text = &bytes[self.line.clone()];
        Error::MalformedLine {
            input: block.name.clone(),
            line: number,
            offset: block.offset + (self.line.start - span.start) as u64 + self.offset,
            reason: self.reason,
            excerpt: excerpt(text),
        }
    }
}

impl LineSink for Lines<'_> {
    #[inline]
    fn values(&mut self, values: &[u64], ends: &[u32]) {
        self.unanswered += values.len() as u64;
        self.counts.lines += values.len() as u64;
        if self.screen.is_none() {
            let places = self.looked_up..self.looked_up + values.len();
            self.looked_up = places.end;
            self.values.words_mut()[places.clone()].copy_from_slice(values);
            spans(ends, &mut self.next, &mut self.spans.words_mut()[places]);
            return;
        }
        for (values, ends) in values.chunks(BATCH).zip(ends.chunks(BATCH)) {
            if let Some(screen) = &mut self.screen {
                let tag = |slots: &mut [Span]| spans(ends, &mut self.next, slots);
                screen.push(values, tag, &mut self.passed);
            }
            self.take_passed();
        }
    }

    fn blank(&mut self, end: u32) {
        self.without.push(span(self.next, end));
        self.next = end + 1;
        self.counts.lines += 1;
    }

    fn malformed(&mut self, line: Range<usize>, reason: Malformed, offset: u64) -> ControlFlow<()> {
        if self.skip_invalid {
            self.counts.rejected += 1;
            #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
            self.blank(line.end as u32);
            return ControlFlow::Continue(());
        }
        self.wrong = Some(Wrong { line, reason, offset });
        ControlFlow::Break(())
    }
}

/// Fills in where lines with these ends lie; `next` is where the next one begins.
#[inline]
fn spans(ends: &[u32], next: &mut u32, slots: &mut [Span]) {
    let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else { return };
    slots[0] = span(mem::replace(next, last + 1), first);
    for (slot, (&before, &end)) in slots[1..].iter_mut().zip(ends.iter().zip(&ends[1..])) {
        *slot = span(before + 1, end);
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(prober: Prober<'a>, notation: Notation, skip_invalid: bool) -> Self {
        Self {
            notation,
            skip_invalid,
            prober,
            screen: None,
            screened_in_vain: false,
            passed: Passed::default(),
            values: Pages::default(),
            spans: Pages::default(),
            looked_up: 0,
            kept: Vec::new(),
            kept_count: 0,
            unanswered: 0,
            without: Vec::new(),
            next: 0,
            wrong: None,
            unsure: Vec::new(),
            found: Vec::new(),
            out: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// Begins a claim of that many bytes.
    pub(super) fn begin(&mut self, bytes: u64) -> Result<()> {
        (self.wrong, self.counts) = (None, Counts::default());
        self.out.clear();
        let bytes = in_usize(bytes);
        let count = bytes / 2 + 1; // a digit and a newline, at least
        let failed = || Error::no_memory(16 * count);
        self.values.make_room(count).map_err(failed())?;
        self.spans.make_room(count).map_err(failed())
    }

    /// Begins a block, whose lines begin at `start`.
    #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
    pub(super) fn begin_block(&mut self, start: usize) {
        self.without.clear();
        self.next = start as u32;
    }

    /// Takes what came through the screen.
    #[inline]
    fn take_passed(&mut self) {
        let Passed { values, tags, sure, len } = &self.passed;
        let places = self.looked_up..self.looked_up + *len;
        self.looked_up = places.end;
        self.values.words_mut()[places.clone()].copy_from_slice(&values[..*len]);
        self.spans.words_mut()[places.clone()].copy_from_slice(&tags[..*len]);
        self.unsure.extend(places.zip(sure).filter(|(_, sure)| !**sure).map(|(place, _)| place));
    }

    /// Takes the records of a block; gives where they begin, behind a header.
    #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
    pub(super) fn records(&mut self, selector: &Selector, block: &Block) -> usize {
        let (bytes, span) = block.padded();
        let mut start = span.start;
        if block.first && selector.has_header() {
            let header = selector.first_record(&bytes[span.clone()], MAX_RECORD_BYTES);
            self.counts.lines += 1;
            self.counts.inner_ends += newlines(header);
            start = (start + header.len() + 1).min(span.end);
            self.next = start as u32;
        }
        let rows = &bytes[start..span.end];
        for (record, line) in selector.records(rows, block.column, MAX_RECORD_BYTES) {
            let record = start + record.start..start + record.end;
            let end = record.end as u32;
            let inner = newlines(&bytes[record.clone()]);
            match line {
                Line::Value(value) => self.values(&[value], &[end]),
                Line::Blank => self.blank(end),
                Line::Range { .. } => {
                    if self.malformed(record, Malformed::ManyValues, 0).is_break() {
                        break;
                    }
                }
                Line::Malformed { reason, offset } => {
                    if self.malformed(record, reason, offset).is_break() {
                        break;
                    }
                }
            }
            self.counts.inner_ends += inner;
        }
        start
    }

    /// Takes the lines that are still on their way through the screen.
    fn drain(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.finish(&mut self.passed);
            self.take_passed();
        }
    }

    /// Keeps the lines of a block, in `bytes`, that passed the screen; gives the
    /// bytes of all that are kept.
    #[expect(clippy::cast_possible_truncation, reason = "they are of a claim")]
    pub(super) fn keep(&mut self, bytes: &[u8]) -> usize {
        self.drain();
        for slot in &mut self.spans.words_mut()[self.kept_count..self.looked_up] {
            let start = self.kept.len() as u32;
            self.kept.extend_from_slice(&bytes[line(*slot)]);
            *slot = span(start, self.kept.len() as u32 - 1);
        }
        self.kept_count = self.looked_up;
        self.kept.len()
    }

    /// Finds out which lines' values are in the set; gives how many were asked for,
    /// and how many are.
    pub(super) fn look_up(&mut self) -> Result<(u64, u64), Damage> {
        self.drain();
        let values = &self.values.words()[..self.looked_up];
        // What passed the screen is there, unless the set says that it is not.
        self.found.resize(self.looked_up, true);
        if self.screen.is_some() {
            self.prober.ask_for(&self.unsure, values, &mut self.found)?;
        } else {
            self.prober.contains_many(values, &mut self.found)?;
        }
        let found = self.found.iter().map(|&found| u64::from(found)).sum();
        let asked = mem::take(&mut self.unanswered);
        self.counts.asked += asked;
        self.counts.found += found;
        if self.screen.is_some() && 2 * self.unsure.len() as u64 > asked {
            (self.screen, self.screened_in_vain) = (None, true);
        }
        Ok((asked, found))
    }

    /// Writes the answers to the lines of a block, which begin at `bytes[start..]`.
    ///
    /// # Errors
    ///
    /// If a value cannot be written in the notation in which it was read.
    pub(super) fn write(&mut self, answer: LineAnswer, bytes: &[u8], start: usize) -> Result<()> {
        let mut out = mem::take(&mut self.out);
        match answer {
            LineAnswer::Tell => self.tell(&mut out)?,
            LineAnswer::Copy { wanted } => self.copy(bytes, start, wanted, &mut out),
        }
        self.out = out;
        self.forget();
        Ok(())
    }

    /// Puts out the lines among those that were kept whose values were found.
    pub(super) fn write_kept(&mut self) {
        let (mut out, mut kept) = (mem::take(&mut self.out), mem::take(&mut self.kept));
        self.copy(&kept, 0, true, &mut out);
        kept.clear();
        (self.out, self.kept) = (out, kept);
        self.forget();
    }

    /// Forgets the lines that were answered.
    fn forget(&mut self) {
        (self.looked_up, self.kept_count) = (0, 0);
        self.found.clear();
        self.unsure.clear();
    }

    fn tell(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut digits = [0; decimal::MAX_LINE + decimal::SLACK];
        let too_large = |value| Error::ValueTooLarge { value, format: self.notation.name() };
        for (&value, &found) in self.values.words().iter().zip(&self.found) {
            let encoded = self.notation.encode(0, &[value], b'\t', &mut digits);
            out.extend_from_slice(&digits[..encoded.map_err(too_large)?]);
            out.extend_from_slice(if found { b"true\n" } else { b"false\n" });
        }
        Ok(())
    }

    /// Copies the lines from `bytes[start..]` whose values were found, or were not;
    /// neighbours together.
    fn copy(&self, bytes: &[u8], start: usize, wanted: bool, out: &mut Vec<u8>) {
        let found = self.spans.words().iter().zip(&self.found).filter(|(_, found)| **found);
        let found = found.map(|(&span, _)| line(span));
        if wanted {
            let mut run = start..start;
            for line in found {
                if line.start != run.end {
                    out.extend_from_slice(&bytes[run]);
                    run = line.start..line.start;
                }
                run.end = line.end;
            }
            out.extend_from_slice(&bytes[run]);
            return;
        }
        let mut from = start;
        let mut leave_out = |line: Range<usize>| {
            out.extend_from_slice(&bytes[from..line.start]);
            from = line.end;
        };
        let mut without = self.without.iter().copied().map(line).peekable();
        for line in found {
            while let Some(earlier) = without.next_if(|without| without.start < line.start) {
                leave_out(earlier);
            }
            leave_out(line);
        }
        without.for_each(&mut leave_out);
        let end = self.next as usize;
        leave_out(end..end);
    }
}

fn span(start: u32, end: u32) -> Span {
    u64::from(end) << 32 | u64::from(start)
}

/// A line with its terminator.
#[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
fn line(span: Span) -> Range<usize> {
    span as u32 as usize..(span >> 32) as usize + 1
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte == b'\n')).sum()
}
