//! A filter of any design.

use super::algebra::Mismatch;
use super::build_error::BuildError;
use super::design::{Blocked, Counting, Design, Spec, Standard};
use super::filter::{BlockedBloomFilter, BloomFilter, CountingBloomFilter, Goal};
use super::key::Key;
use super::memory::{Memory, Opened, Storage};
use super::rate::MeasuredRate;
use crate::error::Result;
use std::io;
use std::path::Path;

/// A filter of one of the three designs. Files of filters give it.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::{AnyFilter, BlockedBloomFilter, BloomFilter, Mismatch};
///
/// let mut seen = AnyFilter::Standard(BloomFilter::new(1000, 0.01)?);
/// assert!(seen.insert("fox") && seen.contains("fox"));
/// assert_eq!(seen.design(), "standard");
/// let other = AnyFilter::Blocked(BlockedBloomFilter::new(1000, 0.01)?);
/// assert_eq!(seen.union_assign(&other), Err(Mismatch::Design("standard", "blocked")));
/// # Ok::<(), bitsort::bloom::BuildError>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyFilter<S = Memory> {
    /// The bits of a key are anywhere.
    Standard(BloomFilter<S>),
    /// The bits of a key are in one cache line.
    Blocked(BlockedBloomFilter<S>),
    /// Counters instead of bits.
    Counting(CountingBloomFilter<S>),
}

/// Evaluates an expression with the filter inside.
macro_rules! with {
    ($any:expr, $filter:ident => $body:expr) => {
        match $any {
            AnyFilter::Standard($filter) => $body,
            AnyFilter::Blocked($filter) => $body,
            AnyFilter::Counting($filter) => $body,
        }
    };
}

impl<S: Storage> AnyFilter<S> {
    /// The name of the design.
    #[must_use]
    pub fn design(&self) -> &'static str {
        match self {
            Self::Standard(_) => Standard::NAME,
            Self::Blocked(_) => Blocked::NAME,
            Self::Counting(_) => Counting::NAME,
        }
    }

    /// Whether `key` may be in the filter; `false` is certain.
    #[must_use]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        with!(self, filter => filter.contains(key))
    }

    /// Asks for all `keys`; `found` gets an answer for each. See
    /// [`Filter::contains_many`](super::Filter::contains_many).
    pub fn contains_many<K: Key>(&self, keys: &[K], found: &mut Vec<bool>) {
        with!(self, filter => filter.contains_many(keys, found));
    }

    /// Size, number of hash functions, hash function and seed.
    #[must_use]
    pub fn spec(&self) -> Spec {
        with!(self, filter => filter.spec())
    }

    /// The number of keys and the rate that the filter was made for, if they are known.
    #[must_use]
    pub fn goal(&self) -> Option<Goal> {
        with!(self, filter => filter.goal())
    }

    /// Bytes of the bits or counters.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        with!(self, filter => filter.size_bytes())
    }

    /// Number of keys that were new when they were inserted; after a union, an upper bound; for a
    /// file of Guava or Spark, an estimate.
    #[must_use]
    pub fn key_count(&self) -> u64 {
        with!(self, filter => filter.key_count())
    }

    /// Share of the cells that are not 0. O(words).
    #[must_use]
    pub fn fill_ratio(&self) -> f64 {
        with!(self, filter => filter.fill_ratio())
    }

    /// Estimates the number of different keys from the share of set bits. O(words).
    #[must_use]
    pub fn estimated_keys(&self) -> f64 {
        with!(self, filter => filter.estimated_keys())
    }

    /// The rate of false positives to expect with the present bits. O(words).
    #[must_use]
    pub fn expected_rate(&self) -> f64 {
        with!(self, filter => filter.expected_rate())
    }

    /// The same if it had so many keys.
    #[cfg(feature = "cli")]
    pub(crate) fn rate_with(&self, keys: u64) -> f64 {
        with!(self, filter => filter.rate_with(keys))
    }

    /// The spread of the rates of filters like this one with `keys` keys, relative to the rate. See
    /// [`Filter::rate_deviation`](super::Filter::rate_deviation).
    #[must_use]
    pub fn rate_deviation(&self, keys: u64) -> f64 {
        with!(self, filter => filter.rate_deviation(keys))
    }

    /// The rate of false positives among random keys. See
    /// [`Filter::measured_rate`](super::Filter::measured_rate).
    #[must_use]
    pub fn measured_rate(&self, probes: u64, seed: u64) -> MeasuredRate {
        with!(self, filter => filter.measured_rate(probes, seed))
    }

    /// Writes a `.bloom` file, whole or not at all.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        with!(self, filter => filter.save(path))
    }

    /// Writes the bytes of a `.bloom` file.
    ///
    /// # Errors
    ///
    /// If `out` refuses them.
    pub fn write_to(&self, out: impl io::Write) -> io::Result<()> {
        with!(self, filter => filter.write_to(out))
    }

    /// A copy in memory, which can be changed.
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    pub fn to_memory(&self) -> Result<AnyFilter, BuildError> {
        Ok(match self {
            Self::Standard(filter) => AnyFilter::Standard(filter.to_memory()?),
            Self::Blocked(filter) => AnyFilter::Blocked(filter.to_memory()?),
            Self::Counting(filter) => AnyFilter::Counting(filter.to_memory()?),
        })
    }
}

impl AnyFilter {
    /// A copy of the filter. O(words).
    ///
    /// # Errors
    ///
    /// If there is too little memory.
    pub fn try_clone(&self) -> Result<Self, BuildError> {
        self.to_memory()
    }

    /// The same filter, as a filter that was opened.
    pub(super) fn into_opened(self) -> AnyFilter<Opened> {
        match self {
            Self::Standard(filter) => AnyFilter::Standard(filter.into_opened()),
            Self::Blocked(filter) => AnyFilter::Blocked(filter.into_opened()),
            Self::Counting(filter) => AnyFilter::Counting(filter.into_opened()),
        }
    }

    /// Adds `key`; gives whether it is new.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        with!(self, filter => filter.insert(key))
    }

    /// Adds all `keys`; gives how many were new.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> u64 {
        with!(self, filter => filter.insert_many(keys))
    }

    /// The same, but also gives whether each key was new. See
    /// [`Filter::insert_each`](super::Filter::insert_each).
    pub fn insert_each<K: Key>(&mut self, keys: &[K], new: &mut Vec<bool>) -> u64 {
        with!(self, filter => filter.insert_each(keys, new))
    }

    /// Adds all keys of `other`.
    ///
    /// # Errors
    ///
    /// If the filters differ in more than their keys.
    pub fn union_assign<S: Storage>(&mut self, other: &AnyFilter<S>) -> Result<(), Mismatch> {
        match (self, other) {
            (Self::Standard(ours), AnyFilter::Standard(theirs)) => ours.union_assign(theirs),
            (Self::Blocked(ours), AnyFilter::Blocked(theirs)) => ours.union_assign(theirs),
            (Self::Counting(ours), AnyFilter::Counting(theirs)) => ours.union_assign(theirs),
            (ours, theirs) => Err(Mismatch::Design(ours.design(), theirs.design())),
        }
    }

    /// Keeps the keys that `other` has too, and maybe some others.
    ///
    /// # Errors
    ///
    /// If the filters differ in more than their keys.
    pub fn intersection_assign<S: Storage>(
        &mut self,
        other: &AnyFilter<S>,
    ) -> Result<(), Mismatch> {
        match (self, other) {
            (Self::Standard(ours), AnyFilter::Standard(theirs)) => ours.intersection_assign(theirs),
            (Self::Blocked(ours), AnyFilter::Blocked(theirs)) => ours.intersection_assign(theirs),
            (Self::Counting(ours), AnyFilter::Counting(theirs)) => ours.intersection_assign(theirs),
            (ours, theirs) => Err(Mismatch::Design(ours.design(), theirs.design())),
        }
    }
}
