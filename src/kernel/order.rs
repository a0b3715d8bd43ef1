//! Sorts values that are almost in order, all but a few.
//!
//! Rounds of odd-even transposition (N. Habermann: Parallel neighbor-sort, 1972): neighbours that
//! are out of order change places; in one round the neighbours at even and odd places, in the next
//! those at odd and even places. Each round brings a value one place nearer to its own, and has no
//! branches to mispredict.

use super::Level;
use super::task::{Task, run};

/// Values on which all rounds are done at once: they stay in the first-level cache.
const BLOCK: usize = 1024;

/// Does `rounds` rounds of odd-even transposition. Afterwards all values are in order that were at
/// most about half as many places away.
pub(crate) fn transpose<T: Copy + Ord>(level: Level, rounds: usize, values: &mut [T]) {
    run(level, Transpose { rounds, values });
}

struct Transpose<'a, T> {
    rounds: usize,
    values: &'a mut [T],
}

impl<T: Copy + Ord> Task for Transpose<'_, T> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) {
        let Self { rounds, values } = self;
        let end = values.len();
        for block in (0..end + rounds).step_by(BLOCK) {
            // Each round ends one place before the round that it follows.
            for round in 0..rounds {
                let from = if block > round { block - round } else { round % 2 };
                let to = (block + BLOCK).saturating_sub(round).min(end);
                let (pairs, _) = values.get_mut(from..to).unwrap_or_default().as_chunks_mut();
                for pair in pairs {
                    let [a, b] = *pair;
                    *pair = [a.min(b), a.max(b)];
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A round after the other over everything.
    fn plainly(rounds: usize, values: &mut [u64]) {
        for round in 0..rounds {
            for at in (round % 2 + 1..values.len()).step_by(2) {
                if values[at - 1] > values[at] {
                    values.swap(at - 1, at);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn every_level_does_each_round_everywhere(
            values in prop::collection::vec(any::<u64>(), 0..3 * BLOCK),
            rounds in 0_usize..8,
        ) {
            let mut expected = values.clone();
            plainly(rounds, &mut expected);
            for &level in Level::available() {
                let mut found = values.clone();
                transpose(level, rounds, &mut found);
                prop_assert_eq!(&found, &expected, "{}", level.name());
            }
        }
    }
}
