//! The account of lines: counts of all lines, and the places of malformed ones.
//!
//! Threads hand in blocks in any order. The ledger enters them in the order of the input, so that
//! line numbers are right and the first error is the first in the input.

use super::open::Opened;
use super::regular::RegularFile;
use crate::error::{Error, Result, excerpt};
use crate::io::in_order::InOrder;
use crate::number::Malformed;
use integer_encoding::VarInt;
use std::io::{self, Write};
use std::ops::AddAssign;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What happens to malformed lines.
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
    /// Rows of a key and a value that were kept aside.
    pub(crate) aside: u64,
    pub(crate) blank: u64,
    pub(crate) rejected: u64,
    pub(crate) headers: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.values += other.values;
        self.aside += other.aside;
        self.blank += other.blank;
        self.rejected += other.rejected;
        self.headers += other.headers;
    }
}

/// A malformed line.
#[derive(Debug, Default, Clone, Copy)]
struct Bad {
    /// First bad byte, from the start of the input.
    offset: u64,
    /// Counted from 0 within the block.
    line: u64,
    /// Bytes of the line that are kept.
    text_bytes: u64,
    reason: Malformed,
}

/// Longest excerpt of a rejected line.
const BAD_TEXT_BYTES: usize = 4096;

/// The account of one block.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    pub(crate) input: usize,
    pub(crate) tally: Tally,
    /// Line ends inside of quotes; they do not count as lines.
    pub(crate) inner_lines: u64,
    /// Whether these are rows of a table, which have no offsets.
    pub(crate) has_rows: bool,
    /// The malformed lines, at most [`BAD_TEXT_BYTES`] of each. A malformed line may take no more
    /// than two bytes of a block, so a note of it is short: differences to the line before, about
    /// four bytes, then the text.
    rejects: Vec<u8>,
    last: Bad,
}

impl Entry {
    /// The account of a block of this input, so far empty.
    pub(crate) fn new(input: usize) -> Self {
        Self { input, ..Self::default() }
    }

    /// Notes that line `line` (from 0) of the block is malformed at `offset`
    /// of the input.
    pub(crate) fn reject(&mut self, line: u64, offset: u64, reason: Malformed, text: &[u8]) {
        let text = &text[..text.len().min(BAD_TEXT_BYTES)];
        let bad = Bad { offset, line, text_bytes: text.len() as u64, reason };
        let last = std::mem::replace(&mut self.last, bad);
        for number in [
            line.wrapping_sub(last.line),
            offset.wrapping_sub(last.offset),
            bad.text_bytes,
            reason as u64,
        ] {
            push_number(&mut self.rejects, number);
        }
        self.rejects.extend_from_slice(text);
    }

    /// The malformed lines with their excerpts.
    fn rejects(&self) -> impl Iterator<Item = (Bad, &[u8])> {
        let (mut rest, mut last) = (&self.rejects[..], Bad::default());
        std::iter::from_fn(move || {
            let mut number = || take_number(&mut rest);
            let (line, offset, text_bytes, reason) = (number()?, number()?, number()?, number()?);
            let (text, behind) = rest.split_at_checked(usize::try_from(text_bytes).ok()?)?;
            rest = behind;
            last = Bad {
                offset: last.offset.wrapping_add(offset),
                line: last.line.wrapping_add(line),
                text_bytes,
                reason: Malformed::ALL.into_iter().find(|&known| known as u64 == reason)?,
            };
            Some((last, text))
        })
    }

    /// Whether a malformed line was noted.
    pub(crate) fn has_rejects(&self) -> bool {
        !self.rejects.is_empty()
    }

    fn memory_bytes(&self) -> usize {
        self.rejects.capacity()
    }
}

/// Bytes of notes that may wait for the blocks before them.
pub(crate) const WAITING_BYTES: usize = 1 << 20;

/// Enters blocks in order.
pub(crate) struct Ledger<'a> {
    names: Vec<Origin>,
    rejects: bool,
    fail: bool,
    stopped: AtomicBool,
    order: InOrder<Entry>,
    /// Bytes of entries that wait for earlier ones.
    waiting_bytes: AtomicUsize,
    state: Mutex<State<'a>>,
}

/// The name of an input; and its file, if it is a split.
type Origin = (String, Option<Arc<RegularFile>>);

struct State<'a> {
    invalid: Invalid<'a>,
    total: Tally,
    input: usize,
    /// Lines of this input that were entered.
    lines: u64,
    /// Lines of the file before the split; counted when a message needs them.
    lines_before: Option<u64>,
    error: Option<Error>,
}

impl<'a> Ledger<'a> {
    /// A ledger for these inputs.
    pub(crate) fn of(inputs: &[Opened], invalid: Invalid<'a>) -> Self {
        let origins = inputs.iter().map(|input| (input.name.clone(), input.split_of()));
        Self::new(origins.collect(), invalid)
    }

    /// A ledger for inputs of these names, some of which are splits.
    fn new(names: Vec<Origin>, invalid: Invalid<'a>) -> Self {
        let rejects = matches!(invalid, Invalid::Reject(..));
        let fail = matches!(invalid, Invalid::Fail);
        let total = Tally::default();
        let state = Mutex::new(State {
            invalid,
            total,
            input: 0,
            lines: 0,
            lines_before: None,
            error: None,
        });
        Self {
            names,
            rejects,
            fail,
            stopped: AtomicBool::new(false),
            order: InOrder::default(),
            waiting_bytes: AtomicUsize::new(0),
            state,
        }
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
        self.order.abort();
    }

    /// Enters block `sequence`, or keeps it until all earlier ones are entered.
    pub(crate) fn enter(&self, sequence: u64, entry: Entry) {
        let bytes = entry.memory_bytes();
        if self.waiting_bytes.load(Ordering::Relaxed) + bytes > WAITING_BYTES {
            // The next block is entered at once. After a stop few are left.
            let _ = self.order.wait(sequence);
        }
        self.waiting_bytes.fetch_add(bytes, Ordering::Relaxed);
        let account = |entry: Entry| {
            self.waiting_bytes.fetch_sub(entry.memory_bytes(), Ordering::Relaxed);
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.account(&self.names, &entry).map_err(|error| {
                state.error = Some(error);
                self.stop();
            })
        };
        // Entries behind an error are dropped: `finish` gives the error.
        let _: Result<(), ()> = self.order.complete(sequence, Some(entry), account);
    }

    /// The counts of all blocks.
    ///
    /// # Errors
    ///
    /// The first malformed line in the order of the input, or the error that kept rejected lines
    /// from being written.
    pub(crate) fn finish(self) -> Result<Tally> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        match state.error {
            Some(error) => Err(error),
            None => Ok(state.total),
        }
    }
}

impl State<'_> {
    fn account(&mut self, names: &[Origin], entry: &Entry) -> Result<()> {
        if entry.input != self.input {
            self.input = entry.input;
            (self.lines, self.lines_before) = (0, None);
        }
        let (name, split) = &names[entry.input];
        let (mut told, mut on_one_line) = (0, None);
        for (bad, text) in entry.rejects() {
            told += 1;
            let before = match (self.lines_before, split) {
                (Some(before), _) => before,
                (None, Some(split)) if !matches!(self.invalid, Invalid::Skip) => {
                    *self.lines_before.insert(split.lines_before(name)?)
                }
                (None, _) => 0,
            };
            let line = before + self.lines + bad.line + 1;
            match &mut self.invalid {
                Invalid::Skip => {}
                Invalid::Fail if entry.has_rows => {
                    return Err(Error::MalformedRow {
                        input: name.clone(),
                        row: line,
                        reason: bad.reason,
                        excerpt: excerpt(text),
                    });
                }
                Invalid::Fail => {
                    return Err(Error::MalformedLine {
                        input: name.clone(),
                        line,
                        offset: bad.offset,
                        reason: bad.reason,
                        excerpt: excerpt(text),
                    });
                }
                Invalid::Reject(file, path) => {
                    let name = on_one_line
                        .get_or_insert_with(|| name.replace('\n', "\\n").replace('\t', "\\t"));
                    let written = write!(file, "{name}\t{line}\t{}\t{}\t", bad.offset, bad.reason)
                        .and_then(|()| write_on_one_line(file, text));
                    written.map_err(Error::io("write", &*path))?;
                }
            }
        }
        if !matches!(self.invalid, Invalid::Skip) && told != entry.tally.rejected {
            let what = format!("{} lines were malformed, {told} noted", entry.tally.rejected);
            return Err(Error::Accounting { what });
        }
        self.lines += entry.tally.lines + entry.inner_lines;
        self.total += entry.tally;
        Ok(())
    }
}

/// Writes a record and a newline; newlines in the record, which a text of a table may have, as `\n`.
fn write_on_one_line(file: &mut dyn Write, text: &[u8]) -> io::Result<()> {
    for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
        file.write_all(if number > 0 { b"\\n" } else { b"" })?;
        file.write_all(line)?;
    }
    file.write_all(b"\n")
}

/// Appends a number, in as many bytes as it needs.
fn push_number(bytes: &mut Vec<u8>, number: u64) {
    let mut room = [0; 10];
    let len = number.encode_var(&mut room);
    bytes.extend_from_slice(&room[..len]);
}

/// Takes a number from the front of `bytes`.
fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, len) = u64::decode_var(bytes)?;
    *bytes = bytes.get(len..)?;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_of_lines_is_found_again() {
        let mut entry = Entry::new(0);
        let long = vec![b'y'; BAD_TEXT_BYTES + 1];
        let noted: [(u64, u64, &[u8]); 4] =
            [(0, 0, b""), (3, 9, b"x"), (4, u64::MAX - 1, &long), (1 << 40, u64::MAX, b"z")];
        for ((line, offset, text), reason) in noted.into_iter().zip(Malformed::ALL) {
            entry.reject(line, offset, reason, text);
        }
        let found: Vec<_> = entry.rejects().collect();
        assert_eq!(found.len(), noted.len());
        for (((line, offset, text), reason), (bad, kept)) in
            noted.into_iter().zip(Malformed::ALL).zip(found)
        {
            assert_eq!((bad.line, bad.offset, bad.reason), (line, offset, reason));
            assert_eq!(kept, &text[..text.len().min(BAD_TEXT_BYTES)]);
        }
    }

    #[test]
    fn a_malformed_line_that_is_not_noted_is_not_passed_over() {
        let ledger = Ledger::new(vec![("x".into(), None)], Invalid::Fail);
        let mut entry = Entry::new(0);
        entry.tally.rejected = 1;
        ledger.enter(0, entry);
        let found = ledger.finish().unwrap_err().to_string();
        assert!(found.contains("1 lines were malformed, 0 noted"), "{found}");
    }
}
