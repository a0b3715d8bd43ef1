//! Computes the size of a filter from the number of its keys and the rate.

use super::build_error::{BuildError, check_rate};
use super::design::{Design, Layout, Spec, Standard};
use super::filter::{Filter, Goal};
use super::memory::Memory;
use super::params::{BLOCK_BITS, MAX_HASHES, real, whole};
use super::scheme::Scheme;
use std::marker::PhantomData;

/// Collects the parameters of a filter; [`build`](Self::build) makes it.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::{BlockedBloomFilter, BloomFilter, BuildError, CountingBloomFilter};
///
/// let by_rate = BloomFilter::builder().keys(1_000_000).rate(0.01).build()?;
/// assert_eq!((by_rate.cells(), by_rate.hashes()), (9_592_955, 7));
/// let by_size = BloomFilter::builder().bits(1 << 20).hashes(5).seed(42).build()?;
/// assert_eq!(by_size.size_bytes(), 1 << 17);
/// let by_key = BlockedBloomFilter::builder().keys(1000).bits_per_key(12.0).build()?;
/// assert_eq!(by_key.cells(), 24 * 512);
/// let small = CountingBloomFilter::builder().keys(1000).rate(0.02).counter_bits(2).build()?;
/// assert_eq!(small.cell_bits(), 2);
/// assert_eq!(BloomFilter::builder().keys(0).rate(0.01).build().err(), Some(BuildError::NoKeys));
/// # Ok::<(), BuildError>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing is made before `build`"]
pub struct Builder<D> {
    keys: Option<u64>,
    rate: Option<f64>,
    bits: Option<u64>,
    bits_per_key: Option<f64>,
    hashes: Option<u32>,
    counter_bits: Option<u32>,
    scheme: Scheme,
    design: PhantomData<D>,
}

// A derived `Clone` would demand that the design can be copied.
impl<D> Clone for Builder<D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<D> Copy for Builder<D> {}

impl<D: Design> Builder<D> {
    pub(super) fn new() -> Self {
        Self {
            keys: None,
            rate: None,
            bits: None,
            bits_per_key: None,
            hashes: None,
            counter_bits: None,
            scheme: Scheme::default(),
            design: PhantomData,
        }
    }

    /// The number of different keys that are expected.
    pub fn keys(mut self, keys: u64) -> Self {
        self.keys = Some(keys);
        self
    }

    /// The rate of false positives with all these keys inserted.
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// The size in bits, or in counters. Blocked filters take the next multiple
    /// of 512.
    pub fn bits(mut self, bits: u64) -> Self {
        self.bits = Some(bits);
        self
    }

    /// The size in bits, or in counters, for each of the expected keys.
    pub fn bits_per_key(mut self, bits: f64) -> Self {
        self.bits_per_key = Some(bits);
        self
    }

    /// The number of hash functions; the default is the best one.
    pub fn hashes(mut self, hashes: u32) -> Self {
        self.hashes = Some(hashes);
        self
    }

    /// Bits of a counter in a counting filter: 2, 4 or 8; the default is 4. Other designs have no
    /// counters.
    pub fn counter_bits(mut self, bits: u32) -> Self {
        self.counter_bits = Some(bits);
        self
    }

    /// The seed of the hash function; the default is 0.
    pub fn seed(self, seed: u64) -> Self {
        self.scheme(Scheme::Xxh3 { seed })
    }

    /// How the cells of a key are chosen.
    pub fn scheme(mut self, scheme: Scheme) -> Self {
        self.scheme = scheme;
        self
    }

    pub(crate) fn expected_keys(&self) -> Option<u64> {
        self.keys
    }

    pub(super) fn wanted_rate(&self) -> Option<f64> {
        self.rate
    }

    /// Makes the filter.
    ///
    /// # Errors
    ///
    /// If the values contradict each other, do not suffice or are out of range, or if there is too
    /// little memory.
    pub fn build(self) -> Result<Filter<D>, BuildError> {
        let spec = self.spec()?;
        let filter = self.layer(spec)?;
        self.check_collisions(spec)?;
        Ok(filter)
    }

    /// Refuses a rate that is lower than hashes of the expected keys allow. The size follows from a
    /// formula that knows nothing of keys with the same hash.
    pub(crate) fn check_collisions(&self, spec: Spec) -> Result<(), BuildError> {
        match (self.keys, self.rate) {
            (Some(keys), Some(rate)) if spec.with_collisions(0.0, real(keys)) > rate => {
                Err(BuildError::Collisions { keys, rate })
            }
            _ => Ok(()),
        }
    }

    /// A filter of this kind, whose rate may be lower than its hashes allow.
    pub(super) fn layer(&self, spec: Spec) -> Result<Filter<D>, BuildError> {
        let words = Memory::zeroed(spec.words().ok_or(BuildError::TooLarge)?)?;
        let goal = self.keys.map(|keys| {
            let rate = self.rate.unwrap_or_else(|| D::rate_with(&spec, keys));
            // With very many or very few bits for each key, rounding gives a rate of 0 or 1.
            let rate = rate.clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
            Goal { keys, rate }
        });
        Ok(Filter::from_parts(spec, words, 0, goal))
    }

    /// The filter that [`build`](Self::build) would make: its size and its
    /// number of hash functions.
    ///
    /// # Errors
    ///
    /// As for `build`, except for too little memory, and for a rate that hashes do not allow.
    pub fn spec(&self) -> Result<Spec, BuildError> {
        self.check()?;
        let keys = || self.keys.ok_or(BuildError::Incomplete);
        let given = [self.rate.is_some(), self.bits.is_some(), self.bits_per_key.is_some()];
        if given.into_iter().filter(|given| *given).count() > 1 {
            return Err(BuildError::Contradiction);
        }
        let cells = if let Some(rate) = self.rate {
            // The formulas are for many keys: at a rate of 1 %, a filter of 29 bits for three keys
            // would really have a rate of 3.5 %.
            D::cells_for_rate(keys()?, rate, self.hashes).max(BLOCK_BITS)
        } else if let Some(bits_per_key) = self.bits_per_key {
            whole(real(keys()?) * bits_per_key)
        } else {
            self.bits.ok_or(BuildError::Incomplete)?
        };
        // A number that is too large became the largest one.
        let cells = Some(cells).filter(|cells| *cells < u64::MAX).and_then(D::round);
        let cells = cells.ok_or(BuildError::TooLarge)?;
        let hashes = match (self.hashes, self.rate.and_then(D::hashes_for_rate)) {
            (Some(hashes), _) | (None, Some(hashes)) => hashes,
            (None, None) => D::best_hashes(cells, keys()?),
        };
        let cell_bits = self.counter_bits.unwrap_or(D::CELL_BITS);
        let spec = Spec::new(cells, hashes, cell_bits, self.scheme);
        spec.words().map(|_| spec).ok_or(BuildError::TooLarge)
    }

    fn check(&self) -> Result<(), BuildError> {
        if self.keys == Some(0) {
            return Err(BuildError::NoKeys);
        }
        self.rate.map_or(Ok(()), check_rate)?;
        if let Some(bits) = self.bits_per_key.filter(|bits| !(*bits > 0.0 && bits.is_finite())) {
            return Err(BuildError::BitsPerKey(bits));
        }
        if self.bits == Some(0) {
            return Err(BuildError::NoBits);
        }
        if let Some(hashes) = self.hashes.filter(|hashes| !(1..=MAX_HASHES).contains(hashes)) {
            return Err(BuildError::Hashes(hashes));
        }
        let counts = D::CELL_BITS > 1;
        if let Some(bits) = self.counter_bits.filter(|bits| !(counts && [2, 4, 8].contains(bits))) {
            return Err(BuildError::CounterBits(bits));
        }
        if !matches!(self.scheme, Scheme::Xxh3 { .. }) && D::CODE != Standard::CODE {
            return Err(BuildError::Scheme(self.scheme));
        }
        Ok(())
    }
}
