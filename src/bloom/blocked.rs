//! Filters whose bits of a key are in one cache line.

use super::design::{Blocked, GROUP, Layout, Spec, count_ones};
use super::params::{self, BLOCK_BITS, real};
use super::scheme::Hash;
use crate::kernel::line::{
    LINE_WORDS, MULTIPLIER, Place, has_bits, have_bits, place_of, set_bits, split,
};
use crate::kernel::prefetch;
use crate::set::bitmap::Word;

/// The cache line of a key.
#[inline]
fn place(spec: &Spec, hash: Hash) -> Place {
    place_of((spec.cells / BLOCK_BITS) as usize, hash.0[0])
}

#[inline]
fn lines<T>(words: &[T]) -> &[[T; LINE_WORDS]] {
    words.as_chunks().0
}

impl Layout for Blocked {
    const CODE: u8 = 2;
    const CELL_BITS: u32 = 1;
    const PREFETCHED_BYTES: usize = 0;

    #[inline]
    fn walk(spec: &Spec, hash: Hash, mut visit: impl FnMut(u64) -> bool) -> bool {
        let (line, mut bit) = place(spec, hash);
        for _ in 0..spec.hashes {
            bit = bit.wrapping_mul(MULTIPLIER);
            let [index, shift] = split(bit);
            if !visit(line as u64 * BLOCK_BITS + (index * 64 + shift) as u64) {
                return false;
            }
        }
        true
    }

    #[inline]
    fn place(_: &Spec, cell: u64) -> (usize, u64) {
        u64::place(cell)
    }

    #[inline]
    fn insert(spec: &Spec, words: &mut [u64], hash: Hash) -> bool {
        let (line, hash) = place(spec, hash);
        prefetch(lines(words), line);
        set_bits(spec.level, &mut words.as_chunks_mut().0[line], hash, spec.hashes)
    }

    #[inline]
    fn contains(spec: &Spec, words: &[u64], hash: Hash) -> bool {
        has_bits(spec.level, lines(words), hash.0[0], spec.hashes)
    }

    fn contains_group(spec: &Spec, words: &[u64], hashes: &[Hash; GROUP], found: &mut [bool]) {
        let mut places = [(0, 0); GROUP];
        for (at, &hash) in places.iter_mut().zip(hashes).take(found.len()) {
            *at = place(spec, hash);
            prefetch(lines(words), at.0);
        }
        have_bits(spec.level, lines(words), &places, spec.hashes, found);
    }

    #[inline]
    fn prefetch<T>(spec: &Spec, words: &[T], hash: Hash) {
        prefetch(lines(words), place(spec, hash).0);
    }

    fn ones(_: &Spec, words: &[u64]) -> u64 {
        count_ones(words)
    }

    /// The mean over the lines, because some are fuller than others.
    fn rate(spec: &Spec, words: &[u64]) -> f64 {
        let mut lines_of_fill = [0_u64; LINE_WORDS * 64 + 1];
        for line in lines(words) {
            let ones: u32 = line.iter().map(|word| word.count_ones()).sum();
            lines_of_fill[ones as usize] += 1;
        }
        let rates = (0_u32..).zip(lines_of_fill).map(|(ones, lines)| {
            let fill = f64::from(ones) / real(BLOCK_BITS);
            real(lines) * params::rate_of_fill(fill, spec.hashes)
        });
        let rate = rates.sum::<f64>() / real(spec.cells / BLOCK_BITS);
        let ones = (0_u64..).zip(lines_of_fill).map(|(ones, lines)| ones * lines).sum();
        spec.with_collisions(rate, Self::keys(spec, ones))
    }

    fn rate_with(spec: &Spec, keys: u64) -> f64 {
        spec.with_collisions(params::rate_blocked(spec.cells, keys, spec.hashes), real(keys))
    }

    fn rate_deviation(spec: &Spec, keys: u64) -> f64 {
        params::rate_deviation_blocked(spec.cells, keys, spec.hashes)
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
