//! Filters and merges two ascending arrays of 16-bit values.
//!
//! Contract of every implementation, for arrays that ascend: [`filter`] writes the values of `a`
//! that are in `b`, or those that are not; [`merge`] writes the values of either, or of one only;
//! [`common`] counts what `filter` would write. If the values do not ascend, the result is wrong,
//! but nothing is written outside of the room in `out`, and nothing panics.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod sse42;
#[cfg(test)]
mod tests;

use super::Level;
use super::level::Isa;

/// A little-endian value.
pub(crate) type Low = [u8; 2];

/// Elements of `out` behind the result that may be overwritten.
pub(crate) const SLACK: usize = 128;

/// Arrays that have no more values together are read one value at a time: a vector of them would
/// have to be filled first.
const FEW: usize = 8;

#[inline]
fn isa(level: Level, a: &[Low], b: &[Low]) -> Isa {
    if a.len() + b.len() <= FEW { Isa::Scalar } else { level.isa() }
}

/// Writes the values of `a` that are in `b` (`keep`) or are not (not `keep`) to the front of `out`;
/// gives how many there are.
///
/// # Panics
///
/// If `out` is shorter than `a` plus [`SLACK`].
pub(crate) fn filter(level: Level, keep: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    match isa(level, a, b) {
        Isa::Scalar => scalar::filter(keep, a, b, out),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => scalar::filter(keep, a, b, out),
        // SAFETY: `Level::available` is the only maker of these levels, after the
        // CPU reported AVX2, which SSE 4.2 is a part of, and POPCNT.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 | Isa::Avx512 => unsafe { sse42::filter(keep, a, b, out) },
    }
}

/// Number of values in both.
pub(crate) fn common(level: Level, a: &[Low], b: &[Low]) -> usize {
    match isa(level, a, b) {
        Isa::Scalar => scalar::common(a, b),
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => scalar::common(a, b),
        // SAFETY: as in `filter`.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 | Isa::Avx512 => unsafe { sse42::common(a, b) },
    }
}

/// Writes the values of either array (`both`) or of exactly one (not `both`) to the front of `out`;
/// gives how many there are.
///
/// # Panics
///
/// If `out` is shorter than `a` and `b` plus [`SLACK`].
pub(crate) fn merge(level: Level, both: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    match isa(level, a, b) {
        // SAFETY: `Level::available` is the only maker of this level, after the
        // CPU reported these features.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512::merge(both, a, b, out) },
        // SAFETY: as in `filter`.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { sse42::merge(both, a, b, out) },
        _ => scalar::merge(both, a, b, out),
    }
}

/// Fills lanes without a value where vectors are merged. The arrays have this value no more then.
#[cfg(target_arch = "x86_64")]
const TOP: Low = [0xFF, 0xFF];

/// The values without [`TOP`], and whether it was there.
#[cfg(target_arch = "x86_64")]
fn without_top(values: &[Low]) -> (&[Low], bool) {
    match values {
        [rest @ .., TOP] => (rest, true),
        _ => (values, false),
    }
}

/// Value `at`, or more than any value behind the last one.
#[cfg(target_arch = "x86_64")]
#[inline]
fn head(values: &[Low], at: usize) -> u32 {
    values.get(at).map_or(1 << 16, |&low| u32::from(u16::from_le_bytes(low)))
}

/// Ends a merge of arrays that have `most` values together: takes a [`TOP`] of the lanes from the
/// `count` values in `out`, and adds that of the arrays. Gives how many values there are.
#[cfg(target_arch = "x86_64")]
fn with_top(both: bool, out: &mut [Low], mut count: usize, most: usize, tops: [bool; 2]) -> usize {
    count -= usize::from(count > 0 && out[count - 1] == TOP);
    count = count.min(most);
    out[count] = TOP;
    let [top, other] = tops;
    count + usize::from(if both { top || other } else { top != other })
}
