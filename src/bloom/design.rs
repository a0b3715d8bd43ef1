//! Where the bits of a key lie: anywhere, in one cache line, or as counters.

use super::params::{self, BLOCK_BITS, real};
use super::scheme::{DcsoWalk, Mitz32Walk, Mitz64Walk, walk};
use super::scheme::{Hash, MULTIPLIER, Scheme, Walk, XxhWalk, reduce};
use crate::bitmap::Word;
use crate::simd::{Level, popcount, prefetch};

/// What makes two filters alike but for their keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Bits, or counters.
    pub(super) cells: u64,
    /// Cells that are looked at for a key.
    pub(super) hashes: u32,
    /// 1 where cells are bits.
    pub(super) cell_bits: u32,
    pub(super) scheme: Scheme,
}

impl Spec {
    /// Words of the cells, in whole cache lines; `None` if their bits are more
    /// than 2^64.
    pub(super) fn words(&self) -> Option<u64> {
        let bits = self.cells.checked_mul(self.cell_bits.into())?;
        Some(bits.div_ceil(BLOCK_BITS) * BLOCK_WORDS as u64)
    }
}

/// Words of a block of [`BLOCK_BITS`].
const BLOCK_WORDS: usize = 8;

/// Keys whose memory is asked for before the first of them is looked at: while
/// it comes, the next ones are hashed.
pub(super) const GROUP: usize = 128;

mod sealed {
    use super::{GROUP, Hash, Spec};

    /// What filters know of their design.
    pub trait Layout: Send + Sync + 'static {
        /// In files.
        const CODE: u8;
        /// Calls `visit` with the cells of a key until it says no; tells
        /// whether it never did.
        fn walk(spec: &Spec, hash: Hash, visit: impl FnMut(u64) -> bool) -> bool;
        /// The word of a cell, and a mask of it there.
        fn place(spec: &Spec, cell: u64) -> (usize, u64);
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

/// Runs an expression with the type of a scheme's walk.
macro_rules! with_walk {
    ($spec:expr, $walk:ident => $body:expr) => {
        match $spec.scheme {
            Scheme::Xxh3 { .. } => {
                type $walk = XxhWalk;
                $body
            }
            Scheme::GuavaMitz64 => {
                type $walk = Mitz64Walk;
                $body
            }
            Scheme::GuavaMitz32 => {
                type $walk = Mitz32Walk;
                $body
            }
            Scheme::Dcso => {
                type $walk = DcsoWalk;
                $body
            }
        }
    };
}

#[inline]
fn is_set<D: Layout>(spec: &Spec, words: &[u64], cell: u64) -> bool {
    let (index, mask) = D::place(spec, cell);
    words.get(index).is_some_and(|word| word & mask != 0)
}

fn count_ones(words: &[u64]) -> u64 {
    popcount::ones(Level::best(), bytemuck::cast_slice(words))
}

/// Answers for a group of keys, cell by cell: of all keys the first cell, of
/// those that have it the second, and so on. A round asks for the memory of the
/// next, so that cells of many keys are on their way at a time, and only cells
/// that decide something.
#[inline]
fn contains_in_rounds<D: Layout, W: Walk>(
    spec: &Spec,
    words: &[u64],
    hashes: &[Hash; GROUP],
    found: &mut [bool],
) {
    let mut live = [(W::start(Hash([0; 2])), 0); GROUP];
    let mut count = 0;
    for (slot, (index, &hash)) in live.iter_mut().zip((0_usize..).zip(hashes)).take(found.len()) {
        let walk = W::start(hash);
        prefetch(words, D::place(spec, walk.position(spec.cells)).0);
        *slot = (walk, index);
        count += 1;
    }
    found.fill(false);
    for left in (0..spec.hashes).rev() {
        // Kept without a branch: which keys go on is what nobody can predict.
        let mut kept = 0;
        for index in 0..count {
            let key = live[index];
            live[kept] = key;
            kept += usize::from(is_set::<D>(spec, words, key.0.position(spec.cells)));
        }
        count = kept;
        if left == 0 {
            break;
        }
        for key in &mut live[..count] {
            key.0 = key.0.next();
            prefetch(words, D::place(spec, key.0.position(spec.cells)).0);
        }
    }
    for &(_, index) in &live[..count] {
        found[index] = true;
    }
}

/// What filters of bits and of counters share, if cells lie anywhere.
macro_rules! anywhere {
    () => {
        #[inline]
        fn walk(spec: &Spec, hash: Hash, visit: impl FnMut(u64) -> bool) -> bool {
            with_walk!(spec, W => walk::<W>(hash, spec.cells, spec.hashes, visit))
        }

        #[inline]
        fn contains(spec: &Spec, words: &[u64], hash: Hash) -> bool {
            Self::walk(spec, hash, |cell| is_set::<Self>(spec, words, cell))
        }

        fn contains_group(spec: &Spec, words: &[u64], hashes: &[Hash; GROUP], found: &mut [bool]) {
            with_walk!(spec, W => contains_in_rounds::<Self, W>(spec, words, hashes, found));
        }

        #[inline]
        fn prefetch<T>(spec: &Spec, words: &[T], hash: Hash) {
            Self::walk(spec, hash, |cell| {
                prefetch(words, Self::place(spec, cell).0);
                true
            });
        }

        fn rate(spec: &Spec, words: &[u64]) -> f64 {
            params::rate_of_fill(real(Self::ones(spec, words)) / real(spec.cells), spec.hashes)
        }

        fn rate_with(spec: &Spec, keys: u64) -> f64 {
            params::rate(spec.cells, keys, spec.hashes)
        }

        fn keys(spec: &Spec, ones: u64) -> f64 {
            params::keys(spec.cells, spec.hashes, ones)
        }

        fn best_hashes(cells: u64, keys: u64) -> u32 {
            params::hashes(cells, keys)
        }

        fn hashes_for_rate(rate: f64) -> Option<u32> {
            Some(params::hashes_for_rate(rate))
        }

        fn cells_for_rate(keys: u64, rate: f64, hashes: Option<u32>) -> u64 {
            hashes.map_or_else(
                || params::bits(keys, rate),
                |hashes| params::bits_with_hashes(keys, rate, hashes),
            )
        }

        fn round(cells: u64) -> Option<u64> {
            Some(cells)
        }
    };
}

impl Layout for Standard {
    const CODE: u8 = 1;
    const CELL_BITS: u32 = 1;
    anywhere!();

    #[inline]
    fn place(_: &Spec, cell: u64) -> (usize, u64) {
        u64::place(cell)
    }

    fn ones(_: &Spec, words: &[u64]) -> u64 {
        count_ones(words)
    }
}

impl Layout for Counting {
    const CODE: u8 = 3;
    /// Overflow at the best fill is less likely than one counter in 10^15.
    const CELL_BITS: u32 = 4;
    anywhere!();

    #[inline]
    fn place(spec: &Spec, cell: u64) -> (usize, u64) {
        let (index, lowest) = u64::place(cell * u64::from(spec.cell_bits));
        (index, lowest * u64::low_mask(spec.cell_bits))
    }

    fn ones(spec: &Spec, words: &[u64]) -> u64 {
        let lowest = u64::MAX / u64::low_mask(spec.cell_bits); // one bit a counter
        let fold = |&word: &u64| {
            let any = (0..spec.cell_bits).fold(0, |any, shift| any | word >> shift);
            u64::from((any & lowest).count_ones())
        };
        words.iter().map(fold).sum()
    }
}

/// The line of a hash, and the generator of its bits there. The line comes from
/// the high bits; multiplied by an odd number the low ones count as well.
#[inline]
fn line_of(spec: &Spec, hash: Hash) -> (u64, XxhWalk) {
    let [hash, _] = hash.0;
    let line = reduce(hash, spec.cells / BLOCK_BITS);
    (line, XxhWalk::start(Hash([hash.wrapping_mul(MULTIPLIER), 0])))
}

impl Layout for Blocked {
    const CODE: u8 = 2;
    const CELL_BITS: u32 = 1;

    #[inline]
    fn walk(spec: &Spec, hash: Hash, mut visit: impl FnMut(u64) -> bool) -> bool {
        let (line, mut bits) = line_of(spec, hash);
        for _ in 0..spec.hashes {
            if !visit(line * BLOCK_BITS + bits.position(BLOCK_BITS)) {
                return false;
            }
            bits = bits.next();
        }
        true
    }

    #[inline]
    fn place(_: &Spec, cell: u64) -> (usize, u64) {
        u64::place(cell)
    }

    #[inline]
    fn contains(spec: &Spec, words: &[u64], hash: Hash) -> bool {
        Self::walk(spec, hash, |cell| is_set::<Self>(spec, words, cell))
    }

    fn contains_group(spec: &Spec, words: &[u64], hashes: &[Hash; GROUP], found: &mut [bool]) {
        for &hash in &hashes[..found.len()] {
            Self::prefetch(spec, words, hash);
        }
        for (found, &hash) in found.iter_mut().zip(hashes) {
            *found = Self::contains(spec, words, hash);
        }
    }

    #[inline]
    fn prefetch<T>(spec: &Spec, words: &[T], hash: Hash) {
        let (line, _) = line_of(spec, hash);
        prefetch(words, u64::place(line * BLOCK_BITS).0);
    }

    fn ones(_: &Spec, words: &[u64]) -> u64 {
        count_ones(words)
    }

    /// The mean over the lines: some are fuller than others.
    fn rate(spec: &Spec, words: &[u64]) -> f64 {
        let mut lines_of_fill = [0_u64; BLOCK_WORDS * 64 + 1];
        let (lines, _) = words.as_chunks::<BLOCK_WORDS>();
        for line in lines {
            let ones: u32 = line.iter().map(|word| word.count_ones()).sum();
            lines_of_fill[ones as usize] += 1;
        }
        let rates = (0_u32..).zip(lines_of_fill).map(|(ones, lines)| {
            let fill = f64::from(ones) / real(BLOCK_BITS);
            real(lines) * params::rate_of_fill(fill, spec.hashes)
        });
        rates.sum::<f64>() / real(spec.cells / BLOCK_BITS)
    }

    fn rate_with(spec: &Spec, keys: u64) -> f64 {
        params::rate_blocked(spec.cells, keys, spec.hashes)
    }

    fn keys(spec: &Spec, ones: u64) -> f64 {
        params::keys_blocked(spec.cells, spec.hashes, ones)
    }

    fn best_hashes(cells: u64, keys: u64) -> u32 {
        params::hashes_blocked(cells, keys)
    }

    fn hashes_for_rate(_: f64) -> Option<u32> {
        None
    }

    fn cells_for_rate(keys: u64, rate: f64, hashes: Option<u32>) -> u64 {
        let bits_a_key = hashes.map_or_else(
            || params::bits_per_key_blocked(rate),
            |hashes| params::bits_per_key_blocked_with_hashes(rate, hashes),
        );
        params::whole(real(keys) * bits_a_key)
    }

    fn round(cells: u64) -> Option<u64> {
        cells.checked_next_multiple_of(BLOCK_BITS)
    }
}
