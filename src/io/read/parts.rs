//! A regular file in parts of whole lines, each read by the thread that takes it.

use super::block::byte_order_mark;
use super::blocks::read_at;
use super::line_chunk::too_long;
use crate::error::{Error, Result};
use std::fs::{File, Metadata};
use std::io::Seek;
use std::mem;
use std::sync::Arc;

/// Smaller files are read as streams are; files of /sys say that they have a page.
const MIN_BYTES: u64 = 1 << 16;
/// Smaller parts, where little is left of a file, cost more than what they gain.
const MIN_PART_BYTES: u64 = 8 << 20;
/// What is read at a time to find the end of a line.
const TAIL_BYTES: usize = 1 << 12;

/// A file whose lines are read by several threads.
struct Source {
    file: File,
    name: String,
    /// Where the input begins in the file.
    start: u64,
    terminator: u8,
    max_line_bytes: usize,
}

/// Cuts a file into parts.
pub(super) struct Parts {
    source: Arc<Source>,
    /// Where the next part begins in the input.
    at: u64,
    /// Parts that what is left of the file has at least.
    fewest: u64,
}

/// Whole lines of a file, that are still to be read.
pub(super) struct Part {
    source: Arc<Source>,
    /// Where the next line begins in the input.
    pub(super) at: u64,
    pub(super) end: u64,
}

impl Source {
    fn rewritten(&self) -> Error {
        Error::InputRewritten { input: self.name.clone() }
    }
}

impl Parts {
    /// Of a file of which `head` was read, for so many threads; none of what is no
    /// regular file, or small.
    pub(super) fn of(
        (file, metadata): &(File, Metadata),
        head: &[u8],
        name: &str,
        terminator: u8,
        max_line_bytes: usize,
        threads: usize,
    ) -> Option<Self> {
        if !metadata.is_file() || metadata.len() < MIN_BYTES {
            return None;
        }
        let mut file = file.try_clone().ok()?;
        let start = file.stream_position().ok()?.checked_sub(head.len() as u64)?;
        let source = Source { file, name: name.to_owned(), start, terminator, max_line_bytes };
        let (at, fewest) = (byte_order_mark(head) as u64, 2 * threads as u64);
        Some(Self { source: Arc::new(source), at, fewest })
    }

    /// The next lines, of about that many bytes, or fewer towards the end of the file,
    /// so that threads end together; none at its end.
    ///
    /// A line whose end is not found within the longest that a line may be is cut:
    /// who reads the part refuses it.
    pub(super) fn next(&mut self, bytes: usize) -> Result<Option<Part>> {
        let source = &*self.source;
        let failed = || Error::io("read", &source.name);
        let len = source.file.metadata().map_err(failed())?.len().saturating_sub(source.start);
        if len < self.at {
            return Err(source.rewritten());
        }
        if len == self.at {
            return Ok(None);
        }
        let share = ((len - self.at) / self.fewest).max(MIN_PART_BYTES);
        let least = len.min(self.at + share.min(bytes as u64));
        let mut end = least;
        let mut tail = [0; TAIL_BYTES];
        while end - least <= source.max_line_bytes as u64 {
            let read = read_at(&source.file, &mut tail, source.start + end - 1);
            let read = read.map_err(failed())?;
            if let Some(at) = tail[..read].iter().position(|&byte| byte == source.terminator) {
                end += at as u64;
                break;
            }
            if read <= 1 {
                break; // the file ends here
            }
            end += read as u64 - 1;
        }
        let at = mem::replace(&mut self.at, end);
        Ok(Some(Part { source: Arc::clone(&self.source), at, end }))
    }
}

impl Part {
    /// What ends a line.
    pub(super) fn terminator(&self) -> u8 {
        self.source.terminator
    }

    /// Reads the bytes from the next line on.
    ///
    /// # Errors
    ///
    /// If there are not as many any more.
    pub(super) fn read(&self, bytes: &mut [u8]) -> Result<()> {
        let read = read_at(&self.source.file, bytes, self.source.start + self.at);
        if read.map_err(Error::io("read", &self.source.name))? < bytes.len() {
            return Err(self.source.rewritten());
        }
        Ok(())
    }

    /// Refuses a line that begins in the unread bytes at `from` and has not ended at
    /// `to` if that is too long.
    pub(super) fn check_line(&self, from: usize, to: usize) -> Result<()> {
        let Source { name, max_line_bytes, .. } = &*self.source;
        if to - from > *max_line_bytes {
            return Err(too_long(name, self.at + from as u64, *max_line_bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Error;
    use crate::io::read::{LineChunk, LineReader};
    use std::path::PathBuf;

    /// The lines of a file in chunks and blocks of about so many bytes.
    fn read(path: PathBuf, chunk_bytes: usize, block_bytes: usize) -> Result<String, Error> {
        let mut reader = LineReader::new(vec![path]).up_to(0).in_parts(2);
        let mut chunk = LineChunk::new(chunk_bytes)?;
        let (mut text, mut claimed) = (String::new(), 0);
        while reader.next(&mut chunk)? {
            claimed += chunk.claimed_bytes;
            while chunk.next_block(block_bytes)? {
                assert!(chunk.lines().ends_with(b"\n"));
                assert!(text.is_empty() || chunk.offset + 1 >= text.len() as u64);
                text += std::str::from_utf8(chunk.lines()).unwrap();
            }
        }
        assert!(claimed == 0 || text.len() as u64 - claimed <= 1, "{claimed}");
        Ok(text)
    }

    #[test]
    fn parts_and_blocks_of_any_size_are_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let lines: Vec<String> = (0..30_000_u32).map(|line| (line * line).to_string()).collect();
        let text = lines.join("\n") + "\n";
        for (mark, tail) in [("", ""), ("\u{feff}", "77"), ("", "\n\n")] {
            let text = text.clone() + tail;
            std::fs::write(&path, format!("{mark}{text}")).unwrap();
            let whole =
                text.trim_end_matches('7').to_owned() + if tail == "77" { "77\n" } else { "" };
            for (chunk, block) in [
                (1, 1),
                (4096, 1),
                (100, 7),
                (5000, 4999),
                (1 << 16, 1 << 12),
                (1 << 20, usize::MAX),
            ] {
                assert!(read(path.clone(), chunk, block).unwrap() == whole, "{chunk} {block}");
            }
        }
    }

    #[test]
    fn long_lines_grow_a_block_or_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        for (len, is_refused) in [(1 << 19, false), (3 << 20, true)] {
            for end in ["", "\n", "\n8\n"] {
                let text = format!("7\n{}{end}", "0".repeat(len));
                std::fs::write(&path, &text).unwrap();
                for (chunk, block) in [(1, 1), (1 << 16, 1000), (1 << 20, usize::MAX)] {
                    match read(path.clone(), chunk, block) {
                        Ok(read) => assert!(!is_refused && read.trim_end() == text.trim_end()),
                        Err(error) => {
                            let error = error.to_string();
                            assert!(
                                is_refused
                                    && error.contains(": byte 2: a line longer than 1.0 MiB"),
                                "{error}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_file_that_gets_shorter_is_noticed_and_lines_that_come_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let text = "12345\n".repeat(20_000);
        for (len, block) in [(6000, 100), (119_000, usize::MAX), (240_000, 100)] {
            std::fs::write(&path, &text).unwrap();
            let mut reader = LineReader::new(vec![path.clone()]).in_parts(2);
            let mut chunk = LineChunk::new(100_000).unwrap();
            let mut lines = 0;
            let mut next = |chunk: &mut LineChunk| -> Result<bool, Error> {
                let more = reader.next(chunk)?;
                while chunk.next_block(block)? {
                    lines += chunk.lines().len() / 6;
                }
                Ok(more)
            };
            assert!(next(&mut chunk).unwrap());
            let bytes = "12345\n".repeat(len / 6);
            std::fs::write(&path, bytes).unwrap();
            let found = (0..3).try_fold((), |(), _| next(&mut chunk).map(|_| ()));
            if len < 100_000 {
                assert!(matches!(found, Err(Error::InputRewritten { .. })));
            } else {
                assert!(found.is_ok() && lines == len / 6, "{lines}");
            }
        }
    }
}
