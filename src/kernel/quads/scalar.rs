//! Parses all octets of an address in ordinary registers.

use super::super::packed;
use super::{Quads, block};
use std::ops::Range;

pub(super) fn parse(
    quads: Quads<'_>,
    span: Range<usize>,
    mut take: impl FnMut(u64, u64, usize),
) -> usize {
    let mut at = span.start;
    while at < span.end {
        match line(quads, at) {
            Some((first, last, end)) if end < span.end => {
                take(first, last, end);
                at = end + 1;
            }
            _ => break,
        }
    }
    at
}

/// The line at `at`, if it is plain.
#[inline]
fn line(quads: Quads<'_>, at: usize) -> Option<(u64, u64, usize)> {
    let Quads { bytes, terminator, takes_ranges } = quads;
    let (first, mut at) = address(bytes, at)?;
    let mut last = first;
    match *bytes.get(at)? {
        b'-' if takes_ranges => (last, at) = address(bytes, at + 1)?,
        b'/' if takes_ranges => (last, at) = block(first, bytes, at + 1)?,
        _ => {}
    }
    at += usize::from(bytes.get(at) == Some(&b'\r'));
    let is_whole = bytes.get(at) == Some(&terminator) && first <= last;
    is_whole.then_some((first, last, at))
}

/// A bit for each of eight bytes, the first one the lowest; it is set if the byte is no digit.
#[inline]
fn no_digits(bytes: [u8; 8]) -> u32 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let values = u64::from_le_bytes(bytes) ^ (EACH * u64::from(b'0'));
    // The highest bit of a byte is set if the byte is above 9.
    let above = ((values & (EACH * 0x7F)) + EACH * 0x76) | values;
    packed(above >> 7 & EACH).into()
}

/// Bytes of the longest address and the byte behind it.
const WINDOW: usize = 16;

/// Finds the ends of all four numbers at once, and computes three digits of each, however many it
/// has: lengths change from line to line, so a branch on them would be mispredicted.
#[inline]
#[expect(clippy::needless_bitwise_bool, reason = "nothing is guessed there either")]
fn address(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let window: &[u8; WINDOW] = bytes.get(at..)?.first_chunk()?;
    let [lower, upper] = bytemuck::cast::<[u8; WINDOW], [[u8; 8]; 2]>(*window);
    let mut others = no_digits(lower) | no_digits(upper) << 8;
    let (mut address, mut start, mut is_odd) = (0, 0, false);
    for octet in 0..4 {
        let end = others.trailing_zeros();
        others &= others.wrapping_sub(1);
        let length = end.wrapping_sub(start);
        let digits = bytes.get(at + start as usize..)?.first_chunk()?;
        let digits = u32::from_le_bytes(*digits) ^ 0x3030_3030;
        // Shift the last digit to the highest byte, and the bytes behind it out.
        let last = digits.wrapping_shl(32_u32.wrapping_sub(length.wrapping_mul(8)));
        let value = (last >> 24) + 10 * (last >> 16 & 0xFF) + 100 * (last >> 8 & 0xFF);
        let leads_with_zero = (length > 1) & (digits.trailing_zeros() >= 8);
        is_odd |= (length.wrapping_sub(1) > 2) | (value > 255) | leads_with_zero;
        is_odd |= (octet < 3) & (window[end as usize % WINDOW] != b'.');
        address = address << 8 | u64::from(value);
        start = end.wrapping_add(1);
    }
    (!is_odd).then_some((address, at + start as usize - 1))
}
