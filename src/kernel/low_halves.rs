//! Takes the low 16 bits of values, and finds where their upper bits change.

use super::Level;
use super::decimal::Low;
use super::in_usize;
use super::task::{Task, run};

/// Writes the low 16 bits of `base + low`, little-endian, for as many of `lows` as
/// `halves` has room for.
pub(crate) fn low_halves<L: Low>(level: Level, base: u64, lows: &[L], halves: &mut [[u8; 2]]) {
    run(level, LowHalves { base, lows, halves });
}

struct LowHalves<'a, L> {
    base: u64,
    lows: &'a [L],
    halves: &'a mut [[u8; 2]],
}

impl<L: Low> Task for LowHalves<'_, L> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) {
        for (half, low) in self.halves.iter_mut().zip(self.lows) {
            let [first, second, ..] = self.base.wrapping_add(low.widen()).to_le_bytes();
            *half = [first, second];
        }
    }
}

/// Writes `base | half` for as many of `halves` as `values` has room for.
pub(crate) fn widen(level: Level, base: u64, halves: &[[u8; 2]], values: &mut [u64]) {
    run(level, Widen { base, halves, values });
}

struct Widen<'a> {
    base: u64,
    halves: &'a [[u8; 2]],
    values: &'a mut [u64],
}

impl Task for Widen<'_> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) {
        for (value, half) in self.values.iter_mut().zip(self.halves) {
            *value = self.base | u64::from(u16::from_le_bytes(*half));
        }
    }
}

/// How many of the first `values`, which ascend, have the upper 48 bits of the first one.
pub(crate) fn alike(level: Level, values: &[u64]) -> usize {
    run(level, Alike(values))
}

struct Alike<'a>(&'a [u64]);

/// Values that are compared before it looks whether to go on.
const PART: usize = 64;

impl Task for Alike<'_> {
    type Output = usize;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> usize {
        let last = self.0.first().map_or(0, |first| first | 0xFFFF);
        let mut count = 0;
        for part in self.0.chunks(PART) {
            let here = part.iter().map(|&value| u64::from(value <= last)).sum::<u64>();
            count += in_usize(here);
            if here < PART as u64 {
                break;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_the_same_upper_bits_are_counted() {
        for (first, count, more) in [
            (0, 0, 0),
            (0, 1, 0),
            (5, 1, 3),
            (0x1_0000, 64, 0),
            (0x1_0000, 64, 1),
            (0xFFFF_0000_0000, 65, 200),
            (u64::MAX - 300, 301, 0),
            (0, 0x1_0000, 2),
        ] {
            let mut values: Vec<u64> = (first..=u64::MAX).take(count).collect();
            let behind = (first | 0xFFFF).saturating_add(1);
            values.extend((behind..=u64::MAX).step_by(70_000).take(more));
            for &level in Level::available() {
                assert_eq!(alike(level, &values), count, "{first} {count} {more}");
            }
        }
    }

    #[test]
    fn the_rest_is_dropped() {
        let lows: Vec<u32> = (0..100).map(|low| low * 700).collect();
        for &level in Level::available() {
            let mut halves = [[0; 2]; 100];
            low_halves(level, u64::MAX - 9, &lows, &mut halves);
            let mut values = [0; 90];
            widen(level, 7 << 16, &halves, &mut values);
            let is_widened = |(value, half)| u64::from(u16::from_le_bytes(half)) | 7 << 16 == value;
            assert!(values.into_iter().zip(halves).all(is_widened));
            let found = halves.map(|half| u32::from(u16::from_le_bytes(half)));
            assert!(found.iter().zip(&lows).all(|(&half, &low)| half == (low + 0xFFF6) & 0xFFFF));
        }
    }
}
