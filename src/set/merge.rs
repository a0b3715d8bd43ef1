//! Joins sparse sets value by value, a block at a time.
//!
//! If values are far apart, most containers would have one value. So a plan of sparse sets makes no
//! containers: it takes blocks of values and merges them. If one set has few values, it moves the
//! other sets on to these. Among the sets may be others of few values.

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
/// Most values of a set among them that is not sparse, or of a range.
const FEW: u64 = if cfg!(test) { 1 << 6 } else { 1 << 13 };
/// About the number of values that go to the sink together.
const BATCH: usize = 1 << 13;
/// With fewer values, more threads are not worth their start.
const MIN_SHARED: u64 = 1 << 20;

/// A join of sets.
pub(super) struct Merge<'a> {
    rule: Rule,
    sets: Vec<Member<'a>>,
    batch: Batch,
}

/// A set, and how far it was read.
struct Member<'a> {
    walk: Walk<'a>,
    /// None for a range.
    set: Option<Operand<'a>>,
}

/// Which values belong to the result.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// The values of the first set that are in all others (`kept`), or in none of them.
    First { kept: bool },
    /// The values that so many of the sets have.
    Among(Among),
}

/// Makes damage of a set into an error.
fn damaged(set: Option<Operand<'_>>) -> impl Fn(Damage) -> Error {
    move |damage| match set {
        Some(set) => set.damaged(damage),
        None => Error::Accounting { what: format!("a range has a fault: {}", damage.what) },
    }
}

impl<'a> Member<'a> {
    /// The values of a plan that is one set or range; none if they are many and not sparse.
    fn of(plan: &Plan<'a>) -> Option<Self> {
        match plan {
            Plan::Set(leaf) => {
                let set = leaf.set();
                let walk = set.view().walk().or_else(|| Walk::of_few(set.view(), FEW))?;
                Some(Self { walk, set: Some(set) })
            }
            Plan::Range(first, last) => {
                let walk = Walk::of_short_range(*first, *last, FEW)?;
                Some(Self { walk, set: None })
            }
            Plan::Join(..) | Plan::Gather(..) => None,
        }
    }

    /// The next values; none at the end.
    fn rest(&mut self) -> Result<&[u64]> {
        let damaged = damaged(self.set);
        self.walk.rest().map_err(damaged)
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
                self.walk.seek(wanted).map_err(damaged(self.set))?;
                if self.rest()?.first().is_none_or(|&first| first < wanted) {
                    if self.rest()?.is_empty() {
                        break;
                    }
                    let disorder = Damage::of("the values do not ascend");
                    return Err(damaged(self.set)(disorder));
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

/// Whether one of the sets of these plans is sparse.
fn has_sparse(plans: &[Plan<'_>]) -> bool {
    plans.iter().any(|plan| match plan {
        Plan::Set(leaf) => leaf.set().view().walk().is_some(),
        Plan::Join(_, plans) => has_sparse(plans),
        Plan::Gather(_, members) => has_sparse(members.plans()),
        Plan::Range(..) => false,
    })
}

impl<'a> Merge<'a> {
    /// The plan as a merge; none unless its sets are sparse, or few values beside sparse sets.
    pub(super) fn of(plan: &Plan<'a>) -> Option<Self> {
        if !has_sparse(std::slice::from_ref(plan)) {
            return None;
        }
        let (rule, members) = match plan {
            Plan::Set(_) => (Rule::First { kept: true }, vec![plan]),
            Plan::Join(Op::And, plans) => return Self::of_all(plans),
            Plan::Join(Op::AndNot, plans) => {
                let (first, others) = plans.split_first()?;
                let others = others.iter().flat_map(|other| match other {
                    Plan::Gather(Among::Any, members) => members.plans(),
                    Plan::Join(Op::Or, plans) => plans,
                    other => std::slice::from_ref(other),
                });
                (Rule::First { kept: false }, std::iter::once(first).chain(others).collect())
            }
            Plan::Join(Op::Or, plans) => (Rule::Among(Among::Any), plans.iter().collect()),
            Plan::Join(Op::Xor, plans) => (Rule::Among(Among::Odd), plans.iter().collect()),
            Plan::Gather(among, members) => (Rule::Among(*among), members.plans().iter().collect()),
            Plan::Range(..) => return None,
        };
        if members.len() > MAX_SETS {
            return None;
        }
        let sets = members.into_iter().map(Member::of).collect::<Option<_>>()?;
        Some(Self { rule, sets, batch: Batch::default() })
    }

    /// The values that all of these plans have.
    fn of_all(plans: &[Plan<'a>]) -> Option<Self> {
        if plans.len() > MAX_SETS {
            return None;
        }
        let (mut sets, mut first, mut last) = (Vec::new(), 0, u64::MAX);
        for plan in plans {
            if let Plan::Range(from, to) = plan {
                (first, last) = (first.max(*from), last.min(*to));
            } else {
                sets.push(Member::of(plan)?);
            }
        }
        // The other sets move on to the values of the smallest one.
        sets.sort_by_key(|member| member.walk.len());
        let all = Self { rule: Rule::First { kept: true }, sets, batch: Batch::default() };
        // Without a merge, containers tell what damage there is, and that there are no values.
        (first <= last).then(|| all.within(first, last.checked_add(1)).ok()).flatten()
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
        let values = self.sets.iter().map(|member| member.walk.len()).fold(0, u64::saturating_add);
        let count = if values < MIN_SHARED { 1 } else { processors() as u64 };
        on_each(self.windows(count)?, work).into_iter().collect()
    }

    /// The first value of each window, and the merge of its values. There are up to `count` windows.
    /// Each has about as many values of the largest set, or of the first one if only its values
    /// belong to the result.
    fn windows(self, count: u64) -> Result<Vec<(u64, Self)>> {
        let measure = match self.rule {
            Rule::First { .. } => self.sets.first(),
            Rule::Among(_) => self.sets.iter().max_by_key(|member| member.walk.len()),
        };
        let mut firsts = vec![0];
        for window in 1..count {
            let Some(member) = measure else { break };
            let rank = member.walk.len() / count * window;
            let value = member.walk.select(rank).map_err(damaged(member.set))?;
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
        let sets = self.sets.iter().map(|member| {
            let walk = member.walk.within(first, behind);
            let set = member.set;
            Ok(Member { walk: walk.map_err(damaged(set))?, set })
        });
        Ok(Self { rule: self.rule, sets: sets.collect::<Result<_>>()?, batch: Batch::default() })
    }

    fn enter(&self, progress: &Progress) {
        let last = self.sets.iter().filter_map(|member| member.walk.last()).max();
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
        for member in &mut self.sets {
            if let Some(&last) = member.rest()?.last() {
                bound = Some(bound.map_or(last, |bound: u64| bound.min(last)));
            }
        }
        let Some(bound) = bound else { return Ok(false) };
        for member in &mut self.sets {
            let rest = member.rest()?;
            let count = rest.partition_point(|&value| value <= bound);
            values.extend_from_slice(&rest[..count]);
            member.walk.pass(count);
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
    use std::collections::BTreeSet;

    fn sparse(values: &[u64]) -> SetFile {
        stored(values, SetFormat::SparseBits)
    }

    fn stored(values: &[u64], format: SetFormat) -> SetFile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse.bits");
        let set: IntegerSet = values.iter().copied().collect();
        set.write_as(&path, format).unwrap();
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
            few in prop::option::of((
                prop::sample::select(vec![SetFormat::RoaringBits, SetFormat::RunBits]),
                any::<prop::sample::Index>(),
            )),
            count in 1_u64..9,
        ) {
            let progress = Progress::default();
            let mut models: Vec<BTreeSet<u64>> =
                values.iter().map(|values| values.iter().copied().collect()).collect();
            let whole = |model: &BTreeSet<u64>| model.iter().copied().collect::<Vec<u64>>();
            let mut sets: Vec<SetFile> = models.iter().map(|model| sparse(&whole(model))).collect();
            if let Some((format, place)) = few {
                let some = models[0].iter().copied().take(usize::try_from(FEW).unwrap());
                let (model, place) = (some.collect(), place.index(sets.len()));
                sets.insert(place, stored(&whole(&model), format));
                models.insert(place, model);
            }
            for op in [Some(Op::And), Some(Op::Or), Some(Op::Xor), Some(Op::AndNot), None] {
                let holds = |value: &u64| models.iter().filter(|model| model.contains(value)).count();
                let expected: Vec<u64> = models.iter().flatten().copied().filter(|value| match op {
                    Some(Op::And) => holds(value) == models.len(),
                    Some(Op::Or) => true,
                    Some(Op::Xor) => holds(value) % 2 == 1,
                    Some(Op::AndNot) => holds(value) == 1 && models[0].contains(value),
                    None => holds(value) >= 2,
                }).collect::<BTreeSet<u64>>().into_iter().collect();
                let mut found = Vec::new();
                merge(op, &sets).run(&progress, |values| {
                    found.extend_from_slice(values);
                    Ok(())
                }).unwrap();
                prop_assert_eq!(&found, &expected);
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn values_of_a_range_are_those_of_the_model(
            values in prop::collection::vec(prop_oneof![any::<u64>(), 0..1_u64 << 20], 1..300),
            ends in prop::collection::vec(prop_oneof![any::<u64>(), 0..1_u64 << 20], 4),
            places in prop::collection::vec(any::<prop::sample::Index>(), 2),
            count in 1_u64..9,
        ) {
            let progress = Progress::default();
            let model: BTreeSet<u64> = values.iter().copied().collect();
            let set = sparse(&model.iter().copied().collect::<Vec<_>>());
            // Ranges that begin and end anywhere, or at values.
            let at: Vec<u64> = places.iter().map(|place| values[place.index(values.len())]).collect();
            for [a, b, c, d] in [[ends[0], ends[1], 0, u64::MAX], [ends[0], ends[1], ends[2], ends[3]],
                [at[0], at[1], 0, u64::MAX], [0, at[0], at[1], u64::MAX]]
            {
                let ranges = [[a.min(b), a.max(b)], [c.min(d), c.max(d)]];
                let (first, last) = (ranges[0][0].max(ranges[1][0]), ranges[0][1].min(ranges[1][1]));
                let expected: Vec<u64> = model.iter().copied()
                    .filter(|value| (first..=last.max(first)).contains(value) && first <= last).collect();
                let plan = || {
                    let ranges = ranges.iter().map(|&[first, last]| Plan::range(first, last));
                    Plan::join(Op::And, std::iter::once(Plan::of(&set)).chain(ranges).collect())
                };
                prop_assert_eq!(plan().count(&progress).unwrap(), expected.len() as u64);
                let Some(merge) = Merge::of(&plan()) else {
                    prop_assert!(first > last);
                    continue;
                };
                for (cut, pieces) in [(false, 1), (true, count)] {
                    let mut found = Vec::new();
                    let merge = || Merge::of(&plan()).unwrap();
                    let windows = if cut { merge().windows(pieces).unwrap() } else { vec![(0, merge())] };
                    for (first, window) in windows {
                        window.walk(first >> 16, &progress, |values| {
                            found.extend_from_slice(values);
                            Ok(())
                        }).unwrap();
                    }
                    prop_assert_eq!(&found, &expected);
                }
                drop(merge);
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
