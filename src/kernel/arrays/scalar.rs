//! One value at a time, without branches that depend on values.

use super::Low;

fn at(values: &[Low], index: usize) -> u16 {
    u16::from_le_bytes(values[index])
}

pub(super) fn common(a: &[Low], b: &[Low]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (ours, theirs) = (at(a, i), at(b, j));
        count += usize::from(ours == theirs);
        i += usize::from(ours <= theirs);
        j += usize::from(theirs <= ours);
    }
    count
}

pub(super) fn filter(keep: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    let (mut j, mut count) = (0, 0);
    for &low in a {
        let value = u16::from_le_bytes(low);
        while j < b.len() && at(b, j) < value {
            j += 1;
        }
        let found = j < b.len() && at(b, j) == value;
        out[count] = low;
        count += usize::from(found == keep);
    }
    count
}

pub(super) fn merge(both: bool, a: &[Low], b: &[Low], out: &mut [Low]) -> usize {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (ours, theirs) = (at(a, i), at(b, j));
        out[count] = ours.min(theirs).to_le_bytes();
        count += usize::from(both || ours != theirs);
        i += usize::from(ours <= theirs);
        j += usize::from(theirs <= ours);
    }
    for rest in [&a[i..], &b[j..]] {
        out[count..count + rest.len()].copy_from_slice(rest);
        count += rest.len();
    }
    count
}
