//! Counts the values of the result of a plan, mostly without computing them.

use super::merge::Merge;
use super::pieces::Pool;
use super::plan::Plan;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::set::container::{self, Op};

impl Plan<'_> {
    /// Number of values of the result. For two sets, it only computes how many values they share.
    pub(crate) fn count(self, progress: &Progress) -> Result<u64> {
        let sets = self.operands();
        Self::after(&sets, self.counted(progress))
    }

    fn counted(self, progress: &Progress) -> Result<u64> {
        if let Some(merge) = Merge::of(&self) {
            let add = |count: &mut u64, values: &[u64]| *count += values.len() as u64;
            return Ok(merge.run_in_windows(progress, add)?.into_iter().sum());
        }
        let mut count = 0;
        let mut pool = Pool::default();
        self.walk(progress, |plan, key| {
            let pair = match plan {
                Self::Join(op, plans) => {
                    <&mut [_; 2]>::try_from(&mut plans[..]).ok().zip(Some(*op))
                }
                _ => None,
            };
            let Some(([a, b], op)) = pair else {
                let piece = plan.piece(key, &mut pool)?;
                count += u64::from(piece.container().len());
                pool.give(piece);
                return Ok(());
            };
            let (x, y) = (a.piece(key, &mut pool)?, b.piece(key, &mut pool)?);
            let both = u64::from(container::intersection_len(x.container(), y.container()));
            let ours = || u64::from(x.container().len());
            let theirs = || u64::from(y.container().len());
            let here = match op {
                Op::And => Some(both),
                Op::Or => (ours() + theirs()).checked_sub(both),
                Op::Xor => (ours() + theirs()).checked_sub(2 * both),
                Op::AndNot => ours().checked_sub(both),
            };
            count += here.ok_or_else(|| contradiction([&*a, &*b]))?;
            pool.give(x);
            pool.give(y);
            Ok(())
        })?;
        Ok(count)
    }

    /// Number of values of the result, even if the plan has a range of all values: it does not walk
    /// through the part of the range outside of the other set.
    #[cfg(feature = "cli")]
    pub(crate) fn cardinality(self, progress: &Progress) -> Result<u128> {
        let count = |plan: Self| plan.count(progress).map(u128::from);
        match self {
            Self::Range(first, last) => Ok(range_len(first, last)),
            Self::Join(op @ (Op::Or | Op::Xor | Op::AndNot), plans) => {
                match <[_; 2]>::try_from(plans) {
                    Ok([Self::Range(first, last), set]) => {
                        set.count_beside(op, first, last, progress)
                    }
                    Ok([set, Self::Range(first, last)]) if op != Op::AndNot => {
                        set.count_beside(op, first, last, progress)
                    }
                    Ok(pair) => count(Self::Join(op, pair.into())),
                    Err(plans) => count(Self::Join(op, plans)),
                }
            }
            other => count(other),
        }
    }

    /// The same for the range `first ..= last` joined with this plan.
    #[cfg(feature = "cli")]
    fn count_beside(self, op: Op, first: u64, last: u64, progress: &Progress) -> Result<u128> {
        let (mut outside, mut inside) = (0_u128, 0_u128);
        let (mut pool, mut range) = (Pool::default(), Self::Range(first, last));
        self.walk(progress, |plan, key| {
            let (ours, theirs) = (plan.piece(key, &mut pool)?, range.piece(key, &mut pool)?);
            let here = container::intersection_len(ours.container(), theirs.container());
            let outside_here = ours.container().len().checked_sub(here);
            outside += u128::from(outside_here.ok_or_else(|| contradiction([&*plan]))?);
            inside += u128::from(here);
            pool.give(ours);
            pool.give(theirs);
            Ok(())
        })?;
        // The values of the set in the range ascend, and each is counted once.
        let left = range_len(first, last).checked_sub(inside).ok_or_else(|| contradiction([]))?;
        Ok(match op {
            Op::And => inside,
            Op::Or => range_len(first, last) + outside,
            Op::Xor => left + outside,
            Op::AndNot => left,
        })
    }

    /// The fault in the last container of a set of this plan, if there is one.
    fn disorder(&self) -> Option<Error> {
        match self {
            Self::Set(leaf) => leaf.disorder(),
            Self::Join(_, plans) => plans.iter().find_map(Self::disorder),
            Self::Range(..) | Self::Gather(..) => None,
        }
    }

    /// Whether all values of `a` are in `b`. Ends at the first container with another value.
    pub(crate) fn is_subset(a: Self, b: Self) -> Result<bool> {
        let sets = [a.operands(), b.operands()].concat();
        Self::after(&sets, Self::is_within(a, b))
    }

    fn is_within(mut a: Self, mut b: Self) -> Result<bool> {
        let (mut from, mut pool) = (0, Pool::default());
        while let Some(key) = a.key(from)? {
            let (ours, theirs) = (a.piece(key, &mut pool)?, b.piece(key, &mut pool)?);
            let shared = container::intersection_len(ours.container(), theirs.container());
            if shared < ours.container().len() {
                return Ok(false);
            }
            pool.give(ours);
            pool.give(theirs);
            from = key + 1;
        }
        Ok(true)
    }

    /// Whether two sets share no value. Ends at the first container with a shared value.
    pub(crate) fn is_disjoint(a: Self, b: Self) -> Result<bool> {
        let sets = [a.operands(), b.operands()].concat();
        Self::after(&sets, Self::is_apart(a, b))
    }

    fn is_apart(mut a: Self, mut b: Self) -> Result<bool> {
        let mut from = 0;
        let mut pool = Pool::default();
        while let (Some(x), Some(y)) = (a.key(from)?, b.key(from)?) {
            if x == y {
                let (ours, theirs) = (a.piece(x, &mut pool)?, b.piece(x, &mut pool)?);
                if container::intersects(ours.container(), theirs.container()) {
                    return Ok(false);
                }
            }
            from = x.max(y) + u64::from(x == y);
        }
        Ok(true)
    }
}

/// The error for two containers that share more values than one of them has: that one is damaged.
fn contradiction<'p, 'a: 'p>(plans: impl IntoIterator<Item = &'p Plan<'a>>) -> Error {
    let named = plans.into_iter().find_map(Plan::disorder);
    named.unwrap_or_else(|| {
        let what = "the values of a container do not ascend";
        Error::Damaged { input: "one of the sets".into(), offset: 0, what }
    })
}

/// `part / all`; 1 if `all` is 0.
#[expect(clippy::cast_precision_loss, reason = "a proportion")]
pub(crate) fn proportion(part: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}

#[cfg(feature = "cli")]
fn range_len(first: u64, last: u64) -> u128 {
    last.checked_sub(first).map_or(0, |more| u128::from(more) + 1)
}
