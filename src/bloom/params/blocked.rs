//! Filters whose bits of a key are in one block: blocked and split-block designs. Names are those
//! of [`params`](super).

use super::{BLOCK_BITS, power, real};

/// Most hash functions that are tried for a blocked filter. More do not help in a block of this
/// size.
const MAX_BLOCKED_HASHES: u32 = 40;

/// Rate of false positives of a blocked filter: all `k` bits of a key lie in
/// one of `m / 512` blocks.
///
/// The keys of a block follow a Poisson distribution of mean 512 n/m, and a
/// block is a Bloom filter of its own: p = Σᵢ Pois(i) pᵢ. A block is so small
/// that the spread of its set bits counts: where Putze, Sanders and Singler put
/// the [`rate`](super::rate) of 512 bits for pᵢ, this is E\[(set bits / 512)^k\] with the exact
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
    poisson_mean(bins / c, |i| power_of_fill(i * f64::from(k), k))
}

/// E\[(set bits / 512)^`exponent`\] of a block in which `balls` bits were set, some of them more
/// than once.
fn power_of_fill(balls: f64, exponent: u32) -> f64 {
    let bins = real(BLOCK_BITS);
    let empty = (balls * (-1.0 / bins).ln_1p()).exp();
    let mean = 1.0 - empty;
    if mean <= 0.0 {
        return 0.0;
    }
    let both_empty = (balls * (-2.0 / bins).ln_1p()).exp();
    let variance = both_empty * (1.0 - 1.0 / bins) + empty / bins - empty * empty;
    let pairs = f64::from(exponent) * (f64::from(exponent) - 1.0) / 2.0;
    power(mean, exponent) * (1.0 + pairs * variance / (mean * mean))
}

/// The spread of the rates of blocked filters with the same `m`, `n` and `k`: their standard
/// deviation, divided by [`rate_blocked`].
///
/// # Source
///
/// The variance of the rate of a block, whose keys follow a Poisson distribution as in
/// [`rate_blocked`], less what is due to their number, which is `n` in all: Var p −
/// Cov(p, i)² / Var i. The filter's rate is the mean over m / 512 blocks.
#[must_use]
pub fn rate_deviation_blocked(m: u64, n: u64, k: u32) -> f64 {
    let blocks = real(m) / real(BLOCK_BITS);
    let keys = real(n) / blocks;
    let power = |i: f64, exponent| power_of_fill(i * f64::from(k), exponent);
    let rate = poisson_mean(keys, |i| power(i, k));
    let variance = poisson_mean(keys, |i| power(i, k.saturating_mul(2))) - rate * rate;
    let covariance = poisson_mean(keys, |i| (i - keys) * power(i, k));
    let own = (variance - covariance * covariance / keys).max(0.0);
    if rate > 0.0 { (own / blocks).sqrt() / rate } else { 0.0 }
}

/// The best number of hash functions of a blocked filter.
///
/// # Source
///
/// The first minimum of [`rate_blocked`], from 1 upwards.
#[must_use]
pub fn hashes_blocked(m: u64, n: u64) -> u32 {
    best_blocked(real(m) / real(n.max(1))).0
}

/// The best `k` with `c` bits for each key, and its rate: the first minimum.
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

/// Bits for each key of a blocked filter at a rate of `p` with the best `k`.
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

/// Bits for each key of a blocked filter at a rate of `p` with `k` hash functions.
///
/// # Source
///
/// [`rate_blocked`], solved by bisection.
#[must_use]
pub fn bits_per_key_blocked_with_hashes(p: f64, k: u32) -> f64 {
    solve(p, |c| rate_blocked_at(c, k))
}

/// Estimated number of keys in a blocked filter of `m` bits, `ones` of which are set. Infinite if
/// all bits are set.
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

/// Bits for each key of a split-block filter at a rate of `p`.
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

/// The bits for each key at which a falling rate is `p`; infinite if a block of 512 bits never has
/// so low a rate, however few keys it has.
fn solve(p: f64, rate: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.5, 1.0);
    while rate(high) > p && high < 1e6 {
        low = high;
        high *= 2.0;
    }
    if rate(high) > p {
        return f64::INFINITY;
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

/// The mean of `value` over a Poisson distribution. The sum begins at the mode and goes outwards,
/// where no term underflows.
fn poisson_mean(mean: f64, value: impl Fn(f64) -> f64) -> f64 {
    const NEGLIGIBLE: f64 = 1e-18;
    const NARROW: f64 = 1e6; // from here on, the mean is the value at the mean
    let mode = mean.floor();
    if mean > NARROW {
        return value(mean);
    }
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
        assert!(bits_per_key_blocked(1e-50).is_infinite());
        let six = bits_per_key_blocked_with_hashes(0.01, 6);
        assert!((rate_blocked_at(six, 6) - 0.01).abs() < 1e-8);
        // A mean far beyond what e^−λ can hold.
        assert!((rate_blocked(100, 1_000_000, 4) - 1.0).abs() < 1e-6);
        assert!((rate_blocked(1, u64::MAX, 4) - 1.0).abs() < 1e-6);
    }
}
