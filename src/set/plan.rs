//! Set algebra, container by container.
//!
//! A plan is a tree of operations over sets of any representation. It is evaluated key by key: it
//! reads only containers that can matter, and only one container of the result is in memory at a
//! time, for sets of any size.

use super::containers::Containers;
use super::merge::Merge;
use super::operand::{AsSet, Operand};
use super::pieces::{LAST_KEY, Leaf, Piece, Pool};
use super::pipeline;
use super::ranges::{MAX_CONTAINERS, MAX_VALUES};
use crate::error::{Error, Result};
use crate::progress::{Phase, Progress};
use crate::set::container::{Among, Op, Owned, Scratch};
use crate::set::file::{ValueSink, is_out_of_order};
use crate::set::view::Damage;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// So many containers that only ranges have are always looked through for stretches.
const WIDE: u64 = if cfg!(test) { 1 << 8 } else { 1 << 20 };

/// The operations to do.
#[derive(Clone)]
pub(crate) enum Plan<'a> {
    Set(Box<Leaf<'a>>),
    /// All values from the first to the last, which is not smaller: see [`Plan::range`].
    Range(u64, u64),
    /// The operation of the first plan with each of the others in turn: of two plans, or of any
    /// number for [`Op::And`].
    Join(Op, Vec<Plan<'a>>),
    /// The values that belong to the result by the number of members that have them.
    Gather(Among, Members<'a>),
}

impl<'a> Plan<'a> {
    /// Compares the checksums of the file, if the values are those of one file. Whoever makes a file of them
    /// asks for this first.
    pub(crate) fn verify_bytes(&self, progress: &Progress) -> Result<()> {
        match self {
            Self::Set(leaf) => leaf.set().verify_bytes(progress),
            _ => Ok(()),
        }
    }

    /// The values of a set.
    pub(crate) fn of(set: &'a (impl AsSet + ?Sized)) -> Self {
        Self::set(set.as_set())
    }

    pub(super) fn set(set: Operand<'a>) -> Self {
        Self::Set(Box::new(Leaf::new(set)))
    }

    /// All values from `first` to `last`; none if `last` is smaller.
    pub(crate) fn range(first: u64, last: u64) -> Self {
        if first <= last { Self::Range(first, last) } else { Self::none() }
    }

    /// No values: those that are in any of no plans.
    fn none() -> Self {
        Self::Gather(Among::Any, Members::new(Vec::new()))
    }

    /// The plans of sets.
    pub(crate) fn all(sets: impl IntoIterator<Item = &'a (impl AsSet + ?Sized + 'a)>) -> Vec<Self> {
        sets.into_iter().map(Self::of).collect()
    }

    /// The operation of the first plan with each of the others in turn.
    pub(crate) fn join(op: Op, mut plans: Vec<Self>) -> Self {
        match op {
            _ if plans.is_empty() => Self::none(),
            _ if plans.len() == 1 => plans.swap_remove(0),
            Op::Or if plans.len() > 2 => Self::Gather(Among::Any, Members::new(plans)),
            Op::Xor if plans.len() > 2 => Self::Gather(Among::Odd, Members::new(plans)),
            Op::AndNot if plans.len() > 2 => {
                let others = plans.split_off(1);
                plans.push(Self::join(Op::Or, others));
                Self::Join(op, plans)
            }
            _ => Self::Join(op, plans),
        }
    }

    /// The values in at least `least` of the plans.
    pub(crate) fn at_least(least: usize, plans: Vec<Self>) -> Self {
        if least <= 1 {
            // Of one plan that is the plan itself, as `verify_bytes` expects.
            return Self::join(Op::Or, plans);
        }
        Self::Gather(Among::AtLeast(least), Members::new(plans))
    }

    /// The smallest key from `from` on that may have values.
    pub(super) fn key(&mut self, from: u64) -> Result<Option<u64>> {
        match self {
            Self::Set(leaf) => leaf.key(from),
            Self::Range(first, last) => {
                let key = from.max(*first >> 16);
                Ok((key <= *last >> 16).then_some(key))
            }
            Self::Join(Op::And, plans) => {
                // Leapfrog: move each plan on, until all have the same key.
                let mut key = from;
                loop {
                    let before = key;
                    for plan in &mut *plans {
                        let Some(next) = plan.key(key)? else { return Ok(None) };
                        key = next;
                    }
                    if key == before {
                        return Ok(Some(key));
                    }
                }
            }
            Self::Join(Op::AndNot, plans) => {
                plans.first_mut().map_or(Ok(None), |first| first.key(from))
            }
            Self::Join(_, plans) => {
                let mut least = None;
                for plan in plans {
                    least = match (least, plan.key(from)?) {
                        (Some(a), Some(b)) => Some(std::cmp::min(a, b)),
                        (a, b) => a.or(b),
                    };
                }
                Ok(least)
            }
            Self::Gather(_, members) => members.key(from),
        }
    }

    /// The values at `key`; keys must not descend from call to call.
    pub(super) fn piece(&mut self, key: u64, pool: &mut Pool) -> Result<Piece<'a>> {
        match self {
            Self::Set(leaf) => leaf.piece(key, pool),
            Self::Range(first, last) => {
                if !(*first >> 16..=*last >> 16).contains(&key) {
                    return Ok(pool.empty());
                }
                #[expect(clippy::cast_possible_truncation, reason = "the low part is meant")]
                let low = |value: u64| u32::from(value as u16);
                let from = if *first >> 16 == key { low(*first) } else { 0 };
                let to = if *last >> 16 == key { low(*last) } else { 0xFFFF };
                Ok(Piece::of_range(from, to))
            }
            Self::Join(op, plans) => {
                let Some((first, others)) = plans.split_first_mut() else {
                    return Ok(pool.empty());
                };
                let mut result = first.piece(key, pool)?;
                for plan in others {
                    if matches!(op, Op::And | Op::AndNot) && result.is_empty() {
                        break;
                    }
                    let other = plan.piece(key, pool)?;
                    let mut joined = pool.take();
                    joined.join(*op, result.container(), other.container());
                    pool.give(other);
                    pool.give(std::mem::replace(&mut result, Piece::Computed(joined)));
                }
                Ok(result)
            }
            Self::Gather(among, members) => members.piece(*among, key, pool),
        }
    }

    /// An upper bound of the keys that may have values, if there are any.
    fn last_key(&self) -> Option<u64> {
        match self {
            Self::Set(leaf) => leaf.last_key(),
            Self::Range(_, last) => Some(last >> 16),
            Self::Join(_, plans) | Self::Gather(_, Members { plans, .. }) => {
                plans.iter().filter_map(Self::last_key).max()
            }
        }
    }

    /// Most keys at which only ranges, or runs of a set that lists them, have values.
    fn keys_of_ranges(&self) -> u64 {
        match self {
            Self::Set(leaf) => leaf.set().view().full_containers(),
            Self::Range(first, last) => (last >> 16) - (first >> 16) + 1,
            Self::Join(Op::And, plans) => plans.iter().map(Self::keys_of_ranges).min().unwrap_or(0),
            Self::Join(Op::AndNot, plans) => plans.first().map_or(0, Self::keys_of_ranges),
            Self::Join(Op::Or | Op::Xor, plans) | Self::Gather(_, Members { plans, .. }) => {
                plans.iter().map(Self::keys_of_ranges).fold(0, u64::saturating_add)
            }
        }
    }

    /// Whether stretches of the result are worth being found: ranges have many containers, or more
    /// than [`LISTED`] for each byte of the sets. Below 2^32 there are few containers, and joins of
    /// them are faster than those of runs.
    pub(super) fn is_wide(&self) -> bool {
        /// A byte of a plain bitmap may become four runs of 24 bytes, and a container of a range has
        /// some 14 bytes: so a list of runs is not much larger than a roaring bitmap.
        const LISTED: u64 = 8;
        let containers = self.keys_of_ranges();
        let is_narrow = || self.last_key().is_none_or(|key| key <= 0xFFFF);
        containers >= WIDE || containers > 0 && !is_narrow() && containers / LISTED >= self.bytes()
    }

    /// Refuses a result whose containers would take months, or fill a disk, before the first one is
    /// made.
    fn check_width(&self, progress: &Progress) -> Result<()> {
        if self.keys_of_ranges() <= MAX_CONTAINERS {
            return Ok(());
        }
        self.enter(progress);
        let (mut count, mut pool) = (0_u64, Pool::default());
        let mut steps = Steps::new(self.clone(), progress);
        while let Some((key, last)) = steps.next()? {
            if key < last {
                let piece = steps.plan.piece(key, &mut pool)?;
                count += if piece.container().len() == 0 { 0 } else { last - key + 1 };
                pool.give(piece);
            }
            if count > MAX_CONTAINERS {
                let (first, last) = (key << 16, last << 16 | 0xFFFF);
                return Err(Error::TooWide { first, last, limit: MAX_VALUES });
            }
        }
        Ok(())
    }

    /// The last key up to which all containers of the result from `key` on are alike: they have all
    /// their values, or none. It is `key` if nobody can tell. Ask before [`piece`](Self::piece) at this
    /// key.
    pub(super) fn alike_to(&mut self, key: u64) -> Result<u64> {
        match self {
            Self::Set(leaf) => leaf.alike_to(key),
            Self::Range(first, last) => Ok(match (*first >> 16, *last >> 16) {
                (before, _) if key < before => before - 1,
                (_, behind) if key > behind => LAST_KEY,
                (_, end) if *first <= key << 16 => {
                    end.saturating_sub(u64::from(*last & 0xFFFF < 0xFFFF)).max(key)
                }
                _ => key,
            }),
            Self::Gather(_, members) => members.alike_to(key),
            Self::Join(_, plans) => {
                let mut least = LAST_KEY;
                for plan in plans {
                    if least > key {
                        least = least.min(plan.alike_to(key)?);
                    }
                }
                Ok(least)
            }
        }
    }

    /// Bytes of all sets.
    pub(super) fn bytes(&self) -> u64 {
        self.operands().iter().map(|set| set.view().bytes() as u64).sum()
    }

    /// Tells `progress` how many keys there may be.
    pub(super) fn enter(&self, progress: &Progress) {
        progress.enter(Phase::Walk, self.last_key().map_or(0, |last| last + 1));
    }

    /// The part of a plan that has not begun from the key `first` on, up to those below `behind`; none
    /// if it cannot be cut.
    pub(super) fn within(&self, first: u64, behind: Option<u64>) -> Result<Option<Self>> {
        let all = |plans: &[Self]| {
            plans.iter().map(|plan| plan.within(first, behind)).collect::<Result<Option<Vec<_>>>>()
        };
        Ok(match self {
            Self::Set(leaf) => leaf.within(first, behind)?.map(|leaf| Self::Set(Box::new(leaf))),
            Self::Range(from, to) => {
                let end = behind.map_or(u64::MAX, |behind| (behind << 16) - 1);
                Some(Self::range((*from).max(first << 16), (*to).min(end)))
            }
            Self::Join(op, plans) => all(plans)?.map(|plans| Self::Join(*op, plans)),
            Self::Gather(among, members) => {
                all(&members.plans)?.map(|plans| Self::Gather(*among, Members::new(plans)))
            }
        })
    }

    fn sets(&self, found: &mut Vec<Operand<'a>>) {
        match self {
            Self::Set(leaf) => found.push(leaf.set()),
            Self::Range(..) => {}
            Self::Join(_, plans) | Self::Gather(_, Members { plans, .. }) => {
                for plan in plans {
                    plan.sets(found);
                }
            }
        }
    }

    /// The answer, unless a file lost bytes from which it may come.
    pub(super) fn after<T>(sets: &[Operand<'_>], answer: Result<T>) -> Result<T> {
        sets.iter().try_for_each(|set| set.after(Ok(()))).and(answer)
    }

    /// The sets of the plan.
    pub(crate) fn operands(&self) -> Vec<Operand<'a>> {
        let mut sets = Vec::new();
        self.sets(&mut sets);
        sets
    }

    /// Computes the result into `sink`. If the sink refuses a container because it is out of order,
    /// the error names the damaged set.
    pub(crate) fn run(
        self,
        sink: &mut (impl ValueSink + ?Sized),
        progress: &Progress,
    ) -> Result<()> {
        let sets = self.operands();
        if let Some(merge) = Merge::of(&self) {
            return Self::after(&sets, merge.run(progress, |values| sink.values(values)));
        }
        let takes_stretches = self.is_wide() && sink.begin_stretches();
        if !takes_stretches {
            self.check_width(progress)?;
        }
        let ran = pipeline::run(self, sink, takes_stretches, progress);
        Self::after(&sets, ran).map_err(|error| {
            if is_out_of_order(&error) { fault_of(&sets).unwrap_or(error) } else { error }
        })
    }

    /// The result in memory. It checks that the values of containers from files ascend, because a
    /// set in memory is never damaged.
    pub(super) fn collect(self, progress: &Progress) -> Result<Containers> {
        let sets = self.operands();
        Self::after(&sets, self.collected(sets.clone(), progress))
    }

    /// The same for the whole `sets` of the plan.
    fn collected(self, mut sets: Vec<Operand<'a>>, progress: &Progress) -> Result<Containers> {
        if let Some(merge) = Merge::of(&self) {
            let parts = merge.run_in_windows(progress, Containers::push_values)?;
            return Ok(Containers::of_parts(parts));
        }
        sets.retain(|set| !set.view().is_sound());
        self.check_width(progress)?;
        let parts = self.in_windows(progress, |steps| {
            let (mut found, mut pool) = (Containers::default(), Pool::default());
            while let Some((key, last)) = steps.next()? {
                let piece = steps.plan.piece(key, &mut pool)?;
                if key == last {
                    if !sets.is_empty()
                        && let Some(what) = piece.container().disorder()
                    {
                        let damage = Damage { offset: 0, what };
                        return Err(fault_of(&sets).unwrap_or_else(|| sets[0].damaged(damage)));
                    }
                    found.push(key, pool.own(piece));
                } else if piece.container().len() > 0 {
                    for key in key..=last {
                        found.push(key, Owned::copy(piece.container(), &mut Scratch::default()));
                        Error::if_cancelled(progress)?;
                    }
                }
            }
            Ok(found)
        })?;
        Ok(Containers::of_parts(parts))
    }
}

/// The keys of a plan, from the smallest on.
pub(super) struct Steps<'a, 'p> {
    pub(super) plan: Plan<'a>,
    is_wide: bool,
    /// The key behind the last step.
    from: u64,
    progress: &'p Progress,
}

impl<'a, 'p> Steps<'a, 'p> {
    pub(super) fn new(plan: Plan<'a>, progress: &'p Progress) -> Self {
        Self { is_wide: plan.is_wide(), plan, from: 0, progress }
    }

    /// The keys of a window, which has none below `from`: one at a time, as only plans that are not
    /// [wide](Plan::is_wide) are cut.
    pub(super) fn of_window(plan: Plan<'a>, from: u64, progress: &'p Progress) -> Self {
        Self { is_wide: false, plan, from, progress }
    }

    /// The first and the last key of the next stretch of containers that are
    /// [alike](Plan::alike_to), or the same key twice.
    pub(super) fn next(&mut self) -> Result<Option<(u64, u64)>> {
        Error::if_cancelled(self.progress)?;
        let Some(key) = self.plan.key(self.from)? else { return Ok(None) };
        let last = if self.is_wide { self.plan.alike_to(key)? } else { key };
        self.progress.advance(last + 1 - self.from);
        self.from = last + 1;
        Ok(Some((key, last)))
    }

    /// If the container of the last step is to be `checked`: that the values of each set ascend in it.
    pub(super) fn check(&self, checked: bool) -> Result<()> {
        match checked.then(|| self.plan.disorder()).flatten() {
            Some(disorder) => Err(disorder),
            None => Ok(()),
        }
    }
}

/// The fault in the first of `sets` that is damaged.
fn fault_of(sets: &[Operand<'_>]) -> Option<Error> {
    sets.iter().find_map(|set| set.fault())
}

/// Plans that are walked through together. At each key, only those that have it are asked for
/// values.
#[derive(Clone)]
pub(crate) struct Members<'a> {
    plans: Vec<Plan<'a>>,
    /// The next key of each plan that is not at its end.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    /// Plans that have not been asked for their first key yet.
    unasked: std::ops::Range<usize>,
}

impl<'a> Members<'a> {
    fn new(plans: Vec<Plan<'a>>) -> Self {
        let unasked = 0..plans.len();
        Self { plans, next: BinaryHeap::new(), unasked }
    }

    /// The plans; none may have been walked yet.
    pub(super) fn plans(&self) -> &[Plan<'a>] {
        &self.plans
    }

    /// The smallest key from `from` on at which a plan may have values.
    fn key(&mut self, from: u64) -> Result<Option<u64>> {
        for index in self.unasked.by_ref() {
            let key = self.plans[index].key(from)?;
            self.next.extend(key.map(|key| Reverse((key, index))));
        }
        while let Some(&Reverse((key, index))) = self.next.peek()
            && key < from
        {
            self.next.pop();
            let key = self.plans[index].key(from)?;
            self.next.extend(key.map(|key| Reverse((key, index))));
        }
        Ok(self.next.peek().map(|&Reverse((key, _))| key))
    }

    /// The last key up to which the containers of each plan from `key` on are alike. Asks only the
    /// plans that have the key.
    fn alike_to(&mut self, key: u64) -> Result<u64> {
        self.key(key)?;
        let (mut least, mut here) = (LAST_KEY, Vec::new());
        while least > key
            && self.next.peek().is_some_and(|&Reverse((next, _))| next == key)
            && let Some(Reverse((_, index))) = self.next.pop()
        {
            least = least.min(self.plans[index].alike_to(key)?);
            here.push(Reverse((key, index)));
        }
        if let Some(&Reverse((next, _))) = self.next.peek() {
            least = least.min(next.saturating_sub(1)).max(key);
        }
        self.next.extend(here);
        Ok(least)
    }

    /// The values at `key` that are in so many plans as `among` says.
    fn piece(&mut self, among: Among, key: u64, pool: &mut Pool) -> Result<Piece<'a>> {
        let mut pieces = Vec::new();
        while self.key(key)? == Some(key)
            && let Some(Reverse((_, index))) = self.next.pop()
        {
            pieces.push(self.plans[index].piece(key, pool)?);
            // This does not overflow: a key has 48 bits.
            let next = self.plans[index].key(key + 1)?;
            self.next.extend(next.map(|key| Reverse((key, index))));
        }
        if among.has(1) && pieces.len() == 1 {
            return Ok(pieces.swap_remove(0));
        }
        let containers: Vec<_> = pieces.iter().map(Piece::container).collect();
        let mut gathered = pool.take();
        gathered.gather(among, &containers);
        for piece in pieces {
            pool.give(piece);
        }
        Ok(Piece::Computed(gathered))
    }
}
