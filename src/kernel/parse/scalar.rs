//! Parses eight digits at a time in ordinary registers.

use super::{ParseSink, check_span};
use std::ops::{ControlFlow, Range};

/// Values that are handed over together.
const BATCH: usize = 256;

pub(super) fn parse<L: ParseSink>(
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    lines: &mut L,
) -> usize {
    check_span(bytes, &span);
    let mut batch = [0; BATCH];
    let mut ends = [0; BATCH];
    let mut filled = 0;
    let mut start = span.start;
    while start < span.end {
        if let Some((value, behind)) = plain_line(&bytes[..span.end], start, terminator) {
            batch[filled] = value;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "blocks are below 4 GiB, see check_span"
            )]
            let end = (behind - 1) as u32;
            ends[filled] = end;
            filled += 1;
            start = behind;
        } else {
            lines.values(&batch[..filled], &ends[..filled]);
            filled = 0;
            let rest = &bytes[start..span.end];
            let Some(length) = rest.iter().position(|&byte| byte == terminator) else {
                return start;
            };
            let line = start..start + length;
            start = line.end + 1;
            if lines.odd_line(line) == ControlFlow::Break(()) {
                return start;
            }
        }
        if filled == BATCH {
            lines.values(&batch, &ends);
            filled = 0;
        }
    }
    lines.values(&batch[..filled], &ends[..filled]);
    start
}

/// The value of the line at `start` and the start of the next line, if the line is 1 to 19 digits
/// and its terminator is there.
pub(super) fn plain_line(bytes: &[u8], start: usize, terminator: u8) -> Option<(u64, usize)> {
    let mut at = start;
    let mut value = 0_u64;
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let Some(part) = eight_digits(*eight) else { break };
        if at - start > 8 {
            return None; // 24 digits or more
        }
        value = value * 100_000_000 + part;
        at += 8;
    }
    loop {
        let byte = *bytes.get(at)?;
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            let digits = at - start;
            if byte == b'\r' && terminator != b'\r' {
                at += 1;
            }
            let complete = bytes.get(at) == Some(&terminator) && (1..=19).contains(&digits);
            return complete.then_some((value, at + 1));
        }
        if at - start >= 19 {
            return None;
        }
        value = value * 10 + u64::from(digit);
        at += 1;
    }
}

/// Johnny Lee's method: pairs, then fours, then all eight digits in three
/// multiplications (<https://johnnylee-sde.github.io/Fast-numeric-string-to-int/>).
fn eight_digits(bytes: [u8; 8]) -> Option<u64> {
    let word = u64::from_le_bytes(bytes);
    let high_halves = word & 0xF0F0_F0F0_F0F0_F0F0;
    let carried = word.wrapping_add(0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0;
    if high_halves != 0x3030_3030_3030_3030 || carried != 0x3030_3030_3030_3030 {
        return None;
    }
    let digits = word & 0x0F0F_0F0F_0F0F_0F0F;
    let pairs = (digits.wrapping_mul(2561) >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs.wrapping_mul(6_553_601) >> 16) & 0x0000_FFFF_0000_FFFF;
    Some(fours.wrapping_mul(42_949_672_960_001) >> 32)
}
