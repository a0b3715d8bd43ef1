//! Lines of text that a set answers: those in it are copied, or each is told.
//!
//! Each thread claims lines, asks the set for all its values at once,
//! and writes when it is its turn.

mod lines;
mod screening;

use super::tools::LineTools;
use crate::error::Result;
use crate::io::read::{Block, ChunkJob, LineInputs};
use crate::kernel::Level;
use crate::number::{Notation, Selector, block_values};
use crate::set::view::{Prober, Queue, Screen};
use crate::set::{AsSet, Operand};
use lines::{Counts, Lines};
use screening::Screening;
use std::path::PathBuf;

/// The answer to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineAnswer {
    /// Its value is printed, and whether the set has it.
    Tell,
    /// It is copied if its value is in the set, or if it is not.
    Copy { wanted: bool },
}

/// How lines are answered.
pub(super) struct Filter<'a> {
    set: Operand<'a>,
    answer: LineAnswer,
    /// The column of delimited text that has the values; a line is a record then.
    column: Option<Selector>,
    notation: Notation,
    skip_invalid: bool,
    /// Memory for a filter in front of the set.
    screen_bytes: usize,
    chunks: ChunkJob<'a>,
}

/// Bytes of lines that are answered to learn how many the set has.
const SAMPLE_BYTES: usize = 1 << 14;
/// Bytes of lines that are parsed together where few are kept: they fit in the second-level
/// cache.
const BLOCK_BYTES: usize = 1 << 19;
/// Bytes of lines that are kept to be looked up together.
const MAX_KEPT_BYTES: usize = 4 << 20;
/// Counts of the lines that a set answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answered {
    /// Lines, or records, that were read.
    pub lines: u64,
    /// Lines that have a value.
    pub values: u64,
    /// Lines whose value is in the set.
    pub found: u64,
    /// Malformed lines that were left out.
    pub rejected: u64,
    /// Memory of the filter in front of the set; 0 if none was made.
    pub screen_bytes: u64,
}

impl<'a> Filter<'a> {
    /// How the tools answer lines, within their memory.
    ///
    /// # Errors
    ///
    /// If the set is damaged.
    pub(super) fn new(
        tools: &'a LineTools,
        set: &'a (impl AsSet + ?Sized),
        answer: LineAnswer,
    ) -> Result<Self> {
        let set = set.as_set();
        let is_screened = matches!(answer, LineAnswer::Copy { .. });
        let screen_bytes = if is_screened { set.ask(Screen::best_bytes)? } else { 0 };
        let (share, screen_bytes) = tools.memory.set_lines(tools.threads, screen_bytes);
        let chunks = ChunkJob { share, progress: &tools.progress };
        let (notation, skip_invalid) = (tools.notation, tools.skip_invalid);
        let column = tools.selector(notation)?;
        Ok(Self { set, answer, column, notation, skip_invalid, screen_bytes, chunks })
    }

    /// Hands the answers to the lines of all `paths` to `consume`.
    pub(super) fn run(
        &self,
        paths: Vec<PathBuf>,
        mut consume: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<Answered> {
        let unpack_bytes = self.chunks.share.unpack_bytes;
        let inputs = LineInputs::of_text(paths, self.column.clone(), unpack_bytes);
        let inputs = inputs.leaving_out(self.skip_invalid);
        let (known_bytes, view) = (inputs.known_bytes(), self.set.view());
        let screening =
            Screening::new(view, known_bytes, self.screen_bytes, self.chunks.share.threads);
        let new = || {
            let prober = self.set.ask(Prober::new)?;
            Ok(Lines::new(prober, self.notation, self.skip_invalid))
        };
        // Number of the input, and its lines so far.
        let (mut input, mut before) = (0, 0);
        let mut answered = Answered { lines: 0, values: 0, found: 0, rejected: 0, screen_bytes: 0 };
        let write = |lines: &mut Lines<'_>, block: &Block| {
            if input != block.input {
                (input, before) = (block.input, 0);
            }
            self.set.after(Ok(()))?; // else the answers are of bytes that were lost
            consume(&lines.out)?;
            let Counts { lines: count, inner_ends, asked, found, rejected } = lines.counts;
            before += count + inner_ends;
            if let Some(wrong) = lines.wrong.take() {
                return Err(wrong.error(block, before + 1));
            }
            answered.lines += count;
            answered.values += asked;
            answered.found += found;
            answered.rejected += rejected;
            Ok(())
        };
        let work = |lines: &mut _, block: &mut Block| self.answer(lines, &screening, block);
        self.chunks.run(&inputs, new, work, write)?;
        answered.screen_bytes = screening.bytes();
        Ok(answered)
    }

    /// Asks for the values of a claim, and writes what becomes of its lines.
    fn answer<'s>(
        &self,
        lines: &mut Lines<'s>,
        screening: &'s Screening<'_>,
        block: &mut Block,
    ) -> Result<()> {
        let is_copied = matches!(self.answer, LineAnswer::Copy { .. });
        let is_wanted = matches!(self.answer, LineAnswer::Copy { wanted: true });
        lines.begin(block.claimed_bytes)?;
        loop {
            let is_sample = is_copied && self.column.is_none() && screening.wants_sample();
            if is_copied && !is_sample && !lines.screened_in_vain && lines.screen.is_none() {
                let screen = self.set.ask(|_| screening.screen())?;
                lines.screen = screen.map(Queue::new);
            }
            let is_kept = is_wanted && lines.screen.is_some();
            let block_bytes = match () {
                () if is_sample => SAMPLE_BYTES,
                () if is_kept => BLOCK_BYTES,
                () => usize::MAX,
            };
            if !block.next_lines(block_bytes)? {
                break;
            }
            let (bytes, span) = block.padded();
            lines.begin_block(span.start);
            let start = match &self.column {
                None => {
                    let notation = self.notation;
                    block_values(Level::best(), notation, bytes, span.clone(), b'\n', lines);
                    span.start
                }
                Some(selector) => lines.records(selector, block),
            };
            if is_copied {
                lines.out.extend_from_slice(&bytes[span.start..start]); // a header
            }
            if !is_kept {
                self.look_up(lines, screening)?;
                lines.write(self.answer, bytes, start)?;
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
        let (asked, found) = self.set.ask(|_| lines.look_up())?;
        screening.saw(asked, found);
        Ok(())
    }
}
