//! Takes the low 16 bits of values.

use super::Level;
use super::decimal::Low;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_dropped() {
        let lows: Vec<u32> = (0..100).map(|low| low * 700).collect();
        for &level in Level::available() {
            let mut halves = [[0; 2]; 100];
            low_halves(level, u64::MAX - 9, &lows, &mut halves);
            let found = halves.map(|half| u32::from(u16::from_le_bytes(half)));
            assert!(found.iter().zip(&lows).all(|(&half, &low)| half == (low + 0xFFF6) & 0xFFFF));
        }
    }
}
