//! Lines of values that are far apart: all their digits are made.
//!
//! The table of four digits has 40 KB, of which such values meet any entry.
//! With vector instructions it is faster to compute: eight digits in 64 bits,
//! those of several values at once.

use super::table::FOUR_DIGITS;
use super::{Low, MAX_LINE, SLACK};
use crate::simd::task::Task;

/// Values whose digits are made together.
const GROUP: usize = 8;
const EIGHT_DIGITS: u64 = 100_000_000;

/// Writes `base + low` of all `run`, each of `D` digits.
pub(super) struct Far<'a, const D: usize, L> {
    pub(super) base: u64,
    pub(super) run: &'a [L],
    pub(super) terminator: u8,
    pub(super) out: &'a mut [u8],
}

impl<const D: usize, L: Low> Task for Far<'_, D, L> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "remainders below 10^8, quotients of them")]
    fn run(self) {
        const { assert!(D >= 1 && D < MAX_LINE && SLACK >= 32) }
        let Self { base, run, terminator, out } = self;
        let mut start = 0;
        for lows in run.chunks(GROUP) {
            // Above 10^16, above 10^8, and below, of each value.
            let mut tops = [0_u16; GROUP];
            let mut eights = [0_u32; 2 * GROUP];
            for (index, low) in lows.iter().enumerate() {
                let value = base + low.widen();
                let upper = value / EIGHT_DIGITS;
                let top = upper / EIGHT_DIGITS;
                tops[index] = top as u16;
                eights[index] = (upper - top * EIGHT_DIGITS) as u32;
                eights[GROUP + index] = (value - upper * EIGHT_DIGITS) as u32;
            }
            let digits = eight_digits(&eights);
            for index in 0..lows.len() {
                let Some(line) = out[start..].first_chunk_mut::<32>() else { return };
                let (upper, lower) = (digits[index], digits[GROUP + index]);
                // What falls behind the digits is written over.
                if D > 16 {
                    let top = u32::from_le_bytes(FOUR_DIGITS[usize::from(tops[index])]);
                    line[..4].copy_from_slice(&(top >> (8 * (20 - D))).to_le_bytes());
                    line[D - 16..D - 8].copy_from_slice(&upper.to_le_bytes());
                } else if D > 8 {
                    line[..8].copy_from_slice(&(upper >> (8 * (16 - D))).to_le_bytes());
                }
                if D >= 8 {
                    line[D - 8..D].copy_from_slice(&lower.to_le_bytes());
                } else {
                    line[..8].copy_from_slice(&(lower >> (8 * (8 - D))).to_le_bytes());
                }
                line[D] = terminator;
                start += D + 1;
            }
        }
    }
}

/// The eight decimal digits of each value, all below 10^8, the first one in the
/// lowest byte.
///
/// A number is halved three times: into two of four digits, side by side in 64
/// bits, four of two, and eight of one. Division is multiplication by a rounded
/// reciprocal, exact for numbers as small as these (T. Granlund, P. Montgomery:
/// Division by invariant integers using multiplication, 1994).
#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
fn eight_digits<const N: usize>(values: &[u32; N]) -> [u64; N] {
    let mut digits = [0; N];
    for (slot, &value) in digits.iter_mut().zip(values) {
        let upper = ((u64::from(value) * 3_518_437_209) >> 45) as u32; // value / 10,000
        let lower = value - upper * 10_000;
        *slot = u64::from(four_digits(upper)) | u64::from(four_digits(lower)) << 32;
    }
    digits
}

/// The four digits of a number below 10^4, the first one in the lowest byte.
#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
fn four_digits(value: u32) -> u32 {
    let hundreds = (value * 5_243) >> 19; // value / 100
    // `hundreds | (value - 100 * hundreds) << 16`
    let pairs = (value << 16).wrapping_sub(hundreds * ((100 << 16) - 1));
    let tens = ((pairs * 103) >> 10) & 0x000F_000F; // each / 10
    // `tens | (pairs - 10 * tens) << 8`
    let ones = (pairs << 8).wrapping_sub(tens * ((10 << 8) - 1));
    ones | 0x3030_3030
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_those_of_the_table() {
        for (value, digits) in (0..).zip(&FOUR_DIGITS) {
            assert_eq!(four_digits(value).to_le_bytes(), *digits);
        }
    }

    #[test]
    fn eight_digits_are_halved_exactly() {
        let edges = (0..10_000_u32).flat_map(|four| [four * 10_000, four * 10_000 + 9_999]);
        for value in edges {
            let digits = eight_digits(&[value])[0].to_le_bytes();
            assert_eq!(digits[..], *format!("{value:08}").as_bytes());
        }
    }
}
