//! Compares 16 bytes in a 128-bit register.

use super::BLOCK;
use std::arch::aarch64::{
    uint8x16_t, vandq_u8, vceqq_u8, vdupq_n_u8, vgetq_lane_u64, vld1q_u8, vpaddq_u8,
    vreinterpretq_u64_u8,
};

/// Bit `i` is set if byte `i` is `byte`.
///
/// Each equal byte keeps one bit, a different one among eight neighbours. Sums of neighbours put
/// eight of these bits into one byte.
#[inline]
#[target_feature(enable = "neon")]
pub(in crate::kernel) fn mask(block: &[u8; BLOCK], byte: u8) -> u64 {
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
    let (wanted, bits) = (vdupq_n_u8(byte), load(&BITS));
    let equal = |bytes| vandq_u8(vceqq_u8(load(bytes), wanted), bits);
    let [a, b, c, d]: &[[u8; 16]; 4] = bytemuck::cast_ref(block);
    let front = vpaddq_u8(equal(a), equal(b));
    let back = vpaddq_u8(equal(c), equal(d));
    let sums = vpaddq_u8(front, back);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: `bytes` is 16 readable bytes; the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}
