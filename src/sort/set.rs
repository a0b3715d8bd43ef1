//! Unsorted numbers → a set, within a memory limit.

use super::blocks::{BLOCK_HEAD, IS_BITMAP};
use super::{Report, Sort};
use crate::error::{Error, Result};
use crate::set::container::{BITMAP_BYTES, Container, MAX_ARRAY, Scratch};
use crate::set::file::{ContainerSink, Spool};
#[cfg(feature = "cli")]
use crate::set::write_stream;
use crate::set::{SetFormat, Written, write_file};
use crate::size::ByteSize;
use std::io::{self, Write};
use std::path::Path;

/// What the writer of a set takes beside the sort.
const WRITER_BYTES: u64 = 10 << 20;
/// What may wait in memory to be written.
const SPOOL_BYTES: usize = 4 << 20;

/// Sorts into a set file, which appears whole or not at all.
///
/// # Errors
///
/// As the sort.
pub fn build(
    sort: Sort,
    path: &Path,
    format: SetFormat,
    folder: &Path,
) -> Result<(Written, Report)> {
    produced(sort, |produce| write_file(path, format, &spool(folder), false, produce))
}

/// As [`build`], into what cannot be gone back in.
#[cfg(feature = "cli")]
pub(crate) fn build_stream(
    sort: Sort,
    out: impl Write + Send,
    format: SetFormat,
    folder: &Path,
) -> Result<(Written, Report)> {
    produced(sort, |produce| write_stream(out, Path::new("-"), format, &spool(folder), produce))
}

/// What a writer gives, and what the sort that it writes reports.
fn produced(
    sort: Sort,
    write: impl FnOnce(&mut dyn FnMut(&mut dyn ContainerSink) -> Result<()>) -> Result<Written>,
) -> Result<(Written, Report)> {
    let (mut sort, mut report) = (Some(sort), None);
    let written = write(&mut |sink| {
        report = sort.take().map(|sort| collect(sort, sink)).transpose()?;
        Ok(())
    })?;
    let told = |report| Report { written_bytes: written.bytes, ..report };
    report.map(|report| (written, told(report))).ok_or_else(|| Error::usage("nothing was sorted"))
}

pub(super) fn spool(folder: &Path) -> Spool {
    Spool { memory_bytes: SPOOL_BYTES, folder: folder.into() }
}

/// Sorts into `sink`.
pub(super) fn collect(sort: Sort, sink: &mut dyn ContainerSink) -> Result<Report> {
    let mut values = Values { sink, key: 0, lows: Vec::new(), rest: Vec::new(), error: None };
    let sort = sort.reserve(ByteSize::from_bytes(WRITER_BYTES));
    let report = sort.blocks_into(&mut values);
    if let Some(error) = values.error.take() {
        return Err(error);
    }
    let report = report?;
    if !values.rest.is_empty() {
        let what = format!("{} bytes of an unfinished block are left", values.rest.len());
        return Err(Error::Accounting { what });
    }
    values.end_container()?;
    Ok(report)
}

/// Takes ascending blocks of values, gives containers.
struct Values<'s> {
    sink: &'s mut dyn ContainerSink,
    key: u64,
    lows: Vec<[u8; 2]>,
    /// Of a block that came in pieces.
    rest: Vec<u8>,
    error: Option<Error>,
}

impl Values<'_> {
    fn end_container(&mut self) -> Result<()> {
        if !self.lows.is_empty() {
            push(self.sink, self.key, Container::Array(&self.lows))?;
            self.lows.clear();
        }
        Ok(())
    }

    /// Takes the whole blocks that `bytes` begin with; gives what is left.
    fn blocks<'b>(&mut self, mut bytes: &'b [u8]) -> Result<&'b [u8]> {
        while let Some((block, rest)) = Block::split_off(bytes) {
            if block.key < self.key {
                let what = format!("values of {:#x} follow those of {:#x}", block.key, self.key);
                return Err(Error::Accounting { what });
            }
            if block.key != self.key {
                self.end_container()?;
                self.key = block.key;
            }
            match block.container {
                Container::Array(lows) if !self.lows.is_empty() || block.may_go_on(rest) => {
                    self.lows.extend_from_slice(lows);
                }
                whole => {
                    debug_assert!(self.lows.is_empty(), "a bitmap is of all values of its key");
                    push(self.sink, block.key, whole)?;
                }
            }
            bytes = rest;
        }
        Ok(bytes)
    }
}

/// A block of values that share their upper bits.
struct Block<'b> {
    key: u64,
    container: Container<'b>,
}

impl<'b> Block<'b> {
    /// The upper bits of the values of the next block, what is told of their number,
    /// and the bytes behind its head.
    fn head(bytes: &'b [u8]) -> Option<(u64, u32, &'b [u8])> {
        let (head, rest) = bytes.split_first_chunk::<BLOCK_HEAD>()?;
        let (words, _) = head.as_chunks::<4>();
        let word = |index: usize| u32::from_le_bytes(words[index]);
        Some((u64::from(word(0)) | u64::from(word(1)) << 32, word(2), rest))
    }

    /// The block that `bytes` begin with, if all of it is there, and what follows.
    fn split_off(bytes: &'b [u8]) -> Option<(Self, &'b [u8])> {
        let (key, told, rest) = Self::head(bytes)?;
        if told & IS_BITMAP != 0 {
            let (words, rest) = rest.split_first_chunk::<BITMAP_BYTES>()?;
            let container = Container::Bitmap(words.as_chunks().0.try_into().ok()?);
            return Some((Self { key, container }, rest));
        }
        let (lows, rest) = rest.split_at_checked(2 * told as usize)?;
        Some((Self { key, container: Container::Array(lows.as_chunks().0) }, rest))
    }

    /// Whether what follows may begin with more values of the same upper bits.
    fn may_go_on(&self, rest: &[u8]) -> bool {
        Block::head(rest).is_none_or(|(next, ..)| next == self.key)
    }
}

/// Hands on all values of a container.
fn push(sink: &mut dyn ContainerSink, key: u64, container: Container<'_>) -> Result<()> {
    match container {
        Container::Array(lows) if lows.len() > MAX_ARRAY => {
            sink.push(key, Scratch::from(container).container())
        }
        container => sink.push(key, container),
    }
}

impl Write for Values<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut waiting = std::mem::take(&mut self.rest);
        let taken = if waiting.is_empty() {
            self.blocks(bytes).map(<[u8]>::to_vec)
        } else {
            waiting.extend_from_slice(bytes);
            self.blocks(&waiting).map(<[u8]>::to_vec)
        };
        match taken {
            Ok(rest) => {
                self.rest = rest;
                Ok(bytes.len())
            }
            Err(error) => {
                self.error = Some(error);
                Err(io::Error::other("the set could not be written"))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::IntegerSet;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_is_built_as_it_would_be_written_whatever_its_density() {
        let folder = tempfile::tempdir().unwrap();
        let [text, built, written] =
            ["x.txt", "x.bits", "y.bits"].map(|name| folder.path().join(name));
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            state >> 40
        };
        // Values of some containers in partitions of a few each: one in so many, or runs.
        let kinds = [0, 700, 43, 17, 15, 2, 1].map(|gap| (gap, 1));
        let kinds: Vec<_> = kinds.into_iter().chain([(3, 64), (40, 64), (300, 640)]).collect();
        for (start, far) in [(0, None), (1000, None), (u64::MAX << 30, Some(7))] {
            let mut values: BTreeSet<u64> = far.into_iter().collect();
            for (key, (gap, run)) in (0_u64..).step_by(60).zip(&kinds) {
                let lows = (0..65_536 / run).filter(|_| *gap > 0 && random() % gap == 0);
                let lows: Vec<u64> = lows.flat_map(|low| low * run..(low + 1) * run).collect();
                values.extend(lows.iter().map(|low| start + (key << 16) + low));
            }
            let lines: Vec<_> = values.iter().rev().chain(&values).map(u64::to_string).collect();
            std::fs::write(&text, lines.join("\n")).unwrap();
            let sort = Sort::new().file(&text);
            let (told, _) = build(sort, &built, SetFormat::RoaringBits, folder.path()).unwrap();
            assert_eq!(told.cardinality, values.len() as u64);
            IntegerSet::from_iter(values).write_as(&written, SetFormat::RoaringBits).unwrap();
            assert!(std::fs::read(&built).unwrap() == std::fs::read(&written).unwrap(), "{start}");
        }
    }
}
