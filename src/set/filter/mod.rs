//! Lines of text that a set answers: those in it are copied, or each is told.
//!
//! Each thread takes a chunk of lines, asks the set for all its values at once,
//! and writes when it is its turn.

mod lines;
mod screening;

use super::SetFile;
use crate::error::{Error, Result};
use crate::input::{ChunkJob, LineChunk, LineReader};
use crate::simd::Level;
use crate::text::{Selector, block_values};
use crate::view::{Prober, Queue};
use lines::Lines;
use screening::Screening;
use std::io::Write;
use std::mem;
use std::ops::Range;
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
    /// Memory that may be spent on telling what is not in the set.
    pub(crate) screen_bytes: usize,
    /// A thread needs up to [`MEMORY_FACTOR`] times as much memory as a chunk.
    pub(crate) chunks: ChunkJob<'a>,
}

/// Bytes of lines that are answered to learn how many the set has.
const SAMPLE_BYTES: usize = 1 << 16;
/// Bytes of memory a byte of text, where every line is one digit in some chunks, and
/// empty in others: the text, its values, where they lie, the values in order, the
/// answers, the output and the empty lines in buffers that grow.
pub(crate) const MEMORY_FACTOR: usize = 42;
/// Larger chunks are answered no faster.
pub(crate) const MAX_CHUNK_BYTES: usize = 32 << 20;

/// What was found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) lines: u64,
    /// Lines whose value is in the set.
    pub(crate) found: u64,
    /// Whether every value was found.
    pub(crate) all: bool,
    /// Memory that told of lines that they are not in the set, without the set.
    pub(crate) screen_bytes: u64,
}

impl Filter<'_> {
    /// Answers the lines of all `paths` into `out`.
    pub(crate) fn run(&self, paths: Vec<PathBuf>, mut out: impl Write + Send) -> Result<Answered> {
        let reader = LineReader::of_records(paths, self.column.clone());
        let (known_bytes, view) = (reader.known_bytes(), self.set.view());
        let screening = Screening::new(view, known_bytes, self.screen_bytes, self.chunks.threads);
        let new = || {
            let prober = Prober::new(view).map_err(self.set.damaged())?;
            Ok(Lines::new(prober, self.skip_invalid))
        };
        // Number of the input, and its lines so far.
        let (mut input, mut before) = (0, 0);
        let mut answered = Answered { lines: 0, found: 0, all: true, screen_bytes: 0 };
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
        let work = |lines: &mut _, chunk: &LineChunk| self.answer(lines, &screening, chunk);
        self.chunks.run(reader, new, work, write)?;
        out.flush().map_err(Error::io("write", "-"))?;
        answered.screen_bytes = screening.bytes();
        Ok(answered)
    }

    /// Asks for the values of a chunk, and writes what becomes of its lines.
    fn answer<'a>(
        &self,
        lines: &mut Lines<'a>,
        screening: &'a Screening<'_>,
        chunk: &LineChunk,
    ) -> Result<()> {
        let (bytes, span) = chunk.padded();
        if matches!(self.answer, LineAnswer::Copy { .. }) && !lines.screened_in_vain {
            if self.column.is_none() && screening.wants_sample() {
                let sample = span.start..span.end.min(span.start + SAMPLE_BYTES);
                let len = bytes[sample.clone()].iter().rposition(|&byte| byte == b'\n');
                self.ask(lines, chunk, sample.start..sample.start + len.map_or(0, |at| at + 1))?;
                screening.saw(lines.asked, lines.hits);
            }
            lines.screen = lines.screen.take().or_else(|| screening.screen().map(Queue::new));
        }
        let start = self.ask(lines, chunk, span.clone())?;
        screening.saw(lines.asked, lines.hits);
        let mut out = mem::take(&mut lines.out);
        out.clear();
        match self.answer {
            LineAnswer::Tell => lines.tell(&mut out),
            LineAnswer::Copy { wanted } => {
                out.extend_from_slice(&bytes[span.start..start]);
                lines.copy(bytes, start, wanted, &mut out);
            }
        }
        lines.out = out;
        Ok(())
    }

    /// Asks for the values of lines of a chunk; gives where they begin.
    fn ask(&self, lines: &mut Lines<'_>, chunk: &LineChunk, span: Range<usize>) -> Result<usize> {
        lines.clear(span.start, span.len())?;
        let start = match &self.column {
            None => {
                block_values(Level::best(), chunk.padded().0, span.clone(), b'\n', lines);
                span.start
            }
            Some(selector) => lines.records(selector, chunk),
        };
        lines.look_up().map_err(self.set.damaged())?;
        Ok(start)
    }
}
