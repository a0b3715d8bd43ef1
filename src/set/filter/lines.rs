//! The lines of a chunk, and which of them a set has.

use super::screening::Screened;
use crate::error::{Error, Result};
use crate::input::LineChunk;
use crate::simd::{Level, decimal};
use crate::sys::Pages;
use crate::text::{Column, Line, LineSink, Malformed, Selector};
use crate::view::{Damage, Prober};
use std::mem;
use std::ops::{ControlFlow, Range};

/// The lines of a chunk, and what becomes of them.
pub(super) struct Lines<'a> {
    skip_invalid: bool,
    /// Has a value for each line, 0 if it has none; only for those that passed
    /// where there is a screen.
    prober: Prober<'a>,
    pub(super) screened: Option<Screened<'a>>,
    pub(super) screened_in_vain: bool,
    count: usize,
    /// Where each line ends.
    ends: Pages,
    /// Lines that have no value.
    without: Vec<usize>,
    /// Lines that are none of these: of a header, or within quotes.
    inner: u64,
    pub(super) wrong: Option<Wrong>,
    found: Vec<bool>,
    /// Whether every value was found.
    pub(super) all: bool,
    /// Lines whose value was found.
    pub(super) hits: u64,
    pub(super) out: Vec<u8>,
}

/// A malformed line, with which the chunk ends.
pub(super) struct Wrong {
    line: Range<usize>,
    reason: Malformed,
    offset: u64,
}

impl Wrong {
    /// The error, if the line is that of this number.
    pub(super) fn error(self, chunk: &LineChunk, number: u64) -> Error {
        let (bytes, span) = chunk.padded();
        let text = &bytes[self.line.clone()];
        Error::MalformedLine {
            input: chunk.name.clone(),
            line: number,
            offset: chunk.offset + (self.line.start - span.start) as u64 + self.offset,
            reason: self.reason,
            excerpt: text[..text.len().min(40)].escape_ascii().to_string(),
        }
    }
}

impl LineSink for Lines<'_> {
    #[inline]
    fn values(&mut self, values: &[u64], ends: &[u32]) {
        let lines = self.count..self.count + values.len();
        self.count = lines.end;
        match &mut self.screened {
            None => self.prober.push(values),
            Some(screened) => screened.push(values, &mut self.prober),
        }
        bytemuck::cast_slice_mut(self.ends.words_mut())[lines].copy_from_slice(ends);
    }

    fn blank(&mut self, end: u32) {
        self.without.push(self.count);
        self.values(&[0], &[end]);
    }

    fn malformed(&mut self, line: Range<usize>, reason: Malformed, offset: u64) -> ControlFlow<()> {
        if self.skip_invalid {
            #[expect(clippy::cast_possible_truncation, reason = "chunks are below 4 GiB")]
            self.blank(line.end as u32);
            return ControlFlow::Continue(());
        }
        self.wrong = Some(Wrong { line, reason, offset });
        ControlFlow::Break(())
    }
}

impl<'a> Lines<'a> {
    pub(super) fn new(prober: Prober<'a>, skip_invalid: bool) -> Self {
        Self {
            skip_invalid,
            prober,
            screened: None,
            screened_in_vain: false,
            count: 0,
            ends: Pages::default(),
            without: Vec::new(),
            inner: 0,
            wrong: None,
            found: Vec::new(),
            all: true,
            hits: 0,
            out: Vec::new(),
        }
    }

    /// Forgets all lines, and has room for `count` others.
    pub(super) fn clear(&mut self, count: usize) -> Result<()> {
        self.without.clear();
        (self.count, self.inner, self.wrong) = (0, 0, None);
        if let Some(screened) = &mut self.screened {
            screened.clear();
        }
        let failed = || Error::no_memory(12 * count);
        self.prober.clear(count).map_err(failed())?;
        if 2 * self.ends.words().len() < count {
            self.ends = Pages::zeroed(count.div_ceil(2)).map_err(failed())?;
        }
        Ok(())
    }

    /// Lines that have a value.
    pub(super) fn with_value(&self) -> u64 {
        (self.count - self.without.len()) as u64
    }

    /// Lines as an editor numbers them.
    pub(super) fn number(&self) -> u64 {
        self.count as u64 + self.inner
    }

    /// Takes the records of a chunk; gives where they begin, behind a header.
    pub(super) fn records(&mut self, selector: &Selector, chunk: &LineChunk) -> usize {
        let (bytes, span) = chunk.padded();
        let mut start = span.start;
        if chunk.first && matches!(selector.column, Column::Name(_)) {
            let header = selector.first_record(&bytes[span.clone()]);
            self.inner += 1 + newlines(header);
            start = (start + header.len() + 1).min(span.end);
        }
        for (record, line) in selector.records(&bytes[start..span.end], chunk.column) {
            let record = start + record.start..start + record.end;
            #[expect(clippy::cast_possible_truncation, reason = "chunks are below 4 GiB")]
            let end = record.end as u32;
            let inner = newlines(&bytes[record.clone()]);
            match line {
                Line::Value(value) => self.values(&[value], &[end]),
                Line::Blank => self.blank(end),
                Line::Malformed { reason, offset } => {
                    if self.malformed(record, reason, offset).is_break() {
                        break;
                    }
                }
            }
            self.inner += inner;
        }
        start
    }

    /// Finds out which lines' values are in the set.
    pub(super) fn look_up(&mut self) -> Result<(), Damage> {
        let mut found = mem::take(&mut self.found);
        found.clear();
        found.resize(self.count, false);
        if let Some(screened) = &mut self.screened {
            screened.answer(&mut self.prober, &mut found)?;
            if screened.is_in_vain(self.count - self.without.len()) {
                (self.screened, self.screened_in_vain) = (None, true);
            }
        } else {
            self.prober.answer(&mut found)?;
        }
        self.all = self.all(&found);
        for &line in &self.without {
            found[line] = false;
        }
        self.hits = found.iter().map(|&found| u64::from(found)).sum();
        self.found = found;
        Ok(())
    }

    fn ends(&self) -> &[u32] {
        &bytemuck::cast_slice(self.ends.words())[..self.count]
    }

    /// Whether every line that has a value was found.
    fn all(&self, found: &[bool]) -> bool {
        let mut without = self.without.iter().peekable();
        found.iter().enumerate().all(|(line, &found)| {
            let has_none = without.next_if(|&&without| without == line).is_some();
            found || has_none
        })
    }

    pub(super) fn tell(&self, out: &mut Vec<u8>) {
        let mut without = self.without.iter().peekable();
        let mut digits = [0; decimal::MAX_LINE + decimal::SLACK];
        for (line, (&value, &found)) in self.prober.values().iter().zip(&self.found).enumerate() {
            if without.next_if(|&&without| without == line).is_some() {
                continue;
            }
            let end = decimal::lines(Level::best(), 0, &[value], b'\t', &mut digits);
            out.extend_from_slice(&digits[..end]);
            out.extend_from_slice(if found { b"true\n" } else { b"false\n" });
        }
    }

    /// Copies lines from `bytes[start..]`, neighbours together.
    pub(super) fn copy(&mut self, bytes: &[u8], start: usize, wanted: bool, out: &mut Vec<u8>) {
        for &line in &self.without {
            self.found[line] = !wanted;
        }
        let found = &self.found;
        let ends = self.ends();
        let place = |line: usize| match line.checked_sub(1) {
            Some(before) => ends[before] as usize + 1,
            None => start,
        };
        let mut line = next(found, 0, wanted);
        while line < found.len() {
            let end = next(found, line, !wanted);
            out.extend_from_slice(&bytes[place(line)..place(end)]);
            line = next(found, end, wanted);
        }
    }
}

fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|&byte| u64::from(byte == b'\n')).sum()
}

/// The first place from `from` on that has `wanted`, or the end.
fn next(found: &[bool], from: usize, wanted: bool) -> usize {
    let (eights, _) = found[from..].as_chunks::<8>();
    let skipped = eights.iter().take_while(|eight| **eight == [!wanted; 8]).count();
    let from = from + 8 * skipped;
    found[from..].iter().position(|&found| found == wanted).map_or(found.len(), |at| from + at)
}
