//! Lines with their numbers, which wait in memory or in temporary files, cut by hash into parts.
//!
//! Record: the number of the line (8 bytes), its length (4), its bytes. Where
//! files are [merged](merge), the numbers in each ascend.

use super::exact::not_compared;
use crate::error::{Error, Result};
use crate::io::write::{Deferred, Spooled};
use crate::kernel::in_usize;
use crate::progress::Progress;
use byteorder::{ByteOrder, LittleEndian};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a record beside its line.
pub(crate) const HEAD_BYTES: usize = 12;
/// Records between two checks for a signal.
const CHECK_RECORDS: u64 = 1 << 16;
/// Bytes of output that are handed over together.
const OUT_BYTES: usize = 1 << 16;

/// Records that are written once and then read, in memory or in a temporary file.
#[derive(Debug)]
pub(super) struct Records {
    out: Deferred,
    count: u64,
}

impl Records {
    /// Number of lines.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Appends a line.
    pub(super) fn push(&mut self, number: u64, line: &[u8]) -> Result<()> {
        let len = u32::try_from(line.len()).map_err(|_| not_compared(line, u32::MAX))?;
        let mut head = [0; HEAD_BYTES];
        LittleEndian::write_u64(&mut head, number);
        LittleEndian::write_u32(&mut head[8..], len);
        self.count += 1;
        self.out.write_all(&head).and_then(|()| self.out.write_all(line)).map_err(failed)
    }

    /// Reads from the beginning.
    pub(super) fn read(self) -> Result<RecordReader> {
        let (input, line) = (self.out.reader().map_err(failed)?.into_inner(), Vec::new());
        Ok(RecordReader { input, line, len: 0, left: self.count })
    }
}

/// The error of a temporary file, which names its folder itself.
fn failed(error: io::Error) -> Error {
    Error::io("keep lines in", "a temporary file")(error)
}

/// Reads records in their order.
pub(super) struct RecordReader {
    input: BufReader<Spooled>,
    line: Vec<u8>,
    /// Bytes of the line whose number was read last.
    len: usize,
    left: u64,
}

impl RecordReader {
    /// The next record.
    pub(super) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        match self.next_number()? {
            Some(number) => Ok(Some((number, self.line()?))),
            None => Ok(None),
        }
    }

    /// The number of the next record. Its line, which may be long, is not read yet.
    fn next_number(&mut self) -> Result<Option<u64>> {
        self.line.clear();
        self.line.shrink_to(OUT_BYTES); // if there was a long line
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let mut head = [0; HEAD_BYTES];
        self.input.read_exact(&mut head).map_err(failed)?;
        self.len = LittleEndian::read_u32(&head[8..]) as usize;
        Ok(Some(LittleEndian::read_u64(&head)))
    }

    /// The line of the record whose number was read.
    fn line(&mut self) -> Result<&[u8]> {
        self.line.resize(self.len, 0);
        self.input.read_exact(&mut self.line).map_err(failed)?;
        Ok(&self.line)
    }
}

/// How lines are cut into parts.
#[derive(Debug)]
pub(super) struct PartOptions {
    pub(super) folder: PathBuf,
    pub(super) parts: usize,
    pub(super) part_bytes: usize,
}

/// Parts of records, cut by a hash of their keys.
#[derive(Debug)]
pub(super) struct Parts {
    parts: Vec<Records>,
    /// A cut of a cut uses another hash.
    depth: u64,
}

/// Most parts. Each is an open file.
const MAX_PARTS: u64 = 128;
const MAX_PART_BYTES: u64 = 1 << 18;
const MIN_PART_BYTES: u64 = 1 << 12;

impl PartOptions {
    /// As many parts as get a buffer in so much memory.
    pub(super) fn within(memory_bytes: u64, folder: &Path) -> Self {
        let parts = (memory_bytes / (1 << 16)).clamp(4, MAX_PARTS);
        let part_bytes = (memory_bytes / parts).clamp(MIN_PART_BYTES, MAX_PART_BYTES);
        let (parts, part_bytes) = (in_usize(parts), in_usize(part_bytes));
        Self { folder: folder.into(), parts, part_bytes }
    }

    pub(super) fn records(&self) -> Records {
        Records { out: Deferred::buffered(self.part_bytes, &self.folder), count: 0 }
    }

    pub(super) fn parts(&self, depth: u64) -> Parts {
        Parts { parts: (0..self.parts).map(|_| self.records()).collect(), depth }
    }
}

impl Parts {
    /// Appends a line to the part of its key.
    pub(super) fn push(&mut self, number: u64, line: &[u8], key: &[u8]) -> Result<()> {
        let hash = xxh3_64_with_seed(key, self.depth + 1);
        let part = (u128::from(hash) * self.parts.len() as u128) >> 64;
        self.parts[in_usize(part)].push(number, line)
    }

    /// The parts, one after the other.
    pub(super) fn into_parts(self) -> impl Iterator<Item = Records> {
        self.parts.into_iter()
    }
}

/// Calls `visit` with the records of all files, by ascending numbers.
pub(super) fn merge(
    files: Vec<Records>,
    mut visit: impl FnMut(u64, &[u8]) -> Result<()>,
) -> Result<()> {
    let readers = files.into_iter().filter(|file| !file.is_empty()).map(Records::read);
    let mut readers = readers.collect::<Result<Vec<_>>>()?;
    // The line of a record is read when its turn comes: only one long line is in memory.
    let mut heap = BinaryHeap::new();
    for (index, reader) in readers.iter_mut().enumerate() {
        heap.extend(reader.next_number()?.map(|number| Reverse((number, index))));
    }
    while let Some(mut top) = heap.peek_mut() {
        let Reverse((number, index)) = *top;
        visit(number, readers[index].line()?)?;
        match readers[index].next_number()? {
            Some(number) => *top = Reverse((number, index)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
    Ok(())
}

/// Appends a line to `out`, which is handed over when it is long enough.
pub(super) fn put(
    line: &[u8],
    terminator: u8,
    out: &mut Vec<u8>,
    consume: &mut impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    out.extend_from_slice(line);
    out.push(terminator);
    if out.len() >= OUT_BYTES {
        consume(out)?;
        out.clear();
    }
    Ok(())
}

/// Merges files of lines and hands the lines to `consume`.
pub(super) fn merge_lines(
    files: Vec<Records>,
    terminator: u8,
    progress: &Progress,
    mut consume: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut out, mut count) = (Vec::new(), 0);
    merge(files, |_, line| {
        count += 1;
        check(progress, count)?;
        put(line, terminator, &mut out, &mut consume)
    })?;
    if out.is_empty() { Ok(()) } else { consume(&out) }
}

/// Ends a run after a signal.
pub(super) fn check(progress: &Progress, records: u64) -> Result<()> {
    if records.is_multiple_of(CHECK_RECORDS) && progress.is_cancelled() {
        return Err(Error::Interrupted);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_come_back_in_order(
            lines in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..100),
            part_bytes in 1..64_usize, parts in 1..9_usize,
        ) {
            let folder = std::env::temp_dir();
            let options = PartOptions { folder, parts, part_bytes };
            let mut parts = options.parts(0);
            for (number, line) in (0..).zip(&lines) {
                parts.push(number, line, line).unwrap();
            }
            let mut found = Vec::new();
            merge(parts.into_parts().collect(), |number, line| {
                assert_eq!(number, found.len() as u64);
                found.push(line.to_vec());
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, lines);
        }
    }
}
