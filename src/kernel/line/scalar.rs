//! One bit after the other.

use super::{LINE_WORDS, MULTIPLIER, place_of, split};

#[inline]
pub(super) fn set_bits(line: &mut [u64; LINE_WORDS], hash: u64, count: u32) -> bool {
    let (mut bit, mut changed) = (hash, 0);
    for _ in 0..count {
        bit = bit.wrapping_mul(MULTIPLIER);
        let [index, shift] = split(bit);
        let after = line[index] | 1 << shift;
        changed |= line[index] ^ after;
        line[index] = after;
    }
    changed != 0
}

/// Tests all bits: they come with the first one, and nobody can predict which one is not set.
#[inline]
pub(super) fn has_bits(line: &[u64; LINE_WORDS], hash: u64, count: u32) -> bool {
    let (mut bit, mut all) = (hash, 1);
    for _ in 0..count {
        bit = bit.wrapping_mul(MULTIPLIER);
        let [index, shift] = split(bit);
        all &= line[index] >> shift;
    }
    all == 1
}

/// The same in the line of `hash`.
#[inline]
pub(super) fn has_bits_among(lines: &[[u64; LINE_WORDS]], hash: u64, count: u32) -> bool {
    let (line, _) = place_of(lines.len(), hash);
    lines.get(line).is_some_and(|line| has_bits(line, hash, count))
}
