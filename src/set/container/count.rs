//! Counts the values that two containers share, without making a container of them.

use super::{
    BitmapWords, Container, GALLOP, PART_WORDS, for_overlaps, in_runs, intervals, place_in_array,
};
use crate::kernel::{Level, arrays, popcount};

/// Values of an array that are looked at first where one value decides.
const FEW: usize = 32;

/// Number of values in both.
#[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
pub(crate) fn intersection_len(a: Container<'_>, b: Container<'_>) -> u32 {
    use Container::{Array, Bitmap, Runs};
    match (a, b) {
        (Array(a), Array(b)) => in_arrays(a, b),
        (Bitmap(a), Bitmap(b)) => popcount::common_ones(Level::best(), a, b) as u32,
        (Array(values), Bitmap(words)) | (Bitmap(words), Array(values)) => {
            let bit = |&low: &[u8; 2]| {
                let low = u16::from_le_bytes(low);
                u64::from_le_bytes(words[usize::from(low >> 6)]) >> (low & 63) & 1
            };
            values.iter().map(bit).sum::<u64>() as u32
        }
        (Array(values), Runs(runs)) | (Runs(runs), Array(values)) => {
            in_runs(values, runs).map(u32::from).sum()
        }
        (Runs(a), Runs(b)) => {
            let mut len = 0;
            for_overlaps(a, b, |first, last| {
                len += (last + 1).saturating_sub(first);
                true
            });
            len
        }
        (Bitmap(words), Runs(runs)) | (Runs(runs), Bitmap(words)) => {
            intervals(runs).map(|(first, last)| in_range(words, first, last)).sum()
        }
    }
}

/// Whether there is a value in both. The search ends soon after the first one.
pub(crate) fn intersects(a: Container<'_>, b: Container<'_>) -> bool {
    use Container::{Array, Bitmap, Runs};
    match (a, b) {
        (Bitmap(a), Bitmap(b)) => {
            let (parts, others) = (a.as_chunks::<PART_WORDS>().0, b.as_chunks::<PART_WORDS>().0);
            parts.iter().zip(others).any(|(a, b)| popcount::common_ones(Level::best(), a, b) > 0)
        }
        (Array(mut a), Array(mut b)) => {
            let mut step = FEW;
            while let Some((front, rest)) = a.split_at_checked(step)
                && let Some(&next) = rest.first()
            {
                let (Ok(place) | Err(place)) = place_in_array(b, u16::from_le_bytes(next));
                let (theirs, behind) = b.split_at(place);
                if in_arrays(front, theirs) > 0 {
                    return true;
                }
                (a, b, step) = (rest, behind, 2 * step);
            }
            in_arrays(a, b) > 0
        }
        (Array(values), Runs(runs)) | (Runs(runs), Array(values)) if values.len() > FEW => {
            in_runs(values, runs).any(|found| found)
        }
        (Array(values), other) | (other, Array(values)) => {
            values.iter().any(|&low| other.contains(u16::from_le_bytes(low)))
        }
        (Bitmap(words), Runs(runs)) | (Runs(runs), Bitmap(words)) => {
            intervals(runs).any(|(first, last)| in_range(words, first, last) > 0)
        }
        (Runs(a), Runs(b)) => {
            let mut found = false;
            for_overlaps(a, b, |first, last| {
                found = first <= last;
                !found
            });
            found
        }
    }
}

/// Whether all values of `a` are in `b`. Most sets that are no subset are told by the first values.
pub(crate) fn is_subset(a: Container<'_>, b: Container<'_>) -> bool {
    let has = |low: u16| b.contains(low);
    a.next(0).is_none_or(has)
        && a.previous(u16::MAX).is_none_or(has)
        && intersection_len(a, b) == a.len()
}

#[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
fn in_arrays(a: &[[u8; 2]], b: &[[u8; 2]]) -> u32 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() * GALLOP < long.len() {
        let long = Container::Array(long);
        return short.iter().map(|&low| u32::from(long.contains(u16::from_le_bytes(low)))).sum();
    }
    arrays::common(Level::best(), short, long) as u32
}

/// Number of values from `first` to `last`.
#[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
fn in_range(words: &BitmapWords, first: u32, last: u32) -> u32 {
    let word = |index: u32| u64::from_le_bytes(words[index as usize]);
    let (from, to) = (first >> 6, last >> 6);
    let (above, below) = (u64::MAX << (first & 63), u64::MAX >> (63 - (last & 63)));
    if from == to {
        return (word(from) & above & below).count_ones();
    }
    let between = &words[from as usize + 1..to as usize];
    let between = popcount::ones(Level::best(), between) as u32;
    (word(from) & above).count_ones() + between + (word(to) & below).count_ones()
}
