//! The mathematics of Bloom filters.
//!
//! Here, and nowhere else, names are those of the literature: `n` keys, `m`
//! bits, `k` hash functions (bits that are looked at for a key), `p` rate of
//! false positives, `c = m / n` bits a key.
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

/// Bits of a block of a blocked filter: a cache line.
pub const BLOCK_BITS: u64 = 512;
/// The most hash functions that this crate takes.
pub const MAX_HASHES: u32 = 255;
/// The most hash functions that are tried for a blocked filter: more than fit
/// in a line do no good.
const MAX_BLOCKED_HASHES: u32 = 40;

/// A number as a real one; above 2^53 the last digits do not matter here.
#[expect(clippy::cast_precision_loss, reason = "rates and sizes need no more digits")]
pub(super) const fn real(number: u64) -> f64 {
    number as f64
}

/// The number next above a positive real one; at most 2^64 − 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
pub(super) const fn whole(number: f64) -> u64 {
    number.ceil() as u64
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

/// Bits a key at a rate of `p` with the best `k`: c = −ln p / (ln 2)².
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

/// The rate of a filter of which `fill` of the bits are set: fill^k.
#[must_use]
pub fn rate_of_fill(fill: f64, k: u32) -> f64 {
    power(fill, k)
}

/// Number of keys in a filter of `m` bits of which `ones` are set:
/// n* = ln(1 − ones/m) / (k ln(1 − 1/m)), close to −(m/k) ln(1 − ones/m).
/// Infinite if all bits are set.
///
/// # Source
///
/// Swamidass and Baldi 2007; [`fill`], solved for n.
#[must_use]
pub fn keys(m: u64, k: u32, ones: u64) -> f64 {
    if ones == 0 {
        return 0.0; // ln(1 − 1/1) is infinite
    }
    (-real(ones) / real(m)).ln_1p() / (f64::from(k) * (-1.0 / real(m)).ln_1p())
}

fn power(base: f64, k: u32) -> f64 {
    base.powf(f64::from(k))
}

/// Rate of false positives of a blocked filter: all `k` bits of a key lie in
/// one of `m / 512` blocks.
///
/// The keys of a block follow a Poisson distribution of mean 512 n/m, and a
/// block is a Bloom filter of its own: p = Σᵢ Pois(i) pᵢ. A block is so small
/// that the spread of its set bits counts: where Putze, Sanders and Singler put
/// the [`rate`] of 512 bits for pᵢ, this is E\[(set bits / 512)^k\] with the exact
/// mean and variance of the number of set bits. That is 1 % more at 10 bits a
/// key, 2 % more at 16.
///
/// # Examples
///
/// ```
/// let ten_bits_a_key = bitsort::bloom::params::rate_blocked(10_000_000, 1_000_000, 6);
/// assert_eq!(format!("{ten_bits_a_key:.4}"), "0.0097");
/// ```
///
/// # Source
///
/// Putze, Sanders and Singler 2007, section 3; the variance of occupied bins as
/// in Johnson and Kotz, *Urn Models* (1977).
#[must_use]
pub fn rate_blocked(m: u64, n: u64, k: u32) -> f64 {
    rate_blocked_at(real(m) / real(n), k)
}

fn rate_blocked_at(c: f64, k: u32) -> f64 {
    let bins = real(BLOCK_BITS);
    poisson_mean(bins / c, |i| {
        let balls = i * f64::from(k);
        let empty = (balls * (-1.0 / bins).ln_1p()).exp();
        let mean = 1.0 - empty;
        if mean <= 0.0 {
            return 0.0;
        }
        let both_empty = (balls * (-2.0 / bins).ln_1p()).exp();
        let variance = both_empty * (1.0 - 1.0 / bins) + empty / bins - empty * empty;
        let pairs = f64::from(k) * (f64::from(k) - 1.0) / 2.0;
        power(mean, k) * (1.0 + pairs * variance / (mean * mean))
    })
}

/// The best number of hash functions of a blocked filter.
///
/// # Source
///
/// The minimum of [`rate_blocked`], looked for upwards from 1.
#[must_use]
pub fn hashes_blocked(m: u64, n: u64) -> u32 {
    best_blocked(real(m) / real(n.max(1))).0
}

/// The best k at `c` bits a key, and its rate: the first minimum.
fn best_blocked(c: f64) -> (u32, f64) {
    let mut best = (1, rate_blocked_at(c, 1));
    for k in 2..=MAX_BLOCKED_HASHES {
        let rate = rate_blocked_at(c, k);
        if rate >= best.1 {
            break;
        }
        best = (k, rate);
    }
    best
}

/// Bits a key of a blocked filter at a rate of `p` with the best `k`.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::params;
///
/// assert_eq!(format!("{:.1}", params::bits_per_key_blocked(0.01)), "9.9");
/// ```
///
/// # Source
///
/// [`rate_blocked`], solved by bisection.
#[must_use]
pub fn bits_per_key_blocked(p: f64) -> f64 {
    solve(p, |c| best_blocked(c).1)
}

/// Bits a key of a blocked filter at a rate of `p` with `k` hash functions.
///
/// # Source
///
/// [`rate_blocked`], solved by bisection.
#[must_use]
pub fn bits_per_key_blocked_with_hashes(p: f64, k: u32) -> f64 {
    solve(p, |c| rate_blocked_at(c, k))
}

/// Number of keys in a blocked filter of `m` bits of which `ones` are set.
/// Infinite if all bits are set.
///
/// # Source
///
/// A Poisson number of keys of mean λ leaves a bit of a block unset with
/// probability e^{−λ(1 − (1 − 1/512)^k)}; solved for λ.
#[must_use]
pub fn keys_blocked(m: u64, k: u32, ones: u64) -> f64 {
    let a_key_sets = -(f64::from(k) * (-1.0 / real(BLOCK_BITS)).ln_1p()).exp_m1();
    let keys_a_block = -(-real(ones) / real(m)).ln_1p() / a_key_sets;
    real(m) / real(BLOCK_BITS) * keys_a_block
}

/// Rate of false positives of a split-block filter, as Parquet and Impala have
/// it: a key sets one bit in each of the eight 32-bit words of a block.
///
/// # Source
///
/// As [`rate_blocked`], with pᵢ = (1 − (1 − 1/32)^i)^8, which is exact: given
/// the number of keys, the eight words do not depend on each other.
#[must_use]
pub fn rate_split_block(m: u64, n: u64) -> f64 {
    rate_split_block_at(real(m) / real(n))
}

fn rate_split_block_at(c: f64) -> f64 {
    poisson_mean(256.0 / c, |i| power(-(i * (-1.0_f64 / 32.0).ln_1p()).exp_m1(), 8))
}

/// Bits a key of a split-block filter at a rate of `p`.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::params;
///
/// assert_eq!(format!("{:.1}", params::bits_per_key_split_block(0.01)), "10.5");
/// ```
///
/// # Source
///
/// [`rate_split_block`], solved by bisection.
#[must_use]
pub fn bits_per_key_split_block(p: f64) -> f64 {
    solve(p, rate_split_block_at)
}

/// The bits a key at which a falling rate is `p`.
fn solve(p: f64, rate: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.5, 1.0);
    while rate(high) > p && high < 1e6 {
        low = high;
        high *= 2.0;
    }
    while high - low > 1e-9 * high {
        let middle = f64::midpoint(low, high);
        if rate(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The mean of `value` over a Poisson distribution. It is summed from its mode
/// outwards, where no term underflows.
fn poisson_mean(mean: f64, value: impl Fn(f64) -> f64) -> f64 {
    const NEGLIGIBLE: f64 = 1e-18;
    let mode = mean.floor();
    let (mut weights, mut sum) = (1.0, value(mode));
    let mut add = |i: f64, weight: f64| {
        weights += weight;
        sum += weight * value(i);
        weight > NEGLIGIBLE
    };
    let (mut i, mut weight) = (mode, 1.0);
    loop {
        i += 1.0;
        weight *= mean / i;
        if !add(i, weight) {
            break;
        }
    }
    (i, weight) = (mode, 1.0);
    while i > 0.0 {
        weight *= i / mean;
        i -= 1.0;
        if !add(i, weight) {
            break;
        }
    }
    sum / weights
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn blocked_designs_cost_what_others_measured() {
        // RocksDB measures 0.957 % at 10 bits a key with 6 hash functions, for
        // a theory of 0.9535 %.
        let ten = rate_blocked(10_000_000, 1_000_000, 6);
        assert!((0.0095..0.0098).contains(&ten), "{ten}");
        assert_eq!(hashes_blocked(10_000_000, 1_000_000), 6);
        for (p, blocked, split) in [(0.01, 9.9, 10.5), (0.001, 15.5, 16.9), (0.0001, 21.9, 26.3)] {
            assert!((bits_per_key_blocked(p) - blocked).abs() < 0.15, "{p}");
            assert!((bits_per_key_split_block(p) - split).abs() < 0.1, "{p}");
        }
        let six = bits_per_key_blocked_with_hashes(0.01, 6);
        assert!((rate_blocked_at(six, 6) - 0.01).abs() < 1e-8);
        // A mean far beyond what e^−λ can hold.
        assert!((rate_blocked(100, 1_000_000, 4) - 1.0).abs() < 1e-6);
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
