//! Searches by key and by rank, and the arithmetic of ranks.

use super::Damage;
use crate::kernel::in_usize;
use std::cmp::Ordering;
use std::hint::select_unpredictable;
use std::ops::{Bound, RangeBounds};

/// A file says another number of values before a container than its containers have.
pub(super) const WRONG_RANKS: Damage =
    Damage { offset: 0, what: "the number of values before a container is wrong" };

/// Adds numbers of values from a file, which may be damaged.
pub(super) fn sum(before: u64, more: u64) -> Result<u64, Damage> {
    before.checked_add(more).ok_or(Damage::of("there are more values than numbers below 2^64"))
}

/// Number of values up to a place, minus the number up to an earlier place.
pub(super) fn difference(rank: u64, before: u64) -> Result<u64, Damage> {
    rank.checked_sub(before).ok_or(Damage::of("the numbers of values before places do not ascend"))
}

/// First and last value of a range; none if it has no values.
pub(crate) fn ends_of(range: &impl RangeBounds<u64>) -> Option<(u64, u64)> {
    let first = match range.start_bound() {
        Bound::Included(&first) => first,
        Bound::Excluded(&before) => before.checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let last = match range.end_bound() {
        Bound::Included(&last) => last,
        Bound::Excluded(&end) => end.checked_sub(1)?,
        Bound::Unbounded => u64::MAX,
    };
    (first <= last).then_some((first, last))
}

/// The index of `key` among `count` distinct ascending keys, or the index where it would be.
#[inline]
pub(crate) fn find_key<K: Copy + Into<u64>>(
    count: usize,
    key: K,
    at: impl Fn(usize) -> K,
) -> Result<usize, usize> {
    if count == 0 {
        return Err(0);
    }
    let at = |index: usize| -> u64 { at(index).into() };
    let (key, first, last) = (key.into(), at(0), at(count - 1));
    if key < first || key > last {
        return Err(if key < first { 0 } else { count });
    }
    // As many keys as that may be before it and behind it.
    let distance = |keys: u64| in_usize(keys);
    let to = distance(key - first).min(count - 1);
    let mut from = (count - 1).saturating_sub(distance(last - key)).min(to);
    // Find the last key that is not above `key`, without branches, which would be mispredicted.
    let mut count = to - from + 1;
    while count > 1 {
        let half = count / 2;
        from = select_unpredictable(at(from + half) <= key, from + half, from);
        count -= half;
    }
    match at(from).cmp(&key) {
        Ordering::Equal => Ok(from),
        Ordering::Less => Err(from + 1),
        Ordering::Greater => Err(from),
    }
}

/// The last of `count` places whose rank is at most `index`. Ranks ascend.
pub(super) fn last_up_to(
    count: usize,
    index: u64,
    rank: impl Fn(usize) -> Result<u64, Damage>,
) -> Result<Option<usize>, Damage> {
    let (mut from, mut to) = (0, count);
    while from < to {
        let middle = from.midpoint(to);
        if rank(middle)? <= index {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    Ok(from.checked_sub(1))
}
