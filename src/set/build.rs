//! Unsorted numbers → a set, within a memory limit.

use super::sink::{SetFormat, Written, write_file, write_to};
use crate::bits::{ContainerSink, SetFile, SetKind, Spool};
use crate::container::{BITMAP_BYTES, Container, MAX_ARRAY, Scratch};
use crate::error::{Error, Result};
use crate::format::Format;
use crate::size::ByteSize;
use crate::sort::{Report, Sort};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// What the writer of a set takes beside the sort.
const WRITER_BYTES: u64 = 6 << 20;

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
    let mut report = None;
    let written = write_file(path, format, &spool(folder), false, |sink| {
        report = Some(collect(sort, sink)?);
        Ok(())
    })?;
    report.map(|report| (written, report)).ok_or_else(|| Error::usage("nothing was sorted"))
}

fn spool(folder: &Path) -> Spool {
    Spool { memory_bytes: 1 << 20, folder: folder.into() }
}

/// Sorts into `sink`.
pub(crate) fn collect(sort: Sort, sink: &mut dyn ContainerSink) -> Result<Report> {
    let mut values = Values { sink, key: 0, lows: Vec::new(), rest: Vec::new(), error: None };
    let sort =
        sort.distinct(true).to_format(Format::U64Le).reserve(ByteSize::from_bytes(WRITER_BYTES));
    let report = sort.run_into(&mut values);
    if let Some(error) = values.error.take() {
        return Err(error);
    }
    let report = report?;
    values.end_container()?;
    Ok(report)
}

/// Opens what may be a set file or a file of numbers; numbers are sorted into a
/// nameless set file in `folder`.
///
/// # Errors
///
/// If it is neither, or cannot be read.
pub fn open_any(path: &Path, sort: impl FnOnce() -> Sort, folder: &Path) -> Result<SetFile> {
    if path != Path::new("-") {
        let mut head = Vec::new();
        let metadata = std::fs::metadata(path).map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            let source = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(Error::Io { action: "read", path: path.into(), source });
        }
        if metadata.is_file() {
            // As much as the head of the largest 32-bit roaring bitmap.
            let file = File::open(path).map_err(Error::io("open", path))?;
            file.take(1 << 20).read_to_end(&mut head).map_err(Error::io("read", path))?;
            if SetKind::of(&head).is_some() {
                return SetFile::open(path);
            }
        }
    }
    let file = tempfile::tempfile_in(folder).map_err(Error::io("create a file in", folder))?;
    let sort = sort();
    let sort = if path == Path::new("-") { sort.stdin() } else { sort.file(path) };
    write_to(&file, path, SetFormat::RoaringBits, &spool(folder), |sink| {
        collect(sort, sink).map(drop)
    })?;
    SetFile::from_file(&file, &PathBuf::from(path))
}

/// Takes ascending values as bytes, gives containers.
struct Values<'s> {
    sink: &'s mut dyn ContainerSink,
    key: u64,
    lows: Vec<[u8; 2]>,
    /// Of a value that came in two pieces.
    rest: Vec<u8>,
    error: Option<Error>,
}

impl Values<'_> {
    fn end_container(&mut self) -> Result<()> {
        let container = Container::Array(&self.lows);
        if self.lows.len() <= MAX_ARRAY {
            self.sink.push(self.key, container)?;
        } else {
            self.sink.push(self.key, Scratch::from(container).container())?;
        }
        self.lows.clear();
        Ok(())
    }

    fn take(&mut self, values: &[[u8; 8]]) -> Result<()> {
        let mut rest = values;
        while let Some(&first) = rest.first() {
            let key = u64::from_le_bytes(first) >> 16;
            if key != self.key {
                self.end_container()?;
                self.key = key;
            }
            // A container is mostly longer or shorter than what came: search.
            let here = rest.partition_point(|&value| u64::from_le_bytes(value) >> 16 == key);
            let (now, later) = rest.split_at(here);
            self.lows.extend(now.iter().map(|&[low, high, ..]| [low, high]));
            rest = later;
        }
        debug_assert!(self.lows.len() * 2 <= 16 * BITMAP_BYTES, "values are distinct");
        Ok(())
    }
}

impl Write for Values<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut left = bytes;
        let take = |this: &mut Self, values: &[[u8; 8]]| {
            this.take(values).map_err(|error| {
                this.error = Some(error);
                io::Error::other("the set could not be written")
            })
        };
        if !self.rest.is_empty() {
            let (now, later) = left.split_at(left.len().min(8 - self.rest.len()));
            self.rest.extend_from_slice(now);
            left = later;
            if let Some(&value) = self.rest.first_chunk::<8>() {
                self.rest.clear();
                take(self, &[value])?;
            }
        }
        let (values, rest) = left.as_chunks::<8>();
        take(self, values)?;
        self.rest.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
