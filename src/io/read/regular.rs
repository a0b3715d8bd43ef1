//! Regular files, which threads read at any place.

use super::rule::Taken;
use super::unchanged::{Mark, mark_of};
use crate::error::{Error, Result};
use crate::kernel::in_usize;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that can be read at any place.
///
/// A reader of numbers ends where the file ended when it was opened. A reader of lines goes on to
/// the present end, and so takes lines that were appended meanwhile.
pub(crate) struct RegularFile {
    file: File,
    /// Place of its content: not at 0 if standard input was read before.
    start: u64,
    /// Place of the first line in the content: not at 0 in a split.
    pub(super) begin: u64,
    /// Bytes of the content up to the end that the file had when it was opened; in a split, up to
    /// its end.
    pub(super) len: u64,
    /// End of the bytes that readers of lines claimed.
    claimed: AtomicU64,
    /// Place where a reader of lines found the end of the file inside of a line.
    ended: AtomicU64,
}

impl RegularFile {
    pub(super) fn new(file: File, start: u64, len: u64) -> Self {
        Self { file, start, begin: 0, len, claimed: 0.into(), ended: u64::MAX.into() }
    }

    /// The state of the file.
    pub(super) fn mark(&self) -> Option<Mark> {
        mark_of(&self.file.metadata().ok()?)
    }

    /// The lines that begin in a range of bytes of a file of `len` bytes.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub(super) fn split(file: File, bytes: Range<u64>, len: u64) -> io::Result<Self> {
        let begin = line_start(&file, bytes.start, len)?;
        let end = line_start(&file, bytes.end, len)?.max(begin);
        Ok(Self { begin, ..Self::new(file, 0, end) })
    }

    /// Lines that end before those of the split.
    pub(super) fn lines_before(&self, name: &str) -> Result<u64> {
        let (mut at, mut lines, mut piece) = (0, 0, vec![0; PIECE_BYTES]);
        while at < self.begin {
            let wanted =
                usize::try_from(self.begin - at).map_or(PIECE_BYTES, |n| n.min(PIECE_BYTES));
            let read = read_at(&self.file, &mut piece[..wanted], at);
            let read = read.map_err(Error::io("read", name))?;
            if read == 0 {
                return Err(Error::InputRewritten { input: name.to_owned() });
            }
            lines += memchr::memchr_iter(b'\n', &piece[..read]).count() as u64;
            at += read as u64;
        }
        Ok(lines)
    }

    /// Fills `buffer` from place `at`; it gets at least `least` bytes, and fewer only where the
    /// input ends. Gives how many it got, and whether the input ends behind them.
    pub(super) fn read(
        &self,
        (taken, name): (Taken, &str),
        buffer: &mut [u8],
        at: u64,
        least: usize,
    ) -> Result<(usize, bool)> {
        let is_fixed = taken == Taken::Numbers;
        let left = if is_fixed { self.len - at } else { u64::MAX };
        let wanted = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = read_at(&self.file, &mut buffer[..wanted], self.start + at);
        let read = read.map_err(Error::io("read", name))?;
        let end = at + read as u64;
        if is_fixed && read < wanted {
            return Err(Error::InputChanged {
                input: name.to_owned(),
                expected: self.len,
                found: end,
                unit: "bytes",
            });
        }
        if read < least || !is_fixed && read < wanted && self.len_now(name)? < at {
            return Err(Error::InputRewritten { input: name.to_owned() });
        }
        Ok((read, read < wanted || read as u64 == left))
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// The present size of the file.
    fn len_now(&self, name: &str) -> Result<u64> {
        let metadata = self.file.metadata().map_err(Error::io("read", name))?;
        let now = metadata.len().saturating_sub(self.start);
        if now == 0 && self.len > 0 {
            return Err(Error::InputRewritten { input: name.to_owned() }); // a file that became shorter must not look like one without lines
        }
        Ok(now)
    }

    /// Bytes behind `at` that a reader may claim.
    pub(super) fn left(&self, taken: Taken, name: &str, at: u64) -> Result<u64> {
        if taken == Taken::Numbers {
            return Ok(self.len - at);
        }
        let left = self.len_now(name)?.checked_sub(at);
        left.ok_or_else(|| Error::InputRewritten { input: name.to_owned() })
    }

    /// Takes note that lines before `end` are claimed; false if the input ended
    /// before `at`.
    pub(super) fn claim(&self, at: u64, end: u64) -> bool {
        self.claimed.store(end, Ordering::SeqCst);
        self.ended.load(Ordering::SeqCst) > at
    }

    /// Takes note that the file ends inside of a line. Fails if a block behind this place is
    /// claimed already: the rest of the line would be lost.
    pub(super) fn end(&self, name: &str, at: u64) -> Result<()> {
        self.ended.store(at, Ordering::SeqCst);
        if self.claimed.load(Ordering::SeqCst) > at {
            return Err(Error::InputRewritten { input: name.to_owned() });
        }
        Ok(())
    }

    /// Bytes at a place; fewer where the file ends.
    pub(super) fn piece(&self, name: &str, at: u64, bytes: u64) -> Result<Vec<u8>> {
        let mut piece = vec![0; in_usize(bytes)];
        let read = read_at(&self.file, &mut piece, self.start + at);
        piece.truncate(read.map_err(Error::io("read", name))?);
        Ok(piece)
    }
}

/// Bytes that are read at once in the search for line ends.
const PIECE_BYTES: usize = 1 << 16;

/// Place of the first line that begins at `at` or behind it; `len` if there is none.
fn line_start(file: &File, at: u64, len: u64) -> io::Result<u64> {
    let Some(mut from) = at.checked_sub(1) else { return Ok(0) };
    let mut piece = vec![0; PIECE_BYTES];
    while from < len {
        let read = read_at(file, &mut piece, from)?;
        if let Some(end) = memchr::memchr(b'\n', &piece[..read]) {
            return Ok((from + end as u64 + 1).min(len));
        }
        if read < piece.len() {
            break;
        }
        from += read as u64;
    }
    Ok(len)
}

/// Reads until `buffer` is full or the file ends; gives how many bytes it read.
pub(super) fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], at + done as u64) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
