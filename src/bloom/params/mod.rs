//! The mathematics of Bloom filters.
//!
//! Only here, names are those of the literature: `n` keys, `m` bits, `k` hash functions (bits that
//! are tested for a key), `p` rate of false positives, `c = m / n` bits for each key.
//!
//! # Sources
//!
//! - Bloom, *Space/Time Trade-offs in Hash Coding with Allowable Errors*
//!   (CACM 1970).
//! - Broder and Mitzenmacher, *Network Applications of Bloom Filters: A Survey*
//!   (Internet Mathematics 2004): size, best k, estimates from the fill.
//! - Putze, Sanders and Singler, *Cache-, Hash- and Space-Efficient Bloom
//!   Filters* (WEA 2007): blocked filters as a Poisson mixture.
//! - Swamidass and Baldi, *Mathematical Correction for Fingerprint Similarity
//!   Measures* (2007): the number of keys from the number of set bits.

use std::f64::consts::LN_2;

mod blocked;

pub use blocked::{
    bits_per_key_blocked, bits_per_key_blocked_with_hashes, bits_per_key_split_block,
    hashes_blocked, keys_blocked, rate_blocked, rate_deviation_blocked, rate_split_block,
};

/// Bits of a block of a blocked filter: a cache line.
pub const BLOCK_BITS: u64 = 512;
/// Most hash functions of a filter.
pub const MAX_HASHES: u32 = 255;

/// A number as a floating-point one. Above 2^53 its last digits are lost, which does not matter
/// here.
#[expect(clippy::cast_precision_loss, reason = "rates and sizes need no more digits")]
pub(crate) const fn real(number: u64) -> f64 {
    number as f64
}

/// A positive floating-point number, rounded up; at most 2^64 − 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(super) const fn whole(number: f64) -> u64 {
    number.ceil() as u64
}

/// Whether `p` is a rate that a filter can have: more than 0 and less than 1.
pub(crate) fn is_rate(p: f64) -> bool {
    p > 0.0 && p < 1.0
}

/// Bits for `n` keys at a rate of `p` with the best `k`:
/// m = ⌈−n ln p / (ln 2)²⌉.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::params;
///
/// assert_eq!(params::bits(100, 0.01), 959);
/// assert_eq!(params::bits(50_000_000_000, 0.01) / 8_000_000_000, 59); // GB
/// ```
///
/// # Source
///
/// Broder and Mitzenmacher 2004, section 2.
#[must_use]
pub fn bits(n: u64, p: f64) -> u64 {
    whole(real(n) * bits_per_key(p))
}

/// Bits for each key at a rate of `p` with the best `k`: c = −ln p / (ln 2)².
///
/// # Examples
///
/// ```
/// use bitsort::bloom::params;
///
/// assert_eq!(format!("{:.1}", params::bits_per_key(0.01)), "9.6");
/// assert_eq!(format!("{:.1}", params::bits_per_key(0.001)), "14.4");
/// ```
///
/// # Source
///
/// Broder and Mitzenmacher 2004, section 2.
#[must_use]
pub fn bits_per_key(p: f64) -> f64 {
    -p.ln() / (LN_2 * LN_2)
}

/// Bits with which `k` is the best number of hash functions for `n` keys:
/// m = ⌈n k / ln 2⌉.
///
/// # Source
///
/// [`bits`] with p = 2^−k.
#[must_use]
pub fn bits_for_hashes(n: u64, k: u32) -> u64 {
    whole(real(n) * f64::from(k) / LN_2)
}

/// Bits for `n` keys at a rate of `p` with `k` hash functions, best or not:
/// m = ⌈−k n / ln(1 − p^(1/k))⌉.
///
/// # Source
///
/// [`rate_approximate`], solved for m.
#[must_use]
pub fn bits_with_hashes(n: u64, p: f64, k: u32) -> u64 {
    let k = f64::from(k);
    whole(-k * real(n) / (-p.powf(1.0 / k)).ln_1p())
}

/// The best number of hash functions at a rate of `p`: the whole number
/// nearest to −log₂ p, at least 1.
///
/// # Source
///
/// Broder and Mitzenmacher 2004: the best filter is half full, and p = 2^−k.
#[must_use]
pub fn hashes_for_rate(p: f64) -> u32 {
    clamp_hashes((-p.log2()).round())
}

/// The best number of hash functions for `n` keys in `m` bits: of the two whole
/// numbers around (m / n) ln 2 the one with the lower rate, at least 1.
///
/// # Examples
///
/// ```
/// assert_eq!(bitsort::bloom::params::hashes(8_000_000, 1_000_000), 6);
/// ```
///
/// # Source
///
/// Broder and Mitzenmacher 2004, section 2.
#[must_use]
pub fn hashes(m: u64, n: u64) -> u32 {
    let ideal = real(m) / real(n.max(1)) * LN_2;
    let (low, high) = (clamp_hashes(ideal.floor()), clamp_hashes(ideal.ceil()));
    if rate_approximate(m, n, low) <= rate_approximate(m, n, high) { low } else { high }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
fn clamp_hashes(k: f64) -> u32 {
    k.clamp(1.0, f64::from(MAX_HASHES)) as u32
}

/// Share of set bits after `n` keys: 1 − (1 − 1/m)^{kn}.
///
/// # Source
///
/// Broder and Mitzenmacher 2004: throwing kn balls in m bins.
#[must_use]
pub fn fill(m: u64, n: u64, k: u32) -> f64 {
    if n == 0 {
        return 0.0; // of one bit, the logarithm below is infinite
    }
    -(real(n) * f64::from(k) * (-1.0 / real(m)).ln_1p()).exp_m1()
}

/// Rate of false positives of `n` keys in `m` bits:
/// p = (1 − (1 − 1/m)^{kn})^k.
///
/// # Examples
///
/// ```
/// assert_eq!(format!("{:.4}", bitsort::bloom::params::rate(1000, 100, 5)), "0.0094");
/// ```
///
/// # Source
///
/// Bloom 1970, as commonly written.
#[must_use]
pub fn rate(m: u64, n: u64, k: u32) -> f64 {
    power(fill(m, n, k), k)
}

/// [`rate`] for large filters: p ≈ (1 − e^{−kn/m})^k.
///
/// # Source
///
/// Broder and Mitzenmacher 2004, equation 2.
#[must_use]
pub fn rate_approximate(m: u64, n: u64, k: u32) -> f64 {
    power(-(-f64::from(k) * real(n) / real(m)).exp_m1(), k)
}

/// The spread of the rates of filters with the same `m`, `n` and `k`: their standard deviation,
/// divided by [`rate`].
///
/// # Examples
///
/// ```
/// use bitsort::bloom::params;
///
/// // Of filters for 100 keys some have 0.9 % false positives, others 1.1 %.
/// assert_eq!(format!("{:.2}", params::rate_deviation(960, 100, 7)), "0.12");
/// ```
///
/// # Source
///
/// k times that of the number of set bits: the variance of occupied bins as in Johnson
/// and Kotz, *Urn Models* (1977).
#[must_use]
pub fn rate_deviation(m: u64, n: u64, k: u32) -> f64 {
    let balls_a_bin = f64::from(k) * real(n) / real(m);
    let empty = (-balls_a_bin).exp();
    let variance = empty - (1.0 + balls_a_bin) * empty * empty;
    f64::from(k) * (variance.max(0.0) / real(m)).sqrt() / (1.0 - empty).max(f64::MIN_POSITIVE)
}

/// The rate of a filter with this share of its bits set: fill^k.
#[must_use]
pub fn rate_of_fill(fill: f64, k: u32) -> f64 {
    power(fill, k)
}

/// Estimated number of keys in a filter of `m` bits, `ones` of which are set: n* = ln(1 − ones/m) /
/// (k ln(1 − 1/m)), close to −(m/k) ln(1 − ones/m). Infinite if all bits are set.
///
/// # Source
///
/// Swamidass and Baldi 2007; [`fill`], solved for n.
#[must_use]
pub fn keys(m: u64, k: u32, ones: u64) -> f64 {
    if ones == 0 {
        return 0.0; // ln(1 − 1/1) is infinite
    }
    if ones >= m {
        return f64::INFINITY;
    }
    (-real(ones) / real(m)).ln_1p() / (f64::from(k) * (-1.0 / real(m)).ln_1p())
}

fn power(base: f64, k: u32) -> f64 {
    base.powf(f64::from(k))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_keys_set_no_bit() {
        for m in [1, 2, 1000] {
            assert!(
                fill(m, 0, 5).abs() < f64::MIN_POSITIVE && rate(m, 0, 5).abs() < f64::MIN_POSITIVE
            );
        }
    }

    #[test]
    fn a_full_filter_may_have_any_number_of_keys() {
        for (m, k) in [(1, 1), (1, 255), (2, 3), (1 << 40, 7)] {
            assert_eq!((keys(m, k, m), keys(m, k, 0)), (f64::INFINITY, 0.0), "{m} {k}");
        }
    }

    #[test]
    fn the_known_sizes_come_out() {
        assert_eq!(format!("{:.1} {:.1}", bits_per_key(0.01), bits_per_key(0.001)), "9.6 14.4");
        let gigabytes = |p| (real(bits(50_000_000_000, p)) / 8e9).round();
        assert_eq!((gigabytes(0.01), gigabytes(0.001)), (60.0, 90.0));
        assert_eq!(bits_for_hashes(20, 3), 87);
        assert_eq!((hashes(8, 1), hashes_for_rate(0.01), hashes_for_rate(0.001)), (6, 7, 10));
        assert_eq!((hashes_for_rate(0.9), hashes(1, 100)), (1, 1));
        assert!(bits_with_hashes(1000, 0.01, 7).abs_diff(bits(1000, 0.01)) < 10);
        assert!(rate_approximate(bits_with_hashes(1 << 20, 0.01, 3), 1 << 20, 3) <= 0.01);
    }

    #[test]
    fn the_known_table_of_rates_comes_out() {
        let table = [
            (200, "0.3942 0.4704 0.6535"),
            (400, "0.2214 0.1473 0.1855"),
            (600, "0.1536 0.0610 0.0579"),
            (800, "0.1176 0.0306 0.0217"),
            (1000, "0.0952 0.0174 0.0094"),
        ];
        for (m, expected) in table {
            let rates = [1, 3, 5].map(|k| format!("{:.4}", rate(m, 100, k)));
            assert_eq!(rates.join(" "), expected);
        }
    }

    #[test]
    fn numbers_of_keys_are_found_again_from_the_fill() {
        let (m, n, k) = (1 << 20, 100_000, 7);
        let ones = whole(fill(m, n, k) * real(m));
        assert!((keys(m, k, ones) / real(n) - 1.0).abs() < 1e-4);
        assert!((keys(m, k, 0)).abs() < f64::EPSILON && keys(m, k, m).is_infinite());
        assert!((keys_blocked(m, k, ones) / real(n) - 1.0).abs() < 0.02);
    }
}
