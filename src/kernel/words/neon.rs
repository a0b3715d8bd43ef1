//! Counts set bits byte by byte in 128-bit registers.
//!
//! The compiler joins words as well by itself. But it widens the counts of each 16 bytes to 64 bits
//! at once; here they are first added as bytes.

use super::Op;
use std::arch::aarch64::{
    uint8x16_t, vaddq_u8, vaddvq_u64, vandq_u8, vbicq_u8, vcntq_u8, vdupq_n_u8, vdupq_n_u64,
    veorq_u8, vld1q_u8, vorrq_u8, vpadalq_u32, vpaddlq_u8, vpaddlq_u16,
};

/// Bytes that are counted together.
const BLOCK: usize = 64;
/// Blocks whose counts fit in bytes: each adds at most 32.
const ROUND: usize = 7;

/// Number of set bits of `a op b`, up to the end of the shorter one.
#[target_feature(enable = "neon")]
pub(in crate::kernel) fn count(op: Op, a: &[u8], b: &[u8]) -> u64 {
    match op {
        Op::And => total(a, b, |a, b| vandq_u8(a, b)),
        Op::Or => total(a, b, |a, b| vorrq_u8(a, b)),
        Op::Xor => total(a, b, |a, b| veorq_u8(a, b)),
        Op::AndNot => total(a, b, |a, b| vbicq_u8(a, b)),
    }
}

/// Number of set bits of `bytes`.
#[target_feature(enable = "neon")]
pub(in crate::kernel) fn ones(bytes: &[u8]) -> u64 {
    total(bytes, bytes, |byte, _| byte)
}

/// Number of set bits of `join` of both. `join` must give zero for two zeros.
#[inline]
#[target_feature(enable = "neon")]
fn total(a: &[u8], b: &[u8], join: impl Fn(uint8x16_t, uint8x16_t) -> uint8x16_t) -> u64 {
    let len = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..len].as_chunks(), b[..len].as_chunks());
    let mut total = vdupq_n_u64(0);
    for (a, b) in a.chunks(ROUND).zip(b.chunks(ROUND)) {
        let mut counts = vdupq_n_u8(0);
        for (a, b) in a.iter().zip(b) {
            counts = vaddq_u8(counts, block(a, b, &join));
        }
        total = vpadalq_u32(total, vpaddlq_u16(vpaddlq_u8(counts)));
    }
    let last = block(&padded(a_rest), &padded(b_rest), &join);
    vaddvq_u64(vpadalq_u32(total, vpaddlq_u16(vpaddlq_u8(last))))
}

/// The set bits of a block, as 16 sums of four bytes each.
#[inline]
#[target_feature(enable = "neon")]
fn block(
    a: &[u8; BLOCK],
    b: &[u8; BLOCK],
    join: impl Fn(uint8x16_t, uint8x16_t) -> uint8x16_t,
) -> uint8x16_t {
    let (a, b): (&[[u8; 16]; 4], &[[u8; 16]; 4]) = (bytemuck::cast_ref(a), bytemuck::cast_ref(b));
    let count = |index: usize| vcntq_u8(join(load(&a[index]), load(&b[index])));
    vaddq_u8(vaddq_u8(count(0), count(1)), vaddq_u8(count(2), count(3)))
}

#[inline]
#[target_feature(enable = "neon")]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: `bytes` is 16 readable bytes; the load needs no alignment.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

fn padded(rest: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}
