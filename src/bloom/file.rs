//! Filters in files: written whole or not at all, and asked in the mapped file.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::any::AnyFilter;
use super::design::{Blocked, Counting, Design, Layout};
use super::filter::Filter;
use super::header::{Header, MAGIC};
use super::memory::{Opened, Storage};
use crate::error::{Error, Result};
use crate::io::page::{Damage, HEADER_BYTES, damaged, verify_checksums};
use crate::io::read::check_whole;
use crate::io::write::{Encoding, Spool, Writer, checksums_of};
use crate::kernel::in_usize;
use crate::kernel::sys::{LOST, Map};
use crate::progress::Progress;
use std::io::{self, Write};
use std::path::Path;

impl<D: Design, S: Storage> Filter<D, S> {
    /// Writes a `.bloom` file, whole or not at all. An older file at `path` stays until the new one
    /// is complete.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::{AnyFilter, BloomFilter};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("seen.bloom");
    /// let mut seen = BloomFilter::new(1000, 0.01)?;
    /// seen.insert("fox");
    /// seen.save(&path)?;
    /// // Asked where it lies, whatever its size:
    /// let file = AnyFilter::open(&path)?;
    /// assert!(file.contains("fox") && !file.contains("dog"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save_with(path.as_ref(), |out| self.write_to(out))
    }

    /// Writes the bytes of a `.bloom` file.
    ///
    /// # Errors
    ///
    /// If `out` refuses them.
    pub fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        let Self { spec, key_count, goal, .. } = *self;
        let page = Header { design: D::CODE, spec, key_count, goal }.to_bytes();
        out.write_all(&page.ok_or(io::ErrorKind::FileTooLarge)?)?;
        let payload: &[u8] = bytemuck::cast_slice(self.words.words());
        out.write_all(payload)?;
        out.write_all(&checksums_of(payload))?;
        if self.words.is_lost() {
            return Err(io::Error::other(LOST));
        }
        out.flush()
    }
}

/// Lets `write` write a file, which appears when it is complete.
pub(super) fn save_with(
    path: &Path,
    write: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
) -> Result<()> {
    write_whole(Writer::open(path, Encoding::Filter, &Spool::default())?, write)
}

/// Lets `write` write all of an output, and then shows it.
pub(super) fn write_whole(
    mut writer: Writer<'_>,
    write: impl FnOnce(&mut Writer<'_>) -> io::Result<()>,
) -> Result<()> {
    write(&mut writer).map_err(Error::io("write", writer.path()))?;
    writer.commit().map(drop)
}

/// Whether a file begins as a `.bloom` file does.
#[must_use]
pub fn is_bloom_file(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Whether the regular file at `path` is a `.bloom` file. False if it cannot be read.
#[cfg(feature = "cli")]
pub(crate) fn is_filter_file(path: &Path) -> bool {
    super::header::FORMAT.begins(path)
}

/// Opens a mapped `.bloom` file and checks its header.
pub(super) fn open(file: Map, path: &Path) -> Result<AnyFilter<Opened>> {
    let header = Header::read(&file).map_err(damaged(path))?;
    let len = header.payload_bytes().and_then(|len| usize::try_from(len).ok());
    let outside =
        || damaged(path)(Damage::at(HEADER_BYTES as u64, "the cells do not lie in the file"));
    let end = len.and_then(|len| HEADER_BYTES.checked_add(len)).ok_or_else(outside)?;
    let words = Opened::mapped(file, HEADER_BYTES..end).ok_or_else(outside)?;
    if behind_the_last_cell(&header, words.words()) != 0 {
        let at = (end as u64).saturating_sub(64);
        return Err(damaged(path)(Damage::at(at, "bits behind the last one are set")));
    }
    let Header { design, spec, key_count, goal } = header;
    Ok(match design {
        Blocked::CODE => AnyFilter::Blocked(Filter::from_parts(spec, words, key_count, goal)),
        Counting::CODE => AnyFilter::Counting(Filter::from_parts(spec, words, key_count, goal)),
        _ => AnyFilter::Standard(Filter::from_parts(spec, words, key_count, goal)),
    })
}

impl AnyFilter<Opened> {
    fn words(&self) -> &Opened {
        match self {
            Self::Standard(filter) => &filter.words,
            Self::Blocked(filter) => &filter.words,
            Self::Counting(filter) => &filter.words,
        }
    }

    /// Checks that the file still has all bytes that were read. Without
    /// [`guard_mapped_files`](crate::guard_mapped_files) it never fails. O(1).
    ///
    /// # Errors
    ///
    /// If the file lost some. [`contains`](Self::contains) then answers "maybe" for every key, and
    /// other facts and copies of the filter are wrong; `path` is for the message.
    pub fn intact(&self, path: impl AsRef<Path>) -> Result<()> {
        self.words().file().map_or(Ok(()), |file| check_whole(file, path.as_ref()))
    }

    /// Reads the whole file and compares it with its checksums. Files of other programs have none.
    /// O(bytes).
    ///
    /// # Errors
    ///
    /// The first damage found; `path` is for its message.
    pub fn verify(&self, path: impl AsRef<Path>) -> Result<()> {
        let (Some(file), path) = (self.words().file(), path.as_ref()) else { return Ok(()) };
        let header = Header::read(file).map_err(damaged(path))?;
        let missing = Damage::at(0, "the checksums do not lie in the file");
        let checksums = header.checksums().ok_or(missing).map_err(damaged(path))?;
        verify_checksums(file, checksums, damaged(path), &Progress::default())
    }
}

/// The bits behind the last cell. A sound filter has none; with them, counts would be wrong.
fn behind_the_last_cell(header: &Header, words: &[u64]) -> u64 {
    let bits = header.spec.cells.saturating_mul(header.spec.cell_bits.into());
    let whole = in_usize(bits / 64);
    let mut behind = words.iter().skip(whole);
    let partial = behind.next().map_or(0, |word| word.checked_shr((bits % 64) as u32).unwrap_or(0));
    behind.fold(partial, |any, word| any | word)
}
