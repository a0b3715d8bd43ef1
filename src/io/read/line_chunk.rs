//! What a thread reads of lines at a time.

use super::parts::{Part, Parts};
use crate::error::{Error, Result};
use crate::kernel::parse::PADDING;
use crate::kernel::sys::Pages;
use crate::size::ByteSize;
use std::mem;
use std::ops::Range;

/// Longest line: what is behind a whole block goes on below 4 GiB.
pub(super) const MAX_LINE_BYTES: usize = 1 << 31;

/// Whole lines of one input.
pub(crate) struct LineChunk {
    pub(super) bytes: Pages,
    /// Where its lines lie.
    pub(super) span: Range<usize>,
    /// Number of the input.
    pub(crate) input: usize,
    /// Its name, as the user gave it.
    pub(crate) name: String,
    /// Offset of the lines in their input.
    pub(crate) offset: u64,
    /// Whether the input begins with them.
    pub(crate) first: bool,
    /// Number (from 0) of the wanted field, of delimited text.
    pub(crate) column: usize,
    /// Bytes of the input that it stands for.
    pub(crate) claimed_bytes: u64,
    /// Whether it has lines that [`next_block`](Self::next_block) did not tell of.
    pub(super) is_read: bool,
    /// Lines that are still to be read.
    part: Option<Part>,
}

impl LineChunk {
    /// An empty one for about that many bytes.
    ///
    /// # Errors
    ///
    /// If there is no memory for them.
    pub(crate) fn new(capacity: usize) -> Result<Self> {
        let bytes = pages(PADDING + capacity.max(1) + 1 + PADDING)?;
        let (span, name) = (PADDING..PADDING, String::new());
        Ok(Self {
            bytes,
            span,
            input: 0,
            name,
            offset: 0,
            first: false,
            column: 0,
            claimed_bytes: 0,
            is_read: false,
            part: None,
        })
    }

    /// Forgets all lines.
    pub(super) fn clear(&mut self) {
        (self.span, self.claimed_bytes) = (PADDING..PADDING, 0);
        (self.is_read, self.part) = (false, None);
    }

    /// Stands for the next part of a file; false if there is none.
    pub(super) fn take(&mut self, parts: &mut Parts) -> Result<bool> {
        self.part = parts.next(self.room() - PADDING)?;
        self.claimed_bytes = self.part.as_ref().map_or(0, |part| part.end - part.at);
        Ok(self.part.is_some())
    }

    /// Reads the next lines of a part, of at most that many bytes, or one; false if
    /// there are no more. Of what was read already there is nothing to read.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line is too long.
    pub(crate) fn next_block(&mut self, bytes: usize) -> Result<bool> {
        if mem::take(&mut self.is_read) {
            return Ok(true);
        }
        let Some(mut part) = self.part.take_if(|part| part.at < part.end) else {
            return Ok(false);
        };
        let terminator = part.terminator();
        let left = usize::try_from(part.end - part.at).unwrap_or(usize::MAX);
        let mut wanted = bytes.max(1);
        let lines = loop {
            let count = left.min(wanted);
            while self.room() - PADDING < count {
                self.grow()?;
            }
            let block = &mut self.bytes.bytes_mut()[PADDING..PADDING + count];
            part.read(block)?;
            let whole = block.iter().rposition(|&byte| byte == terminator);
            let whole = whole.map_or(0, |last| last + 1);
            if whole < count {
                part.check_line(whole, count)?;
            }
            match whole {
                _ if count == left => break count,
                0 => wanted = count * 2,
                _ => break whole,
            }
        };
        let mut end = PADDING + lines;
        if self.bytes.bytes()[end - 1] != terminator {
            self.bytes.bytes_mut()[end] = terminator;
            end += 1;
        }
        (self.span, self.offset, self.first) = (PADDING..end, part.at, part.at == 0);
        part.at += lines as u64;
        self.part = Some(part);
        Ok(true)
    }

    /// The buffer and where its lines lie, the last one with its newline.
    pub(crate) fn padded(&self) -> (&[u8], Range<usize>) {
        (self.bytes.bytes(), self.span.clone())
    }

    /// Its lines, the last one with its terminator.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.bytes.bytes()[self.span.clone()]
    }

    /// Where another byte can be put, but for that of a missing newline.
    pub(super) fn room(&self) -> usize {
        self.bytes.bytes().len() - PADDING - 1
    }

    /// Makes the buffer twice as large.
    pub(super) fn grow(&mut self) -> Result<()> {
        let old = self.bytes.bytes();
        let mut larger = pages(2 * old.len())?;
        larger.bytes_mut()[..old.len()].copy_from_slice(old);
        self.bytes = larger;
        Ok(())
    }
}

fn pages(bytes: usize) -> Result<Pages> {
    Pages::zeroed(bytes.div_ceil(8)).map_err(Error::no_memory(bytes))
}

/// What is said of a line at `offset` that has more than `max_bytes` bytes.
pub(super) fn too_long(name: &str, offset: u64, max_bytes: usize) -> Error {
    let limit = ByteSize::from_bytes(max_bytes as u64);
    Error::LineTooLong { input: name.into(), offset, limit, by_memory: max_bytes < MAX_LINE_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::read::LineReader;
    use crate::number::{Column, Selector};

    #[test]
    fn broken_records_are_cut_alike_in_chunks_of_any_size() {
        let column = Column::Number(1);
        let selector = Selector { column, delimiter: b',', terminator: b'\n' };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        for text in
            ["1,\"5 in\n2,x\n3,6\" pipe\n4,y\n", "1,\"a\nb\"\n2,\"c\n3,\"d\n4\"e\n5,\"\n6\"\"\n"]
        {
            std::fs::write(&path, text).unwrap();
            let whole: Vec<_> = selector.records(text.as_bytes(), 0).collect();
            for capacity in 1..40 {
                let mut reader = LineReader::of_records(vec![path.clone()], Some(selector.clone()));
                let mut chunk = LineChunk::new(capacity).unwrap();
                let mut found = Vec::new();
                while reader.next(&mut chunk).unwrap() {
                    let start = usize::try_from(chunk.offset).unwrap();
                    let records = selector.records(chunk.lines(), chunk.column);
                    found.extend(
                        records.map(|(span, line)| (start + span.start..start + span.end, line)),
                    );
                }
                assert_eq!(found, whole, "{capacity}");
            }
        }
    }
}
