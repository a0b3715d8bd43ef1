//! One bit after the other.

use super::{LINE_WORDS, MULTIPLIER, split};

#[inline]
pub(super) fn set_bits(line: &mut [u64; LINE_WORDS], first: u64, count: u32) -> bool {
    let (mut bit, mut changed) = (first, 0);
    for _ in 0..count {
        let [index, shift] = split(bit);
        let after = line[index] | 1 << shift;
        changed |= line[index] ^ after;
        line[index] = after;
        bit = bit.wrapping_mul(MULTIPLIER);
    }
    changed != 0
}

/// All bits are looked at: they are there with the first, and which one is not
/// set nobody can predict.
#[inline]
pub(super) fn has_bits(line: &[u64; LINE_WORDS], first: u64, count: u32) -> bool {
    let (mut bit, mut all) = (first, 1);
    for _ in 0..count {
        let [index, shift] = split(bit);
        all &= line[index] >> shift;
        bit = bit.wrapping_mul(MULTIPLIER);
    }
    all == 1
}
