//! Joins sparse sets value by value, a block at a time.
//!
//! If values are far apart, most containers would have one value. So a plan of sparse sets makes no
//! containers: it takes blocks of values and merges them. If one set has few values, it moves the
//! other sets on to these. Among the sets may be others of few values, and results of other merges.

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
/// With more values in a container of a set, on average, joining by containers is better.
const NEAR: u64 = 64;
/// About the number of values that go to the sink together.
const BATCH: usize = 1 << 13;
/// With fewer values, more threads are not worth their start.
const MIN_SHARED: u64 = 1 << 20;

/// A join of sets.
pub(super) struct Merge<'a> {
    rule: Rule,
    sets: Vec<Member<'a>>,
}

/// Values to join, and how far they were read.
#[expect(
    clippy::large_enum_variant,
    reason = "most members are sets, and blocks of values are larger"
)]
enum Member<'a> {
    /// Those of a set, or of a range, which has no set.
    Leaf { walk: Walk<'a>, set: Option<Operand<'a>> },
    /// Those of a join inside of the join.
    Inner(Box<Inner<'a>>),
}

/// The result of a merge, block by block.
struct Inner<'a> {
    merge: Merge<'a>,
    /// Values of the result. Those before `next` were passed.
    block: Vec<u64>,
    next: usize,
    ended: bool,
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
        None => Error::Accounting { what: format!("an operand has a fault: {}", damage.what) },
    }
}

impl<'a> Member<'a> {
    /// The values of a plan; none if a set or range in it has many and is not sparse.
    fn of(plan: &Plan<'a>) -> Option<Self> {
        match plan {
            Plan::Set(leaf) => {
                let set = leaf.set();
                let walk = set.view().walk().or_else(|| Walk::of_few(set.view(), FEW))?;
                Some(Self::Leaf { walk, set: Some(set) })
            }
            Plan::Range(first, last) => {
                let walk = Walk::of_short_range(*first, *last, FEW)?;
                Some(Self::Leaf { walk, set: None })
            }
            Plan::Join(..) | Plan::Gather(..) => Some(Self::inner(Merge::made(plan)?)),
        }
    }

    fn inner(merge: Merge<'a>) -> Self {
        Self::Inner(Box::new(Inner { merge, block: Vec::new(), next: 0, ended: false }))
    }

    /// Most values that it may have.
    fn len(&self) -> u64 {
        match self {
            Self::Leaf { walk, .. } => walk.len(),
            Self::Inner(inner) => inner.merge.len(),
        }
    }

    /// A value that none of its values exceeds, if it may have any.
    fn last(&self) -> Option<u64> {
        match self {
            Self::Leaf { walk, .. } => walk.last(),
            Self::Inner(inner) => inner.merge.last(),
        }
    }

    /// A value near the end of the first `part` of `parts` equal parts of the values.
    fn quantile(&self, part: u64, parts: u64) -> Result<Option<u64>> {
        match self {
            Self::Leaf { walk, set } => {
                walk.select(walk.len() / parts * part).map_err(damaged(*set))
            }
            Self::Inner(inner) => inner.merge.quantile(part, parts),
        }
    }

    /// The values from `first` on, up to those below `behind` if there is an end.
    fn within(&self, first: u64, behind: Option<u64>) -> Result<Self> {
        Ok(match self {
            Self::Leaf { walk, set } => {
                let walk = walk.within(first, behind).map_err(damaged(*set))?;
                Self::Leaf { walk, set: *set }
            }
            Self::Inner(inner) => Self::inner(inner.merge.within(first, behind)?),
        })
    }

    /// The next values; none at the end.
    #[inline]
    fn rest(&mut self, progress: &Progress) -> Result<&[u64]> {
        match self {
            Self::Leaf { walk, set } => {
                let damaged = damaged(*set);
                walk.rest().map_err(damaged)
            }
            Self::Inner(inner) => inner.rest(progress),
        }
    }

    /// Passes the first `count` values of the rest.
    #[inline]
    fn pass(&mut self, count: usize) {
        match self {
            Self::Leaf { walk, .. } => walk.pass(count),
            Self::Inner(inner) => inner.next += count,
        }
    }

    /// Moves to the first value from `value` on; never back.
    fn seek(&mut self, value: u64) -> Result<()> {
        match self {
            Self::Leaf { walk, set } => walk.seek(value).map_err(damaged(*set)),
            Self::Inner(inner) => inner.seek(value),
        }
    }

    /// The error for values that do not ascend.
    fn disorder(&self) -> Error {
        let set = match self {
            Self::Leaf { set, .. } => *set,
            Self::Inner(_) => None,
        };
        damaged(set)(Damage::of("the values do not ascend"))
    }

    /// Keeps those of ascending `values` that are among its values (`kept`), or those that are not.
    fn filter(&mut self, kept: bool, values: &mut Vec<u64>, progress: &Progress) -> Result<()> {
        let (mut read, mut written) = (0, 0);
        while read < values.len() {
            let wanted = values[read];
            let rest = self.rest(progress)?;
            if rest.is_empty() {
                break;
            }
            if rest.last().is_some_and(|&last| last < wanted) {
                self.seek(wanted)?;
                match self.rest(progress)?.first() {
                    None => break,
                    Some(&first) if first < wanted => return Err(self.disorder()),
                    Some(_) => {}
                }
            }
            let rest = self.rest(progress)?;
            let done = retain(Level::best(), kept, (written, read), values, rest);
            (read, written) = (done.read, done.written);
            self.pass(done.passed);
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

impl Inner<'_> {
    fn rest(&mut self, progress: &Progress) -> Result<&[u64]> {
        while self.next == self.block.len() && !self.ended {
            self.next = 0;
            self.ended = !self.merge.step(&mut self.block, progress)?;
            Error::if_cancelled(progress)?;
        }
        Ok(&self.block[self.next..])
    }

    fn seek(&mut self, value: u64) -> Result<()> {
        let passed = self.block[self.next..].partition_point(|&other| other < value);
        self.next += passed;
        if self.next == self.block.len() { self.merge.seek(value) } else { Ok(()) }
    }
}

/// Whether there are sparse sets, and joining their containers would take longer than a merge. Of
/// one set it always does.
fn is_far_apart(plan: &Plan<'_>) -> bool {
    let (mut sets, mut values, mut first, mut last) = (0_u64, 0_u64, u64::MAX, 0);
    for set in plan.operands() {
        if let Some(walk) = set.view().walk() {
            (sets, values) = (sets + 1, values.saturating_add(walk.len()));
            first = first.min(set.view().min().ok().flatten().unwrap_or(0));
            last = last.max(walk.last().unwrap_or(u64::MAX));
        }
    }
    let containers = (last >> 16) - (first.min(last) >> 16) + 1;
    values > 0 && (sets == 1 || values / NEAR <= containers.saturating_mul(sets))
}

impl<'a> Merge<'a> {
    /// The plan as a merge; none unless its sets are sparse and their values far apart, or few values
    /// beside sparse sets.
    pub(super) fn of(plan: &Plan<'a>) -> Option<Self> {
        if is_far_apart(plan) { Self::made(plan) } else { None }
    }

    /// The same, also of few values alone.
    fn made(plan: &Plan<'a>) -> Option<Self> {
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
        Some(Self { rule, sets })
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
        if sets.is_empty() && first <= last {
            sets.push(Member::of(&Plan::range(first, last))?);
        }
        // The other sets move on to the values of the smallest one.
        sets.sort_by_key(Member::len);
        let all = Self { rule: Rule::First { kept: true }, sets };
        // Without a merge, containers tell what damage there is, and that there are no values.
        (first <= last).then(|| all.within(first, last.checked_add(1)).ok()).flatten()
    }

    /// Whether the result has no values. Ends at the first one.
    pub(super) fn has_no_values(self, progress: &Progress) -> Result<bool> {
        Ok(Member::inner(self).rest(progress)?.is_empty())
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
        let values = self.sets.iter().map(Member::len).fold(0, u64::saturating_add);
        let count = if values < MIN_SHARED { 1 } else { processors() as u64 };
        on_each(self.windows(count)?, work).into_iter().collect()
    }

    /// The members that bound how many values the result has.
    fn bounding(&self) -> &[Member<'a>] {
        match self.rule {
            Rule::First { .. } => &self.sets[..self.sets.len().min(1)],
            Rule::Among(_) => &self.sets,
        }
    }

    fn len(&self) -> u64 {
        self.bounding().iter().map(Member::len).fold(0, u64::saturating_add)
    }

    fn last(&self) -> Option<u64> {
        self.bounding().iter().filter_map(Member::last).max()
    }

    fn quantile(&self, part: u64, parts: u64) -> Result<Option<u64>> {
        let measure = self.bounding().iter().max_by_key(|member| member.len());
        measure.map_or(Ok(None), |member| member.quantile(part, parts))
    }

    /// The first value of each window, and the merge of its values. There are up to `count` windows.
    /// Each has about as many values of the largest set, or of the first one if only its values
    /// belong to the result.
    fn windows(self, count: u64) -> Result<Vec<(u64, Self)>> {
        let mut firsts = vec![0];
        for window in 1..count {
            if let Some(first) = self.quantile(window, count)?.map(|value| value & !0xFFFF)
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
        let sets = self.sets.iter().map(|member| member.within(first, behind));
        Ok(Self { rule: self.rule, sets: sets.collect::<Result<_>>()? })
    }

    fn enter(&self, progress: &Progress) {
        progress.enter(Phase::Walk, self.last().map_or(0, |last| (last >> 16) + 1));
    }

    /// Hands over the values of the result. No value is below the aligned range of 2^16 with the
    /// upper bits `done`.
    fn walk(
        mut self,
        mut done: u64,
        progress: &Progress,
        mut take: impl FnMut(&[u64]) -> Result<()>,
    ) -> Result<()> {
        let (mut values, mut batch) = (Vec::new(), Batch::default());
        while self.step(&mut values, progress)? {
            batch.push(&values, &mut take)?;
            if let Some(&last) = values.last() {
                progress.advance((last >> 16).saturating_sub(done));
                done = done.max(last >> 16);
            }
            Error::if_cancelled(progress)?;
        }
        batch.finish(&mut take)
    }

    /// Moves to the first value from `value` on; never back.
    fn seek(&mut self, value: u64) -> Result<()> {
        let sets = match self.rule {
            Rule::First { .. } => self.sets.get_mut(..1).unwrap_or_default(), // the others follow it
            Rule::Among(_) => &mut self.sets,
        };
        sets.iter_mut().try_for_each(|member| member.seek(value))
    }

    /// Puts the next values of the result into `values`, if there are any; gives whether more may
    /// follow.
    fn step(&mut self, values: &mut Vec<u64>, progress: &Progress) -> Result<bool> {
        values.clear();
        let more = match self.rule {
            Rule::First { kept } => self.filter(kept, values, progress)?,
            Rule::Among(among) => self.gather(among, values, progress)?,
        };
        steps::count(1 + values.len() / 8);
        Ok(more)
    }

    fn filter(&mut self, kept: bool, values: &mut Vec<u64>, progress: &Progress) -> Result<bool> {
        let Some((first, others)) = self.sets.split_first_mut() else { return Ok(false) };
        values.extend_from_slice(first.rest(progress)?);
        first.pass(values.len());
        let (more, mut ends) = (!values.is_empty(), false);
        for other in others {
            if !values.is_empty() {
                other.filter(kept, values, progress)?;
            }
            // No later value of the first set is in a set that ends. The other sets still have to
            // see these values.
            ends |= kept && other.rest(progress)?.is_empty();
        }
        Ok(if ends { !values.is_empty() } else { more })
    }

    fn gather(&mut self, among: Among, values: &mut Vec<u64>, progress: &Progress) -> Result<bool> {
        let mut bound = None;
        for member in &mut self.sets {
            if let Some(&last) = member.rest(progress)?.last() {
                bound = Some(bound.map_or(last, |bound: u64| bound.min(last)));
            }
        }
        let Some(bound) = bound else { return Ok(false) };
        if let [a, b] = &mut self.sets[..] {
            let (ours, theirs) = (a.rest(progress)?, b.rest(progress)?);
            let counts = [ours, theirs].map(|rest| rest.partition_point(|&value| value <= bound));
            gather_two(among, &ours[..counts[0]], &theirs[..counts[1]], values);
            a.pass(counts[0]);
            b.pass(counts[1]);
            return Ok(true);
        }
        for member in &mut self.sets {
            let rest = member.rest(progress)?;
            let count = rest.partition_point(|&value| value <= bound);
            values.extend_from_slice(&rest[..count]);
            member.pass(count);
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

/// Puts the values that so many of two ascending lists have into `out`, which is empty.
fn gather_two(among: Among, a: &[u64], b: &[u64], out: &mut Vec<u64>) {
    out.resize(a.len() + b.len(), 0);
    let [one, both] = [1, 2].map(|copies| usize::from(among.has(copies)));
    let (mut i, mut j, mut written) = (0, 0, 0);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        // No branches on the values, which nobody can predict.
        out[written] = x.min(y);
        written += if x == y { both } else { one };
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    for &value in a[i..].iter().chain(&b[j..]) {
        out[written] = value;
        written += one;
    }
    out.truncate(written);
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
    use crate::set::{IntegerSet, SetFile, write_folder};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::num::NonZero;

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

    /// Joins in each other.
    #[derive(Debug, Clone)]
    enum Tree {
        Set(usize),
        Range(u64),
        Join(Option<Op>, Vec<Tree>),
    }

    const RANGE: u64 = 40;

    fn trees() -> impl Strategy<Value = Tree> {
        let leaf = prop_oneof![
            3 => (0_usize..4).prop_map(Tree::Set),
            1 => prop_oneof![0_u64..100, 0_u64..1 << 20].prop_map(Tree::Range),
        ];
        leaf.prop_recursive(4, 20, 4, |inner| {
            let ops = prop::sample::select(vec![
                Some(Op::And),
                Some(Op::Or),
                Some(Op::Xor),
                Some(Op::AndNot),
                None,
            ]);
            (ops, prop::collection::vec(inner, 1..4)).prop_map(|(op, trees)| Tree::Join(op, trees))
        })
    }

    impl Tree {
        fn plan<'s>(&self, sets: &'s [SetFile]) -> Plan<'s> {
            match self {
                Self::Set(index) => Plan::of(&sets[*index]),
                Self::Range(first) => Plan::range(*first, first + RANGE),
                Self::Join(op, trees) => {
                    let plans = trees.iter().map(|tree| tree.plan(sets)).collect();
                    match op {
                        Some(op) => Plan::join(*op, plans),
                        None => Plan::at_least(2, plans),
                    }
                }
            }
        }

        fn holds(&self, value: u64, models: &[BTreeSet<u64>]) -> bool {
            let trees = match self {
                Self::Set(index) => return models[*index].contains(&value),
                Self::Range(first) => return (*first..=first + RANGE).contains(&value),
                Self::Join(_, trees) => trees,
            };
            let found = trees.iter().filter(|tree| tree.holds(value, models)).count();
            match self {
                Self::Join(Some(Op::And), _) => found == trees.len(),
                Self::Join(Some(Op::Or), _) => found > 0,
                Self::Join(Some(Op::Xor), _) => found % 2 == 1,
                Self::Join(Some(Op::AndNot), _) => found == 1 && trees[0].holds(value, models),
                _ => found >= 2,
            }
        }
    }

    #[test]
    fn joins_in_joins_are_those_of_the_model() {
        let value = prop_oneof![
            3 => 0..1_u64 << 12,
            2 => (0..1_u64 << 12).prop_map(|value| value << 52),
            2 => 0..1_u64 << 20,
        ];
        let sets = prop::collection::vec(prop::collection::vec(value, 1..1500), 4);
        let cases = (trees(), sets, any::<(bool, bool)>(), 1_u64..5);
        let merged = std::cell::Cell::new(0);
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(200));
        let done = runner.run(&cases, |(tree, values, (has_few, has_folder), count)| {
            let mut models: Vec<BTreeSet<u64>> =
                values.iter().map(|values| values.iter().copied().collect()).collect();
            if has_folder {
                models[2].retain(|&value| value >= 1 << 52);
            }
            let mut files: Vec<SetFile> = models
                .iter()
                .map(|model| sparse(&model.iter().copied().collect::<Vec<_>>()))
                .collect();
            if has_few {
                models[1] = models[1].iter().copied().take(30).collect();
                let few: Vec<u64> = models[1].iter().copied().collect();
                files[1] = stored(&few, SetFormat::RoaringBits);
            }
            let all: BTreeSet<u64> = models.iter().flatten().copied().collect();
            let expected: Vec<u64> =
                candidates(&tree, all).into_iter().filter(|&v| tree.holds(v, &models)).collect();
            if has_folder {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("parts");
                write_folder(&files[2], &path, NonZero::new(3).unwrap()).unwrap();
                files[2] = SetFile::open(&path).unwrap();
                prop_assert!(models[2].len() < 200 || files[2].view().walk().is_some());
            }
            let progress = Progress::default();
            prop_assert_eq!(tree.plan(&files).count(&progress).unwrap(), expected.len() as u64);
            let whole = Tree::Set(0);
            let is_subset = Plan::is_subset(tree.plan(&files), whole.plan(&files)).unwrap();
            prop_assert_eq!(is_subset, expected.iter().all(|value| models[0].contains(value)));
            let is_disjoint = Plan::is_disjoint(tree.plan(&files), whole.plan(&files)).unwrap();
            prop_assert_eq!(is_disjoint, !expected.iter().any(|value| models[0].contains(value)));
            let Some(merge) = Merge::of(&tree.plan(&files)) else { return Ok(()) };
            merged.set(merged.get() + 1);
            let mut found = Vec::new();
            for (first, window) in merge.windows(count).unwrap() {
                let add = |values: &[u64]| {
                    found.extend_from_slice(values);
                    Ok(())
                };
                window.walk(first >> 16, &progress, add).unwrap();
            }
            prop_assert_eq!(&found, &expected);
            Ok(())
        });
        done.unwrap();
        assert!(merged.get() > 100, "{} of 200 plans were merged", merged.get());
    }

    /// All values that may belong to a tree.
    fn candidates(tree: &Tree, mut values: BTreeSet<u64>) -> BTreeSet<u64> {
        match tree {
            Tree::Set(_) => values,
            Tree::Range(first) => {
                values.extend(*first..=first + RANGE);
                values
            }
            Tree::Join(_, trees) => {
                trees.iter().fold(values, |values, tree| candidates(tree, values))
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
