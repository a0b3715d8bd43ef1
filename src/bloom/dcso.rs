//! Filters of DCSO's `bloom`, a Go library and program.
//!
//! A file is, in little-endian order, 8 bytes each: the version (1 in the lowest byte), the
//! promised number of keys, the promised rate, the number of hash functions, of bits and of keys,
//! then the words, then data of any kind to the end of the file. The program may pack the whole
//! file with gzip: unpack such files first.
//!
//! # Examples
//!
//! ```
//! use bitsort::bloom::dcso;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("seen.dcso");
//! let mut seen = dcso::filter(1000, 0.01)?;
//! seen.insert("fox");
//! dcso::save(&seen, b"from the wood", &path)?;
//! let (filter, data) = dcso::load(&path)?;
//! assert!(filter.contains("fox") && data == b"from the wood");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::build_error::{BuildError, check_rate};
use super::design::{Layout, Spec, Standard};
use super::file::save_with;
use super::filter::{BloomFilter, Filter, Goal};
use super::header::hashes_of;
use super::memory::{Memory, Storage};
use super::params::{is_rate, real, whole};
use super::scheme::Scheme;
use crate::error::{Error, Result};
use crate::io::page::{Damage, damaged};
use crate::io::read::{check_whole, map};
use crate::kernel::in_usize;
use crate::kernel::sys::Map;
use byteorder::{ByteOrder, LittleEndian, WriteBytesExt};
use std::f64::consts::LN_2;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The filter that `bloom create -n keys -p rate` makes.
///
/// # Errors
///
/// If `keys` is 0, `rate` is not between 0 and 1, or there is too little memory.
pub fn filter(keys: u64, rate: f64) -> Result<BloomFilter, BuildError> {
    if keys == 0 {
        return Err(BuildError::NoKeys);
    }
    check_rate(rate)?;
    let bits = (real(keys) * rate.ln() / (LN_2 * LN_2)).ceil().abs();
    let hashes = whole(LN_2 * bits / real(keys));
    let mut filter = BloomFilter::builder()
        .bits(whole(bits))
        .hashes(u32::try_from(hashes).unwrap_or(u32::MAX))
        .scheme(Scheme::Dcso)
        .build()?;
    filter.goal = Some(Goal { keys, rate });
    Ok(filter)
}

const VERSION: u8 = 1;
pub(super) const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
pub(super) const PACKED: &str = "the file is packed by gzip; only unpacked ones are read";
const FIELDS: usize = 6;

/// Reads a file of `bloom`: the filter, and the data behind it.
///
/// # Errors
///
/// If the file cannot be read or is no such file, or if there is too little memory.
pub fn load(path: impl AsRef<Path>) -> Result<(BloomFilter, Vec<u8>)> {
    load_map(&map(path.as_ref())?, path.as_ref())
}

/// Reads a mapped file as [`load`] does.
pub(super) fn load_map(file: &Map, path: &Path) -> Result<(BloomFilter, Vec<u8>)> {
    let Parts { spec, key_count, goal, words, data } = parse(file).map_err(damaged(path))?;
    let mut memory = Memory::zeroed(spec.words().ok_or(BuildError::TooLarge)?)?;
    for (ours, theirs) in memory.words_mut().iter_mut().zip(words) {
        *ours = LittleEndian::read_u64(theirs);
    }
    let data = data.to_vec();
    check_whole(file, path)?;
    Ok((BloomFilter::from_parts(spec, memory, key_count, Some(goal)), data))
}

struct Parts<'a> {
    spec: Spec,
    key_count: u64,
    goal: Goal,
    words: &'a [[u8; 8]],
    data: &'a [u8],
}

/// Whether these flags tell the known version. Others are not defined, and `bloom` ignores them.
fn has_version(flags: u64) -> bool {
    flags.to_le_bytes()[0] == VERSION
}

fn parse(file: &[u8]) -> Result<Parts<'_>, Damage> {
    if file.starts_with(&GZIP_MAGIC) {
        return Err(Damage::at(0, PACKED));
    }
    let Some((fields, rest)) = file.as_chunks::<8>().0.split_first_chunk::<FIELDS>() else {
        return Err(Damage::at(file.len() as u64, "the file ends inside of its header"));
    };
    let [flags, keys, rate, hashes, cells, key_count] = fields.map(u64::from_le_bytes);
    if !has_version(flags) {
        return Err(Damage::at(0, "this version of the format is not known to this program"));
    }
    if keys == 0 {
        return Err(Damage::at(8, "the number of keys that it is for is 0"));
    }
    let goal = Goal { keys, rate: f64::from_bits(rate) };
    if !is_rate(goal.rate) {
        return Err(Damage::at(16, "there can be no such rate of false positives"));
    }
    let hashes = hashes_of(hashes, 24)?;
    let count = usize::try_from(cells.div_ceil(64)).ok().filter(|count| *count > 0);
    let words = count.and_then(|count| rest.get(..count));
    let words = words.ok_or(Damage::at(32, "the number of bits is not that of the file"))?;
    // The last word must have no bits behind the last cell.
    if words.last().is_some_and(|last| {
        let used = u32::try_from(cells % 64).unwrap_or(0);
        used > 0 && u64::from_le_bytes(*last).checked_shr(used) != Some(0)
    }) {
        return Err(Damage::at(32, "bits behind the last one are set"));
    }
    let behind = words.len().saturating_add(FIELDS).saturating_mul(8);
    let data = file.get(behind..).unwrap_or_default();
    let spec = Spec::new(cells, hashes, Standard::CELL_BITS, Scheme::Dcso);
    Ok(Parts { spec, key_count, goal, words, data })
}

/// Whether a file that begins with these bytes may be one of DCSO's `bloom`.
#[must_use]
pub fn is_dcso_file(bytes: &[u8]) -> bool {
    let Some(fields) = bytes.as_chunks::<8>().0.first_chunk::<FIELDS>() else { return false };
    let [flags, _, rate, hashes, cells, _] = fields.map(u64::from_le_bytes);
    let is_sound = is_rate(f64::from_bits(rate)) && hashes_of(hashes, 0).is_ok();
    has_version(flags) && is_sound && cells > 0
}

/// Writes a file that `bloom` reads, whole or not at all.
///
/// # Errors
///
/// If the filter is not one of DCSO's, or the file cannot be written.
pub fn save<S: Storage>(
    filter: &Filter<Standard, S>,
    data: &[u8],
    path: impl AsRef<Path>,
) -> Result<()> {
    let goal = check(filter).map_err(Error::usage)?;
    save_with(path.as_ref(), |file| write_parts(filter, goal, data, file))
}

/// Writes the bytes of such a file.
///
/// # Errors
///
/// If the filter is not one of DCSO's, or `out` refuses the bytes.
pub fn write_to<S: Storage>(
    filter: &Filter<Standard, S>,
    data: &[u8],
    out: impl Write,
) -> io::Result<()> {
    let goal = check(filter).map_err(|what| io::Error::new(io::ErrorKind::InvalidInput, what))?;
    write_parts(filter, goal, data, out)
}

fn write_parts<S: Storage>(
    filter: &Filter<Standard, S>,
    goal: Goal,
    data: &[u8],
    out: impl Write,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let fields = [
        VERSION.into(),
        goal.keys,
        goal.rate.to_bits(),
        filter.hashes().into(),
        filter.cells(),
        filter.key_count(),
    ];
    let count = in_usize(filter.cells().div_ceil(64));
    for word in fields.iter().chain(filter.as_words().iter().take(count)) {
        out.write_u64::<LittleEndian>(*word)?;
    }
    out.write_all(data)?;
    out.flush()
}

fn check<S: Storage>(filter: &Filter<Standard, S>) -> Result<Goal, &'static str> {
    if filter.scheme() != Scheme::Dcso {
        return Err(
            "DCSO's bloom reads filters of its own hash function only: build one from the keys",
        );
    }
    filter.goal().ok_or("DCSO's bloom needs to know the number of keys and the rate")
}
