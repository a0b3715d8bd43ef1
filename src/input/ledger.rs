//! The account of lines: what was read, what was no value, and where.
//!
//! Threads hand in blocks in any order; the ledger enters them in the order of
//! the input, which is what makes line numbers and the first error exact.

use crate::error::{Error, Result};
use crate::text::Malformed;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What becomes of malformed lines.
pub(crate) enum Invalid<'a> {
    /// The first one ends the run.
    Fail,
    /// They are counted.
    Skip,
    /// They are written, one a line: input, line, byte, reason, text, with
    /// tabs between.
    Reject(Box<dyn Write + Send + 'a>, PathBuf),
}

/// Counts of lines; in binary formats a value counts as a line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) lines: u64,
    pub(crate) values: u64,
    pub(crate) blank: u64,
    pub(crate) rejected: u64,
    pub(crate) headers: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.lines += other.lines;
        self.values += other.values;
        self.blank += other.blank;
        self.rejected += other.rejected;
        self.headers += other.headers;
    }
}

/// A malformed line within its block.
#[derive(Debug)]
pub(crate) struct Bad {
    /// Counted from 0 within the block.
    pub(crate) line: u64,
    /// First bad byte, from the start of the input.
    pub(crate) offset: u64,
    pub(crate) reason: Malformed,
    /// The line, at most [`BAD_TEXT_BYTES`] of it.
    pub(crate) text: Vec<u8>,
}

/// What is kept of a rejected line.
pub(crate) const BAD_TEXT_BYTES: usize = 4096;
/// What an error message shows of one.
const EXCERPT_BYTES: usize = 40;

/// What a block had.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) input: usize,
    pub(crate) tally: Tally,
    pub(crate) bad: Vec<Bad>,
}

/// Enters blocks in order.
pub(crate) struct Ledger<'a> {
    names: Vec<String>,
    rejects: bool,
    fail: bool,
    stopped: AtomicBool,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    invalid: Invalid<'a>,
    next: u64,
    waiting: BTreeMap<u64, Entry>,
    total: Tally,
    input: usize,
    /// Lines of this input before block `next`.
    lines: u64,
    error: Option<Error>,
}

impl<'a> Ledger<'a> {
    /// A ledger for inputs of these names.
    pub(crate) fn new(names: Vec<String>, invalid: Invalid<'a>) -> Self {
        let rejects = matches!(invalid, Invalid::Reject(..));
        let fail = matches!(invalid, Invalid::Fail);
        let state = State {
            invalid,
            next: 0,
            waiting: BTreeMap::new(),
            total: Tally::default(),
            input: 0,
            lines: 0,
            error: None,
        };
        Self { names, rejects, fail, stopped: AtomicBool::new(false), state: Mutex::new(state) }
    }

    /// Whether malformed lines end the run.
    pub(crate) fn fails(&self) -> bool {
        self.fail
    }

    /// Whether the text of malformed lines is wanted.
    pub(crate) fn keeps_text(&self) -> bool {
        self.rejects || self.fail
    }

    /// Whether no further blocks need be claimed.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Ends the claiming of blocks.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Enters block `sequence`, or keeps it until those before it are in.
    pub(crate) fn enter(&self, sequence: u64, entry: Entry) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.insert(sequence, entry);
        while let Some(entry) = {
            let next = state.next;
            state.waiting.remove(&next)
        } {
            state.next += 1;
            if state.error.is_none()
                && let Err(error) = state.account(&self.names, entry)
            {
                state.error = Some(error);
                self.stop();
            }
        }
    }

    /// The counts of all blocks.
    ///
    /// # Errors
    ///
    /// The first malformed line in the order of the input, or what kept
    /// rejected lines from being written.
    pub(crate) fn finish(self) -> Result<Tally> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.error {
            Some(error) => Err(error),
            None => Ok(state.total),
        }
    }
}

impl State<'_> {
    fn account(&mut self, names: &[String], entry: Entry) -> Result<()> {
        if entry.input != self.input {
            self.input = entry.input;
            self.lines = 0;
        }
        let name = &names[entry.input];
        for bad in entry.bad {
            let line = self.lines + bad.line + 1;
            match &mut self.invalid {
                Invalid::Skip => {}
                Invalid::Fail => {
                    return Err(Error::MalformedLine {
                        input: name.clone(),
                        line,
                        offset: bad.offset,
                        reason: bad.reason,
                        excerpt: excerpt(&bad.text),
                    });
                }
                Invalid::Reject(file, path) => {
                    let written = write!(file, "{name}\t{line}\t{}\t{}\t", bad.offset, bad.reason)
                        .and_then(|()| file.write_all(&bad.text))
                        .and_then(|()| file.write_all(b"\n"));
                    written.map_err(Error::io("write", &*path))?;
                }
            }
        }
        self.lines += entry.tally.lines;
        self.total.add(&entry.tally);
        Ok(())
    }
}

/// The beginning of a line as a message can show it.
fn excerpt(text: &[u8]) -> String {
    let shown = &text[..text.len().min(EXCERPT_BYTES)];
    let more = if text.len() > EXCERPT_BYTES { "…" } else { "" };
    format!("{}{more}", shown.escape_ascii())
}
