//! Lines of values that are far apart: their last sixteen digits are all made.
//!
//! The table of four digits has 40 KB, of which such values meet any entry.
//! With vector instructions it is faster to compute: eight digits in 64 bits,
//! those of several values at once.

use super::table::FOUR_DIGITS;
use super::{Low, MAX_LINE, SLACK, one_by_one};
use crate::kernel::task::Task;

/// Values whose digits are made together.
const GROUP: usize = 8;
const EIGHT_DIGITS: u32 = 100_000_000;
const SIXTEEN_DIGITS: u64 = 10_000_000_000_000_000;
/// 2^52: from here to twice as much, a double's last bits are those of a whole number.
const WHOLE: f64 = 4_503_599_627_370_496.0;

/// Writes `base + low` of all `run`, which are sorted, each of `D` digits.
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
    fn run(self) {
        const { assert!(D >= 1 && D < MAX_LINE && SLACK >= 32) }
        let Self { base, run, terminator, out } = self;
        // Neighbours share what is above 10^16: a multiple of it, and its digits.
        let (mut kept, mut top) = (0, 0_u32);
        let (groups, rest) = run.as_chunks::<GROUP>();
        let mut places = (0..).step_by(D + 1);
        for lows in groups {
            let ends = [lows[0], lows[GROUP - 1]].map(|low| base + low.widen());
            if D > 16 && ends.iter().any(|end| end.wrapping_sub(kept) >= SIXTEEN_DIGITS) {
                let above = ends[0].min(ends[1]) / SIXTEEN_DIGITS;
                kept = above * SIXTEEN_DIGITS;
                top = u32::from_le_bytes(FOUR_DIGITS[above as usize]) >> (8 * (20 - D));
                if ends[0].max(ends[1]) - kept >= SIXTEEN_DIGITS {
                    one_by_one::<D, L>(base, lows, terminator, out, &mut places);
                    continue;
                }
            }
            let below = lows.map(|low| base.wrapping_sub(kept).wrapping_add(low.widen()));
            for ([upper, lower], at) in sixteen_digits(&below).into_iter().zip(&mut places) {
                let Some(line) = out[at..].first_chunk_mut::<32>() else { return };
                // What falls behind the digits is written over.
                if D > 16 {
                    line[..4].copy_from_slice(&top.to_le_bytes());
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
            }
        }
        one_by_one::<D, L>(base, rest, terminator, out, places);
    }
}

/// The sixteen decimal digits of each value, all below 10^16, in two eights.
#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "what is cut off is the same on both sides")]
fn sixteen_digits(values: &[u64; GROUP]) -> [[u64; 2]; GROUP] {
    let mut eights = [0; 2 * GROUP];
    let (uppers, lowers) = eights.split_at_mut(GROUP);
    for ((upper, lower), &value) in uppers.iter_mut().zip(lowers).zip(values) {
        *upper = without_eight_digits(value);
        *lower = (value as u32).wrapping_sub(upper.wrapping_mul(EIGHT_DIGITS));
    }
    let digits = eight_digits(&eights);
    std::array::from_fn(|index| [digits[index], digits[GROUP + index]])
}

/// `value / 10^8` of a value below 10^16.
///
/// There are no vectors of quotients of 64 bits: it is that of `value / 2^8`,
/// below 2^46, by 390,625 in floating point. The quotient of a number and a half
/// lies at least half of 1/390,625 beside all whole numbers, by far more than it
/// is rounded.
#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "below 10^8")]
fn without_eight_digits(value: u64) -> u32 {
    let number = f64::from_bits(WHOLE.to_bits() | value >> 8) - WHOLE;
    let quotient = (number + 0.5) * (1.0 / 390_625.0);
    // Half less is rounded to the whole number below.
    (quotient - 0.5 + 1.5 * WHOLE).to_bits() as u32
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
    fn eight_digits_are_taken_off_exactly() {
        let edges = (0..u64::from(EIGHT_DIGITS)).step_by(9_973).chain([99_999_999]);
        for upper in edges {
            for lower in [0, 1, 255, 256, 257, 50_000_000, 99_999_743, 99_999_744, 99_999_999] {
                let value = upper * u64::from(EIGHT_DIGITS) + lower;
                assert_eq!(u64::from(without_eight_digits(value)), upper, "{value}");
            }
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
