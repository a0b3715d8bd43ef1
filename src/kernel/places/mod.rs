//! Finds the places of a byte in a slice, 64 bytes at a time.
//!
//! In short lines, a call for each place would cost more than comparing the bytes between places.

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2;
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512;
#[cfg(target_arch = "aarch64")]
pub(super) mod neon;
mod scalar;

use super::Level;
use super::level::Isa;

/// Bytes that are compared together.
pub(super) const BLOCK: usize = 64;

/// The places of `byte` in `bytes`, ascending.
pub(crate) fn places(level: Level, bytes: &[u8], byte: u8) -> impl Iterator<Item = usize> {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let mut last = [!byte; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let last = mask(level, &last, byte);
    let masks = blocks.iter().map(move |block| mask(level, block, byte)).chain([last]);
    masks.enumerate().flat_map(|(block, mask)| Ones(mask).map(move |bit| block * BLOCK + bit))
}

/// The set bits of a word.
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

/// Bit `i` is set if byte `i` is `byte`.
#[inline]
fn mask(level: Level, block: &[u8; BLOCK], byte: u8) -> u64 {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::mask(block, byte) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2::mask(block, byte) },
        // SAFETY: as above.
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => unsafe { neon::mask(block, byte) },
        Isa::Scalar => scalar::mask(block, byte),
    }
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
