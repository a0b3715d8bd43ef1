//! `MurmurHash3_x64_128`, the hash function of Guava's filters.
//!
//! # Source
//!
//! Austin Appleby's `MurmurHash3`, which is in the public domain.

const C1: u64 = 0x87C3_7B91_1142_53D5;
const C2: u64 = 0x4CF5_AD43_2745_937F;

/// The two halves of the hash, seed 0.
#[inline(never)] // leaves the registers to the loops around it
pub(super) fn murmur3_x64_128(bytes: &[u8]) -> [u64; 2] {
    let (mut h1, mut h2) = (0_u64, 0_u64);
    let (blocks, tail) = bytes.as_chunks::<16>();
    for block in blocks {
        let [k1, k2] = halves(block);
        h1 ^= mix_first(k1);
        h1 = h1.rotate_left(27).wrapping_add(h2).wrapping_mul(5).wrapping_add(0x52DC_E729);
        h2 ^= mix_second(k2);
        h2 = h2.rotate_left(31).wrapping_add(h1).wrapping_mul(5).wrapping_add(0x3849_5AB5);
    }
    // What is missing of a last block is 0, and 0 mixes to 0.
    let mut last = [0; 16];
    for (place, &byte) in last.iter_mut().zip(tail) {
        *place = byte;
    }
    let [k1, k2] = halves(&last);
    h1 ^= mix_first(k1);
    h2 ^= mix_second(k2);

    let length = bytes.len() as u64;
    (h1, h2) = (h1 ^ length, h2 ^ length);
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    (h1, h2) = (finish(h1), finish(h2));
    h1 = h1.wrapping_add(h2);
    h2 = h2.wrapping_add(h1);
    [h1, h2]
}

fn halves(block: &[u8; 16]) -> [u64; 2] {
    bytemuck::cast(*block)
}

fn mix_first(k: u64) -> u64 {
    k.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2)
}

fn mix_second(k: u64) -> u64 {
    k.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1)
}

fn finish(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    k ^= k >> 33;
    k = k.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    k ^ k >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes_come_out() {
        // Of the reference implementation.
        assert_eq!(murmur3_x64_128(b""), [0, 0]);
        assert_eq!(
            murmur3_x64_128(b"The quick brown fox jumps over the lazy dog"),
            [0xE34B_BC7B_BC07_1B6C, 0x7A43_3CA9_C49A_9347]
        );
        assert_eq!(murmur3_x64_128(b"hello"), [0xCBD8_A7B3_41BD_9B02, 0x5B1E_906A_48AE_1D19]);
    }
}
