//! A filter and the questions to it.

use super::build_error::BuildError;
use super::builder::Builder;
use super::design::{Blocked, Counting, Design, GROUP, Spec, Standard};
use super::key::Key;
use super::memory::{Memory, Opened, Storage};
use super::params::real;
use super::scheme::{Hash, Scheme};
use std::fmt;
use std::marker::PhantomData;

/// A Bloom filter: a set that answers "maybe" or "certainly not".
///
/// `D` is its design. `S` is the memory of its bits: [`Memory`], or [`Opened`](super::Opened) for a
/// file that was opened.
pub struct Filter<D, S = Memory> {
    pub(super) spec: Spec,
    pub(super) words: S,
    pub(super) key_count: u64,
    pub(super) goal: Option<Goal>,
    design: PhantomData<D>,
}

/// The filter of Bloom's paper: the bits of a key are anywhere.
///
/// It takes the fewest bits, 9.6 for each key at a rate of 1 %, but a cache miss for each bit that
/// is tested.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::BloomFilter;
///
/// let mut seen = BloomFilter::new(1_000_000, 0.01)?;
/// assert!(seen.insert("fox"), "new");
/// assert!(!seen.insert("fox"), "known");
/// assert!(seen.contains("fox") && !seen.contains("dog"));
/// # Ok::<(), bitsort::bloom::BuildError>(())
/// ```
pub type BloomFilter<S = Memory> = Filter<Standard, S>;

/// A filter with all bits of a key in one cache line: one cache miss a key.
///
/// It takes some more bits for each key: 9.9 at a rate of 1 %, 15.5 instead of 14.4 at 0.1 %.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::BlockedBloomFilter;
///
/// let mut seen = BlockedBloomFilter::new(1_000_000, 0.01)?;
/// let ids: Vec<u64> = (0..1000).map(|id| id * id).collect();
/// seen.insert_many(&ids);
/// let mut found = Vec::new();
/// seen.contains_many(&ids, &mut found);
/// assert!(found.iter().all(|found| *found));
/// # Ok::<(), bitsort::bloom::BuildError>(())
/// ```
pub type BlockedBloomFilter<S = Memory> = Filter<Blocked, S>;

/// A filter of counters, from which keys can be removed.
///
/// It takes as many times the bits of a [`BloomFilter`] as a counter has; the default is 4. See
/// [`remove`](CountingBloomFilter::remove) for the keys that may be removed.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::CountingBloomFilter;
///
/// let mut open = CountingBloomFilter::new(1000, 0.01)?;
/// open.extend(["fox", "dog", "fox"]);
/// assert_eq!((open.count("fox"), open.count("dog"), open.count("cat")), (2, 1, 0));
/// # Ok::<(), bitsort::bloom::BuildError>(())
/// ```
pub type CountingBloomFilter<S = Memory> = Filter<Counting, S>;

/// The number of keys and the rate that a filter was made for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// Number of different keys.
    pub keys: u64,
    /// Rate of false positives with all these keys inserted.
    pub rate: f64,
}

impl<D: Design> Filter<D> {
    /// A filter for `keys` keys. With all of them inserted, `rate` is the share of other keys to
    /// which it answers yes.
    ///
    /// # Errors
    ///
    /// If `keys` is 0, `rate` not between 0 and 1, or there is too little memory.
    pub fn new(keys: u64, rate: f64) -> Result<Self, BuildError> {
        Self::builder().keys(keys).rate(rate).build()
    }

    /// A filter of `bits` bits, or counters, with `hashes` hash functions.
    ///
    /// # Errors
    ///
    /// If either is 0 or too large, or there is too little memory.
    pub fn with_bits(bits: u64, hashes: u32) -> Result<Self, BuildError> {
        Self::builder().bits(bits).hashes(hashes).build()
    }

    /// A filter of `bits_per_key` bits, or counters, for each of `keys` keys,
    /// with the best number of hash functions.
    ///
    /// # Errors
    ///
    /// If either is not above 0, or there is too little memory.
    pub fn with_bits_per_key(keys: u64, bits_per_key: f64) -> Result<Self, BuildError> {
        Self::builder().keys(keys).bits_per_key(bits_per_key).build()
    }

    /// A builder, for all that the other constructors cannot set: seed, number of hash functions,
    /// size of counters.
    pub fn builder() -> Builder<D> {
        Builder::new()
    }

    /// Removes all keys. O(words).
    pub fn clear(&mut self) {
        self.words.words_mut().fill(0);
        self.key_count = 0;
    }
}

impl<D: Design, S: Storage> Filter<D, S> {
    pub(super) fn from_parts(spec: Spec, words: S, key_count: u64, goal: Option<Goal>) -> Self {
        Self { spec, words, key_count, goal, design: PhantomData }
    }

    /// Whether `key` may be in the filter; `false` is certain. O(hashes).
    #[must_use]
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        // Of lost bytes nobody knows which bits were set.
        D::contains(&self.spec, self.words.words(), self.spec.scheme.hash(key))
            || self.words.is_lost()
    }

    /// Asks for all `keys`; `found` gets an answer for each, in their order.
    ///
    /// It looks for many keys side by side, so that their cache misses overlap. In filters larger
    /// than the caches, this is at least twice as fast as [`contains`](Self::contains) for each
    /// key. In a standard filter that fits in the cache, it is slower for keys that are in the
    /// filter.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::BloomFilter;
    ///
    /// let mut seen = BloomFilter::new(1000, 0.01)?;
    /// seen.insert("fox");
    /// let mut found = Vec::new();
    /// seen.contains_many(&["dog", "fox"], &mut found);
    /// assert_eq!(found, [false, true]);
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    pub fn contains_many<K: Key>(&self, keys: &[K], found: &mut Vec<bool>) {
        found.clear();
        found.resize(keys.len(), false);
        let words = self.words.words();
        let mut hashes = [Hash([0; 2]); GROUP];
        for (keys, found) in keys.chunks(GROUP).zip(found.chunks_mut(GROUP)) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.spec.scheme.hash(key);
            }
            D::contains_group(&self.spec, words, &hashes, found);
        }
        if self.words.is_lost() {
            found.fill(true);
        }
    }

    /// Number of bits, or of counters: m.
    #[must_use]
    pub fn cells(&self) -> u64 {
        self.spec.cells
    }

    /// Bits of a cell: 1, or those of a counter.
    #[must_use]
    pub fn cell_bits(&self) -> u32 {
        self.spec.cell_bits
    }

    /// Number of hash functions: k.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.spec.hashes
    }

    /// How the cells of a key are chosen, with the seed.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.spec.scheme
    }

    /// Number and size of the cells, number of hash functions, and scheme: these must be the same
    /// in two filters that are joined.
    #[must_use]
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// The number of keys and the rate that the filter was made for, if they are known.
    #[must_use]
    pub fn goal(&self) -> Option<Goal> {
        self.goal
    }

    /// Bytes of the bits or counters.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        size_of_val(self.words.words()) as u64
    }

    /// Number of keys that were new when they were inserted. After a union it is an upper bound.
    /// For a file of Guava or Spark, and for keys inserted through [`share`](Self::share), as
    /// `bitset bloom build` and `add` do, it is an estimate.
    /// [`estimated_keys`](Self::estimated_keys) computes an estimate from the present bits.
    #[must_use]
    pub fn key_count(&self) -> u64 {
        self.key_count
    }

    /// The words of the bits or counters.
    #[must_use]
    pub fn as_words(&self) -> &[u64] {
        self.words.words()
    }

    /// Number of cells that are not 0. O(words).
    #[must_use]
    pub fn ones(&self) -> u64 {
        D::ones(&self.spec, self.words.words())
    }

    /// Share of the cells that are not 0. O(words).
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        real(self.ones()) / real(self.spec.cells)
    }

    /// Estimates the number of different keys from the share of set bits. Infinite if all are set.
    /// O(words).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::BloomFilter;
    ///
    /// let mut filter = BloomFilter::new(100_000, 0.01)?;
    /// (0..50_000_u64).for_each(|id| _ = filter.insert(&id));
    /// assert!((filter.estimated_keys() / 50_000.0 - 1.0).abs() < 0.01);
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    #[must_use]
    pub fn estimated_keys(&self) -> f64 {
        D::keys(&self.spec, self.ones())
    }

    /// The rate of false positives to expect with the present bits. O(words).
    #[must_use]
    pub fn expected_rate(&self) -> f64 {
        D::rate(&self.spec, self.words.words())
    }

    /// The rate of false positives with `keys` keys, in theory; see [`params`](super::params).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::BloomFilter;
    ///
    /// let filter = BloomFilter::new(1000, 0.01)?;
    /// let rates = [1000, 2000].map(|keys| format!("{:.3}", filter.rate_with(keys)));
    /// assert_eq!(rates, ["0.010", "0.157"]);
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    #[must_use]
    pub fn rate_with(&self, keys: u64) -> f64 {
        D::rate_with(&self.spec, keys)
    }

    /// A copy in memory, which can be changed.
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    pub fn to_memory(&self) -> Result<Filter<D>, BuildError> {
        let words = Memory::copy_of(self.words.words())?;
        Ok(Filter::from_parts(self.spec, words, self.key_count, self.goal))
    }
}

impl<D: Design> Filter<D> {
    /// A copy of the filter. There is no `Clone`: a copy of a large filter may not fit in
    /// memory. O(words).
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::BloomFilter;
    ///
    /// let seen = BloomFilter::new(1000, 0.01)?;
    /// let mut more = seen.try_clone()?;
    /// more.insert("fox");
    /// assert!(more.contains("fox") && !seen.contains("fox"));
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    pub fn try_clone(&self) -> Result<Self, BuildError> {
        self.to_memory()
    }

    /// The same filter, as a filter that was opened.
    pub(super) fn into_opened(self) -> Filter<D, Opened> {
        let Self { spec, words, key_count, goal, .. } = self;
        Filter::from_parts(spec, words.into(), key_count, goal)
    }

    /// The sum may not overflow: a file can claim any number of keys.
    #[inline]
    pub(super) fn add_count(&mut self, new: u64) {
        self.key_count = self.key_count.saturating_add(new);
    }

    /// Adds `key`; gives whether it is new, that is, whether one of its bits or counters was 0.
    /// O(hashes).
    ///
    /// A counter that has reached its largest number never changes again, because nobody knows how
    /// often it was raised.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let new = D::insert(&self.spec, self.words.words_mut(), self.spec.scheme.hash(key));
        self.add_count(u64::from(new));
        new
    }

    /// Adds all `keys`; gives how many were new. Their cache misses overlap as in
    /// [`contains_many`](Self::contains_many).
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        if size_of_val(self.words.words()) < D::PREFETCHED_BYTES {
            return keys.iter().map(|key| u64::from(self.insert(key))).sum();
        }
        let mut new = 0;
        let words = self.words.words_mut();
        self.spec.scheme.hash_ahead(keys, |prefetch, hash| {
            if prefetch {
                D::prefetch(&self.spec, words, hash);
            } else {
                new += u64::from(D::insert(&self.spec, words, hash));
            }
        });
        self.add_count(new);
        new
    }

    /// Adds all `keys` as [`insert_many`](Self::insert_many) does. `new` gets an answer for each
    /// key, in their order: whether it was new after all keys before it were added.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::BloomFilter;
    ///
    /// let mut seen = BloomFilter::new(1000, 0.001)?;
    /// let mut new = Vec::new();
    /// seen.insert_each(&["fox", "dog", "fox"], &mut new);
    /// assert_eq!(new, [true, true, false]);
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    pub fn insert_each<K: Key>(&mut self, keys: &[K], new: &mut Vec<bool>) -> u64 {
        new.clear();
        let words = self.words.words_mut();
        self.spec.scheme.hash_ahead(keys, |prefetch, hash| {
            if prefetch {
                D::prefetch(&self.spec, words, hash);
            } else {
                new.push(D::insert(&self.spec, words, hash));
            }
        });
        let count = new.iter().map(|new| u64::from(*new)).sum();
        self.add_count(count);
        count
    }
}

impl<D: Design, K: Key> Extend<K> for Filter<D> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(&key);
        }
    }
}

/// Two filters are equal if they answer alike now and after any further insertions. Their goals and
/// their counts of keys are not compared.
impl<D: Design, S: Storage, T: Storage> PartialEq<Filter<D, T>> for Filter<D, S> {
    fn eq(&self, other: &Filter<D, T>) -> bool {
        self.spec == other.spec && self.words.words() == other.words.words()
    }
}

impl<D: Design, S> fmt::Debug for Filter<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter")
            .field("design", &D::NAME)
            .field("spec", &self.spec)
            .field("key_count", &self.key_count)
            .field("goal", &self.goal)
            .finish_non_exhaustive()
    }
}
