//! The header and the directory of a `.sets` file; specified in `docs/format.md`.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use crate::error::{Error, Result};
use crate::io::page::{BLOCK_LOG, Damage, Format, HEADER_BYTES, Section, blocks, check_page};
use crate::io::write::end_of_links;
use crate::set::file::Representation;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The first bytes of every `.sets` file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89SETS\r\n\x1a";
const FORMAT: Format = Format { magic: MAGIC, version: 1, refusal: "this is no .sets file" };
/// Bytes of an entry of the directory.
pub(super) const ENTRY_BYTES: usize = 24;
/// Bits of the place where a body ends; the bits above are its representation.
const END_BITS: u32 = 56;

/// Whether the file at `path` begins as a `.sets` file does.
pub(crate) fn is_sets_file(path: &Path) -> bool {
    FORMAT.begins(path)
}

/// Cuts a name at each of its colons, into the part before the colon and the part behind it.
pub(super) fn halves(name: &[u8]) -> impl Iterator<Item = (&Path, &[u8])> {
    name.iter().enumerate().filter(|(_, byte)| **byte == b':').filter_map(|(at, _)| {
        let file = Path::new(OsStr::from_bytes(name.get(..at)?));
        Some((file, name.get(at.checked_add(1)?..)?))
    })
}

/// Refuses the name of a set inside of a `.sets` file, `FILE:KEY`, for an output: a file of this name
/// would hide the set. So would a file to which a link leads that has such a name.
///
/// # Errors
///
/// [`Error::Usage`], unless a file has this whole name; or if links lead in a circle.
pub(crate) fn no_set_inside(path: &Path) -> Result<()> {
    let end = end_of_links(path)?;
    for path in [path, &*end] {
        let mut files = halves(path.as_os_str().as_bytes()).map(|(file, _)| file);
        if path.symlink_metadata().is_err()
            && let Some(file) = files.find(|file| is_sets_file(file))
        {
            return Err(Error::usage(format!(
                "{} is a set of {}, which one output cannot replace: group the rows again, or choose another name",
                path.display(),
                file.display()
            )));
        }
    }
    Ok(())
}

/// The fields of the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// Number of sets.
    pub(super) count: u64,
    pub(super) bodies: Section,
    pub(super) keys: Section,
    pub(super) directory: Section,
    pub(super) checksums: Section,
}

impl Header {
    /// The page. It is never `None`, because the fields fit.
    pub(super) fn to_bytes(self) -> Option<[u8; HEADER_BYTES]> {
        let sections = [self.bodies, self.keys, self.directory, self.checksums];
        let mut fields = self.count.to_le_bytes().to_vec();
        for section in sections {
            fields.extend(section.offset.to_le_bytes());
            fields.extend(section.len.to_le_bytes());
        }
        fields.extend(self.checksums.end().to_le_bytes());
        FORMAT.page([BLOCK_LOG, 0, 0, 0], &fields)
    }

    /// Reads the header of a file and checks it against the file's length.
    pub(super) fn read(file: &[u8]) -> Result<Self, Damage> {
        let ([block_log, ..], mut fields) = FORMAT.open(file)?;
        if block_log != BLOCK_LOG {
            return Err(Damage::at(12, "blocks of this size are not known to this program"));
        }
        let count = fields.number();
        let [bodies, keys, directory, checksums] = std::array::from_fn(|_| fields.section());
        if fields.number() != file.len() as u64 {
            return Err(Damage::at(88, "the length of the file is not what its header says"));
        }
        let header = Self { count, bodies, keys, directory, checksums };
        header.check(file.len() as u64)?;
        check_page(file, header.to_bytes().as_ref())?;
        Ok(header)
    }

    /// Checks that sections lie directly behind each other, up to the end of the file.
    fn check(&self, file_len: u64) -> Result<(), Damage> {
        let mut end = HEADER_BYTES as u64;
        let sections = [self.bodies, self.keys, self.directory, self.checksums];
        for (at, section) in (24..).step_by(16).zip(sections) {
            let next = section.offset.checked_add(section.len).filter(|&end| end <= file_len);
            let (true, Some(next)) = (section.offset == end, next) else {
                return Err(Damage::at(at, "a section is not where it can be"));
            };
            end = next;
        }
        if Some(self.directory.len) != self.count.checked_mul(ENTRY_BYTES as u64) {
            return Err(Damage::at(16, "the number of sets is not that of the directory"));
        }
        let sums = blocks(self.checksums.offset).saturating_mul(8).saturating_add(8);
        if end != file_len || self.checksums.len != sums {
            return Err(Damage::at(72, "the number of checksums is wrong"));
        }
        Ok(())
    }
}

/// An entry of the directory: the ends of a key and of a body, and the representation of the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Place from the start of the keys.
    pub(super) key_end: u64,
    /// Place from the start of the bodies; below 2^56.
    pub(super) body_end: u64,
    pub(super) representation: Representation,
    pub(super) cardinality: u64,
}

impl Entry {
    /// The bytes of the entry; none if the body ends at 2^56 or behind it.
    pub(super) fn to_bytes(self) -> Option<[u8; ENTRY_BYTES]> {
        if self.body_end >> END_BITS != 0 {
            return None;
        }
        let body = u64::from(self.representation.code()) << END_BITS | self.body_end;
        let mut bytes = [0; ENTRY_BYTES];
        for (slot, field) in
            bytes.as_chunks_mut().0.iter_mut().zip([self.key_end, body, self.cardinality])
        {
            *slot = field.to_le_bytes();
        }
        Some(bytes)
    }

    /// The entry of these bytes; none if the representation is not known.
    pub(super) fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let ([key_end, body, cardinality], _) = bytes.as_chunks::<8>() else { return None };
        let body = u64::from_le_bytes(*body);
        let code = u8::try_from(body >> END_BITS).ok()?;
        Some(Self {
            key_end: u64::from_le_bytes(*key_end),
            body_end: body & !(u64::MAX << END_BITS),
            representation: Representation::of_code(code)?,
            cardinality: u64::from_le_bytes(*cardinality),
        })
    }
}

/// The representation, the size and the number of values of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) bytes: u64,
    pub(crate) representation: Representation,
    pub(crate) cardinality: u64,
}
