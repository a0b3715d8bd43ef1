//! One 16-bit value among a few.
//!
//! Contract of every implementation: whether `low` is one of the little-endian
//! values of `window`. Comparing all of them costs less than a branch that is
//! guessed wrong.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::Level;
use super::level::Isa;

/// Values looked at together.
pub(crate) const WINDOW: usize = 128;

/// Whether `low` is in `window`.
#[inline]
pub(crate) fn contains(level: Level, window: &[[u8; 2]; WINDOW], low: u16) -> bool {
    match level.isa() {
        Isa::Scalar => scalar(window, low),
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2::contains(window, low) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::contains(window, low) },
    }
}

fn scalar(window: &[[u8; 2]; WINDOW], low: u16) -> bool {
    window.iter().fold(false, |found, value| found | (u16::from_le_bytes(*value) == low))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_levels_find_what_is_there(values: [[u16; 32]; 4], low: u16, place in 0..WINDOW) {
            let mut window = [[0; 2]; WINDOW];
            for (slot, value) in window.iter_mut().zip(values.as_flattened()) {
                *slot = value.to_le_bytes();
            }
            let there = u16::from_le_bytes(window[place]);
            for &level in Level::available() {
                prop_assert!(contains(level, &window, there), "{}", level.name());
                prop_assert_eq!(contains(level, &window, low), scalar(&window, low));
            }
        }
    }
}
