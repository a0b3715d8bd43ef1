//! Joins sparse sets value by value, a block at a time.
//!
//! If values are far apart, most containers would have one value. So a plan of sparse sets alone
//! makes no containers: it takes blocks of values and merges them. If one set has few values, it
//! moves the other sets on to these.

use super::operand::Operand;
use super::plan::Plan;
use super::view::{Damage, Walk};
use crate::error::{Error, Result};
use crate::kernel::retain::retain;
use crate::kernel::{Level, steps};
use crate::progress::{Phase, Progress};
use crate::set::container::{Among, Op};

/// With more sets, joining by containers is better: each step here looks at all sets.
const MAX_SETS: usize = 32;
/// About the number of values that go to the sink together.
const BATCH: usize = 1 << 13;

/// A join of sparse sets.
pub(super) struct Merge<'a> {
    rule: Rule,
    sets: Vec<Sparse<'a>>,
    batch: Batch,
}

/// A sparse set, and how far it was read.
struct Sparse<'a> {
    walk: Walk<'a>,
    set: Operand<'a>,
}

/// Which values belong to the result.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// The values of the first set that are in all others (`kept`), or in none of them.
    First { kept: bool },
    /// The values that so many of the sets have.
    Among(Among),
}

impl<'a> Sparse<'a> {
    fn of(set: Operand<'a>) -> Option<Self> {
        Some(Self { walk: set.view().walk()?, set })
    }

    /// The next values; none at the end.
    fn rest(&mut self) -> Result<&[u64]> {
        self.walk.rest().map_err(|damage| self.set.damaged(damage))
    }

    /// Keeps those of ascending `values` that are in the set (`kept`), or those that are not.
    fn filter(&mut self, kept: bool, values: &mut Vec<u64>) -> Result<()> {
        let (mut read, mut written) = (0, 0);
        while read < values.len() {
            let wanted = values[read];
            let rest = self.rest()?;
            if rest.is_empty() {
                break;
            }
            if rest.last().is_some_and(|&last| last < wanted) {
                self.walk.seek(wanted).map_err(|damage| self.set.damaged(damage))?;
                if self.rest()?.first().is_none_or(|&first| first < wanted) {
                    if self.rest()?.is_empty() {
                        break;
                    }
                    return Err(self.set.damaged(Damage::of("the values do not ascend")));
                }
            }
            let rest = self.rest()?;
            let done = retain(Level::best(), kept, (written, read), values, rest);
            (read, written) = (done.read, done.written);
            self.walk.pass(done.passed);
        }
        if !kept {
            // These are behind the last value of the set.
            values.copy_within(read.., written);
            written += values.len() - read;
        }
        values.truncate(written);
        Ok(())
    }
}

impl<'a> Merge<'a> {
    /// The plan as a merge; none unless all its sets are sparse.
    pub(super) fn of(plan: &Plan<'a>) -> Option<Self> {
        let mut sets = Vec::new();
        let rule = match plan {
            Plan::Set(_) => {
                add(&mut sets, std::slice::from_ref(plan))?;
                Rule::First { kept: true }
            }
            Plan::Join(Op::And, plans) => {
                add(&mut sets, plans)?;
                // The other sets move on to the values of the smallest one.
                sets.sort_by_key(|sparse: &Sparse<'_>| sparse.walk.len());
                Rule::First { kept: true }
            }
            Plan::Join(Op::AndNot, plans) => {
                let (first, others) = plans.split_first()?;
                add(&mut sets, std::slice::from_ref(first))?;
                for other in others {
                    match other {
                        Plan::Gather(Among::Any, members) => add(&mut sets, members.plans())?,
                        other => add(&mut sets, std::slice::from_ref(other))?,
                    }
                }
                Rule::First { kept: false }
            }
            Plan::Join(Op::Or, plans) => {
                add(&mut sets, plans)?;
                Rule::Among(Among::Any)
            }
            Plan::Join(Op::Xor, plans) => {
                add(&mut sets, plans)?;
                Rule::Among(Among::Odd)
            }
            Plan::Gather(among, members) => {
                add(&mut sets, members.plans())?;
                Rule::Among(*among)
            }
            Plan::Range(..) => return None,
        };
        let is_few = (1..=MAX_SETS).contains(&sets.len());
        is_few.then(|| Self { rule, sets, batch: Batch::default() })
    }

    /// Hands over the values of the result. All values of an aligned range of 2^16 come together.
    pub(super) fn run(
        mut self,
        progress: &Progress,
        mut take: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let last = self.sets.iter().filter_map(|sparse| sparse.walk.last()).max();
        progress.enter(Phase::Walk, last.map_or(0, |last| (last >> 16) + 1));
        let (mut values, mut done) = (Vec::new(), 0);
        while self.step(&mut values)? {
            steps::count(1 + values.len() / 8);
            self.batch.push(&values, &mut take)?;
            if let Some(&last) = values.last() {
                progress.advance((last >> 16).saturating_sub(done));
                done = done.max(last >> 16);
            }
            Error::if_cancelled(progress)?;
        }
        self.batch.finish(&mut take)
    }

    /// Appends the next values of the result, if there are any; gives whether more may follow.
    fn step(&mut self, values: &mut Vec<u64>) -> Result<bool> {
        values.clear();
        match self.rule {
            Rule::First { kept } => self.filter(kept, values),
            Rule::Among(among) => self.gather(among, values),
        }
    }

    fn filter(&mut self, kept: bool, values: &mut Vec<u64>) -> Result<bool> {
        let Some((first, others)) = self.sets.split_first_mut() else { return Ok(false) };
        values.extend_from_slice(first.rest()?);
        first.walk.pass(values.len());
        let (more, mut ends) = (!values.is_empty(), false);
        for other in others {
            if !values.is_empty() {
                other.filter(kept, values)?;
            }
            // No later value of the first set is in a set that ends. The other sets still have to
            // see these values.
            ends |= kept && other.rest()?.is_empty();
        }
        Ok(if ends { !values.is_empty() } else { more })
    }

    fn gather(&mut self, among: Among, values: &mut Vec<u64>) -> Result<bool> {
        let mut bound = None;
        for sparse in &mut self.sets {
            if let Some(&last) = sparse.rest()?.last() {
                bound = Some(bound.map_or(last, |bound: u64| bound.min(last)));
            }
        }
        let Some(bound) = bound else { return Ok(false) };
        for sparse in &mut self.sets {
            let rest = sparse.rest()?;
            let count = rest.partition_point(|&value| value <= bound);
            values.extend_from_slice(&rest[..count]);
            sparse.walk.pass(count);
        }
        values.sort_by_key(|&value| value); // a stable sort, which merges the runs
        let (mut read, mut written) = (0, 0);
        while let Some(&value) = values.get(read) {
            let copies = values[read..].iter().take_while(|&&other| other == value).count();
            values[written] = value;
            written += usize::from(among.has(copies));
            read += copies;
        }
        values.truncate(written);
        Ok(true)
    }
}

/// Adds the sets of `plans`, if all are sparse.
fn add<'a>(sets: &mut Vec<Sparse<'a>>, plans: &[Plan<'a>]) -> Option<()> {
    for plan in plans {
        let Plan::Set(leaf) = plan else { return None };
        sets.push(Sparse::of(leaf.set())?);
    }
    Some(())
}

/// Values that wait until all values of their aligned range of 2^16 have come.
#[derive(Default)]
struct Batch(Vec<u64>);

impl Batch {
    fn push(&mut self, values: &[u64], take: impl FnOnce(&[u64]) -> Result<()>) -> Result<()> {
        self.0.extend_from_slice(values);
        match self.0.last() {
            Some(&last) if self.0.len() >= BATCH => {
                let whole = self.0.partition_point(|&value| value >> 16 < last >> 16);
                if whole > 0 {
                    take(&self.0[..whole])?;
                    self.0.drain(..whole);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(self, take: impl FnOnce(&[u64]) -> Result<()>) -> Result<()> {
        if self.0.is_empty() { Ok(()) } else { take(&self.0) }
    }
}
