//! The first page of a `.bits` file; specified in `docs/format.md`.

use crate::view::ENTRY_BYTES;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the header, and the alignment of a plain bitmap.
pub(crate) const HEADER_BYTES: usize = 4096;
/// What every `.bits` file begins with: the line ends show damage by programs
/// that take it for text.
pub(crate) const MAGIC: [u8; 8] = *b"\x89BITS\r\n\x1a";
const VERSION: u32 = 1;
/// Bytes that share a checksum: 2 to this power.
pub(crate) const BLOCK_LOG: u8 = 16;
const CHECKSUM_AT: usize = HEADER_BYTES - 8;

/// How the payload represents the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Representation {
    /// A plain bitmap.
    Dense,
    /// A roaring bitmap of 32-bit values.
    Roaring,
    /// A roaring bitmap of 64-bit values.
    Treemap,
}

impl Representation {
    /// The name that programs print.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Roaring => "roaring",
            Self::Treemap => "roaring64",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Dense => 1,
            Self::Roaring => 2,
            Self::Treemap => 3,
        }
    }
}

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Section {
    pub(crate) fn end(self) -> u64 {
        self.offset + self.len
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

/// What the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) representation: Representation,
    /// Value of the first bit of a plain bitmap.
    pub(crate) base: u64,
    /// Number of bits of a plain bitmap.
    pub(crate) bits: u64,
    pub(crate) cardinality: u64,
    /// 0 if the set is empty.
    pub(crate) min: u64,
    /// 0 if the set is empty.
    pub(crate) max: u64,
    pub(crate) payload: Section,
    /// Table of buckets of a [`Representation::Treemap`].
    pub(crate) buckets: Section,
    /// Values before each piece or container.
    pub(crate) ranks: Section,
    pub(crate) checksums: Section,
}

/// Number of checksummed blocks between the header and `end`.
pub(crate) fn blocks(end: u64) -> u64 {
    (end - HEADER_BYTES as u64).div_ceil(1 << BLOCK_LOG)
}

impl Header {
    /// The page.
    pub(crate) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut page = [0; HEADER_BYTES];
        page[..8].copy_from_slice(&MAGIC);
        page[8..12].copy_from_slice(&VERSION.to_le_bytes());
        page[12] = self.representation.code();
        page[13] = BLOCK_LOG;
        let fields = [
            self.base,
            self.bits,
            self.cardinality,
            self.min,
            self.max,
            self.payload.offset,
            self.payload.len,
            self.buckets.offset,
            self.buckets.len,
            self.ranks.offset,
            self.ranks.len,
            self.checksums.offset,
            self.checksums.len,
            self.checksums.end(),
        ];
        for (slot, field) in page[16..].chunks_exact_mut(8).zip(fields) {
            slot.copy_from_slice(&field.to_le_bytes());
        }
        let sum = xxh3_64(&page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
        page
    }

    /// Reads the header of a file and checks it against the file's length.
    ///
    /// # Errors
    ///
    /// What is wrong, and at which byte.
    pub(crate) fn read(file: &[u8]) -> Result<Self, (u64, &'static str)> {
        let Some(page) = file.first_chunk::<HEADER_BYTES>() else {
            return Err((file.len() as u64, "the file ends inside of its header"));
        };
        if page[..8] != MAGIC {
            return Err((0, "this is no .bits file"));
        }
        let word = |at: usize| {
            let bytes = page[at..].first_chunk().copied();
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        if word(CHECKSUM_AT) != xxh3_64(&page[..CHECKSUM_AT]) {
            return Err((CHECKSUM_AT as u64, "the checksum of the header is wrong"));
        }
        if page[8..12] != VERSION.to_le_bytes() {
            return Err((8, "this version of the format is not known to this program"));
        }
        let representation = match page[12] {
            1 => Representation::Dense,
            2 => Representation::Roaring,
            3 => Representation::Treemap,
            _ => return Err((12, "this kind of set is not known to this program")),
        };
        if page[13] != BLOCK_LOG {
            return Err((13, "blocks of this size are not known to this program"));
        }
        let section = |at: usize| Section { offset: word(at), len: word(at + 8) };
        let header = Self {
            representation,
            base: word(16),
            bits: word(24),
            cardinality: word(32),
            min: word(40),
            max: word(48),
            payload: section(56),
            buckets: section(72),
            ranks: section(88),
            checksums: section(104),
        };
        if word(120) != file.len() as u64 {
            return Err((120, "the length of the file is not what its header says"));
        }
        header.check(file.len() as u64)?;
        Ok(header)
    }

    /// Checks that sections lie one behind the other and have the sizes that
    /// follow from each other.
    fn check(&self, file_len: u64) -> Result<(), (u64, &'static str)> {
        let mut end = HEADER_BYTES as u64;
        let sections = [self.payload, self.buckets, self.ranks, self.checksums];
        for (at, section) in (56..).step_by(16).zip(sections) {
            let fits = section.offset.checked_add(section.len).is_some_and(|end| end <= file_len);
            if !fits || section.offset < end {
                return Err((at, "a section is not where it can be"));
            }
            end = section.end();
        }
        if self.checksums.len != 8 * blocks(self.checksums.offset) + 8 {
            return Err((112, "the number of checksums is wrong"));
        }
        let (pieces, entries) = match self.representation {
            Representation::Dense => {
                let whole = self.base.is_multiple_of(1 << 16) && self.bits.is_multiple_of(1 << 16);
                let fits = match self.bits.checked_sub(1) {
                    Some(last) => self.base.checked_add(last).is_some(),
                    None => true,
                };
                if !whole || !fits || self.payload.len != self.bits / 8 {
                    return Err((16, "base, bits and size of the bitmap do not fit together"));
                }
                (Some(self.bits >> 16), 0)
            }
            Representation::Roaring => (None, 0),
            Representation::Treemap => (Some(0), self.buckets.len / ENTRY_BYTES as u64),
        };
        if pieces.is_some_and(|pieces| self.ranks.len != 8 * pieces) {
            return Err((96, "the number of ranks is wrong"));
        }
        if self.buckets.len != entries * ENTRY_BYTES as u64 {
            return Err((80, "the size of the table of buckets is wrong"));
        }
        Ok(())
    }
}
