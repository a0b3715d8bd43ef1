//! Writes sorted values as decimal lines.
//!
//! Contract: `base + low` for every element, in order, as decimal digits and a terminator. There is
//! code for each number of digits, so that the places of the digits are constants.
//!
//! Neighbours in a sorted sequence share their high digits. These are computed once and stored
//! again for each value; the last four digits come from a table. Stores limit the speed. If
//! neighbours are far apart, sixteen digits are computed for each value, in groups of four from the
//! table.

/// Longest line: 20 digits and a terminator.
pub(crate) const MAX_LINE: usize = 21;
/// Bytes behind the last line that may be overwritten.
pub(crate) const SLACK: usize = 32;
/// If neighbours are farther apart than this on average, high digits are not kept: half of them
/// would have to be computed again.
const FAR: u64 = 5_000;

/// The 10,000 groups of four digits: `FOUR_DIGITS[42]` is `b"0042"`.
#[expect(clippy::cast_possible_truncation, reason = "digits")]
static FOUR_DIGITS: [[u8; 4]; 10_000] = {
    let mut table = [[0; 4]; 10_000];
    let mut value = 0;
    while value < 10_000 {
        table[value] = [
            b'0' + (value / 1000) as u8,
            b'0' + (value / 100 % 10) as u8,
            b'0' + (value / 10 % 10) as u8,
            b'0' + (value % 10) as u8,
        ];
        value += 1;
    }
    table
};

/// The low bits of a value, which differ within a partition.
pub(crate) trait Low: Copy {
    /// The bits as a `u64`.
    fn widen(self) -> u64;
}

impl Low for u32 {
    fn widen(self) -> u64 {
        self.into()
    }
}

impl Low for u64 {
    fn widen(self) -> u64 {
        self
    }
}

/// Number of decimal digits of `value`.
pub(crate) fn digit_count(value: u64) -> usize {
    value.checked_ilog10().map_or(1, |log| log as usize + 1)
}

/// Writes the lines of `base + low` for all `lows`, which are sorted up or down; gives how many
/// bytes it wrote.
///
/// # Panics
///
/// If `out` has less than `lows.len() * MAX_LINE + SLACK` bytes.
pub(crate) fn lines<L: Low>(base: u64, lows: &[L], terminator: u8, out: &mut [u8]) -> usize {
    assert!(out.len() >= lows.len() * MAX_LINE + SLACK, "room for the longest lines");
    let mut rest = lows;
    let mut written = 0;
    while let (Some(first), Some(last)) = (rest.first(), rest.last()) {
        let digits = digit_count(base + first.widen());
        let alike = if digit_count(base + last.widen()) == digits {
            rest.len()
        } else {
            rest.partition_point(|low| digit_count(base + low.widen()) == digits)
        };
        let (run, others) = rest.split_at(alike);
        let out = &mut out[written..];
        macro_rules! by_digits {
            ($($count:literal)*) => {
                match digits {
                    $($count => run_of::<$count, L>(base, run, terminator, out),)*
                    _ => 0, // a u64 has 1 to 20 digits
                }
            };
        }
        written += by_digits!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20);
        rest = others;
    }
    written
}

/// Writes [`lines`] of values that all have `D` digits.
fn run_of<const D: usize, L: Low>(base: u64, run: &[L], terminator: u8, out: &mut [u8]) -> usize {
    let (Some(first), Some(last)) = (run.first(), run.last()) else { return 0 };
    let distance = first.widen().abs_diff(last.widen()) / run.len() as u64;
    if D > 4 && distance <= FAR {
        near::<D, L>(base, run, terminator, out);
    } else {
        far::<D, L>(base, run, terminator, out);
    }
    run.len() * (D + 1)
}

/// Writes lines with few digits, or with few digits in common with the line before.
fn far<const D: usize, L: Low>(base: u64, run: &[L], terminator: u8, out: &mut [u8]) {
    for (low, at) in run.iter().zip((0..).step_by(D + 1)) {
        if let Some(line) = out[at..].first_chunk_mut::<32>() {
            all_digits::<D>(base + low.widen(), line);
            line[D] = terminator;
        }
    }
}

/// Writes lines of five digits or more. Many have the digits of the line before, except for the
/// last four.
fn near<const D: usize, L: Low>(base: u64, run: &[L], terminator: u8, out: &mut [u8]) {
    let mut kept = [0_u8; 16];
    // Not the first value: its high digits are not kept yet.
    let mut kept_from = run.first().map_or(0, |first| base + first.widen()).wrapping_add(1);
    for (index, low) in run.iter().enumerate() {
        let value = base + low.widen();
        let mut four = value.wrapping_sub(kept_from);
        if four >= 10_000 {
            let mut line = [0; 32];
            all_digits::<D>(value, &mut line);
            line[D] = terminator;
            kept.copy_from_slice(&line[..16]);
            four = value % 10_000;
            kept_from = value - four;
        }
        if let Some(line) = out[index * (D + 1)..].first_chunk_mut::<32>() {
            line[..16].copy_from_slice(&kept);
            #[expect(clippy::cast_possible_truncation, reason = "below 10,000")]
            let group = FOUR_DIGITS[four as usize];
            line[D - 4..D].copy_from_slice(&group);
            if D >= 16 {
                line[D] = terminator;
            }
        }
    }
}

/// Writes the `D` digits of `value` to the front of `line`. The bytes behind them are overwritten
/// later.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "remainders below 10,000")]
fn all_digits<const D: usize>(value: u64, line: &mut [u8; 32]) {
    const {
        assert!(D >= 1 && D <= 20);
    }
    // Groups of four digits; the highest group has `D - 4 * (groups - 1)`.
    let low = value % 100_000_000;
    let groups = D.div_ceil(4);
    let lead = D - 4 * (groups - 1);
    let mut write = |index: usize, group: u64| {
        let digits = FOUR_DIGITS[group as usize];
        if index == 0 {
            let word = u32::from_le_bytes(digits) >> (8 * (4 - lead));
            line[..4].copy_from_slice(&word.to_le_bytes());
        } else {
            let at = lead + 4 * (index - 1);
            line[at..at + 4].copy_from_slice(&digits);
        }
    };
    if groups > 4 {
        write(0, value / 10_000_000_000_000_000);
    }
    if groups > 2 {
        let middle = value / 100_000_000 % 100_000_000;
        if groups > 3 {
            write(groups - 4, middle / 10_000);
        }
        write(groups - 3, middle % 10_000);
    }
    if groups > 1 {
        write(groups - 2, low / 10_000);
    }
    write(groups - 1, low % 10_000);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<L: Low>(base: u64, lows: &[L]) {
        let line = |low: &L| (base + low.widen()).to_string() + "\n";
        let expected: String = lows.iter().map(line).collect();
        let mut out = vec![0; lows.len() * MAX_LINE + SLACK];
        let written = lines(base, lows, b'\n', &mut out);
        assert_eq!(std::str::from_utf8(&out[..written]).unwrap(), expected);
    }

    #[test]
    fn every_power_of_ten_and_its_neighbours_are_written_as_to_string_does() {
        let mut values = vec![0, u64::MAX, u64::MAX - 1];
        for exponent in 0..20 {
            let power = 10_u64.pow(exponent);
            values.extend([power - 1, power, power + 1, power.saturating_mul(9)]);
        }
        values.sort_unstable();
        check(0, &values);
        values.reverse();
        check(0, &values);
        for value in values {
            check(0, &[value]);
        }
    }

    #[test]
    fn groups_astride_of_ten_to_the_sixteen_are_written_as_to_string_does() {
        let ten_to_the_sixteen = 10_u64.pow(16);
        for multiple in [1, 2, 10, 99, 100, 1000, 1843, 1844] {
            let middle = multiple * ten_to_the_sixteen;
            let step = ten_to_the_sixteen / 50;
            let mut values: Vec<u64> = (0..30).map(|i| middle - 13 * step + i * step).collect();
            check(0, &values);
            check(middle - 13 * step, &values.iter().map(|v| v - values[0]).collect::<Vec<_>>());
            values.reverse();
            check(0, &values);
        }
    }

    proptest! {
        #[test]
        fn sorted_values_are_written_as_to_string_does(
            mut values in prop::collection::vec(
                prop_oneof![any::<u64>(), 0_u64..100_000, any::<u32>().prop_map(u64::from)], 0..200),
            mut lows in prop::collection::vec(any::<u32>(), 0..200),
            base in 0_u64..(u64::MAX - u64::from(u32::MAX)),
            narrow in 1_u32..1_000_000,
        ) {
            values.sort_unstable();
            check(0, &values);
            lows.sort_unstable();
            check(base, &lows);
            for low in &mut lows {
                *low %= narrow;
            }
            lows.sort_unstable_by(|a, b| b.cmp(a));
            check(base, &lows);
        }
    }
}
