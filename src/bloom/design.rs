//! The designs of filters: the bits of a key are anywhere, or in one cache line, or they are
//! counters.

use super::params::BLOCK_BITS;
use super::scheme::{Hash, Scheme};
use crate::kernel::line::LINE_WORDS;
use crate::kernel::{Level, popcount};

/// The parameters of a filter. Two filters with the same parameters differ only in their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Number of bits or counters.
    pub(super) cells: u64,
    /// Number of cells of a key.
    pub(super) hashes: u32,
    /// Bits of a cell: 1, or those of a counter.
    pub(super) cell_bits: u32,
    pub(super) scheme: Scheme,
    /// The same for all filters. It is here so that loops over keys read it once.
    pub(super) level: Level,
}

/// Number of hashes that a key may have: 2^64.
const HASHES: f64 = 18_446_744_073_709_551_616.0;

impl Spec {
    pub(super) fn new(cells: u64, hashes: u32, cell_bits: u32, scheme: Scheme) -> Self {
        Self { cells, hashes, cell_bits, scheme, level: Level::best() }
    }

    /// Number of bits, or of counters: m.
    #[must_use]
    pub const fn cells(&self) -> u64 {
        self.cells
    }

    /// Bits of a cell: 1, or those of a counter.
    #[must_use]
    pub const fn cell_bits(&self) -> u32 {
        self.cell_bits
    }

    /// Number of hash functions: k.
    #[must_use]
    pub const fn hashes(&self) -> u32 {
        self.hashes
    }

    /// How the cells of a key are chosen.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The rate of a filter of `keys` whose cells give `rate`: another key may have the same hash as
    /// one of them.
    pub(crate) fn with_collisions(&self, rate: f64, keys: f64) -> f64 {
        let is_own = matches!(self.scheme, Scheme::Xxh3 { .. });
        let alike = if is_own { -(keys * (-HASHES.recip()).ln_1p()).exp_m1() } else { 0.0 };
        rate + alike * (1.0 - rate)
    }

    /// Bytes that such a filter takes; 2^64 − 1 if they are more.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.words().map_or(u64::MAX, |words| words.saturating_mul(8))
    }

    /// Words of the cells, in whole cache lines; `None` if their bits are more
    /// than 2^64.
    pub(super) fn words(&self) -> Option<u64> {
        let bits = self.cells.checked_mul(self.cell_bits.into())?;
        Some(bits.div_ceil(BLOCK_BITS) * LINE_WORDS as u64)
    }
}

/// Keys that are prefetched before the first of them is tested. While their memory comes, the next
/// keys are hashed.
pub(super) const GROUP: usize = 256;

mod sealed {
    use super::{GROUP, Hash, Spec};

    /// Facts about a design that every filter of it shares.
    pub trait Layout: Send + Sync + 'static {
        /// The number of the design in files.
        const CODE: u8;
        /// From this size on, it pays to prefetch the memory of keys before they are inserted. A
        /// cache holds smaller filters.
        const PREFETCHED_BYTES: usize;
        /// Calls `visit` with the cells of a key until it returns false; gives whether it never
        /// did.
        fn walk(spec: &Spec, hash: Hash, visit: impl FnMut(u64) -> bool) -> bool;
        /// The index of the word of a cell, and the mask of the cell in that word.
        fn place(spec: &Spec, cell: u64) -> (usize, u64);
        /// Sets the cells of a key; gives whether one was not set before.
        fn insert(spec: &Spec, words: &mut [u64], hash: Hash) -> bool;
        /// Whether all cells of a key are set.
        fn contains(spec: &Spec, words: &[u64], hash: Hash) -> bool;
        /// Answers for as many hashes as `found` has places.
        fn contains_group(spec: &Spec, words: &[u64], hashes: &[Hash; GROUP], found: &mut [bool]);
        /// Prefetches the memory of a key that is inserted later; a `T` is a word.
        fn prefetch<T>(spec: &Spec, words: &[T], hash: Hash);
        /// Number of cells that are not 0.
        fn ones(spec: &Spec, words: &[u64]) -> u64;
        /// The rate of false positives with the present cells.
        fn rate(spec: &Spec, words: &[u64]) -> f64;
        /// The rate of false positives with so many keys, in theory.
        fn rate_with(spec: &Spec, keys: u64) -> f64;
        /// The spread of this rate, relative to it.
        fn rate_deviation(spec: &Spec, keys: u64) -> f64;
        /// The estimated number of keys from the number of set cells.
        fn keys(spec: &Spec, ones: u64) -> f64;
        /// The best number of hash functions for a number of cells and keys.
        fn best_hashes(cells: u64, keys: u64) -> u32;
        /// The same for a rate.
        fn hashes_for_rate(rate: f64) -> Option<u32>;
        /// Cells for a number of keys at a rate; with a fixed number of hash functions, if one is
        /// given.
        fn cells_for_rate(keys: u64, rate: f64, hashes: Option<u32>) -> u64;
        /// The number of cells that a filter gets when this one is asked for.
        fn round(cells: u64) -> Option<u64>;
        /// Bits of a cell if the user does not say it.
        const CELL_BITS: u32;
    }
}
pub(super) use sealed::Layout;

/// A design of filters: [`Standard`], [`Blocked`] or [`Counting`].
pub trait Design: Layout {
    /// The name that programs print.
    const NAME: &'static str;
}

/// A design whose cells are bits: [`Standard`] or [`Blocked`].
pub trait Plain: Design {}

/// The bits of a key are anywhere.
#[derive(Debug, Clone, Copy)]
pub enum Standard {}

/// The bits of a key are in one cache line.
#[derive(Debug, Clone, Copy)]
pub enum Blocked {}

/// Like [`Standard`], with counters instead of bits.
#[derive(Debug, Clone, Copy)]
pub enum Counting {}

impl Design for Standard {
    const NAME: &'static str = "standard";
}
impl Design for Blocked {
    const NAME: &'static str = "blocked";
}
impl Design for Counting {
    const NAME: &'static str = "counting";
}
impl Plain for Standard {}
impl Plain for Blocked {}

/// Whether a cell is not 0.
#[inline]
pub(super) fn is_set<D: Layout>(spec: &Spec, words: &[u64], cell: u64) -> bool {
    let (index, mask) = D::place(spec, cell);
    words.get(index).is_some_and(|word| word & mask != 0)
}

/// Number of set bits.
pub(super) fn count_ones(words: &[u64]) -> u64 {
    popcount::ones(Level::best(), bytemuck::cast_slice(words))
}
