//! The first page of a `.bits`, `.sets`, `.bloom` or index file: its format, its fields, and a
//! checksum of both.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

mod checksums;

pub(crate) use checksums::{BLOCK_LOG, blocks, verify_blocks, verify_checksums};

use crate::error::Error;
use byteorder::{ByteOrder, LittleEndian};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the page, and the alignment of what follows.
pub(crate) const HEADER_BYTES: usize = 4096;

/// A part of a file, whose place the header has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Section {
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.len) // a sum that overflows is beyond the end of any file
    }

    /// The bytes of this section, which the header says are there.
    pub(crate) fn of(self, file: &[u8]) -> &[u8] {
        let range = usize::try_from(self.offset)
            .ok()
            .zip(usize::try_from(self.end()).ok())
            .and_then(|(start, end)| file.get(start..end));
        range.unwrap_or_default()
    }
}

/// A place where bytes contradict their format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {what}")]
pub struct Damage {
    /// From the start of the file, or of the set's payload in it.
    pub offset: u64,
    /// What is wrong there.
    pub what: &'static str,
}

impl Damage {
    /// Damage at this place.
    pub(crate) const fn at(offset: u64, what: &'static str) -> Self {
        Self { offset, what }
    }

    /// Damage whose place only the caller knows.
    pub(crate) const fn of(what: &'static str) -> Self {
        Self::at(0, what)
    }

    /// The same damage, with an offset from a start that lies so many bytes earlier.
    pub(crate) const fn behind(self, bytes: u64) -> Self {
        Self { offset: self.offset.saturating_add(bytes), what: self.what }
    }

    /// The error for damage in an input of this name.
    pub(crate) fn of_input(self, input: impl Into<String>) -> Error {
        let Self { offset, what } = self;
        Error::Damaged { input: input.into(), offset, what }
    }
}

/// Makes an error of damage in a file; for `map_err`.
pub(crate) fn damaged(path: &Path) -> impl Fn(Damage) -> Error {
    |damage| damage.of_input(path.display().to_string())
}

const CHECKSUM_AT: usize = HEADER_BYTES - 8;

/// The marks that tell files of a format from others.
pub(crate) struct Format {
    /// Its line ends show damage by programs that take it for text.
    pub(crate) magic: [u8; 8],
    pub(crate) version: u32,
    /// The error text for files of other formats.
    pub(crate) refusal: &'static str,
}

impl Format {
    /// The page with these codes and fields; `None` if the fields are too many.
    pub(crate) fn page(&self, codes: [u8; 4], fields: &[u8]) -> Option<[u8; HEADER_BYTES]> {
        let mut page = Vec::with_capacity(HEADER_BYTES);
        page.extend(self.magic);
        page.extend(self.version.to_le_bytes());
        page.extend(codes);
        page.extend(fields);
        if page.len() > CHECKSUM_AT {
            return None;
        }
        page.resize(CHECKSUM_AT, 0);
        page.extend(xxh3_64(&page).to_le_bytes());
        page.try_into().ok()
    }

    /// Whether the regular file at `path` begins as those of this format do. False if it cannot be
    /// read.
    pub(crate) fn begins(&self, path: &Path) -> bool {
        head_of(path) == Some(self.magic)
    }

    /// The codes of a file's first page, and its fields.
    ///
    /// # Errors
    ///
    /// If it is no such page, or its checksum is wrong.
    pub(crate) fn open<'f>(&self, file: &'f [u8]) -> Result<([u8; 4], Fields<'f>), Damage> {
        if !file.starts_with(&self.magic) {
            return Err(Damage::at(0, self.refusal));
        }
        let Some((page, _)) = file.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Damage::at(file.len() as u64, "the file ends inside of its header"));
        };
        let (covered, sum) = page.split_last_chunk::<8>().unwrap_or((&[], &[0; 8]));
        if xxh3_64(covered).to_le_bytes() != *sum {
            return Err(Damage::at(CHECKSUM_AT as u64, "the checksum of the header is wrong"));
        }
        let (head, rest) = page.split_at(16);
        let Some((&[.., v0, v1, v2, v3], codes)) = head.split_last_chunk() else {
            return Err(Damage::at(8, "the header is incomplete"));
        };
        if LittleEndian::read_u32(&[v0, v1, v2, v3]) != self.version {
            return Err(Damage::at(8, "this version of the format is not known to this program"));
        }
        Ok((*codes, Fields(rest)))
    }
}

/// Compares the header of `file` with `page`, which a caller makes again of the fields that it read.
/// A byte that differs has no field: the caller did not read it.
///
/// # Errors
///
/// The first such byte.
pub(crate) fn check_page(file: &[u8], page: Option<&[u8; HEADER_BYTES]>) -> Result<(), Damage> {
    let page = page.ok_or(Damage::at(16, "there can be no such header"))?;
    match page.iter().zip(file).position(|(expected, byte)| expected != byte) {
        None => Ok(()),
        Some(at) => Err(Damage::at(at as u64, "the header says what this program does not know")),
    }
}

/// Makes all checksums of a file of at most one block fit, as somebody would who knows them.
#[cfg(test)]
pub(crate) fn fix_checksums(file: &mut [u8]) {
    let own = file.len().saturating_sub(8);
    let block_end = own.saturating_sub(8).max(HEADER_BYTES); // a file without blocks has only its own
    for (from, to) in [(0, CHECKSUM_AT), (HEADER_BYTES, block_end), (block_end, own)] {
        let sum = file.get(from..to).filter(|bytes| !bytes.is_empty()).map(xxh3_64);
        let place = file.get_mut(to..).and_then(<[u8]>::first_chunk_mut);
        if let (Some(sum), Some(place)) = (sum, place) {
            *place = sum.to_le_bytes();
        }
    }
}

/// Whether `head` begins as the files in formats of this crate do: 0x89, the letters of a format, and
/// line ends.
pub(crate) fn may_begin(head: &[u8]) -> bool {
    match head.first_chunk::<8>() {
        Some([0x89, b'B' | b'S', letters @ ..]) => {
            letters.ends_with(b"\r\n\x1a") || letters.ends_with(b"\r\n\x1a\n")
        }
        _ => false,
    }
}

/// The same for fewer than 8 bytes of a stream: whether it may still begin so. The marks have line
/// ends, so such a head may look like a line.
pub(crate) fn begins_like(head: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_uppercase();
    match head {
        _ if head.len() >= 8 => may_begin(head),
        [] | [0x89] => true,
        [0x89, b'B' | b'S', letters @ ..] => {
            let ends = letters.iter().skip_while(|byte| is_letter(byte));
            ends.zip(b"\r\n\x1a\n").all(|(byte, end)| byte == end)
        }
        _ => false,
    }
}

/// Whether the regular file at `path` begins in this way. False if it cannot be read.
#[cfg(feature = "cli")]
pub(crate) fn is_own_file(path: &Path) -> bool {
    head_of(path).is_some_and(|head| may_begin(&head))
}

/// The first bytes of a regular file.
fn head_of(path: &Path) -> Option<[u8; 8]> {
    let mut head = [0; 8];
    // A named pipe would wait for its writer.
    let mut file = path.is_file().then(|| File::open(path))?.ok()?;
    file.read_exact(&mut head).ok().map(|()| head)
}

/// The fields of a page, one after the other.
pub(crate) struct Fields<'f>(&'f [u8]);

impl<'f> Fields<'f> {
    /// The next `N` bytes.
    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (bytes, rest) = self.0.split_first_chunk().unwrap_or((&[0; N], &[]));
        self.0 = rest;
        *bytes
    }

    /// The next number of 64 bits.
    pub(crate) fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }

    /// The next section.
    pub(crate) fn section(&mut self) -> Section {
        Section { offset: self.number(), len: self.number() }
    }

    /// The bytes behind the fields that were taken.
    pub(crate) fn rest(self) -> &'f [u8] {
        self.0
    }
}
