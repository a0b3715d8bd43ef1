//! The first page of an index; specified in `docs/index-format.md`.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::key::{KeyRule, MAX_COLUMNS};
use crate::bloom::header::hashes_of;
use crate::bloom::params::is_rate;
use crate::bloom::sliced::MAX_BLOCKS;
use crate::io::page::{BLOCK_LOG, HEADER_BYTES, Section, blocks};
use crate::io::page::{Damage, Format, check_page};

/// The first bytes of every index.
const FORMAT: Format =
    Format { magic: *b"\x89BIX\x0D\x0A\x1A\x0A", version: 1, refusal: "this is no index" };
const HEADER_LEN: u64 = HEADER_BYTES as u64;

/// Bytes of an entry for a group: place and bits of its filters, rows, keys.
pub(super) const GROUP_BYTES: u64 = 32;
/// Bytes of an entry for a block: place in the data, checksum.
pub(super) const BLOCK_BYTES: u64 = 16;
/// Bytes of the place of a block's bounds.
pub(super) const PLACE_BYTES: u64 = 8;

/// Facts that an index gives about itself.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Stat {
    /// The bytes of a row that are its key.
    pub rule: KeyRule,
    /// Whether no key is smaller than the one before.
    pub is_sorted: bool,
    /// Bytes of the data.
    pub data_bytes: u64,
    /// XXH3 of the checksums of all blocks.
    pub data_checksum: u64,
    /// Rows of the data.
    pub rows: u64,
    /// Number of different keys in each block, added up.
    pub keys: u64,
    /// Blocks of the data.
    pub blocks: u64,
    /// Largest block, except for a longer line.
    pub block_bytes: u64,
    /// Blocks whose filters are stored together.
    pub group_blocks: u64,
    /// Share of the blocks without a key that a lookup reads.
    pub rate: f64,
    /// Bits of a key in a filter.
    pub hashes: u32,
    /// Bytes of the filters.
    pub filter_bytes: u64,
    /// Bytes of the first and last keys.
    pub bounds_bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
}

/// The places of all sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sections {
    pub(super) filters: Section,
    pub(super) groups: Section,
    pub(super) blocks: Section,
    pub(super) places: Section,
    pub(super) bounds: Section,
    pub(super) checksums: Section,
}

impl Sections {
    /// The sections in the order of their places.
    const fn all(&self) -> [Section; 6] {
        [self.filters, self.groups, self.blocks, self.places, self.bounds, self.checksums]
    }
}

impl Stat {
    /// Number of groups of blocks.
    pub(super) fn groups(&self) -> u64 {
        self.blocks.div_ceil(self.group_blocks.max(1))
    }

    /// The places of all sections; `None` if there can be no such file.
    pub(super) fn sections(&self) -> Option<Sections> {
        let mut at = HEADER_LEN;
        let mut section = |len: Option<u64>| {
            let section = Section { offset: at, len: len? };
            at = at.checked_add(section.len)?;
            Some(section)
        };
        let places = if self.is_sorted { self.blocks } else { 0 };
        let filters = section(Some(self.filter_bytes))?;
        let groups = section(self.groups().checked_mul(GROUP_BYTES))?;
        let block_table = section(self.blocks.checked_mul(BLOCK_BYTES))?;
        let places = section(places.checked_mul(PLACE_BYTES))?;
        let bounds = section(Some(self.bounds_bytes))?;
        let end = bounds.offset.checked_add(bounds.len)?;
        let checksums = section(blocks(end).checked_add(1)?.checked_mul(8))?;
        Some(Sections { filters, groups, blocks: block_table, places, bounds, checksums })
    }

    /// The page; `None` if there can be no such file.
    pub(super) fn to_bytes(&self) -> Option<[u8; HEADER_BYTES]> {
        let at = self.sections()?;
        let (kind, byte, prefix, columns) = match &self.rule {
            KeyRule::Row => (1, 0, 0, &[][..]),
            KeyRule::Columns(columns) => (2, columns.delimiter, 0, &columns.numbers[..]),
            KeyRule::Prefix(len) => (3, 0, *len, &[][..]),
            KeyRule::Until(byte) => (4, *byte, 0, &[][..]),
        };
        let numbers = [
            prefix,
            self.block_bytes,
            self.group_blocks,
            self.hashes.into(),
            self.rate.to_bits(),
            self.data_bytes,
            self.data_checksum,
            self.blocks,
            self.rows,
            self.keys,
        ];
        let sections = at.all().into_iter().flat_map(|section| [section.offset, section.len]);
        let counts = [at.checksums.end(), columns.len() as u64];
        let words = numbers.into_iter().chain(sections).chain(counts);
        let columns = columns.iter().flat_map(|number| number.to_le_bytes());
        let fields: Vec<u8> = words.flat_map(u64::to_le_bytes).chain(columns).collect();
        FORMAT.page([kind, byte, BLOCK_LOG, self.is_sorted.into()], &fields)
    }

    /// Reads the header of a file and checks it against the file's length.
    ///
    /// # Errors
    ///
    /// The damage, and the byte where it is.
    pub(super) fn read(file: &[u8]) -> Result<(Self, Sections), Damage> {
        let ([kind, byte, block_log, flags], mut fields) = FORMAT.open(file)?;
        if block_log != BLOCK_LOG || flags > 1 {
            return Err(Damage::at(14, "this layout is not known to this program"));
        }
        let mut next = || fields.number();
        let (prefix, block_bytes, group_blocks, hashes) = (next(), next(), next(), next());
        let (rate, data_bytes, data_checksum) = (f64::from_bits(next()), next(), next());
        let (block_count, rows, keys) = (next(), next(), next());
        let said: [u64; 14] = std::array::from_fn(|_| next());
        let [_, filter_bytes, _, _, _, _, _, _, _, bounds_bytes, _, _, index_bytes, columns] = said;
        let columns = columns_of(fields.rest(), columns).ok_or(NO_SUCH_COLUMNS)?;
        let rule = match kind {
            1 => KeyRule::Row,
            2 => KeyRule::columns(columns, byte).map_err(|_| NO_SUCH_COLUMNS)?,
            3 => KeyRule::Prefix(prefix),
            4 => KeyRule::Until(byte),
            _ => return Err(Damage::at(12, "this kind of key is not known to this program")),
        };
        let hashes = hashes_of(hashes, 40)?;
        if block_bytes == 0 || !(1..=MAX_BLOCKS as u64).contains(&group_blocks) {
            return Err(Damage::at(24, "there can be no such blocks"));
        }
        if !is_rate(rate) {
            return Err(Damage::at(48, "there can be no such rate of false positives"));
        }
        if block_count > data_bytes || (block_count == 0) != (data_bytes == 0) {
            return Err(Damage::at(72, "there can be no such number of blocks"));
        }
        let is_sorted = flags == 1;
        let stat = Self {
            rule,
            block_bytes,
            group_blocks,
            hashes,
            rate,
            data_bytes,
            data_checksum,
            blocks: block_count,
            rows,
            keys,
            is_sorted,
            filter_bytes,
            bounds_bytes,
            index_bytes,
        };
        let at = stat.sections().ok_or(Damage::at(96, "the sections do not fit in a file"))?;
        let expected = at.all().into_iter().flat_map(|section| [section.offset, section.len]);
        if !expected.eq(said.iter().take(12).copied()) || !filter_bytes.is_multiple_of(64) {
            return Err(Damage::at(96, "a section is not where it can be"));
        }
        let len = file.len() as u64;
        if index_bytes != len || at.checksums.offset.checked_add(at.checksums.len) != Some(len) {
            return Err(Damage::at(192, "the length of the file is not what its header says"));
        }
        check_page(file, stat.to_bytes().as_ref())?;
        Ok((stat, at))
    }
}

const NO_SUCH_COLUMNS: Damage = Damage::at(200, "there can be no such columns");

/// The numbers of so many columns, which are the last fields.
fn columns_of(fields: &[u8], count: u64) -> Option<Vec<u32>> {
    let count = usize::try_from(count).ok().filter(|count| *count <= MAX_COLUMNS)?;
    let (numbers, _) = fields.as_chunks::<4>();
    Some(numbers.get(..count)?.iter().copied().map(u32::from_le_bytes).collect())
}
