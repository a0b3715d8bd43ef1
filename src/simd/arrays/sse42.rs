//! 8 values against 8 with one instruction, the string comparison of SSE 4.2,
//! after Schlegel, Willhalm and Lehner (ADMS 2011).
//!
//! Steps without a branch on the values: a wrong guess costs more than a step.
//! 32 against 32 by rotation takes 64 instructions of AVX-512, and is slower.

use super::{Low, scalar};
use std::arch::x86_64::{
    __m128i, _SIDD_BIT_MASK, _SIDD_CMP_EQUAL_ANY, _SIDD_UWORD_OPS, _mm_cmpistrm, _mm_cvtsi128_si32,
    _mm_loadu_si128, _mm_shuffle_epi8, _mm_storeu_si128,
};

/// Values compared together.
const BLOCK: usize = 8;

/// Where the bytes of the values chosen by a mask come from.
static CHOSEN: [[u8; 16]; 256] = {
    let mut table = [[0x80; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut value, mut count) = (0, 0);
        while value < BLOCK {
            if mask >> value & 1 == 1 {
                let [low, ..] = (2 * value).to_le_bytes();
                table[mask][2 * count] = low;
                table[mask][2 * count + 1] = low + 1;
                count += 1;
            }
            value += 1;
        }
        mask += 1;
    }
    table
};

#[target_feature(enable = "sse4.2")]
#[inline]
fn load(block: &[Low; BLOCK]) -> __m128i {
    // SAFETY: `block` is 16 readable bytes; `loadu` needs no alignment.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// A bit for each value of `a` that is in `b`. A 0 ends the values.
#[target_feature(enable = "sse4.2")]
#[inline]
fn matches(a: __m128i, b: __m128i) -> u32 {
    const MODE: i32 = _SIDD_UWORD_OPS | _SIDD_CMP_EQUAL_ANY | _SIDD_BIT_MASK;
    _mm_cvtsi128_si32(_mm_cmpistrm::<MODE>(b, a)).cast_unsigned() & 0xFF
}

fn last(block: &[Low; BLOCK]) -> u16 {
    let [.., last] = block;
    u16::from_le_bytes(*last)
}

/// Without the value 0, and whether it was there.
fn without_zero(values: &[Low]) -> (&[Low], bool) {
    match values {
        [[0, 0], rest @ ..] => (rest, true),
        _ => (values, false),
    }
}

#[target_feature(enable = "sse4.2,popcnt")]
pub(super) fn common(a: &[Low], b: &[Low]) -> usize {
    let ((a, zero), (b, other_zero)) = (without_zero(a), without_zero(b));
    let (blocks, others) = (a.as_chunks::<BLOCK>().0, b.as_chunks::<BLOCK>().0);
    let (mut i, mut j) = (0, 0);
    let mut count = usize::from(zero && other_zero);
    while i < blocks.len() && j < others.len() {
        let (block, other) = (&blocks[i], &others[j]);
        count += matches(load(block), load(other)).count_ones() as usize;
        let (ours, theirs) = (last(block), last(other));
        i += usize::from(ours <= theirs);
        j += usize::from(theirs <= ours);
    }
    count + scalar::common(&a[i * BLOCK..], &b[j * BLOCK..])
}

#[target_feature(enable = "sse4.2,popcnt")]
pub(super) fn filter(keep: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    let ((a, zero), (b, other_zero)) = (without_zero(a), without_zero(b));
    let mut count = usize::from(zero && other_zero == keep);
    out[0] = [0, 0];
    let (blocks, others) = (a.as_chunks::<BLOCK>().0, b.as_chunks::<BLOCK>().0);
    let (mut i, mut j) = (0, 0);
    let flip = if keep { 0 } else { 0xFF };
    // Values of block `i` that were found in blocks before `j`.
    let mut found = 0;
    while i < blocks.len() && j < others.len() {
        let (block, other) = (&blocks[i], &others[j]);
        let values = load(block);
        found |= matches(values, load(other));
        let (ours, theirs) = (last(block), last(other));
        let is_done = ours <= theirs;
        // Written in any case, counted when the block is done.
        let chosen = found ^ flip;
        let place = &mut out[count..count + BLOCK];
        // SAFETY: an entry is 16 readable bytes; `loadu` needs no alignment.
        let order = unsafe { _mm_loadu_si128(CHOSEN[chosen as usize].as_ptr().cast()) };
        let packed = _mm_shuffle_epi8(values, order);
        // SAFETY: `place` is 16 writable bytes; `storeu` needs no alignment.
        unsafe { _mm_storeu_si128(place.as_mut_ptr().cast(), packed) };
        count += if is_done { chosen.count_ones() as usize } else { 0 };
        found = if is_done { 0 } else { found };
        i += usize::from(is_done);
        j += usize::from(theirs <= ours);
    }
    scalar::rest(keep, &a[i * BLOCK..], &b[j * BLOCK..], found, out, count)
}
