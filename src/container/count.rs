//! How much two containers share, without making what they share.

use super::{Container, Scratch, ends};
use crate::simd::{Level, popcount};

/// Number of values in both.
pub(crate) fn intersection_len(a: Container<'_>, b: Container<'_>) -> u32 {
    match (a, b) {
        (Container::Array(a), Container::Array(b)) => arrays(a, b),
        (Container::Bitmap(a), Container::Bitmap(b)) => {
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            let count = popcount::common_ones(Level::best(), a, b) as u32;
            count
        }
        (Container::Array(values), other) | (other, Container::Array(values)) => {
            let inside = |&&low: &&[u8; 2]| other.contains(u16::from_le_bytes(low));
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            let count = values.iter().filter(inside).count() as u32;
            count
        }
        (Container::Runs(a), Container::Runs(b)) => {
            let (mut i, mut j, mut count) = (0, 0, 0_u32);
            while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
                let ((x_first, x_last), (y_first, y_last)) = (ends(x), ends(y));
                let (first, last) = (x_first.max(y_first), x_last.min(y_last));
                count = count.saturating_add((last + 1).saturating_sub(first));
                if x_last < y_last {
                    i += 1;
                } else {
                    j += 1;
                }
            }
            count
        }
        (Container::Bitmap(words), runs) | (runs, Container::Bitmap(words)) => {
            let mask = Scratch::words_of(runs);
            #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
            let count = popcount::common_ones(Level::best(), words, &mask[..]) as u32;
            count
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

/// Arrays this many times longer are searched, not read.
const GALLOP: usize = 32;

fn arrays(a: &[[u8; 2]], b: &[[u8; 2]]) -> u32 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut count = 0;
    if short.len() * GALLOP < long.len() {
        let long = Container::Array(long);
        return short.iter().map(|&low| u32::from(long.contains(u16::from_le_bytes(low)))).sum();
    }
    let (mut at, mut other) = (0, 0);
    while at < short.len() && other < long.len() {
        let (ours, theirs) = (u16::from_le_bytes(short[at]), u16::from_le_bytes(long[other]));
        // No branch to guess wrong.
        count += u32::from(ours == theirs);
        at += usize::from(ours <= theirs);
        other += usize::from(theirs <= ours);
    }
    count
}
