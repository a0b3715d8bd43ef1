//! Filters of Spark: `BloomFilter.writeTo` and `readFrom` of `spark-sketch`.
//!
//! A file is, in big-endian order, 4 bytes each: the version (1 or 2), the number of hash
//! functions, in version 2 the seed, the number of words; then the words, 8 bytes each. Bit `i`
//! is bit `i % 64` of word `i / 64`. The number of keys and the promised rate are not in the
//! file.
//!
//! | key of Spark | key |
//! |---|---|
//! | a number of any width | `&5_u64`, or [`long`](super::guava::long) of a signed one |
//! | a string | the text |
//! | binary | the bytes |
//!
//! Spark writes version 2 from 4.1 on; [`filter`] makes it too. Version 1 computes the numbers of
//! cells in 32 bits: with more than [`MOST_KEYS_V1`] keys it has far more false positives than it
//! promises.
//!
//! # Examples
//!
//! ```
//! use bitsort::bloom::spark;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("seen.spark");
//! let mut seen = spark::filter(1000, spark::DEFAULT_RATE, 0)?;
//! seen.insert("fox");
//! spark::save(&seen, &path)?;
//! assert!(spark::load(&path)?.contains("fox"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::build_error::{BuildError, check_rate};
use super::design::{Layout, Spec, Standard};
use super::file::save_with;
use super::filter::{BloomFilter, Filter};
use super::guava::{HashRule, Parts, load_as, optimal, write_words};
use super::header::hashes_of;
use super::memory::Storage;
use super::scheme::Scheme;
use crate::error::{Error, Result};
use crate::io::page::Damage;
use crate::io::read::map;
use crate::kernel::sys::Map;
use byteorder::{BigEndian, WriteBytesExt};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The rate of false positives that Spark takes by default.
pub const DEFAULT_RATE: f64 = 0.03;
/// With more keys than this, filters of version 1 are much worse than they promise.
pub const MOST_KEYS_V1: u64 = 40_000_000;

/// The filter of version 2 that `BloomFilter.create(keys, rate)` makes; Spark's default for the
/// seed is 0.
///
/// # Errors
///
/// If `keys` is 0, if `rate` is not between 0 and 1, if Spark cannot make such a filter, or if
/// there is too little memory.
pub fn filter(keys: u64, rate: f64, seed: i32) -> Result<BloomFilter, BuildError> {
    check_rate(rate)?;
    if keys == 0 {
        return Err(BuildError::NoKeys);
    }
    optimal(keys, rate, HashRule::FromBits, Scheme::SparkV2 { seed })
}

/// Reads a file that `BloomFilter.writeTo` wrote, of either version. The number of its keys is
/// estimated.
///
/// # Errors
///
/// If the file cannot be read or is no such file, or if there is too little memory.
pub fn load(path: impl AsRef<Path>) -> Result<BloomFilter> {
    load_map(&map(path.as_ref())?, path.as_ref())
}

/// Reads a mapped file as [`load`] does.
pub(super) fn load_map(file: &Map, path: &Path) -> Result<BloomFilter> {
    load_as(file, path, parse)
}

fn parse(file: &[u8]) -> Result<Parts<'_>, Damage> {
    let mut at = 0_usize;
    let mut next = || {
        let field = file.get(at..).and_then(<[u8]>::first_chunk::<4>);
        at = at.saturating_add(4);
        let field = field.copied().map(i32::from_be_bytes);
        field.ok_or(Damage::at(file.len() as u64, "the file ends inside of its header"))
    };
    let version = next()?;
    if !(1..=2).contains(&version) {
        return Err(Damage::at(0, "Spark has no filters of this version"));
    }
    let hashes = u64::try_from(next()?).unwrap_or(0);
    let scheme = if version == 1 { Scheme::SparkV1 } else { Scheme::SparkV2 { seed: next()? } };
    let count = u64::try_from(next()?).ok().filter(|count| *count > 0);
    let place = (at as u64).saturating_sub(4);
    let hashes = hashes_of(hashes, 4)?;
    let count = count.ok_or(Damage::at(place, "a filter has at least one word"))?;
    let (words, rest) = file.get(at..).unwrap_or_default().as_chunks::<8>();
    if !rest.is_empty() || words.len() as u64 != count {
        return Err(Damage::at(place, "the number of words is not that of the file"));
    }
    let cells = count.saturating_mul(64);
    Ok((Spec::new(cells, hashes, Standard::CELL_BITS, scheme), words))
}

/// Whether bytes may be a file of Spark, by their header and their length.
#[must_use]
pub fn is_spark_file(bytes: &[u8]) -> bool {
    parse(bytes).is_ok()
}

/// Writes a file that `BloomFilter.readFrom` reads, whole or not at all.
///
/// # Errors
///
/// If the filter is not one of Spark's, or the file cannot be written.
pub fn save<S: Storage>(filter: &Filter<Standard, S>, path: impl AsRef<Path>) -> Result<()> {
    check(filter).map_err(Error::usage)?;
    save_with(path.as_ref(), |file| write_to(filter, file))
}

/// Writes the bytes that `BloomFilter.writeTo` writes.
///
/// # Errors
///
/// If the filter is not one of Spark's, or `out` refuses the bytes.
pub fn write_to<S: Storage>(filter: &Filter<Standard, S>, out: impl Write) -> io::Result<()> {
    let (fields, words) =
        check(filter).map_err(|what| io::Error::new(io::ErrorKind::InvalidInput, what))?;
    let mut out = BufWriter::with_capacity(1 << 16, out);
    for field in fields {
        out.write_i32::<BigEndian>(field)?;
    }
    write_words(filter, words, &mut out)?;
    out.flush()
}

/// The header of a filter that Spark can read, and the number of words.
fn check<S: Storage>(filter: &Filter<Standard, S>) -> Result<(Vec<i32>, usize), &'static str> {
    let seed = match filter.scheme() {
        Scheme::SparkV1 => None,
        Scheme::SparkV2 { seed } => Some(seed),
        _ => {
            return Err(
                "Spark reads filters of its own hash functions only: build one from the keys",
            );
        }
    };
    let whole = filter.cells().is_multiple_of(64);
    let words = i32::try_from(filter.cells() / 64).ok().filter(|_| whole);
    let words = words.ok_or("Spark reads filters of 64 to 64 (2^31 − 1) bits, whole words")?;
    let hashes = i32::try_from(filter.hashes()).map_err(|_| "Spark has fewer hash functions")?;
    let fields = match seed {
        None => vec![1, hashes, words],
        Some(seed) => vec![2, hashes, seed, words],
    };
    let words = usize::try_from(words).map_err(|_| "Spark has no negative number of words")?;
    Ok((fields, words))
}
