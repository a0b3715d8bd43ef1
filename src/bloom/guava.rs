//! Filters of Guava, the Java library: `BloomFilter.writeTo` and `readFrom`.
//!
//! A file is, in big-endian order: the strategy (1 byte: 0 is
//! `MURMUR128_MITZ_32`, 1 is `MURMUR128_MITZ_64`), the number of hash functions
//! (1 byte), the number of words (4 bytes), and the words (8 bytes each). Bit
//! `i` is bit `i % 64` of word `i / 64`. The number of keys, the promised rate
//! and the funnel, which makes bytes of an object, are not in the file.
//!
//! | funnel | key |
//! |---|---|
//! | `Funnels.longFunnel()` | the number: `&5_u64`, or [`long`] of a signed one |
//! | `Funnels.integerFunnel()` | [`int`] |
//! | `Funnels.stringFunnel(UTF_8)` | the text |
//! | `Funnels.unencodedCharsFunnel()` | [`unencoded_chars`] |
//! | `Funnels.byteArrayFunnel()` | the bytes |
//!
//! # Examples
//!
//! ```
//! use bitsort::bloom::guava;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("seen.guava");
//! let mut seen = guava::filter(1000, guava::DEFAULT_RATE, guava::Options::default())?;
//! seen.insert(&guava::long(-5));
//! guava::save(&seen, &path)?;
//! assert!(guava::load(&path)?.contains(&guava::long(-5)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects)]

use super::build_error::{BuildError, check_rate};
use super::design::{Layout, Spec, Standard};
use super::file::save_with;
use super::filter::{BloomFilter, Filter, Goal};
use super::memory::{Memory, Storage};
use super::params::real;
use super::scheme::Scheme;
use crate::error::{Error, Result};
use crate::io::page::{Damage, damaged};
use crate::io::read::{check_whole, map};
use crate::kernel::sys::Map;
use byteorder::{BigEndian, ByteOrder, WriteBytesExt};
use std::f64::consts::LN_2;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The rate of false positives that Guava takes by default.
pub const DEFAULT_RATE: f64 = 0.03;

/// How Guava computes the number of hash functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HashRule {
    /// In current versions: −log₂ p, rounded.
    #[default]
    FromRate,
    /// In older versions, such as 31.1: (m/n) ln 2, rounded.
    FromBits,
}

/// The choices in Guava: the strategy and the number of hash functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// `MURMUR128_MITZ_32` instead of `MURMUR128_MITZ_64`, the default of `BloomFilter.create`.
    pub mitz_32: bool,
    /// How the number of hash functions is computed.
    pub hash_rule: HashRule,
}

/// The filter that `BloomFilter.create(funnel, keys, rate)` makes. Like Guava, it takes 0 keys as
/// 1.
///
/// # Errors
///
/// If `rate` is not between 0 and 1, if Guava cannot make such a filter, or if there is too little
/// memory.
pub fn filter(keys: u64, rate: f64, options: Options) -> Result<BloomFilter, BuildError> {
    let scheme = if options.mitz_32 { Scheme::GuavaMitz32 } else { Scheme::GuavaMitz64 };
    optimal(keys.max(1), rate, options.hash_rule, scheme)
}

/// A filter of whole words with the size and the hashes that Guava and Spark choose.
pub(super) fn optimal(
    keys: u64,
    rate: f64,
    rule: HashRule,
    scheme: Scheme,
) -> Result<BloomFilter, BuildError> {
    check_rate(rate)?;
    let bits = optimal_bits(keys, rate);
    let words = bits.div_ceil(64);
    if words == 0 {
        return Err(BuildError::NoBits);
    }
    if words > MAX_WORDS {
        return Err(BuildError::TooLarge);
    }
    let mut filter = BloomFilter::builder()
        .bits(words.saturating_mul(64))
        .hashes(optimal_hashes(keys, bits, rate, rule))
        .scheme(scheme)
        .build()?;
    filter.goal = Some(Goal { keys, rate });
    Ok(filter)
}

/// The number of words is a signed number of 32 bits in the file.
pub(super) const MAX_WORDS: u64 = i32::MAX as u64;
const HEADER_BYTES: usize = 6;

/// −n ln p / (ln 2)², rounded down.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn optimal_bits(keys: u64, rate: f64) -> u64 {
    (-real(keys) * rate.ln() / (LN_2 * LN_2)) as u64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn optimal_hashes(keys: u64, bits: u64, rate: f64, rule: HashRule) -> u32 {
    let ideal = match rule {
        HashRule::FromRate => -rate.ln() / LN_2,
        HashRule::FromBits => real(bits) / real(keys) * LN_2,
    };
    (ideal.round() as u32).max(1)
}

/// The key of a `long`: its 8 bytes.
#[must_use]
pub const fn long(number: i64) -> [u8; 8] {
    number.to_le_bytes()
}

/// The key of an `int`: its 4 bytes.
#[must_use]
pub const fn int(number: i32) -> [u8; 4] {
    number.to_le_bytes()
}

/// The key of a text in `Funnels.unencodedCharsFunnel()`: the bytes of its UTF-16 code units, the
/// low byte first.
#[must_use]
pub fn unencoded_chars(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// Reads a file that `BloomFilter.writeTo` wrote. The number of its keys is
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

/// Reads a mapped file from which `parse` gets parameters and big-endian words. The file does not
/// count its keys, so their number is estimated.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(super) fn load_as(
    file: &Map,
    path: &Path,
    parse: impl FnOnce(&[u8]) -> Result<Parts<'_>, Damage>,
) -> Result<BloomFilter> {
    let (spec, words) = parse(file).map_err(damaged(path))?;
    let mut memory = Memory::zeroed(spec.words().ok_or(BuildError::TooLarge)?)?;
    for (ours, theirs) in memory.words_mut().iter_mut().zip(words) {
        *ours = BigEndian::read_u64(theirs);
    }
    check_whole(file, path)?;
    let mut filter = BloomFilter::from_parts(spec, memory, 0, None);
    filter.key_count = filter.estimated_keys().round() as u64;
    Ok(filter)
}

/// The parameters of the filter, and its words, big-endian.
pub(super) type Parts<'a> = (Spec, &'a [[u8; 8]]);

fn parse(file: &[u8]) -> Result<Parts<'_>, Damage> {
    let Some((&[strategy, hashes, ref count @ ..], words)) =
        file.split_first_chunk::<HEADER_BYTES>()
    else {
        return Err(Damage::at(file.len() as u64, "the file ends inside of its header"));
    };
    let scheme = match strategy {
        0 => Scheme::GuavaMitz32,
        1 => Scheme::GuavaMitz64,
        _ => return Err(Damage::at(0, "Guava has no strategy of this number")),
    };
    if hashes == 0 {
        return Err(Damage::at(1, "a filter has at least one hash function"));
    }
    let count = u64::try_from(BigEndian::read_i32(count)).ok().filter(|count| *count > 0);
    let count = count.ok_or(Damage::at(2, "a filter has at least one word"))?;
    let (words, rest) = words.as_chunks::<8>();
    if !rest.is_empty() || words.len() as u64 != count {
        return Err(Damage::at(2, "the number of words is not that of the file"));
    }
    let cells = count.saturating_mul(64);
    let cell_bits = Standard::CELL_BITS;
    Ok((Spec::new(cells, hashes.into(), cell_bits, scheme), words))
}

/// Whether a file that begins with these bytes and has this length may be one of Guava's.
#[must_use]
pub fn is_guava_file(bytes: &[u8], file_len: u64) -> bool {
    let Some(&[strategy, hashes, ref count @ ..]) = bytes.first_chunk::<HEADER_BYTES>() else {
        return false;
    };
    let words = u64::from(BigEndian::read_u32(count));
    let len = words.saturating_mul(8).saturating_add(HEADER_BYTES as u64);
    strategy <= 1 && hashes > 0 && words > 0 && words <= MAX_WORDS && len == file_len
}

/// Writes a file that `BloomFilter.readFrom` reads, whole or not at all.
///
/// # Errors
///
/// If the filter is not one of Guava's, or the file cannot be written.
pub fn save<S: Storage>(filter: &Filter<Standard, S>, path: impl AsRef<Path>) -> Result<()> {
    check(filter).map_err(Error::usage)?;
    save_with(path.as_ref(), |file| write_to(filter, file))
}

/// Writes the bytes that `BloomFilter.writeTo` writes.
///
/// # Errors
///
/// If the filter is not one of Guava's, or `out` refuses the bytes.
pub fn write_to<S: Storage>(filter: &Filter<Standard, S>, out: impl Write) -> io::Result<()> {
    let header = check(filter).map_err(|what| io::Error::new(io::ErrorKind::InvalidInput, what))?;
    let mut out = BufWriter::with_capacity(1 << 16, out);
    out.write_all(&header.bytes)?;
    write_words(filter, header.words, &mut out)?;
    out.flush()
}

/// Writes so many words of a filter, big-endian.
pub(super) fn write_words<S: Storage>(
    filter: &Filter<Standard, S>,
    words: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut words = filter.as_words().iter().take(words);
    words.try_for_each(|word| out.write_u64::<BigEndian>(*word))
}

struct Head {
    bytes: [u8; HEADER_BYTES],
    words: usize,
}

/// The header of a filter that Guava can read.
fn check<S: Storage>(filter: &Filter<Standard, S>) -> Result<Head, &'static str> {
    let strategy = match filter.scheme() {
        Scheme::GuavaMitz32 => 0,
        Scheme::GuavaMitz64 => 1,
        _ => {
            return Err(
                "Guava reads filters of its own hash functions only: build one from the keys",
            );
        }
    };
    let whole = filter.cells().is_multiple_of(64);
    let words = i32::try_from(filter.cells() / 64).ok().filter(|_| whole);
    let words = words.ok_or("Guava reads filters of 64 to 64 (2^31 − 1) bits, whole words")?;
    let hashes = u8::try_from(filter.hashes()).map_err(|_| "Guava has at most 255 hashes")?;
    let mut bytes = [strategy, hashes, 0, 0, 0, 0];
    BigEndian::write_i32(&mut bytes[2..], words);
    let words = usize::try_from(words).map_err(|_| "Guava has no negative number of words")?;
    Ok(Head { bytes, words })
}
