//! Computes the hash of a key, and from the hash the cells of the key.

use super::key::Key;
use crate::kernel::line::{MULTIPLIER, reduce};
use std::fmt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How the cells of a key are chosen.
///
/// [`Scheme::Xxh3`] is this crate's own. Guava, DCSO's `bloom` and Spark read and write filters of
/// the others.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::{BloomFilter, Scheme};
///
/// let filter = BloomFilter::builder().bits(64).hashes(3).seed(7).build()?;
/// assert_eq!(filter.scheme(), Scheme::Xxh3 { seed: 7 });
/// assert_eq!((filter.scheme().name(), filter.scheme().seed()), ("xxh3-64", 7));
/// # Ok::<(), bitsort::bloom::BuildError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// XXH3 of 64 bits with a seed. The further cells are derived from this hash.
    Xxh3 {
        /// Filters with different seeds have different false positives.
        seed: u64,
    },
    /// Guava's `MURMUR128_MITZ_32`. Numbers of cells stay below 2^31: filters of more than some
    /// 10^8 keys have far more false positives than they promise.
    GuavaMitz32,
    /// Guava's `MURMUR128_MITZ_64`.
    GuavaMitz64,
    /// FNV-1 of 64 bits, multiplied again and again modulo a prime.
    Dcso,
    /// Murmur3 of 32 bits as Spark computes it, twice. Numbers of cells stay below 2^31: filters of
    /// more than some 4·10^7 keys have far more false positives than they promise.
    SparkV1,
    /// The same hash, with numbers of cells of 64 bits.
    SparkV2 {
        /// The seed of the hash.
        seed: i32,
    },
}

impl Default for Scheme {
    fn default() -> Self {
        Self::Xxh3 { seed: 0 }
    }
}

/// The name that files and programs use.
impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Scheme {
    /// The name that files and programs use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Xxh3 { .. } => "xxh3-64",
            Self::GuavaMitz32 => "guava-mitz-32",
            Self::GuavaMitz64 => "guava-mitz-64",
            Self::Dcso => "dcso-fnv1-64",
            Self::SparkV1 => "spark-v1",
            Self::SparkV2 { .. } => "spark-v2",
        }
    }

    /// The seed; 0 for schemes without one. A negative seed of 32 bits is given by its bits.
    #[must_use]
    pub const fn seed(self) -> u64 {
        match self {
            Self::Xxh3 { seed } => seed,
            Self::SparkV2 { seed } => seed.cast_unsigned() as u64,
            _ => 0,
        }
    }

    /// The scheme of a name and a seed.
    pub(super) fn from_name(name: &[u8], seed: u64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "a longer seed is not this one")]
        let spark = Self::SparkV2 { seed: (seed as u32).cast_signed() };
        let schemes = [
            Self::Xxh3 { seed },
            Self::GuavaMitz32,
            Self::GuavaMitz64,
            Self::Dcso,
            Self::SparkV1,
            spark,
        ];
        let scheme = schemes.into_iter().find(|scheme| scheme.name().as_bytes() == name)?;
        (scheme.seed() == seed).then_some(scheme)
    }

    /// The hash of a key.
    #[inline]
    pub(crate) fn hash<K: Key + ?Sized>(self, key: &K) -> Hash {
        key.with_bytes(|bytes| match self {
            Self::Xxh3 { seed } => Hash([xxh3_64_with_seed(bytes, seed), 0]),
            foreign => foreign.foreign_hash(bytes),
        })
    }

    #[cold] // one comparison, and this crate's own goes straight on
    fn foreign_hash(self, bytes: &[u8]) -> Hash {
        match self {
            Self::GuavaMitz32 | Self::GuavaMitz64 => Hash(murmur3(bytes)),
            Self::SparkV1 => spark_hash(bytes, 0),
            Self::SparkV2 { seed } => spark_hash(bytes, seed),
            _ => Hash([fnv1_64(bytes), 0]),
        }
    }
}

/// Keys that are prefetched while one is inserted.
const AHEAD: usize = 32;

impl Scheme {
    /// Calls `visit` twice for every key: first to prefetch its memory; then, after some more keys
    /// were prefetched, to use it.
    #[inline]
    pub(super) fn hash_ahead<K: Key>(self, keys: &[K], mut visit: impl FnMut(bool, Hash)) {
        let mut ring = [Hash([0; 2]); AHEAD];
        for (index, key) in keys.iter().enumerate() {
            let hash = self.hash(key);
            visit(true, hash);
            let before = std::mem::replace(&mut ring[index % AHEAD], hash);
            if index >= AHEAD {
                visit(false, before);
            }
        }
        for index in keys.len().saturating_sub(AHEAD)..keys.len() {
            visit(false, ring[index % AHEAD]);
        }
    }
}

/// The two halves of `MurmurHash3_x64_128` with the seed 0, low one first.
#[inline(never)] // leaves the registers to the loops around it
fn murmur3(bytes: &[u8]) -> [u64; 2] {
    bytemuck::cast(fastmurmur3::murmur3_x64_128(bytes, 0).to_le_bytes())
}

#[inline(never)] // as above
fn fnv1_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, &byte| {
        hash.wrapping_mul(0x100_0000_01B3) ^ u64::from(byte)
    })
}

/// The hash of a key, and the hash with the first one as its seed; both as signed numbers.
#[inline(never)] // as above
fn spark_hash(bytes: &[u8], seed: i32) -> Hash {
    let first = spark_murmur3(bytes, seed.cast_unsigned());
    let second = spark_murmur3(bytes, first);
    Hash([first, second].map(|hash| i64::from(hash.cast_signed()).cast_unsigned()))
}

/// `Murmur3_x86_32.hashUnsafeBytes` of Spark. Unlike other programs, it mixes in each byte behind
/// the last whole word of 4 bytes as a signed number of its own.
fn spark_murmur3(bytes: &[u8], seed: u32) -> u32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let words = words.iter().map(|word| u32::from_le_bytes(*word));
    let tail = tail.iter().map(|byte| i32::from(byte.cast_signed()).cast_unsigned());
    let mixed = words.chain(tail).fold(seed, |hash, word| {
        let word = word.wrapping_mul(0xCC9E_2D51).rotate_left(15).wrapping_mul(0x1B87_3593);
        (hash ^ word).rotate_left(13).wrapping_mul(5).wrapping_add(0xE654_6B64)
    });
    #[expect(clippy::cast_possible_truncation, reason = "arrays of Java are shorter")]
    let mut hash = mixed ^ bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85EB_CA6B);
    hash = (hash ^ hash >> 13).wrapping_mul(0xC2B2_AE35);
    hash ^ hash >> 16
}

/// The hashes from which a scheme computes the cells of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub(crate) [u64; 2]);

/// The cells of a key, one after the other.
pub(super) trait Walk: Copy {
    /// At the first cell.
    fn start(hash: Hash) -> Self;
    /// The number of the cell, in `0..len`.
    fn position(self, len: u64) -> u64;
    /// At the next cell.
    fn next(self) -> Self;
}

/// Double hashing with a rotation before each step, so that the cells are not at equal distances:
/// such cells give more false positives in small filters (0.90 % instead of 0.84 % with 51 keys in
/// 512 bits). The high bits decide.
///
/// # Source
///
/// Kirsch and Mitzenmacher, *Less Hashing, Same Performance* (2006). The rates were compared with
/// those of independent cells. Steps of a linear congruential generator give the same rates, and
/// are 8 % slower in the cache.
#[derive(Clone, Copy)]
pub(super) struct XxhWalk {
    at: u64,
    step: u64,
}

impl Walk for XxhWalk {
    #[inline]
    fn start(hash: Hash) -> Self {
        let [at, _] = hash.0;
        Self { at, step: at.wrapping_mul(MULTIPLIER) }
    }

    #[inline]
    fn position(self, len: u64) -> u64 {
        reduce(self.at, len)
    }

    #[inline]
    fn next(self) -> Self {
        Self { at: self.at.rotate_left(5).wrapping_add(self.step), ..self }
    }
}

/// Guava's first strategy: (h1 + i h2) of 32 bits, complemented if negative.
#[derive(Clone, Copy)]
pub(super) struct Mitz32Walk {
    at: u32,
    step: u32,
}

impl Walk for Mitz32Walk {
    fn start(hash: Hash) -> Self {
        let [low, high] = halves(hash.0[0]);
        Self { at: low.wrapping_add(high), step: high }
    }

    fn position(self, len: u64) -> u64 {
        let negative = self.at > i32::MAX.cast_unsigned();
        u64::from(if negative { !self.at } else { self.at }).checked_rem(len).unwrap_or(0)
    }

    fn next(self) -> Self {
        Self { at: self.at.wrapping_add(self.step), ..self }
    }
}

fn halves(hash: u64) -> [u32; 2] {
    bytemuck::cast(hash)
}

/// Guava's second strategy: h1 + i h2, without the sign bit.
#[derive(Clone, Copy)]
pub(super) struct Mitz64Walk {
    at: u64,
    step: u64,
}

impl Walk for Mitz64Walk {
    fn start(hash: Hash) -> Self {
        let [at, step] = hash.0;
        Self { at, step }
    }

    fn position(self, len: u64) -> u64 {
        (self.at & i64::MAX.cast_unsigned()).checked_rem(len).unwrap_or(0)
    }

    fn next(self) -> Self {
        Self { at: self.at.wrapping_add(self.step), ..self }
    }
}

/// DCSO's strategy: powers of a multiplier modulo the largest prime below 2^64; the product is cut
/// to 64 bits before.
#[derive(Clone, Copy)]
pub(super) struct DcsoWalk(u64);

const DCSO_PRIME: u64 = 18_446_744_073_709_551_557;
const DCSO_MULTIPLIER: u64 = 18_446_744_073_709_550_147;

impl Walk for DcsoWalk {
    fn start(hash: Hash) -> Self {
        Self(hash.0[0] % DCSO_PRIME).next()
    }

    fn position(self, len: u64) -> u64 {
        self.0.checked_rem(len).unwrap_or(0)
    }

    fn next(self) -> Self {
        Self(self.0.wrapping_mul(DCSO_MULTIPLIER) % DCSO_PRIME)
    }
}

/// Spark's first version: h1 + i h2 of 32 bits, complemented if negative, from i = 1 on.
#[derive(Clone, Copy)]
pub(super) struct SparkV1Walk(Mitz32Walk);

impl Walk for SparkV1Walk {
    fn start(hash: Hash) -> Self {
        let [[first, _], [step, _]] = hash.0.map(halves);
        Self(Mitz32Walk { at: first.wrapping_add(step), step })
    }

    fn position(self, len: u64) -> u64 {
        self.0.position(len)
    }

    fn next(self) -> Self {
        Self(self.0.next())
    }
}

/// Spark's second version: h1 (2^31 − 1) + i h2 of 64 bits, complemented if negative, from
/// i = 1 on.
#[derive(Clone, Copy)]
pub(super) struct SparkV2Walk {
    at: i64,
    step: i64,
}

impl Walk for SparkV2Walk {
    fn start(hash: Hash) -> Self {
        let [first, step] = hash.0.map(u64::cast_signed);
        Self { at: first.wrapping_mul(i32::MAX.into()).wrapping_add(step), step }
    }

    fn position(self, len: u64) -> u64 {
        let at = if self.at < 0 { !self.at } else { self.at };
        at.cast_unsigned().checked_rem(len).unwrap_or(0)
    }

    fn next(self) -> Self {
        Self { at: self.at.wrapping_add(self.step), ..self }
    }
}

/// Calls `visit` with the `hashes` cells of a key until it returns false; gives whether it never
/// did.
#[inline]
pub(super) fn walk<W: Walk>(
    hash: Hash,
    len: u64,
    hashes: u32,
    mut visit: impl FnMut(u64) -> bool,
) -> bool {
    let mut walk = W::start(hash);
    // The first cell is apart, because half of the keys that are not in the filter end there.
    if !visit(walk.position(len)) {
        return false;
    }
    for _ in 1..hashes {
        walk = walk.next();
        if !visit(walk.position(len)) {
            return false;
        }
    }
    true
}
