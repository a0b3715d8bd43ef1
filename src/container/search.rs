//! Finding a value in an array or in runs.

use super::ends;
use crate::simd::search::{self, WINDOW};
use crate::simd::{self, Level};

/// Where `low` would be were the values spread evenly.
fn guess(values: &[[u8; 2]], low: u16) -> usize {
    (usize::from(low) * values.len()) >> 16
}

/// Values of a window that lie in all of its cache lines, whatever its alignment.
const IN_LINES: [usize; 5] = [0, 32, 64, 96, WINDOW - 1];

/// Where the values begin that are compared at once, or all of fewer: of as many as
/// an array can have, spread evenly, 95 in 100 are no farther than half a window from
/// where they are expected.
fn window_start(values: &[[u8; 2]], low: u16) -> usize {
    let last = values.len().saturating_sub(WINDOW);
    guess(values, low).saturating_sub(WINDOW / 2).min(last)
}

/// The values compared at once, if there are as many.
fn window(values: &[[u8; 2]], low: u16) -> Option<&[[u8; 2]; WINDOW]> {
    values[window_start(values, low)..].first_chunk()
}

/// Whether `low` is there.
pub(super) fn contains(values: &[[u8; 2]], low: u16) -> bool {
    let Some(window) = window(values, low) else {
        return search::contains_few(Level::best(), values, low);
    };
    if search::contains(Level::best(), window, low) {
        return true;
    }
    let [first, .., last] = window;
    (low < u16::from_le_bytes(*first) || low > u16::from_le_bytes(*last))
        && array(values, low).is_ok()
}

/// Reads from the cache lines of the window that is looked at first.
pub(super) fn touch(values: &[[u8; 2]], low: u16) -> u8 {
    match window(values, low) {
        Some(window) => IN_LINES.iter().fold(0, |all, &at| all ^ window[at][0]),
        None => {
            values.first().map_or(0, |first| first[0]) ^ values.last().map_or(0, |last| last[0])
        }
    }
}

/// Asks for the cache lines of the window that is looked at first.
#[inline]
pub(super) fn prefetch(values: &[[u8; 2]], low: u16) {
    let start = window_start(values, low);
    for at in IN_LINES {
        simd::prefetch(values, start + at);
    }
}

/// The place of `low`, or where it would be.
///
/// Starts where `low` would be were the values spread evenly, which for ids
/// they mostly are: one or two cache lines are touched, not the eleven of a
/// binary search. O(log n) for any values.
pub(super) fn array(values: &[[u8; 2]], low: u16) -> Result<usize, usize> {
    let at = |index: usize| u16::from_le_bytes(values[index]);
    let count = values.len();
    if count == 0 {
        return Err(0);
    }
    let guess = guess(values, low);
    let mut step = 8;
    // The answer is in `from .. to`, or at `to`.
    let (mut from, mut to);
    if at(guess) < low {
        from = guess + 1;
        to = (from + step).min(count);
        while to < count && at(to - 1) < low {
            from = to;
            step *= 2;
            to = (from + step).min(count);
        }
    } else {
        to = guess;
        from = to.saturating_sub(step);
        while from > 0 && at(from) >= low {
            to = from;
            step *= 2;
            from = to.saturating_sub(step);
        }
    }
    while from < to {
        let middle = from.midpoint(to);
        if at(middle) < low {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    if from < count && at(from) == low { Ok(from) } else { Err(from) }
}

/// The run that has `low`, or the first one behind it.
pub(super) fn runs(runs: &[[u8; 4]], low: u16) -> Result<usize, usize> {
    let low = u32::from(low);
    let place = runs.partition_point(|&run| ends(run).1 < low);
    match runs.get(place) {
        Some(&run) if ends(run).0 <= low => Ok(place),
        _ => Err(place),
    }
}
