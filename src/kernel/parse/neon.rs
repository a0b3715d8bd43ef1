//! Parses four lines at a time in 128-bit registers.
//!
//! As in the other kernels, the last 16 bytes of a line are loaded, so that its digits are at the
//! end of a register. Each step takes two registers and puts their elements at even places into one
//! register and those at odd places into another: first tens and ones of two lines, then hundreds
//! and ones of their pairs, and so on.

use super::ParseSink;
use super::windows::{self, Ends};
use crate::kernel::places;
use std::arch::aarch64::{
    int8x16_t, uint8x16_t, uint32x4_t, vbicq_u8, vcgtq_s8, vdup_n_u8, vdup_n_u16, vdup_n_u32,
    vdupq_laneq_s8, vdupq_n_u8, vdupq_n_u16, vdupq_n_u32, vget_low_u8, vget_low_u16, vget_low_u32,
    vld1q_s8, vld1q_u8, vld1q_u32, vmaxq_u8, vmaxvq_u8, vmaxvq_u32, vmlal_high_u8, vmlal_high_u16,
    vmlal_high_u32, vmlal_u8, vmlal_u16, vmlal_u32, vmlaq_u8, vmovl_high_u8, vmovl_high_u16,
    vmovl_high_u32, vmovl_u8, vmovl_u16, vmovl_u32, vreinterpretq_s8_u32, vst1q_u64, vsubq_u8,
    vsubq_u32, vuzp1q_u8, vuzp1q_u16, vuzp1q_u32, vuzp2q_u8, vuzp2q_u16, vuzp2q_u32,
};
use std::ops::Range;

/// Lines of a group.
const GROUP: usize = 4;

#[target_feature(enable = "neon")]
pub(super) fn parse<L: ParseSink>(
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    lines: &mut L,
) -> usize {
    let find_ends = |window, ends: &mut Ends| {
        ends.find(bytes, window, |block| places::neon::mask(block, terminator));
    };
    windows::parse::<GROUP, L>(
        bytes,
        span,
        terminator,
        lines,
        find_ends,
        |ends, index, carriage_return, slot| group(bytes, ends, index, carriage_return, slot),
    )
}

/// Parses lines `index..index + 4` into `slot`; false if one of them is not 1 to 20 digits (and
/// `\r` if `carriage_return`).
#[target_feature(enable = "neon")]
#[inline]
fn group(
    bytes: &[u8],
    ends: &Ends,
    index: usize,
    carriage_return: bool,
    slot: &mut [u64; GROUP],
) -> bool {
    let Some((marks, ends)) = ends.four(bytes, index, carriage_return) else { return false };
    // SAFETY: the first four marks are 16 readable bytes.
    let before = unsafe { vld1q_u32(marks.as_ptr()) };
    // SAFETY: the last four marks are, too.
    let after = unsafe { vld1q_u32(marks.as_ptr().wrapping_add(1)) };
    // A length of 0 (or -1) wraps to a huge one.
    let behind = vdupq_n_u32(2 + u32::from(carriage_return));
    let less_one = vsubq_u32(vsubq_u32(after, before), behind);
    if vmaxvq_u32(less_one) > 15 {
        return wide(bytes, ends, less_one, slot);
    }
    last_digits(bytes, ends, less_one, slot)
}

/// Does the same as [`group`] for lines that may have more than 16 digits, given their ends and
/// lengths.
#[target_feature(enable = "neon")]
#[inline(never)]
fn wide(bytes: &[u8], ends: [usize; GROUP], less_one: uint32x4_t, slot: &mut [u64; GROUP]) -> bool {
    if vmaxvq_u32(less_one) > 19 || !last_digits(bytes, ends, less_one, slot) {
        return false;
    }
    let above = vsubq_u32(less_one, vdupq_n_u32(16));
    let mut high_words = [0_u64; GROUP];
    if !last_digits(bytes, ends.map(|end| end - 16), above, &mut high_words) {
        return false;
    }
    slot.iter_mut().zip(high_words).all(|(word, high)| {
        let scaled = high.checked_mul(10_000_000_000_000_000);
        let value = scaled.and_then(|scaled| scaled.checked_add(*word));
        *word = value.unwrap_or(0);
        value.is_some()
    })
}

/// Puts the values of the last digits, up to 16, of the lines that end at `ends` into `slot`; false
/// if there are other bytes. The low byte of each line's `less_one` is its length minus one, which
/// may be negative.
#[target_feature(enable = "neon")]
#[inline]
fn last_digits(
    bytes: &[u8],
    ends: [usize; GROUP],
    less_one: uint32x4_t,
    slot: &mut [u64; GROUP],
) -> bool {
    let chunk = |end: usize| {
        debug_assert!(end >= 16 && end <= bytes.len());
        // SAFETY: `windows::parse` gives lines that `Ends::find` found in these bytes,
        // in the span that `check_span` put at least 64 bytes behind their start and
        // before their end; a `\r` takes one of the 64, and the 16 digits behind
        // these take as many, so `end - 16` is inside.
        unsafe { vld1q_u8(bytes.as_ptr().wrapping_add(end - 16)) }
    };
    let less_one = vreinterpretq_s8_u32(less_one);
    let lines = [
        digits(chunk(ends[0]), vdupq_laneq_s8::<0>(less_one)),
        digits(chunk(ends[1]), vdupq_laneq_s8::<4>(less_one)),
        digits(chunk(ends[2]), vdupq_laneq_s8::<8>(less_one)),
        digits(chunk(ends[3]), vdupq_laneq_s8::<12>(less_one)),
    ];
    let largest = vmaxq_u8(vmaxq_u8(lines[0], lines[1]), vmaxq_u8(lines[2], lines[3]));
    if vmaxvq_u8(largest) > 9 {
        return false;
    }
    join(lines, slot);
    true
}

/// The digits of a line, with 0 before it; more than 9 where a byte is no digit.
#[target_feature(enable = "neon")]
#[inline]
fn digits(chunk: uint8x16_t, less_one: int8x16_t) -> uint8x16_t {
    const BEFORE_LAST: [i8; 16] = [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    // SAFETY: `BEFORE_LAST` is 16 readable bytes.
    let before_last = unsafe { vld1q_s8(BEFORE_LAST.as_ptr()) };
    vbicq_u8(vsubq_u8(chunk, vdupq_n_u8(b'0')), vcgtq_s8(before_last, less_one))
}

/// Values of four lines, in order.
#[target_feature(enable = "neon")]
#[inline]
fn join([a, b, c, d]: [uint8x16_t; GROUP], slot: &mut [u64; GROUP]) {
    let pairs = |a, b| vmlaq_u8(vuzp2q_u8(a, b), vuzp1q_u8(a, b), vdupq_n_u8(10));
    let (ab, cd) = (pairs(a, b), pairs(c, d));

    let (high, low) = (vuzp1q_u8(ab, cd), vuzp2q_u8(ab, cd));
    let ab = vmlal_u8(vmovl_u8(vget_low_u8(low)), vget_low_u8(high), vdup_n_u8(100));
    let cd = vmlal_high_u8(vmovl_high_u8(low), high, vdupq_n_u8(100));

    let (high, low) = (vuzp1q_u16(ab, cd), vuzp2q_u16(ab, cd));
    let ab = vmlal_u16(vmovl_u16(vget_low_u16(low)), vget_low_u16(high), vdup_n_u16(10_000));
    let cd = vmlal_high_u16(vmovl_high_u16(low), high, vdupq_n_u16(10_000));

    let (high, low) = (vuzp1q_u32(ab, cd), vuzp2q_u32(ab, cd));
    let scale = 100_000_000;
    let ab = vmlal_u32(vmovl_u32(vget_low_u32(low)), vget_low_u32(high), vdup_n_u32(scale));
    let cd = vmlal_high_u32(vmovl_high_u32(low), high, vdupq_n_u32(scale));

    let (front, back) = slot.split_at_mut(GROUP / 2);
    // SAFETY: `front` is 16 writable bytes.
    unsafe { vst1q_u64(front.as_mut_ptr(), ab) };
    // SAFETY: `back` is, too.
    unsafe { vst1q_u64(back.as_mut_ptr(), cd) };
}
