//! One 16-bit value among a few.
//!
//! Contract of every implementation: whether `low` is one of the little-endian
//! values of `window`. Comparing all of them costs less than a branch that is
//! guessed wrong.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

use super::Level;
use super::level::Isa;

/// Values looked at together.
pub(crate) const WINDOW: usize = 64;

/// Whether `low` is in `window`.
#[inline]
pub(crate) fn contains(level: Level, window: &[[u8; 2]; WINDOW], low: u16) -> bool {
    match level.isa() {
        Isa::Scalar => scalar::contains(window, low),
        // The compiler makes NEON of it.
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => scalar::contains(window, low),
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2::contains(window, low) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::contains(window, low) },
    }
}

/// Whether `low` is one of fewer values than a window has.
#[inline]
pub(crate) fn contains_few(level: Level, values: &[[u8; 2]], low: u16) -> bool {
    match level.isa() {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::contains_few(values, low) },
        _ => scalar::contains_few(values, low),
    }
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
                prop_assert_eq!(contains(level, &window, low), scalar::contains(&window, low));
            }
        }

        #[test]
        fn all_levels_find_what_is_among_few(
            values in prop::collection::btree_set(any::<u16>(), 0..WINDOW),
            probes: [u16; 8],
        ) {
            let lows: Vec<[u8; 2]> = values.iter().map(|value| value.to_le_bytes()).collect();
            for &level in Level::available() {
                for probe in probes.iter().chain(&values).chain(&[0, u16::MAX]) {
                    let found = contains_few(level, &lows, *probe);
                    prop_assert_eq!(found, values.contains(probe), "{}", level.name());
                }
            }
        }
    }
}
