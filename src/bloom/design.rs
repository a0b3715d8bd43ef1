//! Where the bits of a key lie: anywhere, in one cache line, or as counters.

use super::params::BLOCK_BITS;
use super::scheme::{Hash, Scheme};
use crate::kernel::line::LINE_WORDS;
use crate::kernel::{Level, popcount};

/// The parameters of a filter. Two filters with equal ones differ in their keys alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Bits, or counters.
    pub(super) cells: u64,
    /// Cells that are looked at for a key.
    pub(super) hashes: u32,
    /// 1 where cells are bits.
    pub(super) cell_bits: u32,
    pub(super) scheme: Scheme,
    /// The same for all filters; here, loops over keys read it once.
    pub(super) level: Level,
}

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

    /// How positions follow from keys.
    #[must_use]
    pub const fn scheme(&self) -> Scheme {
        self.scheme
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

/// Keys whose memory is asked for before the first of them is looked at: while
/// it comes, the next ones are hashed.
pub(super) const GROUP: usize = 256;

mod sealed {
    use super::{GROUP, Hash, Spec};

    /// Facts about a design that every filter of it shares.
    pub trait Layout: Send + Sync + 'static {
        /// In files.
        const CODE: u8;
        /// Bytes from which it pays to ask for the memory of keys before they
        /// are inserted; a cache holds smaller filters.
        const PREFETCHED_BYTES: usize;
        /// Calls `visit` with the cells of a key until it says no; tells
        /// whether it never did.
        fn walk(spec: &Spec, hash: Hash, visit: impl FnMut(u64) -> bool) -> bool;
        /// The word of a cell, and a mask of it there.
        fn place(spec: &Spec, cell: u64) -> (usize, u64);
        /// Sets the cells of a key; tells whether one was not set.
        fn insert(spec: &Spec, words: &mut [u64], hash: Hash) -> bool;
        /// Whether all cells of a key are set.
        fn contains(spec: &Spec, words: &[u64], hash: Hash) -> bool;
        /// Answers for as many hashes as there are places for answers.
        fn contains_group(spec: &Spec, words: &[u64], hashes: &[Hash; GROUP], found: &mut [bool]);
        /// Asks for the memory of a key that is going to be inserted; a `T` is a
        /// word.
        fn prefetch<T>(spec: &Spec, words: &[T], hash: Hash);
        /// Cells that are not 0.
        fn ones(spec: &Spec, words: &[u64]) -> u64;
        /// Rate of false positives as the cells are now.
        fn rate(spec: &Spec, words: &[u64]) -> f64;
        /// Rate of false positives with so many keys, in theory.
        fn rate_with(spec: &Spec, keys: u64) -> f64;
        /// How far rates are apart, as a share of it.
        fn rate_deviation(spec: &Spec, keys: u64) -> f64;
        /// Number of keys that leave so many cells set.
        fn keys(spec: &Spec, ones: u64) -> f64;
        /// The best number of hash functions for a number of keys.
        fn best_hashes(cells: u64, keys: u64) -> u32;
        /// The same for a rate.
        fn hashes_for_rate(rate: f64) -> Option<u32>;
        /// Cells for a number of keys at a rate, and maybe a number of hash
        /// functions.
        fn cells_for_rate(keys: u64, rate: f64, hashes: Option<u32>) -> u64;
        /// The number of cells that is taken where this one is asked for.
        fn round(cells: u64) -> Option<u64>;
        /// Bits of a cell where the user says nothing.
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

/// The bits of a key lie anywhere.
#[derive(Debug, Clone, Copy)]
pub enum Standard {}

/// The bits of a key lie in one cache line.
#[derive(Debug, Clone, Copy)]
pub enum Blocked {}

/// As [`Standard`], with counters for bits.
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

/// Set bits.
pub(super) fn count_ones(words: &[u64]) -> u64 {
    popcount::ones(Level::best(), bytemuck::cast_slice(words))
}
