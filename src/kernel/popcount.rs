//! Set bits of little-endian words, counted.
//!
//! Plain loops, compiled once for each instruction set that counts bits faster.

use super::Level;
use super::level::Isa;

/// Set bits of `words`.
pub(crate) fn ones(level: Level, words: &[[u8; 8]]) -> u64 {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { ones_avx512(words) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { ones_avx2(words) },
        Isa::Scalar => ones_scalar(words),
    }
}

/// Bits set in `a` and in `b`, as far as both reach.
pub(crate) fn common_ones(level: Level, a: &[[u8; 8]], b: &[[u8; 8]]) -> u64 {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { common_avx512(a, b) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { common_avx2(a, b) },
        Isa::Scalar => common_scalar(a, b),
    }
}

#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
fn ones_scalar(words: &[[u8; 8]]) -> u64 {
    words.iter().map(|&word| u64::from(u64::from_le_bytes(word).count_ones())).sum()
}

#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
fn common_scalar(a: &[[u8; 8]], b: &[[u8; 8]]) -> u64 {
    let both = a.iter().zip(b).map(|(&a, &b)| u64::from_le_bytes(a) & u64::from_le_bytes(b));
    both.map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vpopcntdq,popcnt")]
fn ones_avx512(words: &[[u8; 8]]) -> u64 {
    ones_scalar(words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn ones_avx2(words: &[[u8; 8]]) -> u64 {
    ones_scalar(words)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512vpopcntdq,popcnt")]
fn common_avx512(a: &[[u8; 8]], b: &[[u8; 8]]) -> u64 {
    common_scalar(a, b)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn common_avx2(a: &[[u8; 8]], b: &[[u8; 8]]) -> u64 {
    common_scalar(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_level_counts_alike(pairs in prop::collection::vec(any::<(u64, u64)>(), 0..200)) {
            let (a, b): (Vec<_>, Vec<_>) =
                pairs.iter().map(|(a, b)| (a.to_le_bytes(), b.to_le_bytes())).unzip();
            for &level in Level::available() {
                prop_assert_eq!(ones(level, &a), ones_scalar(&a), "{}", level.name());
                prop_assert_eq!(common_ones(level, &a, &b), common_scalar(&a, &b));
            }
        }
    }
}
