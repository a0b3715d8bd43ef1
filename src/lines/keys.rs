//! Takes lines as keys, many at a time, and turns the text of a key into the bytes that a filter
//! hashes.

use super::index::fields;
use crate::bloom::{Filter, Plain, guava};
use crate::error::{Error, Result, excerpt};
use crate::io::read::{Block, ChunkJob, LineInputs};
use crate::kernel::Level;
use crate::kernel::places::places;
use crate::number::{Line, MAX_RECORD_BYTES, Malformed, Selector, content, is_blank};
use memchr::memchr_iter;
use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::str;
use std::sync::atomic::{AtomicU64, Ordering};

/// The rules that make a key of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineRules {
    /// The byte that ends a line; it is no part of the key.
    pub(crate) terminator: u8,
    /// Whether a carriage return at the end is no part of the key either.
    pub(crate) crlf: bool,
    /// Whether lines with an empty key are left out.
    pub(crate) skip_empty: bool,
    /// The part of a key that filters hash.
    pub(crate) funnel: Funnel,
}

impl Default for LineRules {
    fn default() -> Self {
        Self { terminator: b'\n', crlf: false, skip_empty: false, funnel: Funnel::default() }
    }
}

/// Lines that are handed over together.
const BATCH: usize = 1024;
/// Pieces of a file whose lines are counted for an estimate, and their size.
const PIECES: u64 = 32;
const PIECE_BYTES: usize = 1 << 15;

/// Neighbouring lines.
#[derive(Debug, Default)]
pub(crate) struct Batch<'a> {
    pub(crate) keys: Vec<&'a [u8]>,
    /// The place of each line with its terminator.
    pub(crate) spans: Vec<Range<usize>>,
}

impl LineRules {
    /// The key of a line without its terminator.
    #[inline]
    pub(crate) fn key(self, line: &[u8]) -> &[u8] {
        match line {
            [key @ .., b'\r'] if self.crlf => key,
            line => line,
        }
    }

    /// The key of every line of `bytes`, and the place of the line with its terminator.
    fn keys(self, bytes: &[u8]) -> impl Iterator<Item = (&[u8], Range<usize>)> {
        let mut start = 0;
        places(Level::best(), bytes, self.terminator).filter_map(move |end| {
            let span = start..end + 1;
            start = span.end;
            let key = self.key(&bytes[span.start..end]);
            (!(self.skip_empty && key.is_empty())).then_some((key, span))
        })
    }

    /// Hands all lines of `bytes`, each with its terminator, to `visit`, many at a time.
    pub(crate) fn batches<'a>(
        self,
        bytes: &'a [u8],
        mut visit: impl FnMut(&Batch<'a>) -> Result<()>,
    ) -> Result<()> {
        let mut batch = Batch::default();
        batch.keys.reserve_exact(BATCH);
        batch.spans.reserve_exact(BATCH);
        // This uses the iterator's own loop: asking it line by line takes twice as long.
        self.keys(bytes).try_for_each(|(key, span)| -> Result<()> {
            batch.keys.push(key);
            batch.spans.push(span);
            if batch.keys.len() == BATCH {
                visit(&batch)?;
                batch.keys.clear();
                batch.spans.clear();
            }
            Ok(())
        })?;
        if batch.keys.is_empty() { Ok(()) } else { visit(&batch) }
    }

    /// Copies the lines of `bytes` for whose keys `ask` gives the answer `wanted`.
    pub(crate) fn copy(
        self,
        bytes: &[u8],
        wanted: bool,
        out: &mut Vec<u8>,
        mut ask: impl FnMut(&[&[u8]], &mut Vec<bool>) -> Result<()>,
    ) -> Result<()> {
        let mut answers = Vec::new();
        self.batches(bytes, |batch| {
            batch.hashed(self.funnel, |keys| ask(keys, &mut answers))??;
            batch.copy(bytes, &answers, wanted, out);
            Ok(())
        })
    }

    /// Number of keys in `bytes`.
    pub(crate) fn count(self, bytes: &[u8]) -> u64 {
        self.keys(bytes).count() as u64
    }

    /// Guesses the number of lines of a regular file. Gives 0 for other files, and for a file that
    /// cannot be opened: reading it will report why.
    pub(crate) fn estimated_lines(self, path: &Path) -> Result<u64> {
        // Opening a pipe would wait for its writer.
        if !std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
            return Ok(0);
        }
        let Ok(file) = File::open(path) else { return Ok(0) };
        let len = file.metadata().map_err(Error::io("read", path))?.len();
        let pieces = len.div_ceil(PIECE_BYTES as u64).min(PIECES);
        let step = if pieces == PIECES { len / PIECES } else { PIECE_BYTES as u64 };
        let mut buffer = vec![0; PIECE_BYTES];
        let (mut bytes, mut lines) = (0, 0);
        for piece in 0..pieces {
            let read = file.read_at(&mut buffer, piece * step).map_err(Error::io("read", path))?;
            bytes += read as u64;
            lines += memchr_iter(self.terminator, &buffer[..read]).count() as u64;
        }
        let estimate = u128::from(lines) * u128::from(len) / u128::from(bytes.max(1));
        Ok(u64::try_from(estimate).unwrap_or(u64::MAX) + u64::from(len > 0))
    }
}

impl Batch<'_> {
    /// Calls `take` with the bytes of each key that filters hash.
    ///
    /// # Errors
    ///
    /// If a line is no such key. [`LineJob`] adds its place to the error.
    pub(crate) fn hashed<R>(&self, funnel: Funnel, take: impl FnOnce(&[&[u8]]) -> R) -> Result<R> {
        funnel.keys(&self.keys, take).map_err(|index| self.no_key(index, funnel.expected()))
    }

    /// The error of a line that is no such key. [`LineJob`] adds its place.
    pub(crate) fn no_key(&self, index: usize, expected: &'static str) -> Error {
        let key = self.keys[index];
        Error::NoKey {
            input: String::new(),
            offset: self.spans[index].start as u64,
            expected,
            excerpt: excerpt(key),
        }
    }

    /// Copies the lines of `bytes` whose answer is `wanted`. Neighbours are copied together.
    pub(crate) fn copy(&self, bytes: &[u8], answers: &[bool], wanted: bool, out: &mut Vec<u8>) {
        let mut run = 0..0;
        for (span, &answer) in self.spans.iter().zip(answers) {
            if answer != wanted {
                continue;
            }
            if span.start != run.end {
                out.extend_from_slice(&bytes[run]);
                run = span.clone();
            }
            run.end = span.end;
        }
        out.extend_from_slice(&bytes[run]);
    }
}

/// How lines are read.
#[derive(Clone, Copy)]
pub(crate) struct LineJob<'a> {
    pub(crate) rules: LineRules,
    pub(crate) chunks: ChunkJob<'a>,
}

/// A field of a row whose quotes are wrong: the text between delimiters.
fn between_delimiters<'r>(
    row: &'r [u8],
    selector: &Selector,
    column: usize,
) -> Option<Cow<'r, [u8]>> {
    let row = row.strip_suffix(b"\r").unwrap_or(row);
    if selector.quoting {
        return fields(row, selector.delimiter).nth(column);
    }
    row.split(|byte| *byte == selector.delimiter).nth(column).map(Cow::Borrowed)
}

/// Adds to an error of a block its place in the input.
fn located(block: &Block) -> impl Fn(Error) -> Error {
    |error| match error {
        Error::NoKey { offset, expected, excerpt, .. } => {
            let (input, offset) = (block.name.clone(), block.offset + offset);
            Error::NoKey { input, offset, expected, excerpt }
        }
        Error::NoField { offset, excerpt, .. } => {
            Error::NoField { input: block.name.clone(), offset: block.offset + offset, excerpt }
        }
        other => other,
    }
}

impl LineJob<'_> {
    fn lines(&self, paths: Vec<PathBuf>) -> LineInputs {
        LineInputs::of_bytes(paths, self.rules.terminator, self.chunks.share.unpack_bytes)
    }

    /// Hands blocks of the lines of `paths` to `work`, in any order, and the bytes that it wrote to
    /// `consume`, in the order of the blocks.
    pub(crate) fn run(
        &self,
        paths: Vec<PathBuf>,
        work: impl Fn(&[u8], &mut Vec<u8>) -> Result<()> + Sync,
        mut consume: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        let work = |out: &mut Vec<u8>, block: &mut Block| {
            out.clear();
            while block.next_lines(usize::MAX)? {
                work(block.lines(), out).map_err(located(block))?;
            }
            Ok(())
        };
        self.chunks.run(&self.lines(paths), || Ok(Vec::new()), work, |out, _| consume(out))
    }

    /// Hands to `consume` the lines of `paths` for whose keys `ask` gives the answer `wanted`.
    pub(crate) fn copy_lines(
        &self,
        paths: Vec<PathBuf>,
        wanted: bool,
        ask: impl Fn(&[&[u8]], &mut Vec<bool>) + Sync,
        consume: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        let work = |bytes: &[u8], out: &mut Vec<u8>| {
            self.rules.copy(bytes, wanted, out, |keys, answers| {
                ask(keys, answers);
                Ok(())
            })
        };
        self.run(paths, work, consume)
    }

    /// Hands to `consume` the records of delimited text for whose fields `ask` gives the answer
    /// `wanted`, and every header. The field of a blank line is empty.
    pub(crate) fn copy_records(
        &self,
        paths: Vec<PathBuf>,
        selector: &Selector,
        wanted: bool,
        ask: impl Fn(&[&[u8]], &mut Vec<bool>) + Sync,
        mut consume: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        let work = |out: &mut Vec<u8>, block: &mut Block| {
            out.clear();
            while block.next_lines(usize::MAX)? {
                let copied = self.copy_rows(block, selector, wanted, out, &ask);
                copied.map_err(located(block))?;
            }
            Ok(())
        };
        let unpack_bytes = self.chunks.share.unpack_bytes;
        let lines = LineInputs::of_text(paths, Some(selector.clone()), unpack_bytes);
        self.chunks.run(&lines, || Ok(Vec::new()), work, |out, _| consume(out))
    }

    fn copy_rows(
        &self,
        block: &Block,
        selector: &Selector,
        wanted: bool,
        out: &mut Vec<u8>,
        ask: impl Fn(&[&[u8]], &mut Vec<bool>),
    ) -> Result<()> {
        let bytes = block.lines();
        let mut start = 0;
        if block.first && selector.has_header() {
            start = bytes.len().min(selector.first_record(bytes, MAX_RECORD_BYTES).len() + 1);
            out.extend_from_slice(&bytes[..start]);
        }
        let rows = &bytes[start..];
        let records = selector.pairs(rows, block.column, block.column, MAX_RECORD_BYTES);
        // The place of the key is without a carriage return before the line end.
        let records = records.map(|(record, line, [_, place])| {
            let row = &rows[record.clone()];
            let field = match line {
                Line::Malformed {
                    reason: Malformed::BadQuote | Malformed::RecordTooLong, ..
                } => between_delimiters(row, selector, block.column),
                Line::Malformed { reason: Malformed::MissingField, .. } => None,
                _ if is_blank(row) && !row.contains(&selector.delimiter) => Some(Cow::default()),
                // Tabs that are delimiters.
                Line::Blank if is_blank(row) => between_delimiters(row, selector, block.column),
                _ => Some(content(rows, place)),
            };
            let Some(field) = field else {
                let (input, offset) = (String::new(), (start + record.start) as u64);
                return Err(Error::NoField { input, offset, excerpt: excerpt(row) });
            };
            Ok((field, start + record.start..start + record.end + 1))
        });
        let skip_empty = self.rules.skip_empty;
        let mut records =
            records.filter(|row| !matches!(row, Ok((field, _)) if skip_empty && field.is_empty()));
        let mut answers = Vec::new();
        loop {
            let rows = records.by_ref().take(BATCH);
            let (fields, spans) = rows.collect::<Result<(Vec<_>, Vec<_>)>>()?;
            if fields.is_empty() {
                return Ok(());
            }
            let keys: Vec<&[u8]> = fields.iter().map(|field| &**field).collect();
            let batch = Batch { keys, spans };
            batch.hashed(self.rules.funnel, |keys| ask(keys, &mut answers))?;
            batch.copy(bytes, &answers, wanted, out);
        }
    }

    /// Bytes of the lines of a file; none if only reading the file would tell.
    pub(crate) fn known_bytes(&self, path: &Path) -> Option<u64> {
        self.lines(vec![path.into()]).known_bytes()
    }

    /// Hands blocks of the lines of `paths` to `visit`, one after the other.
    pub(crate) fn each(
        &self,
        paths: Vec<PathBuf>,
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let lines = self.lines(paths);
        self.chunks.each(&lines, |block| visit(block.lines()).map_err(located(block)))
    }

    /// Hands over the lines of a text file one by one, without their terminators: the number of each
    /// one, the place of its first byte, and its text.
    #[cfg(feature = "cli")]
    pub(crate) fn each_line(
        &self,
        path: &Path,
        mut visit: impl FnMut(u64, u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let lines = LineInputs::of_text(vec![path.into()], None, self.chunks.share.unpack_bytes);
        let mut number = 0;
        self.chunks.each(&lines, |block| {
            let mut at = block.offset;
            for line in block.lines().split_inclusive(|&byte| byte == b'\n') {
                number += 1;
                visit(number, at, line.strip_suffix(b"\n").unwrap_or(line))?;
                at += line.len() as u64;
            }
            Ok(())
        })
    }

    /// Number of keys in the lines of `paths`.
    pub(crate) fn count(&self, paths: Vec<PathBuf>) -> Result<u64> {
        let count = AtomicU64::new(0);
        let work = |bytes: &[u8], _: &mut Vec<u8>| {
            count.fetch_add(self.rules.count(bytes), Ordering::Relaxed);
            Ok(())
        };
        self.run(paths, work, |_| Ok(()))?;
        Ok(count.into_inner())
    }

    /// Adds the keys of all lines of `paths` to `filter`.
    pub(crate) fn insert_into<D: Plain>(
        &self,
        filter: &mut Filter<D>,
        paths: Vec<PathBuf>,
    ) -> Result<()> {
        let shared = filter.share();
        let work = |bytes: &[u8], _: &mut Vec<u8>| {
            self.rules.batches(bytes, |batch| {
                batch.hashed(self.rules.funnel, |keys| shared.insert_many(keys)).map(drop)
            })
        };
        self.run(paths, work, |_| Ok(()))
    }
}

/// How the text of a key becomes the bytes that are hashed. Programs that share a filter must use the
/// same way; Guava calls it a funnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Funnel {
    /// The bytes of the text.
    #[default]
    Bytes,
    /// The 8 bytes of the number.
    Long,
    /// The 4 bytes of the number.
    Int,
    /// The bytes of the UTF-16 code units of the text.
    Chars,
}

impl Funnel {
    /// The texts that the funnel takes, in words.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Bytes => "a text",
            Self::Long => "an integer of 64 bits, -2^63 to 2^63 - 1",
            Self::Int => "an integer of 32 bits, -2^31 to 2^31 - 1",
            Self::Chars => "a text of UTF-8",
        }
    }

    /// The bytes of a key that filters hash; none if the text has a wrong form.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::lines::Funnel;
    ///
    /// assert_eq!(Funnel::Int.key(b"-2").as_deref(), Some(&[0xFE, 0xFF, 0xFF, 0xFF][..]));
    /// assert_eq!(Funnel::Int.key(b"2x"), None);
    /// ```
    #[must_use]
    pub fn key(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        self.push(text, &mut key)?;
        Some(key)
    }

    fn push(self, text: &[u8], keys: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Bytes => keys.extend_from_slice(text),
            Self::Long => keys.extend(guava::long(digits(text)?.parse().ok()?)),
            Self::Int => keys.extend(guava::int(digits(text)?.parse().ok()?)),
            Self::Chars => keys.extend(guava::unencoded_chars(str::from_utf8(text).ok()?)),
        }
        Some(())
    }

    /// Calls `take` with the bytes of each key.
    ///
    /// # Errors
    ///
    /// The index of the first text that has a wrong form.
    pub(crate) fn keys<R>(
        self,
        texts: &[&[u8]],
        take: impl FnOnce(&[&[u8]]) -> R,
    ) -> Result<R, usize> {
        if self == Self::Bytes {
            return Ok(take(texts));
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(texts.len()));
        for (index, text) in texts.iter().enumerate() {
            self.push(text, &mut bytes).ok_or(index)?;
            ends.push(bytes.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let keys: Vec<&[u8]> = starts.zip(&ends).map(|(start, &end)| &bytes[start..end]).collect();
        Ok(take(&keys))
    }
}

/// The text, if it is digits with or without a minus. `+5` is not.
fn digits(text: &[u8]) -> Option<&str> {
    str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn a_pipe_is_not_opened_to_guess_its_lines() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, text] = ["pipe", "text"].map(|name| folder.path().join(name));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        std::fs::write(&text, "a\nb\n").unwrap();
        let rules = LineRules::default();
        assert_eq!(rules.estimated_lines(&pipe).unwrap(), 0); // for ever, if it waited
        assert_eq!(rules.estimated_lines(&text).unwrap(), 3);
        assert_eq!(rules.estimated_lines(&folder.path().join("missing")).unwrap(), 0);
    }

    proptest! {
        #[test]
        fn keys_are_those_of_a_plain_split(
            text in prop::collection::vec(prop::sample::select(b"ab\r\n\0\xFF".to_vec()), 0..300),
            crlf: bool, skip_empty: bool, wanted: bool,
        ) {
            let funnel = Funnel::Bytes;
            let rules = LineRules { terminator: b'\n', crlf, skip_empty, funnel };
            let bytes = [&text[..], b"\n"].concat();
            let mut expected: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
            expected.pop();
            let (mut copied, mut plain) = (Vec::new(), Vec::new());
            let mut keys = Vec::new();
            rules.batches(&bytes, |batch| {
                keys.extend_from_slice(&batch.keys);
                let answers: Vec<bool> = batch.keys.iter().map(|key| key.len() % 2 == 0).collect();
                batch.copy(&bytes, &answers, wanted, &mut copied);
                Ok(())
            }).unwrap();
            let key = |line| rules.key(line);
            for &line in &expected {
                let counts = !(skip_empty && key(line).is_empty());
                if counts && key(line).len().is_multiple_of(2) == wanted {
                    plain.extend_from_slice(line);
                    plain.push(b'\n');
                }
            }
            prop_assert_eq!(copied, plain);
            let expected: Vec<&[u8]> = expected.into_iter().map(key)
                .filter(|key| !(skip_empty && key.is_empty())).collect();
            prop_assert_eq!(rules.count(&bytes), expected.len() as u64);
            prop_assert_eq!(keys, expected);
        }
    }

    #[test]
    fn keys_are_what_java_hashes() {
        for (funnel, text, expected) in [
            (Funnel::Bytes, "5", Some(&b"5"[..])),
            (Funnel::Bytes, "", Some(b"")),
            (Funnel::Long, "5", Some(b"\x05\0\0\0\0\0\0\0")),
            (Funnel::Long, "-2", Some(b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF")),
            (Funnel::Long, "9223372036854775807", Some(b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F")),
            (Funnel::Long, "9223372036854775808", None),
            (Funnel::Long, "+5", None),
            (Funnel::Long, "", None),
            (Funnel::Int, "-2147483648", Some(b"\0\0\0\x80")),
            (Funnel::Int, "2147483648", None),
            (Funnel::Int, " 5", None),
            (Funnel::Chars, "aä", Some(b"a\0\xE4\0")),
            (Funnel::Chars, "𝄞", Some(b"\x34\xD8\x1E\xDD")),
        ] {
            assert_eq!(funnel.key(text.as_bytes()).as_deref(), expected, "{funnel:?} {text}");
        }
        assert_eq!(Funnel::Chars.key(b"\xFF"), None);
    }

    #[test]
    fn many_keys_are_those_of_each() {
        let texts: Vec<&[u8]> = vec![b"1", b"22", b"", b"-3"];
        for funnel in [Funnel::Bytes, Funnel::Chars, Funnel::Long] {
            let many = funnel.keys(&texts, |keys| keys.iter().map(|key| key.to_vec()).collect());
            let each: Option<Vec<Vec<u8>>> = texts.iter().map(|text| funnel.key(text)).collect();
            assert_eq!(many, each.ok_or(2), "{funnel:?}");
        }
    }
}
