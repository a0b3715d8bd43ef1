//! Filters of counters, from which keys can be removed.

use super::build_error::BuildError;
use super::design::{Counting, Layout, Spec, Standard};
use super::filter::{BloomFilter, CountingBloomFilter, Filter};
use super::key::Key;
use super::memory::{Memory, Storage};
use super::scheme::Hash;
use crate::set::bitmap::Word;

impl CountingBloomFilter {
    /// Removes `key` once; gives whether it may have been in the filter. If a counter of the key is
    /// 0, the key is not in the filter, and nothing changes. O(hashes).
    ///
    /// Only remove keys that were inserted, each at most as often as it was inserted. Removing a
    /// false positive lowers the counters of other keys, which the filter may then miss.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::CountingBloomFilter;
    ///
    /// let mut open = CountingBloomFilter::new(1000, 0.01)?;
    /// open.insert("fox");
    /// assert!(open.remove("fox") && !open.contains("fox") && !open.remove("fox"));
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let hash = self.spec.scheme.hash(key);
        let (spec, words) = (&self.spec, self.words.words_mut());
        if !Counting::contains(spec, words, hash) {
            return false;
        }
        let mut gone = false;
        for_each_counter(spec, words, hash, |counter, largest| {
            let falls = counter > 0 && counter < largest;
            gone |= falls && counter == 1;
            counter - u64::from(falls)
        });
        self.key_count = self.key_count.saturating_sub(gone.into());
        true
    }
}

impl<S: Storage> CountingBloomFilter<S> {
    /// How often `key` was inserted, at most: its smallest counter. A counter at its largest number
    /// means that many or more. O(hashes).
    #[must_use]
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let words = self.words.words();
        let mut smallest = u64::MAX;
        Counting::walk(&self.spec, self.spec.scheme.hash(key), |cell| {
            let (index, mask) = Counting::place(&self.spec, cell);
            let word = words.get(index).copied().unwrap_or_default();
            smallest = smallest.min((word & mask) >> mask.lowest());
            smallest > 0
        });
        smallest
    }

    /// The filter of bits with the same keys: a bit for each counter that is not 0. It equals a
    /// filter of bits into which the same keys were inserted, and can be joined with such filters.
    /// O(counters).
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    pub fn to_bloom(&self) -> Result<BloomFilter, BuildError> {
        let spec = Spec { cell_bits: Standard::CELL_BITS, ..self.spec };
        let mut bits = Memory::zeroed(spec.words().ok_or(BuildError::TooLarge)?)?;
        let a_word = u64::BITS / self.spec.cell_bits;
        let counter = u64::low_mask(self.spec.cell_bits);
        for (index, &word) in self.words.words().iter().enumerate() {
            let mut set = 0;
            for at in 0..a_word {
                set |= u64::from(word >> (at * self.spec.cell_bits) & counter != 0) << at;
            }
            let (place, lowest) = u64::place(index as u64 * u64::from(a_word));
            if let Some(bits) = bits.words_mut().get_mut(place) {
                *bits |= set * lowest;
            }
        }
        Ok(Filter::from_parts(spec, bits, self.key_count, self.goal))
    }
}

/// Calls `change` with every counter of a key and the largest number of a counter. A counter that
/// the key chooses twice comes twice.
#[inline]
pub(super) fn for_each_counter(
    spec: &Spec,
    words: &mut [u64],
    hash: Hash,
    mut change: impl FnMut(u64, u64) -> u64,
) {
    Counting::walk(spec, hash, |cell| {
        let (index, mask) = Counting::place(spec, cell);
        if let Some(word) = words.get_mut(index) {
            let shift = mask.lowest();
            let changed = change((*word & mask) >> shift, mask >> shift);
            *word = *word & !mask | changed << shift;
        }
        true
    });
}

/// Calls `change` with the counters of two words, one pair after the other.
pub(super) fn zip_counters(
    cell_bits: u32,
    ours: u64,
    theirs: u64,
    change: impl Fn(u64, u64, u64) -> u64,
) -> u64 {
    let largest = u64::low_mask(cell_bits);
    (0..u64::BITS).step_by(cell_bits as usize).fold(0, |word, shift| {
        let changed = change(ours >> shift & largest, theirs >> shift & largest, largest);
        word | changed << shift
    })
}
