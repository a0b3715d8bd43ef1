//! Where a byte is among others, 64 looked at together.
//!
//! A call for each place costs more than the bytes between places of short lines.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::level::Isa;

const BLOCK: usize = 64;

/// The places of `byte` in `bytes`, ascending.
pub(crate) fn places(level: Level, bytes: &[u8], byte: u8) -> impl Iterator<Item = usize> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [!byte; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let last = mask(level, &last, byte);
    let masks = blocks.iter().map(move |block| mask(level, block, byte)).chain([last]);
    masks.enumerate().flat_map(|(block, mask)| Ones(mask).map(move |bit| block * BLOCK + bit))
}

/// The bits of a word that are set.
struct Ones(u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let bit = (self.0 != 0).then(|| self.0.trailing_zeros() as usize);
        self.0 &= self.0.wrapping_sub(1);
        bit
    }
}

/// Bit `i` is set where byte `i` is `byte`.
#[inline]
fn mask(level: Level, block: &[u8; BLOCK], byte: u8) -> u64 {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { mask_avx512(block, byte) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { mask_avx2(block, byte) },
        _ => mask_scalar(block, byte),
    }
}

/// Eight bytes at a time: a byte of `differs` is 0 where they are equal, and only
/// then has no bit after the low seven were added to and it was joined with itself.
fn mask_scalar(block: &[u8; BLOCK], byte: u8) -> u64 {
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn mask_avx2(block: &[u8; BLOCK], byte: u8) -> u64 {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8,
    };
    let wanted = _mm256_set1_epi8(byte.cast_signed());
    let (halves, _) = block.as_chunks::<32>();
    (0..).zip(halves).fold(0, |mask, (index, half)| {
        // SAFETY: `half` is 32 readable bytes; `loadu` needs no alignment.
        let half = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let equal = _mm256_movemask_epi8(_mm256_cmpeq_epi8(half, wanted)).cast_unsigned();
        mask | u64::from(equal) << (32 * index)
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw")]
fn mask_avx512(block: &[u8; BLOCK], byte: u8) -> u64 {
    use std::arch::x86_64::{_mm512_cmpeq_epi8_mask, _mm512_loadu_epi8, _mm512_set1_epi8};
    // SAFETY: `block` is 64 readable bytes; `loadu` needs no alignment.
    let bytes = unsafe { _mm512_loadu_epi8(block.as_ptr().cast()) };
    _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(byte.cast_signed()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_level_finds_all_places(
            bytes in prop::collection::vec(prop_oneof![9 => Just(7_u8), 1 => any::<u8>()], 0..300),
            byte in prop_oneof![1 => Just(7_u8), 2 => any::<u8>()],
        ) {
            let expected: Vec<_> =
                (0..bytes.len()).filter(|&place| bytes[place] == byte).collect();
            for &level in Level::available() {
                let found: Vec<_> = places(level, &bytes, byte).collect();
                prop_assert_eq!(&found, &expected, "{}", level.name());
            }
        }
    }

    #[test]
    fn neighbours_of_a_byte_are_not_taken_for_it() {
        for byte in 0..=u8::MAX {
            let bytes: Vec<u8> = (0..=u8::MAX).map(|other| other ^ byte).collect();
            for &level in Level::available() {
                assert_eq!(places(level, &bytes, 0).collect::<Vec<_>>(), [usize::from(byte)]);
            }
        }
    }
}
