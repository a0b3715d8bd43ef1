//! Measures the rate of false positives.

use super::design::Design;
use super::filter::Filter;
use super::memory::Storage;
use super::params::real;

/// The answers to probes with keys that are not in the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredRate {
    /// Number of keys that were asked for.
    pub probes: u64,
    /// Number of answers that were yes.
    pub false_positives: u64,
}

/// The confidence of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confidence {
    /// 95 %.
    Percent95,
    /// 99 %.
    Percent99,
}

impl Confidence {
    /// The quantile of the normal distribution.
    const fn quantile(self) -> f64 {
        match self {
            Self::Percent95 => 1.959_963_984_540_054,
            Self::Percent99 => 2.575_829_303_548_901,
        }
    }
}

impl MeasuredRate {
    /// Share of false positives; not a number without probes.
    #[must_use]
    pub fn rate(&self) -> f64 {
        real(self.false_positives) / real(self.probes)
    }

    /// The interval that has the true rate, with this confidence.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::{Confidence, MeasuredRate};
    ///
    /// let measured = MeasuredRate { probes: 1000, false_positives: 10 };
    /// let (low, high) = measured.interval(Confidence::Percent95);
    /// assert_eq!(format!("{low:.4} {high:.4}"), "0.0054 0.0183");
    /// ```
    ///
    /// # Source
    ///
    /// Wilson, *Probable Inference, the Law of Succession, and Statistical
    /// Inference* (1927).
    #[must_use]
    pub fn interval(&self, confidence: Confidence) -> (f64, f64) {
        if self.probes == 0 {
            return (0.0, 1.0);
        }
        let (n, p) = (real(self.probes), self.rate());
        let z2 = confidence.quantile() * confidence.quantile();
        let centre = p + z2 / (2.0 * n);
        let spread = confidence.quantile() * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
        let shrink = 1.0 + z2 / n;
        (((centre - spread) / shrink).max(0.0), ((centre + spread) / shrink).min(1.0))
    }
}

/// Keys that are asked for at a time.
const BATCH: u64 = 4096;

impl<D: Design, S: Storage> Filter<D, S> {
    /// The spread of the rates of filters like this one with `keys` keys, divided by
    /// [`rate_with`](Filter::rate_with): the standard deviation; see [`params`](super::params).
    #[must_use]
    pub fn rate_deviation(&self, keys: u64) -> f64 {
        D::rate_deviation(&self.spec(), keys)
    }

    /// Asks for `probes` random keys of 16 bytes and counts the answers that are yes. It is
    /// practically impossible that one of these keys was inserted, unless somebody inserted the
    /// keys of the same `seed`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::bloom::{BloomFilter, Confidence};
    ///
    /// let mut filter = BloomFilter::new(10_000, 0.05)?;
    /// filter.extend(0..10_000_u64);
    /// let (low, high) = filter.measured_rate(100_000, 1).interval(Confidence::Percent99);
    /// assert!(low < 0.05 && 0.05 < high);
    /// # Ok::<(), bitsort::bloom::BuildError>(())
    /// ```
    #[must_use]
    pub fn measured_rate(&self, probes: u64, seed: u64) -> MeasuredRate {
        let mut random = SplitMix(seed);
        let (mut keys, mut found) = (Vec::new(), Vec::new());
        let mut false_positives = 0;
        let mut left = probes;
        while left > 0 {
            let batch = left.min(BATCH);
            keys.clear();
            keys.extend((0..batch).map(|_| {
                let key = [random.next(), random.next()];
                bytemuck::cast::<[u64; 2], [u8; 16]>(key)
            }));
            self.contains_many(&keys, &mut found);
            false_positives += found.iter().map(|found| u64::from(*found)).sum::<u64>();
            left -= batch;
        }
        MeasuredRate { probes, false_positives }
    }
}

/// The generator of Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators* (2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::super::design::{Blocked, Plain, Standard};
    use super::*;

    #[test]
    fn rates_are_as_far_apart_as_the_formulas_say() {
        fn check<D: Plain>() {
            const FILTERS: u32 = if cfg!(miri) { 2 } else { 400 };
            const KEYS: u64 = 1000;
            let rates = (0..FILTERS).map(|seed| {
                let builder = Filter::<D>::builder().keys(KEYS).rate(0.01).seed(seed.into());
                let mut filter = builder.build().unwrap();
                filter.extend(0..KEYS);
                (filter.expected_rate(), filter.rate_deviation(KEYS))
            });
            let (rates, said): (Vec<f64>, Vec<f64>) = rates.unzip();
            let mean = rates.iter().sum::<f64>() / f64::from(FILTERS);
            let squares = rates.iter().map(|rate| (rate / mean - 1.0).powi(2)).sum::<f64>();
            let deviation = (squares / f64::from(FILTERS)).sqrt();
            // The deviation of so many is known within 3.5 %.
            assert!(
                cfg!(miri) || (deviation / said[0] - 1.0).abs() < 0.15,
                "{deviation} {}",
                said[0]
            );
        }
        check::<Standard>();
        check::<Blocked>();
    }
}
