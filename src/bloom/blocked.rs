//! Bits of a key that lie in one cache line.

use super::design::{BLOCK_WORDS, Blocked, GROUP, Layout, Spec, count_ones};
use super::params::{self, BLOCK_BITS, real};
use super::scheme::{Hash, MULTIPLIER, reduce};
use crate::bitmap::Word;
use crate::simd::prefetch;

/// The line of a hash, and the first of its bits there. The line comes from the
/// high bits; multiplied by an odd number the low ones count as well.
#[inline]
fn line_of(spec: &Spec, hash: Hash) -> (u64, Bit) {
    let [hash, _] = hash.0;
    (reduce(hash, spec.cells / BLOCK_BITS), Bit(hash).next())
}

/// The bits of a key in its line: the high 9 of the hash times powers of an odd
/// number. Powers can be had side by side, for vectors of positions.
#[derive(Clone, Copy)]
struct Bit(u64);

impl Bit {
    #[inline]
    fn position(self) -> u64 {
        self.0 >> (u64::BITS - BLOCK_BITS.trailing_zeros())
    }

    #[inline]
    fn next(self) -> Self {
        Self(self.0.wrapping_mul(MULTIPLIER))
    }
}

/// A block of a filter has as many bits as a cache line.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "filters fit in memory")]
const fn line_index(line: u64) -> usize {
    line as usize
}

impl Layout for Blocked {
    const CODE: u8 = 2;
    const CELL_BITS: u32 = 1;

    #[inline]
    fn walk(spec: &Spec, hash: Hash, mut visit: impl FnMut(u64) -> bool) -> bool {
        let (line, mut bit) = line_of(spec, hash);
        for _ in 0..spec.hashes {
            if !visit(line * BLOCK_BITS + bit.position()) {
                return false;
            }
            bit = bit.next();
        }
        true
    }

    #[inline]
    fn place(_: &Spec, cell: u64) -> (usize, u64) {
        u64::place(cell)
    }

    #[inline]
    fn insert(spec: &Spec, words: &mut [u64], hash: Hash) -> bool {
        let (line, mut bit) = line_of(spec, hash);
        let line = &mut words.as_chunks_mut::<BLOCK_WORDS>().0[line_index(line)];
        let mut changed = 0;
        for _ in 0..spec.hashes {
            let (index, mask) = u64::place(bit.position());
            let after = line[index] | mask;
            changed |= line[index] ^ after;
            line[index] = after;
            bit = bit.next();
        }
        changed != 0
    }

    /// All bits are looked at: they are there with the first, and which one is
    /// not set nobody can predict.
    #[inline]
    fn contains(spec: &Spec, words: &[u64], hash: Hash) -> bool {
        let (line, mut bit) = line_of(spec, hash);
        let Some(line) = words.as_chunks::<BLOCK_WORDS>().0.get(line_index(line)) else {
            return false;
        };
        let mut missing = 0;
        for _ in 0..spec.hashes {
            let (index, mask) = u64::place(bit.position());
            missing |= !line[index] & mask;
            bit = bit.next();
        }
        missing == 0
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
