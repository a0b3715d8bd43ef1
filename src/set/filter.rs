//! Lines of text that a set answers: those in it are copied, or each is told.
//!
//! Each thread takes a chunk of lines, asks the set for all its values at once,
//! and writes when it is its turn.

use super::SetFile;
use crate::error::{Error, Result};
use crate::input::{ChunkJob, LineChunk, LineReader};
use crate::simd::{Level, decimal};
use crate::sys::Pages;
use crate::text::{Column, Line, LineSink, Malformed, Selector, block_values};
use crate::view::Prober;
use std::io::Write;
use std::mem;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;

/// What becomes of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineAnswer {
    /// Its value is printed, and whether the set has it.
    Tell,
    /// It is copied if its value is in the set, or if it is not.
    Copy { wanted: bool },
}

/// How lines are answered.
pub(crate) struct Filter<'a> {
    pub(crate) set: &'a SetFile,
    pub(crate) answer: LineAnswer,
    /// The column of delimited text that has the values; a line is a record then.
    pub(crate) column: Option<Selector>,
    pub(crate) skip_invalid: bool,
    /// A thread needs up to [`MEMORY_FACTOR`] times as much memory as a chunk.
    pub(crate) chunks: ChunkJob<'a>,
}

/// Bytes of memory a byte of text, where every line is empty: the text, its
/// values, their ends, the values in order, the answers, and the output.
pub(crate) const MEMORY_FACTOR: usize = 32;
/// Larger chunks are answered no faster.
pub(crate) const MAX_CHUNK_BYTES: usize = 64 << 20;

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) lines: u64,
    /// Lines whose value is in the set.
    pub(crate) found: u64,
    /// Whether every value was found.
    pub(crate) all: bool,
}

impl Filter<'_> {
    /// Answers the lines of all `paths` into `out`.
    pub(crate) fn run(&self, paths: Vec<PathBuf>, mut out: impl Write + Send) -> Result<Answered> {
        let new = || {
            Ok(Lines {
                skip_invalid: self.skip_invalid,
                prober: Prober::new(self.set.view()).map_err(self.set.damaged())?,
                ends: Pages::default(),
                without: Vec::new(),
                inner: 0,
                wrong: None,
                found: Vec::new(),
                all: true,
                hits: 0,
                out: Vec::new(),
            })
        };
        // Number of the input, and its lines so far.
        let (mut input, mut before) = (0, 0);
        let mut answered = Answered { lines: 0, found: 0, all: true };
        let write = |lines: &mut Lines<'_>, chunk: &LineChunk| {
            if input != chunk.input {
                (input, before) = (chunk.input, 0);
            }
            out.write_all(&lines.out).map_err(Error::io("write", "-"))?;
            if let Some(wrong) = lines.wrong.take() {
                return Err(wrong.error(chunk, before + lines.number() + 1));
            }
            before += lines.number();
            answered.lines += lines.number();
            answered.found += lines.hits;
            answered.all &= lines.all;
            Ok(())
        };
        let work = |lines: &mut Lines<'_>, chunk: &LineChunk| self.answer(lines, chunk);
        self.chunks.run(LineReader::of_records(paths, self.column.clone()), new, work, write)?;
        out.flush().map_err(Error::io("write", "-"))?;
        Ok(answered)
    }

    /// Asks for the values of a chunk, and writes what becomes of its lines.
    fn answer(&self, lines: &mut Lines<'_>, chunk: &LineChunk) -> Result<()> {
        let (bytes, mut span) = chunk.padded();
        lines.clear(span.len())?; // at most one a byte
        let whole = span.clone();
        match &self.column {
            None => block_values(Level::best(), bytes, span.clone(), b'\n', lines),
            Some(selector) => {
                span.start = lines.records(selector, chunk);
            }
        }
        let (mut found, mut out) = (mem::take(&mut lines.found), mem::take(&mut lines.out));
        found.clear();
        found.resize(lines.len(), false);
        lines.prober.answer(&mut found).map_err(self.set.damaged())?;
        lines.all = lines.all(&found);
        for &line in &lines.without {
            found[line] = false;
        }
        lines.hits = found.iter().map(|&found| u64::from(found)).sum();
        out.clear();
        match self.answer {
            LineAnswer::Tell => lines.tell(&found, &mut out),
            LineAnswer::Copy { wanted } => {
                out.extend_from_slice(&bytes[whole.start..span.start]);
                lines.copy(&bytes[..span.end], span.start, &mut found, wanted, &mut out);
            }
        }
        (lines.found, lines.out) = (found, out);
        Ok(())
    }
}

/// The lines of a chunk, and what becomes of them.
struct Lines<'a> {
    skip_invalid: bool,
    /// Has a value for each line, 0 if it has none.
    prober: Prober<'a>,
    /// Where each line ends.
    ends: Pages,
    /// Lines that have no value.
    without: Vec<usize>,
    /// Lines that are none of these: of a header, or within quotes.
    inner: u64,
    wrong: Option<Wrong>,
    found: Vec<bool>,
    /// Whether every value was found.
    all: bool,
    /// Lines whose value was found.
    hits: u64,
    out: Vec<u8>,
}

/// A malformed line, with which the chunk ends.
struct Wrong {
    line: Range<usize>,
    reason: Malformed,
    offset: u64,
}

impl Wrong {
    fn error(self, chunk: &LineChunk, number: u64) -> Error {
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
        let lines = self.len()..self.len() + values.len();
        self.prober.push(values);
        bytemuck::cast_slice_mut(self.ends.words_mut())[lines].copy_from_slice(ends);
    }

    fn blank(&mut self, end: u32) {
        self.without.push(self.len());
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

impl Lines<'_> {
    /// Forgets all lines, and has room for `count` others.
    fn clear(&mut self, count: usize) -> Result<()> {
        self.without.clear();
        self.inner = 0;
        let failed = || Error::no_memory(12 * count);
        self.prober.clear(count).map_err(failed())?;
        if 2 * self.ends.words().len() < count {
            self.ends = Pages::zeroed(count.div_ceil(2)).map_err(failed())?;
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.prober.values().len()
    }

    /// Lines as an editor numbers them.
    fn number(&self) -> u64 {
        self.len() as u64 + self.inner
    }

    /// Takes the records of a chunk; gives where they begin, behind a header.
    fn records(&mut self, selector: &Selector, chunk: &LineChunk) -> usize {
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

    fn ends(&self) -> &[u32] {
        &bytemuck::cast_slice(self.ends.words())[..self.len()]
    }

    /// Whether every line that has a value was found.
    fn all(&self, found: &[bool]) -> bool {
        let mut without = self.without.iter().peekable();
        found.iter().enumerate().all(|(line, &found)| {
            let has_none = without.next_if(|&&without| without == line).is_some();
            found || has_none
        })
    }

    fn tell(&self, found: &[bool], out: &mut Vec<u8>) {
        let mut without = self.without.iter().peekable();
        let mut digits = [0; decimal::MAX_LINE + decimal::SLACK];
        for (line, (&value, &found)) in self.prober.values().iter().zip(found).enumerate() {
            if without.next_if(|&&without| without == line).is_some() {
                continue;
            }
            let end = decimal::lines(Level::best(), 0, &[value], b'\t', &mut digits);
            out.extend_from_slice(&digits[..end]);
            out.extend_from_slice(if found { b"true\n" } else { b"false\n" });
        }
    }

    /// Copies lines from `bytes[start..]`, neighbours together.
    fn copy(
        &self,
        bytes: &[u8],
        start: usize,
        found: &mut [bool],
        wanted: bool,
        out: &mut Vec<u8>,
    ) {
        for &line in &self.without {
            found[line] = !wanted;
        }
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
