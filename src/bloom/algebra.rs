//! Union and intersection of two filters, and estimates of how many keys they have.

use super::counting::zip_counters;
use super::design::{Design, Plain, Spec};
use super::filter::{CountingBloomFilter, Filter};
use super::memory::Storage;
use super::scheme::Scheme;
use crate::error::Error;

/// Why two filters cannot be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// They have different numbers of bits or counters.
    #[error("filters of {0} and {1} bits or counters cannot be joined")]
    Cells(u64, u64),
    /// They have different numbers of hash functions.
    #[error("filters with {0} and {1} hash functions cannot be joined")]
    Hashes(u32, u32),
    /// Their counters have different sizes.
    #[error("filters with counters of {0} and {1} bits cannot be joined")]
    CellBits(u32, u32),
    /// They have different hash functions.
    #[error("filters with the hash functions {0} and {1} cannot be joined")]
    Scheme(Scheme, Scheme),
    /// Their hash functions have different seeds.
    #[error("filters with the seeds {0} and {1} cannot be joined")]
    Seed(u64, u64),
    /// They have different designs.
    #[error("a {0} filter and a {1} one cannot be joined")]
    Design(&'static str, &'static str),
}

impl From<Mismatch> for Error {
    fn from(mismatch: Mismatch) -> Self {
        Self::usage(mismatch.to_string())
    }
}

impl Spec {
    /// Checks that two filters of these parameters can be joined.
    ///
    /// # Errors
    ///
    /// The first difference.
    pub fn matches(&self, other: &Self) -> Result<(), Mismatch> {
        let (ours, theirs) = (self.scheme, other.scheme);
        if ours.name() != theirs.name() {
            return Err(Mismatch::Scheme(ours, theirs));
        }
        if ours.seed() != theirs.seed() {
            return Err(Mismatch::Seed(ours.seed(), theirs.seed()));
        }
        if self.cells != other.cells {
            return Err(Mismatch::Cells(self.cells, other.cells));
        }
        if self.hashes != other.hashes {
            return Err(Mismatch::Hashes(self.hashes, other.hashes));
        }
        if self.cell_bits != other.cell_bits {
            return Err(Mismatch::CellBits(self.cell_bits, other.cell_bits));
        }
        Ok(())
    }
}

impl<D: Design> Filter<D> {
    /// Calls `change` with every word, and the word of `other` at the same place.
    fn zip_assign<S: Storage>(
        &mut self,
        other: &Filter<D, S>,
        change: impl Fn(u64, u64) -> u64,
    ) -> Result<(), Mismatch> {
        self.spec.matches(&other.spec)?;
        for (ours, theirs) in self.words.words_mut().iter_mut().zip(other.words.words()) {
            *ours = change(*ours, *theirs);
        }
        Ok(())
    }
}

impl<D: Plain> Filter<D> {
    /// Adds all keys of `other`. The result has the same bits as a filter into which the keys of
    /// both were inserted. O(words).
    ///
    /// # Errors
    ///
    /// If size, number of hash functions, hash function or seed differ. The filter does not change
    /// then.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::{BloomFilter, Mismatch};
    ///
    /// let mut a = BloomFilter::with_bits(1000, 3)?;
    /// let mut b = BloomFilter::with_bits(1000, 3)?;
    /// a.insert("fox");
    /// b.insert("dog");
    /// a.union_assign(&b)?;
    /// assert!(a.contains("fox") && a.contains("dog"));
    /// let other = BloomFilter::with_bits(999, 3)?;
    /// assert_eq!(a.union_assign(&other), Err(Mismatch::Cells(1000, 999)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn union_assign<S: Storage>(&mut self, other: &Filter<D, S>) -> Result<(), Mismatch> {
        self.zip_assign(other, |ours, theirs| ours | theirs)?;
        self.add_count(other.key_count);
        Ok(())
    }

    /// Keeps the keys that `other` has too, and maybe some others: a key of one filter may have all
    /// its bits set in the other. O(words).
    ///
    /// # Errors
    ///
    /// As for [`union_assign`](Self::union_assign).
    pub fn intersection_assign<S: Storage>(
        &mut self,
        other: &Filter<D, S>,
    ) -> Result<(), Mismatch> {
        self.zip_assign(other, |ours, theirs| ours & theirs)?;
        self.key_count = self.key_count.min(other.key_count);
        Ok(())
    }
}

impl<D: Plain, S: Storage> Filter<D, S> {
    /// Estimates the number of different keys in either filter from the bits that are set in
    /// either. Changes and copies nothing. O(words).
    ///
    /// # Errors
    ///
    /// As for [`union_assign`](Filter::union_assign).
    ///
    /// # Source
    ///
    /// Swamidass and Baldi 2007, see [`params`](super::params).
    pub fn estimated_union_keys<T: Storage>(&self, other: &Filter<D, T>) -> Result<f64, Mismatch> {
        self.spec.matches(&other.spec)?;
        let pairs = self.words.words().iter().zip(other.words.words());
        let ones = pairs.map(|(ours, theirs)| u64::from((ours | theirs).count_ones())).sum();
        Ok(D::keys(&self.spec, ones))
    }

    /// Estimates the number of different keys in both filters: the keys of each, minus those of the
    /// union, at least 0. If all bits of the union are set, it tells nothing: the answer is the smaller of the
    /// two estimates. If large filters share few keys, the error of these three estimates is
    /// larger than the result. O(words).
    ///
    /// # Errors
    ///
    /// As for [`union_assign`](Filter::union_assign).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::BloomFilter;
    ///
    /// let mut a = BloomFilter::new(100_000, 0.01)?;
    /// let mut b = BloomFilter::new(100_000, 0.01)?;
    /// a.extend(0..60_000_u64);
    /// b.extend(40_000..100_000_u64);
    /// assert!((a.estimated_union_keys(&b)? / 100_000.0 - 1.0).abs() < 0.02);
    /// assert!((a.estimated_intersection_keys(&b)? / 20_000.0 - 1.0).abs() < 0.1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Source
    ///
    /// Inclusion and exclusion, as in Swamidass and Baldi 2007.
    pub fn estimated_intersection_keys<T: Storage>(
        &self,
        other: &Filter<D, T>,
    ) -> Result<f64, Mismatch> {
        let union = self.estimated_union_keys(other)?;
        let (ours, theirs) = (self.estimated_keys(), other.estimated_keys());
        if union.is_infinite() {
            return Ok(ours.min(theirs));
        }
        Ok((ours + theirs - union).max(0.0))
    }
}

impl CountingBloomFilter {
    /// Adds all keys of `other`, as often as they are in it: it adds the counters, up to their
    /// largest number. O(counters).
    ///
    /// # Errors
    ///
    /// If size, number of hash functions, size of counters, hash function or seed differ. The
    /// filter does not change then.
    pub fn union_assign<S: Storage>(
        &mut self,
        other: &CountingBloomFilter<S>,
    ) -> Result<(), Mismatch> {
        let cell_bits = self.spec.cell_bits;
        self.zip_assign(other, |ours, theirs| {
            zip_counters(cell_bits, ours, theirs, |ours, theirs, largest| {
                largest.min(ours + theirs)
            })
        })?;
        self.add_count(other.key_count);
        Ok(())
    }

    /// Keeps the keys that `other` has too, and maybe some others: it keeps the smaller of two
    /// counters. O(counters).
    ///
    /// # Errors
    ///
    /// As for [`union_assign`](Self::union_assign).
    pub fn intersection_assign<S: Storage>(
        &mut self,
        other: &CountingBloomFilter<S>,
    ) -> Result<(), Mismatch> {
        let cell_bits = self.spec.cell_bits;
        self.zip_assign(other, |ours, theirs| {
            zip_counters(cell_bits, ours, theirs, |ours, theirs, _| ours.min(theirs))
        })?;
        self.key_count = self.key_count.min(other.key_count);
        Ok(())
    }
}
