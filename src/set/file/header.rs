//! The first page of a `.bits` file; specified in `docs/format.md`.

use crate::io::page::{BLOCK_LOG, Damage, Format, HEADER_BYTES, Section, blocks, check_page};
use crate::set::sparse::{self, GROUP_VALUES};
use crate::set::view::{ENTRY_BYTES, RUN_BYTES};

/// The first bytes of every `.bits` file.
pub(crate) const MAGIC: [u8; 8] = *b"\x89BITS\r\n\x1a";
const FORMAT: Format = Format { magic: MAGIC, version: 1, refusal: "this is no .bits file" };
/// Place of the number of values in the header.
pub(super) const CARDINALITY_AT: u64 = 32;

/// How the payload represents the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Representation {
    /// A plain bitmap.
    Dense,
    /// A roaring bitmap of 32-bit values.
    Roaring,
    /// A roaring bitmap of 64-bit values.
    Treemap,
    /// Values that are far apart, by Elias–Fano.
    Sparse,
    /// Long runs: the first and the last value of each.
    Runs,
    /// A folder: each part has a representation of its own.
    Parts,
}

impl Representation {
    /// The name that programs print.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense",
            Self::Roaring => "roaring",
            Self::Treemap => "roaring64",
            Self::Sparse => "sparse",
            Self::Runs => "runs",
            Self::Parts => "parts",
        }
    }

    /// The number of the representation in a header.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Dense => 1,
            Self::Roaring => 2,
            Self::Treemap => 3,
            Self::Sparse => 4,
            Self::Runs => 5,
            Self::Parts => 0, // no file has this: it stands for a folder
        }
    }

    pub(crate) const fn of_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Dense),
            2 => Some(Self::Roaring),
            3 => Some(Self::Treemap),
            4 => Some(Self::Sparse),
            5 => Some(Self::Runs),
            _ => None,
        }
    }
}

/// The fields of the header.
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
    /// Table of buckets of a [`Representation::Treemap`], or of groups of a
    /// [`Representation::Sparse`].
    pub(crate) table: Section,
    /// Values before each piece or container.
    pub(crate) ranks: Section,
    pub(crate) checksums: Section,
}

impl Header {
    /// A set of this payload, before its other facts are known.
    pub(super) fn of(representation: Representation, payload: Section) -> Self {
        let empty = Section { offset: payload.end(), len: 0 };
        Self {
            representation,
            base: 0,
            bits: 0,
            cardinality: 0,
            min: 0,
            max: 0,
            payload,
            table: empty,
            ranks: empty,
            checksums: empty,
        }
    }

    /// The page. It is never `None`, because the fields fit.
    pub(crate) fn to_bytes(self) -> Option<[u8; HEADER_BYTES]> {
        let fields = [
            self.base,
            self.bits,
            self.cardinality,
            self.min,
            self.max,
            self.payload.offset,
            self.payload.len,
            self.table.offset,
            self.table.len,
            self.ranks.offset,
            self.ranks.len,
            self.checksums.offset,
            self.checksums.len,
            self.checksums.end(),
        ];
        let fields: Vec<u8> = fields.iter().flat_map(|field| field.to_le_bytes()).collect();
        FORMAT.page([self.representation.code(), BLOCK_LOG, 0, 0], &fields)
    }

    /// Reads the header of a file and checks it against the file's length.
    ///
    /// # Errors
    ///
    /// The fault and the byte where it is.
    pub(crate) fn read(file: &[u8]) -> Result<Self, Damage> {
        let ([kind, block_log, ..], mut fields) = FORMAT.open(file)?;
        let representation = Representation::of_code(kind)
            .ok_or(Damage::at(12, "this kind of set is not known to this program"))?;
        if block_log != BLOCK_LOG {
            return Err(Damage::at(13, "blocks of this size are not known to this program"));
        }
        let [base, bits, cardinality, min, max] = std::array::from_fn(|_| fields.number());
        let [payload, table, ranks, checksums] = std::array::from_fn(|_| fields.section());
        if fields.number() != file.len() as u64 {
            return Err(Damage::at(120, "the length of the file is not what its header says"));
        }
        let header = Self {
            representation,
            base,
            bits,
            cardinality,
            min,
            max,
            payload,
            table,
            ranks,
            checksums,
        };
        header.check(file.len() as u64)?;
        check_page(file, header.to_bytes().as_ref())?;
        Ok(header)
    }

    /// Checks that the sections lie one behind the other, and that their sizes agree.
    fn check(&self, file_len: u64) -> Result<(), Damage> {
        let mut end = HEADER_BYTES as u64;
        let sections = [self.payload, self.table, self.ranks, self.checksums];
        for (at, section) in (56..).step_by(16).zip(sections) {
            let fits = section.offset.checked_add(section.len).is_some_and(|end| end <= file_len);
            if !fits || section.offset < end {
                return Err(Damage::at(at, "a section is not where it can be"));
            }
            end = section.end();
        }
        if self.checksums.len != 8 * blocks(self.checksums.offset) + 8 {
            return Err(Damage::at(112, "the number of checksums is wrong"));
        }
        if self.representation != Representation::Dense && (self.base, self.bits) != (0, 0) {
            return Err(Damage::at(16, "only a plain bitmap has a base and bits"));
        }
        let (pieces, table) = match self.representation {
            Representation::Dense => {
                let whole = self.base.is_multiple_of(1 << 16) && self.bits.is_multiple_of(1 << 16);
                let fits = match self.bits.checked_sub(1) {
                    Some(last) => self.base.checked_add(last).is_some(),
                    None => true,
                };
                if !whole || !fits || self.payload.len != self.bits / 8 {
                    return Err(Damage::at(
                        16,
                        "base, bits and size of the bitmap do not fit together",
                    ));
                }
                (Some(self.bits >> 16), 0)
            }
            Representation::Roaring => (None, 0),
            Representation::Treemap => {
                (Some(0), self.table.len / ENTRY_BYTES as u64 * ENTRY_BYTES as u64)
            }
            Representation::Sparse => {
                let groups = self.cardinality.div_ceil(GROUP_VALUES as u64);
                (Some(0), groups.saturating_mul(sparse::ENTRY_BYTES as u64))
            }
            Representation::Runs => {
                if !self.payload.len.is_multiple_of(RUN_BYTES as u64) {
                    return Err(Damage::at(64, "the size of the list of runs is wrong"));
                }
                (Some(0), 0)
            }
            Representation::Parts => {
                return Err(Damage::at(12, "this kind of set is not known to this program"));
            }
        };
        if pieces.is_some_and(|pieces| self.ranks.len != 8 * pieces) {
            return Err(Damage::at(96, "the number of ranks is wrong"));
        }
        if self.table.len != table {
            return Err(Damage::at(80, "the size of the table of buckets or groups is wrong"));
        }
        Ok(())
    }
}
