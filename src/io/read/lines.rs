//! Whole lines of inputs in large chunks, in order, for answers line by line.
//!
//! A stream is not waited for to fill a chunk: when it pauses, its lines go on.
//! Lines are of text, where a byte order mark is no part of the first one, or of
//! any bytes that end in a terminator.

use super::block::Cut;
use super::blocks::column_of;
use super::line_chunk::{LineChunk, MAX_LINE_BYTES, too_long};
use super::open::open_file;
use super::parts::Parts;
use super::unchanged::check_end;
use crate::error::{Error, Result};
use crate::io::compression::{self, Compression, HEAD_BYTES};
use crate::io::table::TableFormat;
use crate::kernel::parse::PADDING;
use crate::number::{BYTE_ORDER_MARK, MAX_RECORD_BYTES, Selector};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::cell::OnceCell;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How long a stream may pause before its lines are answered.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// How long a stream is waited for before it is looked whether somebody still wants it.
const WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// What unpacking a compressed input may take.
const UNPACK_BYTES: u64 = 64 << 20;
/// Lines of this length are taken in any memory.
const MIN_LINE_BYTES: usize = 1 << 20;

/// Reads inputs one after the other.
pub(crate) struct LineReader {
    paths: std::vec::IntoIter<PathBuf>,
    /// Inputs that were begun.
    inputs: usize,
    current: Option<Current>,
    /// Chunks that were filled.
    chunks: u64,
    terminator: u8,
    has_mark: bool,
    selector: Option<Selector>,
    max_line_bytes: usize,
    /// Threads that read plain files of text in parts; 0 if they are not.
    part_threads: usize,
    known_bytes: OnceCell<u64>,
    stop: Arc<AtomicBool>,
}

struct Current {
    name: String,
    terminator: u8,
    has_mark: bool,
    max_line_bytes: usize,
    reader: Box<dyn Read + Send>,
    /// The file that is read, to look at, and what it was when it was opened.
    file: Option<(File, Metadata)>,
    /// The same, if the threads that take its lines read them.
    parts: Option<Parts>,
    offset: u64,
    /// The beginning of a line whose end was not read yet.
    carry: Vec<u8>,
    /// Of delimited text, whose records may hold terminators in quotes.
    selector: Option<Selector>,
    /// Number (from 0) of the wanted field, once the first record was read.
    column: usize,
    stop: Arc<AtomicBool>,
    is_packed: bool,
}

impl LineReader {
    /// Of these files; `-` is standard input.
    pub(crate) fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths: paths.into_iter(),
            inputs: 0,
            current: None,
            chunks: 0,
            terminator: b'\n',
            has_mark: true,
            selector: None,
            max_line_bytes: MAX_LINE_BYTES,
            part_threads: 0,
            known_bytes: OnceCell::new(),
            stop: Arc::default(),
        }
    }

    /// Refuses lines that are longer; a buffer that has to grow may be twice as long.
    pub(super) fn up_to(self, line_bytes: usize) -> Self {
        Self { max_line_bytes: line_bytes.clamp(MIN_LINE_BYTES, MAX_LINE_BYTES), ..self }
    }

    /// The same, but [`LineChunk::next_block`] reads the lines of plain files of text,
    /// in so many threads.
    pub(crate) fn in_parts(self, threads: usize) -> Self {
        Self { part_threads: threads, ..self }
    }

    /// The same for lines of any bytes, that end in `terminator`.
    pub(crate) fn of_bytes(paths: Vec<PathBuf>, terminator: u8) -> Self {
        Self { terminator, has_mark: false, ..Self::new(paths) }
    }

    /// Of delimited text, in whole records.
    pub(crate) fn of_records(paths: Vec<PathBuf>, selector: Option<Selector>) -> Self {
        Self { selector, ..Self::new(paths) }
    }

    /// Bytes of all inputs; 0 if one is a stream, or compressed. The inputs are
    /// looked at once.
    pub(crate) fn known_bytes(&self) -> u64 {
        *self.known_bytes.get_or_init(|| self.look_at_bytes())
    }

    fn look_at_bytes(&self) -> u64 {
        let len = |path: &PathBuf| {
            // What is no file is not opened twice: a pipe would wait for its writer.
            let is_file = path == Path::new("-") || std::fs::metadata(path).ok()?.is_file();
            let file = is_file.then(|| open_file(path).ok())??;
            let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let mut head = [0; HEAD_BYTES];
            let read = file.read_at(&mut head, 0).ok()?;
            let is_plain = Compression::of_content(&head[..read]).is_none();
            is_plain.then_some(metadata.len())
        };
        self.paths.as_slice().iter().map(len).sum::<Option<u64>>().unwrap_or(0)
    }

    fn open(&mut self, path: &Path) -> Result<Current> {
        self.inputs += 1;
        let file = open_file(path)?;
        let metadata = file.metadata().map_err(Error::io("read", path))?;
        let beside = file.try_clone().ok().map(|file| (file, metadata));
        // One reading: what a stream begins with is not waited for.
        let mut head = [0; HEAD_BYTES];
        let read = (&file).read(&mut head).map_err(Error::io("read", path))?;
        if self.has_mark
            && let Some(format) = TableFormat::of_content(&head[..read])
        {
            let what = "has rows, not lines: build a set of it";
            return Err(Error::usage(format!(
                "{} is a {format} file, which {what}",
                path.display()
            )));
        }
        let format = Compression::of_content(&head[..read]);
        let name = path.display().to_string();
        let Self { terminator, has_mark, max_line_bytes, part_threads, .. } = *self;
        let is_plain = format.is_none() && has_mark && self.selector.is_none();
        let parts = beside.as_ref().filter(|_| part_threads > 0 && is_plain).and_then(|beside| {
            Parts::of(beside, &head[..read], &name, terminator, max_line_bytes, part_threads)
        });
        let beginning = io::Cursor::new(head[..read].to_vec());
        let whole: Box<dyn Read + Send> = Box::new(beginning.chain(file));
        let reader = match format {
            Some(format) => compression::unpacked(format, whole, UNPACK_BYTES),
            None => Ok(whole),
        };
        let reader = reader.map_err(Error::io("unpack", path))?;
        Ok(Current {
            name,
            terminator,
            has_mark,
            max_line_bytes,
            reader,
            file: beside,
            parts,
            offset: 0,
            carry: Vec::new(),
            selector: self.selector.clone(),
            column: 0,
            stop: Arc::clone(&self.stop),
            is_packed: format.is_some(),
        })
    }

    /// Fills `chunk` with the next lines; false if there are none.
    ///
    /// # Errors
    ///
    /// If an input cannot be read, or a line is too long.
    pub(crate) fn next(&mut self, chunk: &mut LineChunk) -> Result<bool> {
        while !self.stop.load(Ordering::Relaxed) {
            let mut current = match self.current.take() {
                Some(current) => current,
                None => match self.paths.next() {
                    Some(path) => self.open(&path)?,
                    None => return Ok(false),
                },
            };
            chunk.clear();
            let more = match &mut current.parts {
                Some(parts) => chunk.take(parts)?,
                None => current.fill(chunk)?,
            };
            chunk.name.clone_from(&current.name);
            if more {
                self.current = Some(current);
            }
            if chunk.claimed_bytes > 0 {
                chunk.input = self.inputs - 1;
                self.chunks += 1;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Set, it ends the inputs: nobody wants more lines.
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Chunks that were filled, of all inputs.
    pub(super) fn chunks(&self) -> u64 {
        self.chunks
    }
}

impl Current {
    /// Reads whole lines; false at the end of the input.
    fn fill(&mut self, chunk: &mut LineChunk) -> Result<bool> {
        let name = &self.name;
        let mut end = PADDING + self.carry.len();
        while chunk.room() <= end {
            chunk.grow()?;
        }
        chunk.bytes.bytes_mut()[PADDING..end].copy_from_slice(&self.carry);
        self.carry.clear();
        let mut lines_end = None;
        let more = loop {
            if end == chunk.room() {
                lines_end = self.whole(&chunk.bytes.bytes()[..end], lines_end);
                if lines_end.is_some() {
                    break true;
                }
                if end - PADDING > self.max_line_bytes {
                    return Err(too_long(name, self.offset, self.max_line_bytes));
                }
                chunk.grow()?;
            }
            // What was read to see what it is comes first, and what is unpacked may be
            // there already.
            if let Some(stream) = self.stream()
                && !self.is_packed
                && (self.offset > 0 || end > PADDING)
            {
                while !self.stop.load(Ordering::Relaxed) && pauses(stream, &WAIT) {}
                if self.stop.load(Ordering::Relaxed) {
                    break false;
                }
            }
            let room = end..chunk.room();
            let read = match self.reader.read(&mut chunk.bytes.bytes_mut()[room]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(Error::io("read", name))?,
            };
            if read == 0 {
                if let Some((file, before)) = &self.file {
                    check_end(file, before, Path::new(name))?;
                }
                break false;
            }
            let new = &chunk.bytes.bytes()[end..end + read];
            let last = new.iter().rposition(|&byte| byte == self.terminator);
            lines_end = last.map(|last| end + last + 1).or(lines_end);
            end += read;
            if lines_end.is_some()
                && let Some(stream) = self.stream()
                && pauses(stream, &PAUSE)
            {
                let whole = self.whole(&chunk.bytes.bytes()[..end], lines_end);
                if whole.is_some() {
                    lines_end = whole;
                    break true;
                }
            }
        };
        if more {
            let lines_end = lines_end.unwrap_or(PADDING);
            self.carry.extend_from_slice(&chunk.bytes.bytes()[lines_end..end]);
            end = lines_end;
        } else if self.has_mark
            && self.offset == 0
            && chunk.bytes.bytes()[PADDING..end] == *BYTE_ORDER_MARK
        {
            end = PADDING; // no lines behind it
        } else if end > PADDING && chunk.bytes.bytes()[end - 1] != self.terminator {
            chunk.bytes.bytes_mut()[end] = self.terminator;
            end += 1;
        }
        chunk.first = self.offset == 0;
        chunk.offset = self.offset;
        chunk.span = PADDING..end;
        self.offset += chunk.span.len() as u64;
        let starts = |mark| chunk.bytes.bytes()[chunk.span.clone()].starts_with(mark);
        if self.has_mark && chunk.offset == 0 && starts(BYTE_ORDER_MARK) {
            chunk.span.start += BYTE_ORDER_MARK.len();
            chunk.offset += BYTE_ORDER_MARK.len() as u64;
        }
        if let Some(selector) = &self.selector
            && chunk.first
            && !chunk.span.is_empty()
        {
            self.column = column_of(selector, chunk.lines(), MAX_RECORD_BYTES, &self.name)?;
        }
        chunk.column = self.column;
        (chunk.claimed_bytes, chunk.is_read) = (chunk.span.len() as u64, true);
        Ok(more)
    }

    /// What is read, if it is no regular file and may be waited for.
    fn stream(&self) -> Option<&File> {
        self.file.as_ref().filter(|(_, before)| !before.is_file()).map(|(file, _)| file)
    }

    /// Where the last whole record of a buffer ends, whose last line ends there.
    fn whole(&self, bytes: &[u8], lines_end: Option<usize>) -> Option<usize> {
        match &self.selector {
            None => lines_end,
            Some(_) if lines_end.is_none() => None,
            Some(selector) => {
                let bytes = &bytes[PADDING..];
                // In a smaller buffer a record is not refused: it grows first.
                let is_small = bytes.len() < Cut::block_of_records(MAX_RECORD_BYTES);
                let limit = if is_small { usize::MAX } else { MAX_RECORD_BYTES };
                selector.complete(bytes, limit).map(|end| PADDING + end)
            }
        }
    }
}

/// Whether nothing comes for some time; not at the end of a stream.
fn pauses(file: &File, time: &Timespec) -> bool {
    let mut polled = [PollFd::new(file, PollFlags::IN)];
    matches!(poll(&mut polled, Some(time)), Ok(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_from_chunks_of_any_size() {
        let folder = tempfile::tempdir().unwrap();
        let texts = ["\u{feff}1\n22\n\n333333\n4", "", "5\r\n6\n"];
        let paths: Vec<PathBuf> = (0..texts.len())
            .map(|number| {
                let path = folder.path().join(number.to_string());
                std::fs::write(&path, texts[number]).unwrap();
                path
            })
            .collect();
        for capacity in 1..24 {
            let mut reader = LineReader::new(paths.clone());
            let mut chunk = LineChunk::new(capacity).unwrap();
            let mut found = vec![String::new(); texts.len()];
            let mut chunks = 0;
            while reader.next(&mut chunk).unwrap() {
                let (bytes, span) = chunk.padded();
                assert!(span.start >= PADDING && bytes.len() - span.end >= PADDING);
                chunks += 1;
                assert_eq!(reader.chunks(), chunks);
                let text = std::str::from_utf8(&bytes[span]).unwrap();
                let file = texts[chunk.input].as_bytes();
                let from = usize::try_from(chunk.offset).unwrap();
                assert!(file[from..].starts_with(text.trim_end_matches('\n').as_bytes()));
                found[chunk.input] += text;
            }
            assert_eq!(found, ["1\n22\n\n333333\n4\n", "", "5\r\n6\n"]);
        }
    }
}
