//! Eight bytes in a word.

use super::BLOCK;

/// Eight bytes at a time: a byte of `differs` is 0 where they are equal, and only
/// then has no bit after the low seven were added to and it was joined with itself.
pub(super) fn mask(block: &[u8; BLOCK], byte: u8) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    /// Gathers the highest bits of all bytes in the highest byte.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let (words, _) = block.as_chunks::<8>();
    (0..).zip(words).fold(0, |mask, (index, &word)| {
        let differs = u64::from_le_bytes(word) ^ (u64::MAX / 0xFF * u64::from(byte));
        let equal = !(((differs & LOW) + LOW) | differs | LOW);
        mask | (equal.wrapping_mul(GATHER) >> 56) << (8 * index)
    })
}
