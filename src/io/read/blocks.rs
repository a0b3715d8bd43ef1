//! Blocks of the inputs, claimed by threads.
//!
//! # Invariants
//! 1. A line belongs to the block in which it begins, and a block's span is
//!    whole lines: the last line of an input gets a terminator if it has none.
//! 2. Blocks are numbered in the order of the inputs, and a block is claimed
//!    only after all blocks before it. The blocks of a piece of a table are
//!    claimed together, by one thread, which hands in all of them.
//! 3. A reader of numbers needs one block a thread, however long a line is: it scans
//!    a line that does not fit in pieces, and the block has it as
//!    [`Overlong`](super::long_line::Overlong). For a reader of lines, a block grows
//!    with its longest line, up to a limit.

use super::block::{Block, BlockFormat};
use super::lines::LineInputs;
use super::open::{Content, Opened, Opener};
use super::regular::RegularFile;
use super::rule::Rule;
use super::serial::{Place, Serial, Source};
use super::values::PieceSource;
use crate::error::{Error, Result};
use crate::io::table::{Piece, Table};
use crate::kernel::in_usize;
use crate::number::{Column, Selector};
use crate::progress::Progress;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Smaller blocks near the end of a file would cost more time than they save.
const MIN_SHARE_BYTES: u64 = 8 << 20;

/// Hands out the blocks of all inputs.
pub(crate) struct Claims<'a> {
    inputs: Inputs<'a>,
    rule: Rule,
    selector: Option<&'a Selector>,
    /// How to find the keys, if rows have keys.
    keys: Option<&'a Selector>,
    /// The rest of a file is cut into at least this number of blocks, so that threads end together.
    fewest: u64,
    state: Mutex<State>,
    /// Nobody wants more.
    stopped: AtomicBool,
    progress: &'a Progress,
}

/// Inputs that are open, or are opened one after the other.
enum Inputs<'a> {
    Open(&'a [Opened]),
    Named(&'a LineInputs),
}

#[derive(Default)]
struct State {
    /// Number of the input.
    input: usize,
    /// This input, if it is one of [`Inputs::Named`].
    current: Option<Opened>,
    opener: Opener,
    place: Place,
    sequence: u64,
}

impl<'a> Claims<'a> {
    /// Blocks of open inputs, for a reader of numbers.
    pub(crate) fn new(
        inputs: &'a [Opened],
        block_format: &'a BlockFormat,
        progress: &'a Progress,
    ) -> Self {
        let keys = block_format.keys.as_ref().map(|keys| &keys.selector);
        let selector = block_format.column.as_ref();
        Self { keys, ..Self::of(Inputs::Open(inputs), block_format.rule(), selector, 1, progress) }
    }

    /// Blocks of files of lines, for so many threads.
    pub(super) fn of_lines(
        lines: &'a LineInputs,
        rule: Rule,
        threads: usize,
        progress: &'a Progress,
    ) -> Self {
        let selector = lines.selector.as_ref();
        Self::of(Inputs::Named(lines), rule, selector, 2 * threads as u64, progress)
    }

    fn of(
        inputs: Inputs<'a>,
        rule: Rule,
        selector: Option<&'a Selector>,
        fewest: u64,
        progress: &'a Progress,
    ) -> Self {
        let (state, stopped) = (Mutex::default(), AtomicBool::new(false));
        Self { inputs, rule, selector, keys: None, fewest, state, stopped, progress }
    }

    /// An empty block for [`next`](Self::next) or [`claim`](Self::claim).
    pub(crate) fn block(&self) -> Block {
        Block::new(self.rule)
    }

    /// Whether all of the open inputs were claimed to their ends.
    pub(super) fn are_at_end(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(self.inputs, Inputs::Open(inputs) if state.input == inputs.len())
    }

    /// Lets no thread claim more.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Fills `block` with the next one; false if there is none.
    pub(crate) fn next(&self, block: &mut Block) -> Result<bool> {
        if block.next_rows()? {
            block.sequence += 1;
            return Ok(true);
        }
        let more = self.claim(block)?;
        block.read(usize::MAX)?;
        Ok(more)
    }

    /// Claims the next lines for `block`; [`Block::next_lines`] reads them. False if there are
    /// none. After an error no thread claims more.
    pub(super) fn claim(&self, block: &mut Block) -> Result<bool> {
        block.clear();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let claimed = self.claim_in_turn(&mut state, block);
        match claimed {
            Ok(Claimed::Rows(table, piece)) => {
                drop(state);
                block.begin(table.piece(piece)?)
            }
            Ok(claimed) => Ok(matches!(claimed, Claimed::Lines)),
            Err(error) => {
                self.stop();
                Err(error)
            }
        }
    }

    fn claim_in_turn(&self, state: &mut State, block: &mut Block) -> Result<Claimed> {
        while !self.stopped.load(Ordering::Relaxed) {
            block.sequence = state.sequence;
            block.reserve_block()?;
            let input = match &self.inputs {
                Inputs::Open(inputs) => inputs.get(state.input),
                Inputs::Named(lines) => {
                    if state.current.is_none() {
                        state.current = lines.open(state.input, &mut state.opener)?;
                    }
                    state.current.as_ref()
                }
            };
            let Some(input) = input else { return Ok(Claimed::Nothing) };
            block.input = state.input;
            block.name.clone_from(&input.name);
            let place = &mut state.place;
            let more = match &input.content {
                Content::Regular(file) if self.selector.is_none() => {
                    self.claim_bytes(file, place, block)?
                }
                Content::Regular(file) => self.serial(Source::File(file)).next(place, block)?,
                Content::Table(table) => {
                    let piece = in_usize(place.offset);
                    if piece < table.pieces() {
                        place.offset += 1;
                        let batches = Piece::batches(table.piece_rows(piece));
                        if batches == 0 {
                            continue;
                        }
                        state.sequence += batches;
                        return Ok(Claimed::Rows(Arc::clone(table), piece));
                    }
                    false
                }
                Content::Stream(stream) => {
                    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                    self.serial(Source::Stream(&mut stream)).next(place, block)?
                }
                Content::Values(values) => {
                    let mut values = values.lock().unwrap_or_else(PoisonError::into_inner);
                    block.hold_values(values.next(self.rule.block_values()))
                }
                Content::Pieces { source, .. } => self.claim_piece(source, place, block)?,
            };
            if more {
                if let Some(selector) = self.selector {
                    self.name_columns(selector, place, block)?;
                }
                state.sequence += 1;
                return Ok(Claimed::Lines);
            }
            state.input += 1;
            (state.place, state.current) = (Place::default(), None);
        }
        Ok(Claimed::Nothing)
    }

    /// Sets the columns of `block`. The first block of an input has their names.
    fn name_columns(
        &self,
        selector: &Selector,
        place: &mut Place,
        block: &mut Block,
    ) -> Result<()> {
        if block.first && (!block.lines().is_empty() || block.overlong.is_some()) {
            let number = |selector: &Selector| {
                column_of(selector, block.lines(), self.rule.record_bytes(), &block.name)
            };
            place.column = number(selector)?;
            place.key_column = self.keys.map_or(Ok(0), number)?;
        }
        (block.column, block.key_column) = (place.column, place.key_column);
        Ok(())
    }

    /// Claims the next bytes of a file; false if there are none.
    fn claim_bytes(
        &self,
        file: &Arc<RegularFile>,
        place: &mut Place,
        block: &mut Block,
    ) -> Result<bool> {
        let from = place.offset.max(file.begin);
        let left = file.left(self.rule.taken, &block.name, from)?;
        let share = (left / self.fewest).max(MIN_SHARE_BYTES).min(self.rule.block_bytes as u64);
        let end = from + share.min(left);
        if left == 0 || !file.claim(from, end) {
            return Ok(false);
        }
        place.offset = end;
        block.claim(Arc::clone(file), from..end);
        Ok(true)
    }

    /// Claims the next piece of a set or an array; false if there are no more values.
    fn claim_piece(
        &self,
        source: &Arc<dyn PieceSource>,
        place: &mut Place,
        block: &mut Block,
    ) -> Result<bool> {
        if place.ended {
            return Ok(false);
        }
        let Some(piece) = source.piece(place.offset, self.rule.block_values())? else {
            return Ok(false);
        };
        let next = piece.places.end().checked_add(1);
        (place.offset, place.ended) = (next.unwrap_or_default(), next.is_none());
        block.claim_piece(Arc::clone(source), piece);
        Ok(true)
    }

    fn serial<'s>(&'s self, source: Source<'s>) -> Serial<'s> {
        Serial { source, selector: self.selector, stopped: &self.stopped, progress: self.progress }
    }
}

/// The result of a claim.
enum Claimed {
    Nothing,
    Lines,
    /// A piece of a table.
    Rows(Arc<Table>, usize),
}

/// Number (from 0) of the wanted field in an input that begins with these lines.
pub(super) fn column_of(
    selector: &Selector,
    lines: &[u8],
    record_bytes: usize,
    name: &str,
) -> Result<usize> {
    selector.index(selector.first_record(lines, record_bytes)).map_err(|found| {
        Error::NoSuchColumn {
            input: name.to_owned(),
            found,
            column: match &selector.column {
                Column::Name(name) => name.clone(),
                Column::Number(number) => number.to_string(),
            },
        }
    })
}
