//! Intersects ascending numbers with others, or subtracts these.
//!
//! Four numbers are compared with four others at once: that leaves one branch for several numbers
//! that the processor cannot predict.

use super::Level;
use super::task::{Task, run};

/// Numbers that are compared at once with as many others.
const BLOCK: usize = 4;

/// How far [`retain`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retained {
    /// Numbers that were decided: they are in `others` or not.
    pub(crate) read: usize,
    /// Those of them that are kept. They are at the front.
    pub(crate) written: usize,
    /// Numbers of `others` that are not needed any more.
    pub(crate) passed: usize,
}

/// Moves the first of `numbers` that are in `others` (`keep`), or are not (not `keep`), to the
/// place `to` and behind it, up to the end of either. `numbers[..from]` were decided before, and
/// `to` is not above `from`. If the numbers do not ascend, the result is wrong, but nothing panics.
///
/// # Panics
///
/// If `to` is above `from`, or `from` above the number of numbers.
pub(crate) fn retain(
    level: Level,
    keep: bool,
    (to, from): (usize, usize),
    numbers: &mut [u64],
    others: &[u64],
) -> Retained {
    assert!(to <= from && from <= numbers.len(), "places out of order");
    run(level, Retain { keep, to, from, numbers, others })
}

struct Retain<'a> {
    keep: bool,
    to: usize,
    from: usize,
    numbers: &'a mut [u64],
    others: &'a [u64],
}

impl Task for Retain<'_> {
    type Output = Retained;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> Retained {
        let Self { keep, to: mut written, from: mut read, numbers, others } = self;
        let (mut passed, kept) = (0, if keep { u64::MAX } else { 0 });
        // For each number of the current block: all bits if it was found in the blocks that were
        // passed, else 0.
        let mut found = [0; BLOCK];
        let mut put = |numbers: &mut [u64], ours: u64, found: u64| {
            numbers[written] = ours;
            written += usize::from(found == kept);
        };
        while let (Some(ours), Some(theirs)) = (block(numbers, read), block(others, passed)) {
            for theirs in theirs {
                for (found, ours) in found.iter_mut().zip(ours) {
                    *found |= if ours == theirs { u64::MAX } else { 0 };
                }
            }
            let (last, their_last) = (ours[BLOCK - 1], theirs[BLOCK - 1]);
            passed += if their_last <= last { BLOCK } else { 0 };
            if last <= their_last {
                ours.into_iter().zip(found).for_each(|(ours, found)| put(numbers, ours, found));
                read += BLOCK;
                found = [0; BLOCK];
            }
        }
        // Some of the current block may be decided already.
        let met = passed.checked_sub(1).and_then(|last| others.get(last));
        if let (Some(ours), Some(met)) = (block(numbers, read), met) {
            for (ours, found) in ours.into_iter().zip(found).filter(|(ours, _)| ours <= met) {
                put(numbers, ours, found);
                read += 1;
            }
        }
        while let (Some(&ours), Some(&theirs)) = (numbers.get(read), others.get(passed)) {
            numbers[written] = ours;
            let is_kept = if keep { ours == theirs } else { ours < theirs };
            written += usize::from(is_kept);
            read += usize::from(ours <= theirs);
            passed += usize::from(theirs <= ours);
        }
        Retained { read, written, passed }
    }
}

/// The numbers from `index` on, if there are so many.
#[inline]
fn block(numbers: &[u64], index: usize) -> Option<[u64; BLOCK]> {
    numbers.get(index..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Ascending numbers, dense, with gaps, and at both ends.
    fn ascending() -> impl Strategy<Value = Vec<u64>> {
        let near = prop_oneof![0..60_u64, 0..400_u64, Just(u64::MAX), u64::MAX - 60..u64::MAX];
        prop::collection::btree_set(near, 0..120).prop_map(|all| all.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 500 }))]

        #[test]
        fn numbers_are_kept_as_the_model_says(
            ours in ascending(), theirs in ascending(), keep: bool, cut in 1..40_usize, gone in 0..9_usize,
        ) {
            let model: BTreeSet<u64> = theirs.iter().copied().collect();
            for &level in Level::available() {
                // Some of the numbers were decided before.
                let from = gone.min(ours.len());
                let (mut numbers, mut read, mut written) = (ours.clone(), from, from / 2);
                let front = numbers[..written].to_vec();
                // The others come in pieces.
                for mut piece in theirs.chunks(cut) {
                    while read < numbers.len() && !piece.is_empty() {
                        let done = retain(level, keep, (written, read), &mut numbers, piece);
                        prop_assert!(done.read > read || done.passed > 0, "it goes on");
                        (read, written) = (done.read, done.written);
                        piece = &piece[done.passed..];
                    }
                }
                prop_assert_eq!(&numbers[..front.len()], &front[..]);
                let expected = ours[from..read].iter().filter(|value| model.contains(value) == keep);
                prop_assert!(numbers[front.len()..written].iter().eq(expected));
                // The numbers that are left are larger than all of the others.
                let rest = ours.get(read);
                prop_assert!(rest.is_none_or(|rest| theirs.last().is_none_or(|last| rest > last)));
            }
        }

        #[test]
        fn numbers_in_disorder_harm_nothing(
            mut numbers in prop::collection::vec(0..9_u64, 0..40), others in prop::collection::vec(0..9_u64, 0..40),
            keep: bool,
        ) {
            for &level in Level::available() {
                let done = retain(level, keep, (0, 0), &mut numbers, &others);
                prop_assert!(done.read <= numbers.len() && done.written <= done.read);
                prop_assert!(done.passed <= others.len());
            }
        }
    }
}
