//! A filter that several threads fill at the same time.

use super::design::{Plain, Spec};
use super::filter::Filter;
use super::key::Key;
use super::scheme::Hash;
use crate::kernel::sys::atomic_words;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// A filter that is lent to several threads: [`Filter::share`] makes it.
///
/// Bits are set one by one and never cleared, so the order of the threads does not matter. A thread
/// finds the keys that it inserted, and other threads find them after they synchronize with it. At
/// the end the number of keys is estimated from the bits, which do not depend on the threads that
/// set them.
#[derive(Debug)]
pub struct SharedFilter<'a, D: Plain> {
    spec: Spec,
    words: &'a [AtomicU64],
    key_count: &'a mut u64,
    /// Estimated number of keys before.
    before: u64,
    design: PhantomData<D>,
}

/// The estimated number of keys of a filter with so many cells set. For a full filter the
/// estimate assumes one free cell.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate, not below 0"
)]
fn keys_of<D: Plain>(spec: &Spec, ones: u64) -> u64 {
    D::keys(spec, ones.min(spec.cells.saturating_sub(1))).round() as u64
}

impl<D: Plain> Filter<D> {
    /// Lends the filter to several threads. O(words), and O(words) again when the lent filter is
    /// dropped: [`key_count`](Self::key_count) then grows by the estimated number of new keys.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::BloomFilter;
    ///
    /// let mut filter = BloomFilter::new(1000, 0.01)?;
    /// let shared = filter.share();
    /// std::thread::scope(|scope| {
    ///     for first in [0_u64, 500] {
    ///         let shared = &shared;
    ///         scope.spawn(move || (first..first + 500).for_each(|id| _ = shared.insert(&id)));
    ///     }
    /// });
    /// drop(shared);
    /// assert!((0..1000_u64).all(|id| filter.contains(&id)));
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    pub fn share(&mut self) -> SharedFilter<'_, D> {
        let before = keys_of::<D>(&self.spec, self.ones());
        SharedFilter {
            spec: self.spec,
            words: atomic_words(self.words.words_mut()),
            key_count: &mut self.key_count,
            before,
            design: PhantomData,
        }
    }
}

impl<D: Plain> SharedFilter<'_, D> {
    /// Adds `key`; gives whether it is new, that is, whether this call set a bit. If two threads
    /// insert a new key at the same time, one or both get `true`.
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.set(self.spec.scheme.hash(key))
    }

    /// Adds all `keys`; gives how many were new. Their cache misses overlap.
    pub fn insert_many<K: Key>(&self, keys: &[K]) -> u64 {
        if size_of_val(self.words) < D::PREFETCHED_BYTES {
            return keys.iter().map(|key| u64::from(self.insert(key))).sum();
        }
        let mut new = 0;
        self.spec.scheme.hash_ahead(keys, |prefetch, hash| {
            if prefetch {
                D::prefetch(&self.spec, self.words, hash);
            } else {
                new += u64::from(self.set(hash));
            }
        });
        new
    }

    /// Whether `key` may be in the filter. `false` is certain for keys that this thread inserted,
    /// or that others inserted before they synchronized with it.
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        D::walk(&self.spec, self.spec.scheme.hash(key), |cell| {
            let (index, mask) = D::place(&self.spec, cell);
            self.words[index].load(Ordering::Relaxed) & mask != 0
        })
    }

    fn set(&self, hash: Hash) -> bool {
        let mut new = false;
        D::walk(&self.spec, hash, |cell| {
            let (index, mask) = D::place(&self.spec, cell);
            let word = &self.words[index];
            // Reading first is cheaper than locking a line that already has the bit.
            new |= word.load(Ordering::Relaxed) & mask == 0
                && word.fetch_or(mask, Ordering::Relaxed) & mask == 0;
            true
        });
        new
    }
}

impl<D: Plain> Drop for SharedFilter<'_, D> {
    fn drop(&mut self) {
        let words = self.words.iter().map(|word| word.load(Ordering::Relaxed));
        let after = keys_of::<D>(&self.spec, words.map(|word| u64::from(word.count_ones())).sum());
        let more = after.saturating_sub(self.before); // bits are never cleared
        *self.key_count = self.key_count.saturating_add(more);
    }
}
