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
use crate::kernel::{Level, on_each, processors, steps};
use crate::progress::{Phase, Progress};
use crate::set::container::{Among, Op};

/// With more sets, joining by containers is better: each step here looks at all sets.
const MAX_SETS: usize = 32;
/// About the number of values that go to the sink together.
const BATCH: usize = 1 << 13;
/// With fewer values, more threads are not worth their start.
const MIN_SHARED: u64 = 1 << 20;

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
                        Plan::Join(Op::Or, plans) => add(&mut sets, plans)?,
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
        self,
        progress: &Progress,
        take: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        self.enter(progress);
        self.walk(0, progress, take)
    }

    /// Cuts the range of values into windows, which threads work on at once. Gives what `take` made
    /// of the values of each window, in the order of the windows.
    pub(super) fn run_in_windows<T: Default + Send>(
        self,
        progress: &Progress,
        take: impl Fn(&mut T, &[u64]) + Sync,
    ) -> Result<Vec<T>> {
        self.enter(progress);
        let work = |(first, window): (u64, Self)| {
            let mut made = T::default();
            window.walk(first >> 16, progress, |values| {
                take(&mut made, values);
                Ok(())
            })?;
            Ok(made)
        };
        let values = self.sets.iter().map(|sparse| sparse.walk.len()).fold(0, u64::saturating_add);
        let count = if values < MIN_SHARED { 1 } else { processors() as u64 };
        on_each(self.windows(count)?, work).into_iter().collect()
    }

    /// The first value of each window, and the merge of its values. There are up to `count` windows.
    /// Each has about as many values of the largest set, or of the first one if only its values
    /// belong to the result.
    fn windows(self, count: u64) -> Result<Vec<(u64, Self)>> {
        let measure = match self.rule {
            Rule::First { .. } => self.sets.first(),
            Rule::Among(_) => self.sets.iter().max_by_key(|sparse| sparse.walk.len()),
        };
        let mut firsts = vec![0];
        for window in 1..count {
            let Some(sparse) = measure else { break };
            let rank = sparse.walk.len() / count * window;
            let value = sparse.walk.select(rank).map_err(|damage| sparse.set.damaged(damage))?;
            if let Some(first) = value.map(|value| value & !0xFFFF)
                && firsts.last().is_some_and(|&before| before < first)
            {
                firsts.push(first);
            }
        }
        let behind = firsts.iter().skip(1).copied().map(Some).chain([None]);
        firsts
            .iter()
            .zip(behind)
            .map(|(&first, behind)| Ok((first, self.within(first, behind)?)))
            .collect()
    }

    /// The merge of the values from `first` on, up to those below `behind` if there is an end.
    fn within(&self, first: u64, behind: Option<u64>) -> Result<Self> {
        let sets = self.sets.iter().map(|sparse| {
            let walk = sparse.walk.within(first, behind);
            let set = sparse.set;
            Ok(Sparse { walk: walk.map_err(|damage| set.damaged(damage))?, set })
        });
        Ok(Self { rule: self.rule, sets: sets.collect::<Result<_>>()?, batch: Batch::default() })
    }

    fn enter(&self, progress: &Progress) {
        let last = self.sets.iter().filter_map(|sparse| sparse.walk.last()).max();
        progress.enter(Phase::Walk, last.map_or(0, |last| (last >> 16) + 1));
    }

    /// Hands over the values of the result. No value is below the aligned range of 2^16 with the
    /// upper bits `done`.
    fn walk(
        mut self,
        mut done: u64,
        progress: &Progress,
        mut take: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let mut values = Vec::new();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::format::SetFormat;
    use crate::set::{IntegerSet, SetFile};
    use proptest::prelude::*;

    fn sparse(values: &[u64]) -> SetFile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.bits");
        let set: IntegerSet = values.iter().copied().collect();
        set.write_as(&path, SetFormat::SparseBits).unwrap();
        SetFile::open(&path).unwrap()
    }

    fn merge(op: Option<Op>, sets: &[SetFile]) -> Merge<'_> {
        let plans = Plan::all(sets);
        let plan = match op {
            Some(op) => Plan::join(op, plans),
            None => Plan::at_least(2, plans),
        };
        Merge::of(&plan).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn windows_have_the_values_of_the_whole(
            values in prop::collection::vec(
                prop::collection::vec(prop_oneof![any::<u64>(), 0..1_u64 << 20], 1..300), 2..4),
            count in 1_u64..9,
        ) {
            let progress = Progress::default();
            let sets: Vec<SetFile> = values.iter().map(|values| sparse(values)).collect();
            for op in [Some(Op::And), Some(Op::Or), Some(Op::Xor), Some(Op::AndNot), None] {
                let mut expected = Vec::new();
                merge(op, &sets).run(&progress, |values| {
                    expected.extend_from_slice(values);
                    Ok(())
                }).unwrap();
                let windows = merge(op, &sets).windows(count).unwrap();
                prop_assert!(windows.len() as u64 <= count);
                let mut found = Vec::new();
                for (first, window) in windows {
                    window.walk(first >> 16, &progress, |values| {
                        assert!(values[0] >= first, "{} lies before {first}", values[0]);
                        found.extend_from_slice(values);
                        Ok(())
                    }).unwrap();
                }
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn many_values_are_merged_in_windows_and_counted() {
        let values = |step: usize| (0..u64::MAX).step_by(step << 44).collect::<Vec<u64>>();
        let sets = [sparse(&values(1)), sparse(&values(3))];
        let plan = || Plan::join(Op::And, Plan::all(&sets));
        assert!(sets.iter().map(SetFile::len).sum::<u64>() >= MIN_SHARED);
        let found = plan().collect(&Progress::default()).unwrap();
        for value in values(3) {
            assert!(
                found.container(value >> 16).is_some_and(|container| container.contains(0)),
                "{value}"
            );
        }
        assert_eq!(found.len(), values(3).len() as u64);
        assert_eq!(plan().count(&Progress::default()).unwrap(), found.len());
    }
}
