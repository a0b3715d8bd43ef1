//! Filters whose cells of a key are anywhere: bits or counters.

use super::counting::for_each_counter;
use super::design::{Counting, GROUP, Layout, Spec, Standard, count_ones, is_set};
use super::params::{self, real};
use super::scheme::{DcsoWalk, Mitz32Walk, Mitz64Walk, SparkV1Walk, SparkV2Walk, XxhWalk};
use super::scheme::{Hash, Scheme, Walk, walk};
use crate::kernel::prefetch;
use crate::set::bitmap::Word;

#[cold] // so that the compiler inlines only our own scheme into loops
fn walk_foreign(spec: &Spec, hash: Hash, visit: impl FnMut(u64) -> bool) -> bool {
    match spec.scheme {
        Scheme::GuavaMitz64 => walk::<Mitz64Walk>(hash, spec.cells, spec.hashes, visit),
        Scheme::GuavaMitz32 => walk::<Mitz32Walk>(hash, spec.cells, spec.hashes, visit),
        Scheme::SparkV1 => walk::<SparkV1Walk>(hash, spec.cells, spec.hashes, visit),
        Scheme::SparkV2 { .. } => walk::<SparkV2Walk>(hash, spec.cells, spec.hashes, visit),
        _ => walk::<DcsoWalk>(hash, spec.cells, spec.hashes, visit),
    }
}

/// Answers for a group of keys in rounds: the first cell of all keys, then the second cell of those
/// keys whose first is set, and so on. Each round prefetches the memory of the next one. So many
/// cells are on their way at a time, and only cells that matter.
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
        // Test all before any is moved: a store to an unknown place would make the next key wait
        // for the memory of this one.
        let mut set = [false; GROUP];
        for (set, (walk, _)) in set.iter_mut().zip(&live[..count]) {
            *set = is_set::<D>(spec, words, walk.position(spec.cells));
        }
        // Without a branch: nobody can predict which keys go on.
        let mut kept = 0;
        for index in 0..count {
            live[kept] = live[index];
            kept += usize::from(set[index]);
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

/// The code that filters of bits and of counters share.
macro_rules! anywhere {
    () => {
        #[inline]
        fn walk(spec: &Spec, hash: Hash, visit: impl FnMut(u64) -> bool) -> bool {
            match spec.scheme {
                Scheme::Xxh3 { .. } => walk::<XxhWalk>(hash, spec.cells, spec.hashes, visit),
                _ => walk_foreign(spec, hash, visit),
            }
        }

        #[inline]
        fn contains(spec: &Spec, words: &[u64], hash: Hash) -> bool {
            Self::walk(spec, hash, |cell| is_set::<Self>(spec, words, cell))
        }

        fn contains_group(spec: &Spec, words: &[u64], hashes: &[Hash; GROUP], found: &mut [bool]) {
            let ask = match spec.scheme {
                Scheme::Xxh3 { .. } => contains_in_rounds::<Self, XxhWalk>,
                Scheme::GuavaMitz64 => contains_in_rounds::<Self, Mitz64Walk>,
                Scheme::GuavaMitz32 => contains_in_rounds::<Self, Mitz32Walk>,
                Scheme::Dcso => contains_in_rounds::<Self, DcsoWalk>,
                Scheme::SparkV1 => contains_in_rounds::<Self, SparkV1Walk>,
                Scheme::SparkV2 { .. } => contains_in_rounds::<Self, SparkV2Walk>,
            };
            ask(spec, words, hashes, found);
        }

        #[inline]
        fn prefetch<T>(spec: &Spec, words: &[T], hash: Hash) {
            Self::walk(spec, hash, |cell| {
                prefetch(words, Self::place(spec, cell).0);
                true
            });
        }

        fn rate(spec: &Spec, words: &[u64]) -> f64 {
            let ones = Self::ones(spec, words);
            let rate = params::rate_of_fill(real(ones) / real(spec.cells), spec.hashes);
            spec.with_collisions(rate, Self::keys(spec, ones))
        }

        fn rate_with(spec: &Spec, keys: u64) -> f64 {
            spec.with_collisions(params::rate(spec.cells, keys, spec.hashes), real(keys))
        }

        fn rate_deviation(spec: &Spec, keys: u64) -> f64 {
            params::rate_deviation(spec.cells, keys, spec.hashes)
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
            let hashes = hashes.unwrap_or_else(|| params::hashes_for_rate(rate));
            params::bits_with_hashes(keys, rate, hashes)
        }

        fn round(cells: u64) -> Option<u64> {
            Some(cells)
        }
    };
}

impl Layout for Standard {
    const CODE: u8 = 1;
    const CELL_BITS: u32 = 1;
    const PREFETCHED_BYTES: usize = 32 << 20;
    anywhere!();

    #[inline]
    fn insert(spec: &Spec, words: &mut [u64], hash: Hash) -> bool {
        let mut changed = 0;
        Self::walk(spec, hash, |cell| {
            let (index, mask) = u64::place(cell);
            let word = &mut words[index];
            let after = *word | mask;
            changed |= *word ^ after;
            *word = after;
            true
        });
        changed != 0
    }

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
    /// At the best fill, less than one of 10^15 counters overflows.
    const CELL_BITS: u32 = 4;
    const PREFETCHED_BYTES: usize = 32 << 20;
    anywhere!();

    #[inline]
    fn insert(spec: &Spec, words: &mut [u64], hash: Hash) -> bool {
        let mut new = false;
        for_each_counter(spec, words, hash, |counter, largest| {
            new |= counter == 0;
            counter + u64::from(counter < largest)
        });
        new
    }

    #[inline]
    fn place(spec: &Spec, cell: u64) -> (usize, u64) {
        let (index, lowest) = u64::place(cell * u64::from(spec.cell_bits));
        (index, lowest * u64::low_mask(spec.cell_bits))
    }

    fn ones(spec: &Spec, words: &[u64]) -> u64 {
        let lowest = u64::MAX / u64::low_mask(spec.cell_bits); // one bit of each counter
        let fold = |&word: &u64| {
            let any = (0..spec.cell_bits).fold(0, |any, shift| any | word >> shift);
            u64::from((any & lowest).count_ones())
        };
        words.iter().map(fold).sum()
    }
}
