//! How many values the result of a plan has, without making them where that can be.

use super::pieces::Pool;
use super::plan::Plan;
use crate::error::Result;
use crate::progress::Progress;
use crate::set::container::{self, Container, Op};

impl Plan<'_> {
    /// Number of values of the result. For two sets nothing is computed but
    /// the size of what they share.
    pub(crate) fn count(self, progress: &Progress) -> Result<u64> {
        let mut count = 0;
        let mut pool = Pool::default();
        self.walk(progress, |plan, key| {
            let pair = match plan {
                Self::Join(op, plans) => {
                    <&mut [_; 2]>::try_from(&mut plans[..]).ok().map(|pair| (*op, pair))
                }
                _ => None,
            };
            let Some((op, [x, y])) = pair else {
                let piece = plan.piece(key, &mut pool)?;
                count += u64::from(piece.container().len());
                pool.give(piece);
                return Ok(());
            };
            let (x, y) = (x.piece(key, &mut pool)?, y.piece(key, &mut pool)?);
            let (a, b) = (x.container(), y.container());
            let both = u64::from(container::intersection_len(a, b));
            let len = |container: Container<'_>| u64::from(container.len());
            // Containers of a damaged file may contradict themselves.
            count += match op {
                Op::And => both,
                Op::Or => (len(a) + len(b)).saturating_sub(both),
                Op::Xor => (len(a) + len(b)).saturating_sub(2 * both),
                Op::AndNot => len(a).saturating_sub(both),
            };
            pool.give(x);
            pool.give(y);
            Ok(())
        })?;
        Ok(count)
    }

    /// Number of values of the result, where a range may be all there is of the
    /// universe: what is beside the other set in it is not walked through.
    #[cfg(feature = "cli")]
    pub(crate) fn cardinality(mut self, progress: &Progress) -> Result<u128> {
        match &mut self {
            Self::Range(first, last) => Ok(range_len(*first, *last)),
            Self::Join(op @ (Op::Or | Op::Xor | Op::AndNot), plans) if plans.len() == 2 => {
                let (op, set) = (*op, plans.pop());
                match (plans.pop(), set) {
                    (Some(Self::Range(first, last)), Some(set)) => {
                        set.count_beside(op, first, last, progress)
                    }
                    (Some(set), Some(Self::Range(first, last))) if op != Op::AndNot => {
                        set.count_beside(op, first, last, progress)
                    }
                    (Some(a), Some(b)) => {
                        Self::Join(op, vec![a, b]).count(progress).map(u128::from)
                    }
                    _ => Ok(0),
                }
            }
            _ => self.count(progress).map(u128::from),
        }
    }

    /// The same of the range `first ..= last` joined with this plan.
    #[cfg(feature = "cli")]
    fn count_beside(self, op: Op, first: u64, last: u64, progress: &Progress) -> Result<u128> {
        let (mut all, mut inside) = (0_u128, 0_u128);
        let (mut pool, mut range) = (Pool::default(), Self::Range(first, last));
        self.walk(progress, |plan, key| {
            let (ours, theirs) = (plan.piece(key, &mut pool)?, range.piece(key, &mut pool)?);
            all += u128::from(ours.container().len());
            inside += u128::from(container::intersection_len(ours.container(), theirs.container()));
            pool.give(ours);
            pool.give(theirs);
            Ok(())
        })?;
        let outside = all.saturating_sub(inside);
        let left = range_len(first, last).saturating_sub(inside);
        Ok(match op {
            Op::And => inside,
            Op::Or => range_len(first, last) + outside,
            Op::Xor => left + outside,
            Op::AndNot => left,
        })
    }

    /// Whether all values of `a` are in `b`. Ends at the first container that has others.
    pub(crate) fn is_subset(mut a: Self, mut b: Self) -> Result<bool> {
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

    /// Whether two sets share no value. Ends at the first container that shares one.
    pub(crate) fn is_disjoint(mut a: Self, mut b: Self) -> Result<bool> {
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

/// `part` in proportion to `all`; all of nothing is 1.
#[expect(clippy::cast_precision_loss, reason = "a proportion")]
pub(crate) fn proportion(part: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}

#[cfg(feature = "cli")]
fn range_len(first: u64, last: u64) -> u128 {
    last.checked_sub(first).map_or(0, |more| u128::from(more) + 1)
}
