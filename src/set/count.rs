//! Counts the values of the result of a plan, mostly without computing them.

use super::merge::Merge;
use super::pieces::Pool;
use super::plan::Plan;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::set::container::{self, Op};
use crate::set::view::Damage;

impl Plan<'_> {
    /// Number of values of the result. For two sets, it only computes how many values they share.
    ///
    /// # Errors
    ///
    /// Also if the result has all 2^64 numbers.
    pub(crate) fn count(self, progress: &Progress) -> Result<u64> {
        let count = self.cardinality(progress)?;
        let too_wide = Error::TooWide { first: 0, last: u64::MAX, limit: u64::MAX };
        count.try_into().map_err(|_| too_wide)
    }

    /// The same for any result.
    pub(crate) fn cardinality(self, progress: &Progress) -> Result<u128> {
        let sets = self.operands();
        Self::after(&sets, self.counted(progress))
    }

    fn counted(self, progress: &Progress) -> Result<u128> {
        if let Some(merge) = Merge::of(&self) {
            let add = |count: &mut u64, values: &[u64]| *count += values.len() as u64;
            return Ok(merge.run_in_windows(progress, add)?.into_iter().map(u128::from).sum());
        }
        let counts = self.in_windows(progress, |steps| {
            let (mut count, mut pool) = (0, Pool::default());
            while let Some((key, last)) = steps.next()? {
                let here = steps.plan.count_at(key, &mut pool)?;
                count += u128::from(here) * u128::from(last - key + 1);
            }
            Ok(count)
        });
        Ok(counts?.into_iter().sum())
    }

    /// Number of values at `key`.
    fn count_at(&mut self, key: u64, pool: &mut Pool) -> Result<u64> {
        let pair = match self {
            Self::Join(op, plans) => <&mut [_; 2]>::try_from(&mut plans[..]).ok().zip(Some(*op)),
            _ => None,
        };
        let Some(([a, b], op)) = pair else {
            let piece = self.piece(key, pool)?;
            let count = piece.container().len();
            pool.give(piece);
            return Ok(count.into());
        };
        let (x, y) = (a.piece(key, pool)?, b.piece(key, pool)?);
        let both = u64::from(container::intersection_len(x.container(), y.container()));
        let ours = || u64::from(x.container().len());
        let theirs = || u64::from(y.container().len());
        let here = match op {
            Op::And => Some(both),
            Op::Or => (ours() + theirs()).checked_sub(both),
            Op::Xor => (ours() + theirs()).checked_sub(2 * both),
            Op::AndNot => ours().checked_sub(both),
        };
        let here = here.ok_or_else(|| contradiction([&*a, &*b]))?;
        pool.give(x);
        pool.give(y);
        Ok(here)
    }

    /// The fault in the last container of a set of this plan, if there is one.
    pub(super) fn disorder(&self) -> Option<Error> {
        match self {
            Self::Set(leaf) => leaf.disorder(),
            Self::Join(_, plans) => plans.iter().find_map(Self::disorder),
            Self::Range(..) | Self::Gather(..) => None,
        }
    }

    /// Whether all values of `a` are in `b`. Ends at the first container with another value.
    pub(crate) fn is_subset(a: Self, b: Self) -> Result<bool> {
        Self::join(Op::AndNot, vec![a, b]).has_no_values()
    }

    /// Whether two sets share no value. Ends at the first container with a shared value.
    pub(crate) fn is_disjoint(a: Self, b: Self) -> Result<bool> {
        Self::join(Op::And, vec![a, b]).has_no_values()
    }

    fn has_no_values(self) -> Result<bool> {
        let sets = self.operands();
        let found = match Merge::of(&self) {
            Some(merge) => merge.has_no_values(&Progress::default()),
            None => self.has_no_containers(),
        };
        Self::after(&sets, found)
    }

    fn has_no_containers(mut self) -> Result<bool> {
        let (is_wide, mut from, mut pool) = (self.is_wide(), 0, Pool::default());
        while let Some(key) = self.key(from)? {
            let last = if is_wide { self.alike_to(key)? } else { key };
            if self.count_at(key, &mut pool)? > 0 {
                return Ok(false);
            }
            from = last + 1;
        }
        Ok(true)
    }
}

/// The error for two containers that share more values than one of them has: that one is damaged.
fn contradiction<'p, 'a: 'p>(plans: impl IntoIterator<Item = &'p Plan<'a>>) -> Error {
    let named = plans.into_iter().find_map(Plan::disorder);
    named.unwrap_or_else(|| {
        Damage::of("the values of a container do not ascend").of_input("one of the sets")
    })
}

/// `part / all`; 1 if `all` is 0.
#[expect(clippy::cast_precision_loss, reason = "a proportion")]
pub(crate) fn proportion(part: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}
