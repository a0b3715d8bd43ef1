//! A filter that several threads fill at once.

use super::design::{Plain, Spec};
use super::filter::Filter;
use super::key::Key;
use super::scheme::Hash;
use crate::sys::atomic_words;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};

/// A filter that is lent to several threads: [`Filter::share`] makes it.
///
/// Bits are set one by one and never taken back, so that no order between
/// threads matters: what a thread inserted it finds, and others find it once
/// they are synchronized with it.
#[derive(Debug)]
pub struct SharedFilter<'a, D> {
    spec: Spec,
    words: &'a [AtomicU64],
    key_count: &'a mut u64,
    counts: [Count; COUNTS],
    design: PhantomData<D>,
}

/// Counters on cache lines of their own: threads seldom meet at one.
const COUNTS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(64))]
struct Count(AtomicU64);

impl<D: Plain> Filter<D> {
    /// Lends the filter to several threads.
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
        SharedFilter {
            spec: self.spec,
            words: atomic_words(self.words.words_mut()),
            key_count: &mut self.key_count,
            counts: Default::default(),
            design: PhantomData,
        }
    }
}

impl<D: Plain> SharedFilter<'_, D> {
    /// Adds `key`; tells whether it is new: whether this call set a bit. Of two
    /// threads that insert a new key at once, one or both are told so.
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> bool {
        let hash = self.spec.scheme.hash(key);
        let new = self.set(hash);
        if new {
            self.count(hash, 1);
        }
        new
    }

    /// Adds all `keys`; gives how many were new. Their cache misses overlap.
    pub fn insert_many<K: Key>(&self, keys: &[K]) -> u64 {
        if size_of_val(self.words) < D::PREFETCHED_BYTES {
            return keys.iter().map(|key| u64::from(self.insert(key))).sum();
        }
        let (mut new, mut last) = (0, Hash([0; 2]));
        self.spec.scheme.hash_ahead(keys, |prefetch, hash| {
            if prefetch {
                D::prefetch(&self.spec, self.words, hash);
            } else {
                new += u64::from(self.set(hash));
                last = hash;
            }
        });
        self.count(last, new);
        new
    }

    /// Whether `key` may be in the filter; `false` is certain of keys that this
    /// thread inserted, or that others did before they were synchronized.
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
            // Reading first is cheaper than locking a line that has the bit.
            new |= word.load(Ordering::Relaxed) & mask == 0
                && word.fetch_or(mask, Ordering::Relaxed) & mask == 0;
            true
        });
        new
    }

    fn count(&self, hash: Hash, new: u64) {
        let [hash, _] = hash.0;
        let index = usize::try_from(hash % COUNTS as u64).unwrap_or(0);
        self.counts[index].0.fetch_add(new, Ordering::Relaxed);
    }
}

impl<D> Drop for SharedFilter<'_, D> {
    fn drop(&mut self) {
        let counted = self.counts.iter().map(|count| count.0.load(Ordering::Relaxed)).sum::<u64>();
        *self.key_count = self.key_count.saturating_add(counted);
    }
}
