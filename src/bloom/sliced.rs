//! The filters of many blocks, stored by bits: bit 0 of all of them, then bit 1 of all, and so on.
//!
//! A question to the filters of 512 blocks reads k cache lines, not 512: the bits of a key are in k
//! lines, and the "and" of these lines gives the blocks that have all of them. For this, all
//! filters of a group have one size. It follows from the keys of all blocks of the group, so a
//! block with far more keys than the others does not make all filters large.

use super::params::{self, real};
use super::scheme::{Hash, Walk, XxhWalk};
use crate::set::bitmap::Word;

/// Most blocks of a group: the bits of a cache line.
pub(crate) const MAX_BLOCKS: usize = 512;
const LINE_WORDS: usize = MAX_BLOCKS / 64;

/// A set of blocks of a group: block `b` is bit `b % 64` of word `b / 64`.
pub(crate) type Blocks = [u64; LINE_WORDS];

/// The size and the hash functions of the filters of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Number of filters, 1 to 512.
    pub(crate) blocks: usize,
    /// Bits of each filter, at least 1.
    pub(crate) bits: u64,
    /// Number of bits of a key.
    pub(crate) hashes: u32,
}

impl Shape {
    /// Filters for blocks with these numbers of keys. A key that is in no block gets yes from a
    /// share of `rate` of the filters.
    pub(crate) fn for_rate(keys: &[u64], hashes: u32, rate: f64) -> Self {
        let most = keys.iter().copied().max().unwrap_or(0).max(1);
        let enough = |bits: u64| {
            let rates = keys.iter().map(|&keys| params::rate(bits, keys, hashes));
            rates.sum::<f64>() <= rate * real(keys.len() as u64)
        };
        let (mut low, mut high) = (1, params::bits_with_hashes(most, rate, hashes).max(1));
        while low < high {
            let middle = u64::midpoint(low, high);
            if enough(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Self { blocks: keys.len(), bits: low, hashes }
    }

    /// Words of the filters, in whole cache lines; `None` if there can be no
    /// such filters.
    pub(crate) fn words(self) -> Option<u64> {
        let bits = self.bits.checked_mul(self.blocks as u64)?;
        bits.div_ceil(MAX_BLOCKS as u64).checked_mul(LINE_WORDS as u64)
    }

    /// Calls `visit` with the first bit of each row that a key has.
    #[inline]
    fn rows(self, hash: Hash, mut visit: impl FnMut(u64) -> bool) {
        let mut walk = XxhWalk::start(hash);
        for _ in 0..self.hashes {
            if !visit(walk.position(self.bits) * self.blocks as u64) {
                return;
            }
            walk = walk.next();
        }
    }

    /// Adds a key to the filter of a block.
    #[inline]
    pub(crate) fn insert(self, words: &mut [u64], block: usize, hash: Hash) {
        self.rows(hash, |row| {
            let (index, mask) = u64::place(row + block as u64);
            words[index] |= mask;
            true
        });
    }

    /// Those of the blocks `among` that may have a key.
    #[inline]
    pub(crate) fn candidates(self, words: &[u64], hash: Hash, among: &Blocks) -> Blocks {
        let mut left = *among;
        if self.blocks == MAX_BLOCKS {
            let lines = words.as_chunks::<LINE_WORDS>().0;
            self.rows(hash, |row| {
                let line = usize::try_from(row / MAX_BLOCKS as u64).ok();
                let line = line.and_then(|line| lines.get(line)).unwrap_or(&[0; LINE_WORDS]);
                for (left, word) in left.iter_mut().zip(line) {
                    *left &= word;
                }
                left != [0; LINE_WORDS]
            });
            return left;
        }
        self.rows(hash, |row| {
            for (left, bit) in left.iter_mut().zip((row..).step_by(64)) {
                *left &= word_at(words, bit);
            }
            left != [0; LINE_WORDS]
        });
        left
    }

    /// The blocks from `first` up to `end`.
    pub(crate) fn range(self, first: usize, end: usize) -> Blocks {
        let below = |end: usize, word: usize| {
            let bits = end.min(self.blocks).saturating_sub(word * 64).min(64);
            u64::low_mask(u32::try_from(bits).unwrap_or(64))
        };
        std::array::from_fn(|word| below(end, word) & !below(first, word))
    }
}

/// 64 bits from any bit on; 0 behind the end.
#[inline]
fn word_at(words: &[u64], bit: u64) -> u64 {
    let word = |index: u64| {
        usize::try_from(index).ok().and_then(|index| words.get(index)).copied().unwrap_or(0)
    };
    let (index, shift) = (bit / 64, (bit % 64) as u32);
    word(index).down(shift) | word(index + 1).up(64 - shift)
}

/// The numbers of the blocks of a set.
pub(crate) fn members(blocks: Blocks) -> impl Iterator<Item = usize> {
    blocks.into_iter().enumerate().flat_map(|(index, mut word)| {
        std::iter::from_fn(move || {
            let bit = (word != 0).then(|| word.lowest())?;
            word = word.without_lowest();
            Some(index * 64 + bit as usize)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::Scheme;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_of_any_size_find_their_keys_and_few_others(
            counts in prop::collection::vec(1_u64..30, 1..=MAX_BLOCKS),
            full in any::<bool>(),
        ) {
            let mut counts = counts;
            if full {
                counts.resize(MAX_BLOCKS, 5);
            }
            let shape = Shape::for_rate(&counts, 7, 0.01);
            let mut words = vec![0; usize::try_from(shape.words().unwrap()).unwrap()];
            let hash = |block: usize, key: u64| {
                Scheme::default().hash(&((block as u64) << 32 | key))
            };
            for (block, &count) in counts.iter().enumerate() {
                (0..count).for_each(|key| shape.insert(&mut words, block, hash(block, key)));
            }
            let all = shape.range(0, MAX_BLOCKS);
            prop_assert!(members(all).eq(0..counts.len()));
            let mut found = 0;
            for block in 0..counts.len() {
                let left = shape.candidates(&words, hash(block, 0), &all);
                prop_assert!(members(left).any(|found| found == block));
                let alone = shape.candidates(&words, hash(block, 0), &shape.range(block, block + 1));
                prop_assert!(members(alone).eq([block]));
                let absent = shape.candidates(&words, hash(block, 99), &all);
                found += members(absent).filter(|&block| block < counts.len()).count();
            }
            // Of so many questions, 1 % are answered wrongly; bounds are wide.
            let asked = counts.len() * counts.len();
            prop_assert!(found <= 20 + asked / 25, "{} of {}", found, asked);
        }
    }

    #[test]
    fn one_block_of_many_keys_does_not_make_all_filters_large() {
        let mut keys = [100; MAX_BLOCKS];
        let even = Shape::for_rate(&keys, 7, 0.01);
        assert!((955..=965).contains(&even.bits), "{even:?}");
        keys[7] = 20_000;
        let uneven = Shape::for_rate(&keys, 7, 0.01);
        assert!(uneven.bits < 2 * even.bits, "{uneven:?}");
    }
}
