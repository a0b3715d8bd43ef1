//! Finding a value in an array or in runs.

use super::ends;

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
    let guess = (usize::from(low) * count) >> 16;
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
