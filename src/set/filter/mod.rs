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
use lines::{Counts, Lines};
use screening::Screening;
use std::io::Write;
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
const SAMPLE_BYTES: usize = 1 << 14;
/// Bytes of lines of which few are kept: they are parsed in the second-level cache.
const BLOCK_BYTES: usize = 1 << 19;
/// Bytes of lines that are kept to be looked up together.
const MAX_KEPT_BYTES: usize = 4 << 20;
/// Bytes of memory a byte of text, where every line is one digit in some chunks, and
/// empty in others: the text, its values, where they lie, the values in order, the
/// answers, and in buffers that grow the output, the empty lines and those that are
/// kept.
pub(crate) const MEMORY_FACTOR: usize = 45;
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
        let reader = reader.in_parts(self.chunks.threads);
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
            let Counts { lines: count, asked, found } = lines.counts;
            if let Some(wrong) = lines.wrong.take() {
                return Err(wrong.error(chunk, before + count + 1));
            }
            before += count;
            answered.lines += count;
            answered.found += found;
            answered.all &= found == asked;
            Ok(())
        };
        let work = |lines: &mut _, chunk: &mut LineChunk| self.answer(lines, &screening, chunk);
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
        chunk: &mut LineChunk,
    ) -> Result<()> {
        let is_copied = matches!(self.answer, LineAnswer::Copy { .. });
        let is_wanted = matches!(self.answer, LineAnswer::Copy { wanted: true });
        lines.begin(chunk.claimed_bytes)?;
        loop {
            let is_sample = is_copied && self.column.is_none() && screening.wants_sample();
            if is_copied && !is_sample && !lines.screened_in_vain && lines.screen.is_none() {
                let screen = screening.screen().map_err(self.set.damaged())?;
                lines.screen = screen.map(Queue::new);
            }
            let is_kept = is_wanted && lines.screen.is_some();
            let block_bytes = match () {
                () if is_sample => SAMPLE_BYTES,
                () if is_kept => BLOCK_BYTES,
                () => usize::MAX,
            };
            if !chunk.next_block(block_bytes)? {
                break;
            }
            let (bytes, span) = chunk.padded();
            lines.begin_block(span.start);
            let start = match &self.column {
                None => {
                    block_values(Level::best(), bytes, span.clone(), b'\n', lines);
                    span.start
                }
                Some(selector) => lines.records(selector, chunk),
            };
            lines.out.extend_from_slice(&bytes[span.start..start]);
            if !is_kept {
                self.look_up(lines, screening)?;
                lines.write(self.answer, bytes, start);
            } else if lines.keep(bytes) > MAX_KEPT_BYTES {
                self.look_up(lines, screening)?;
                lines.write_kept();
            }
            if lines.wrong.is_some() {
                break;
            }
        }
        self.look_up(lines, screening)?;
        lines.write_kept();
        Ok(())
    }

    fn look_up(&self, lines: &mut Lines<'_>, screening: &Screening<'_>) -> Result<()> {
        let (asked, found) = lines.look_up().map_err(self.set.damaged())?;
        screening.saw(asked, found);
        Ok(())
    }
}
