//! The first page of a `.bloom` file; specified in `docs/bloom-format.md`.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::design::{Blocked, Counting, Layout, Spec, Standard};
use super::filter::Goal;
use super::params::{MAX_HASHES, is_rate};
use super::scheme::Scheme;
use crate::io::page::{BLOCK_LOG, HEADER_BYTES, Section, blocks};
use crate::io::page::{Damage, Format, check_page};

/// The first bytes of every `.bloom` file.
pub(super) const MAGIC: [u8; 8] = *b"\x89BLM\x0D\x0A\x1A\x0A";
pub(super) const FORMAT: Format =
    Format { magic: MAGIC, version: 1, refusal: "this is no .bloom file" };
const NAME_BYTES: usize = 16;
const HEADER_LEN: u64 = HEADER_BYTES as u64;

/// The number of hash functions in the field at `offset`.
pub(crate) fn hashes_of(field: u64, offset: u64) -> Result<u32, Damage> {
    let hashes = u32::try_from(field).ok().filter(|hashes| (1..=MAX_HASHES).contains(hashes));
    hashes.ok_or(Damage::at(offset, "there can be no such number of hash functions"))
}

/// The fields of the header.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Header {
    pub(super) design: u8,
    pub(super) spec: Spec,
    pub(super) key_count: u64,
    pub(super) goal: Option<Goal>,
}

impl Header {
    /// Bytes of the words; `None` if they are too many for a file.
    pub(super) fn payload_bytes(&self) -> Option<u64> {
        self.spec.words()?.checked_mul(8)
    }

    fn payload(&self) -> Option<Section> {
        let len = self.payload_bytes()?;
        HEADER_LEN.checked_add(len).map(|_| Section { offset: HEADER_LEN, len })
    }

    /// The place of the checksums.
    pub(super) fn checksums(&self) -> Option<Section> {
        let payload = self.payload()?;
        let offset = payload.offset.checked_add(payload.len)?;
        let len = blocks(offset).checked_add(1)?.checked_mul(8)?;
        offset.checked_add(len).map(|_| Section { offset, len })
    }

    /// The page; `None` if there can be no such file.
    pub(super) fn to_bytes(self) -> Option<[u8; HEADER_BYTES]> {
        let (payload, checksums) = (self.payload()?, self.checksums()?);
        let mut name = [0; NAME_BYTES];
        for (place, byte) in name.iter_mut().zip(self.spec.scheme.name().bytes()) {
            *place = byte;
        }
        let fields = [
            self.spec.cells,
            self.spec.hashes.into(),
            self.spec.scheme.seed(),
            self.key_count,
            self.goal.map_or(0, |goal| goal.keys),
            self.goal.map_or(0, |goal| goal.rate.to_bits()),
            payload.offset,
            payload.len,
            checksums.offset,
            checksums.len,
            checksums.end(),
        ];
        let cell_bits = u8::try_from(self.spec.cell_bits).ok()?;
        let fields = fields.iter().flat_map(|field| field.to_le_bytes());
        let fields: Vec<u8> = name.into_iter().chain(fields).collect();
        FORMAT.page([self.design, cell_bits, BLOCK_LOG, 0], &fields)
    }

    /// Reads the header of a file and checks it against the file's length.
    ///
    /// # Errors
    ///
    /// The damage, and the byte where it is.
    pub(super) fn read(file: &[u8]) -> Result<Self, Damage> {
        let ([design, cell_bits, block_log, _], mut fields) = FORMAT.open(file)?;
        if block_log != BLOCK_LOG {
            return Err(Damage::at(14, "blocks of this size are not known to this program"));
        }
        let name: [u8; NAME_BYTES] = fields.bytes();
        let mut next = || fields.number();
        let (cells, hashes, seed, key_count) = (next(), next(), next(), next());
        let (keys, rate) = (next(), f64::from_bits(next()));

        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let scheme = Scheme::from_name(name, seed)
            .ok_or(Damage::at(16, "this hash function is not known to this program"))?;
        let hashes = hashes_of(hashes, 40)?;
        let goal = match keys {
            0 => None,
            _ if is_rate(rate) => Some(Goal { keys, rate }),
            _ => return Err(Damage::at(72, "there can be no such rate of false positives")),
        };
        let spec = Spec::new(cells, hashes, cell_bits.into(), scheme);
        let header = Self { design, spec, key_count, goal };
        header.check_spec()?;
        let expected = header.payload().zip(header.checksums());
        let (payload, checksums) =
            expected.ok_or(Damage::at(32, "the number of bits does not fit in a file"))?;
        let said = [next(), next(), next(), next()];
        if said != [payload.offset, payload.len, checksums.offset, checksums.len] {
            return Err(Damage::at(80, "a section is not where it can be"));
        }
        let len = file.len() as u64;
        if next() != len || checksums.end() != len {
            return Err(Damage::at(112, "the length of the file is not what its header says"));
        }
        check_page(file, header.to_bytes().as_ref())?;
        Ok(header)
    }

    /// Checks that there can be such a filter.
    fn check_spec(&self) -> Result<(), Damage> {
        let Spec { cells, cell_bits, scheme, .. } = self.spec;
        let own = matches!(scheme, Scheme::Xxh3 { .. });
        let (sizes, divides): (&[u32], _) = match self.design {
            Standard::CODE => (&[1], true),
            Blocked::CODE => (&[1], own && Blocked::round(cells) == Some(cells)),
            Counting::CODE => (&[2, 4, 8], own),
            _ => return Err(Damage::at(12, "this design of filter is not known to this program")),
        };
        if !sizes.contains(&cell_bits) {
            return Err(Damage::at(13, "there can be no counters of this size"));
        }
        if cells == 0 || !divides {
            return Err(Damage::at(32, "a filter of this design cannot have this number of bits"));
        }
        Ok(())
    }
}
