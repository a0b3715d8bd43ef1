//! Counts the values that two containers share, without making a container of them.

use super::{BitmapWords, Container, GALLOP, for_overlaps, intervals};
use crate::kernel::{Level, arrays, popcount};

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
        (Array(values), Runs(runs)) | (Runs(runs), Array(values)) => in_runs(values, runs),
        (Runs(a), Runs(b)) => {
            let mut len = 0;
            for_overlaps(a, b, |first, last| len += (last + 1).saturating_sub(first));
            len
        }
        (Bitmap(words), Runs(runs)) | (Runs(runs), Bitmap(words)) => {
            intervals(runs).map(|(first, last)| in_range(words, first, last)).sum()
        }
    }
}

/// Whether there is a value in both.
pub(crate) fn intersects(a: Container<'_>, b: Container<'_>) -> bool {
    match (a, b) {
        (Container::Bitmap(a), Container::Bitmap(b)) => {
            a.iter().zip(b).any(|(&a, &b)| u64::from_le_bytes(a) & u64::from_le_bytes(b) != 0)
        }
        (Container::Array(values), other) | (other, Container::Array(values))
            if values.len() < 64 =>
        {
            values.iter().any(|&low| other.contains(u16::from_le_bytes(low)))
        }
        _ => intersection_len(a, b) > 0,
    }
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

fn in_runs(values: &[[u8; 2]], runs: &[[u8; 4]]) -> u32 {
    let mut runs = intervals(runs);
    let mut run = runs.next();
    let mut count = 0;
    for &low in values {
        let value = u32::from(u16::from_le_bytes(low));
        while run.is_some_and(|(_, last)| last < value) {
            run = runs.next();
        }
        let Some((first, _)) = run else { break };
        count += u32::from(first <= value);
    }
    count
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
