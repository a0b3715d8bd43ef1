//! Compares eight bytes in a word.

use super::BLOCK;

/// Eight bytes at a time. A byte of `differs` is 0 if the bytes are equal. Only then it has no high
/// bit after its low seven bits are added to 0x7F and the byte itself is joined by OR.
pub(super) fn mask(block: &[u8; BLOCK], byte: u8) -> u64 {
    const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    /// Moves the highest bits of all bytes to the highest byte.
    const GATHER: u64 = 0x0002_0408_1020_4081;
    let (words, _) = block.as_chunks::<8>();
    (0..).zip(words).fold(0, |mask, (index, &word)| {
        let differs = u64::from_le_bytes(word) ^ (u64::MAX / 0xFF * u64::from(byte));
        let equal = !(((differs & LOW) + LOW) | differs | LOW);
        mask | (equal.wrapping_mul(GATHER) >> 56) << (8 * index)
    })
}
