//! Operations between [`IntegerSet`]s.
//!
//! Two plain bitmaps are joined word by word, two roaring bitmaps by the roaring
//! crate, everything else container by container.

use super::expression::Expression;
use super::integer_set::{Inner, IntegerSet};
use super::memory::Collector;
use super::plan::Plan;
use super::readable::{Readable, in_memory};
use super::roaring64::Roaring64;
use crate::bitmap::{self, BitmapView};
use crate::container::Op;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::view::Damage;

/// Collects the values of a plan into a set in memory.
pub(super) fn collect(plan: Plan<'_>) -> Result<IntegerSet> {
    let mut sink = Collector::default();
    plan.run(&mut sink, &Progress::default())?;
    sink.finish().map(|set| IntegerSet(Inner::Roaring(set)))
}

/// Runs `job` on the plan that `shape` makes of the sets.
fn planned<T>(
    sets: &[&IntegerSet],
    shape: impl FnOnce(Vec<Plan<'_>>) -> Plan<'_>,
    job: impl FnOnce(Plan<'_>) -> Result<T>,
) -> Result<T> {
    let readables: Vec<Readable<'_>> =
        sets.iter().map(|set| set.readable()).collect::<Result<_>>()?;
    let blames: Vec<_> = readables.iter().map(Readable::blame).collect();
    let plans = readables.iter().zip(&blames).map(|(set, blame)| Plan::set(set.view(), blame));
    job(shape(plans.collect()))
}

/// The operation between two plain bitmaps, as one; `None` if it would have
/// more words than both.
fn join_bits(op: Op, a: &BitmapView<'_>, b: &BitmapView<'_>) -> Option<IntegerSet> {
    let (ours, theirs) = (a.universe()?, b.universe()?);
    let (first, last) = match op {
        Op::And => (*ours.start().max(theirs.start()), *ours.end().min(theirs.end())),
        Op::Or | Op::Xor => (*ours.start().min(theirs.start()), *ours.end().max(theirs.end())),
        Op::AndNot => (*ours.start(), *ours.end()),
    };
    if first > last {
        return Some(IntegerSet::new());
    }
    let sizes = [ours, theirs].map(|range| u128::from(range.end() - range.start()) + 1);
    let len_bits = u128::from(last - first) + 1;
    if len_bits > sizes.iter().sum() {
        return None;
    }
    let joined = bitmap::join_in(op, first, u64::try_from(len_bits).ok()?, a, b);
    Some(IntegerSet(Inner::Dense(joined, first)))
}

/// The sets, if every one is a roaring bitmap in memory.
fn all_roaring<'s>(sets: &[&'s IntegerSet]) -> Option<Vec<&'s Roaring64>> {
    let roaring = |set: &&'s IntegerSet| match &set.0 {
        Inner::Roaring(set) => Some(set),
        _ => None,
    };
    sets.iter().map(roaring).collect()
}

/// One of these sets says another number of values than was found in it; the first file
/// among them.
fn contradiction(sets: [&IntegerSet; 2]) -> Error {
    let damage = Damage::of("the number of values is not that of the set");
    let files = sets.into_iter().filter_map(|set| match &set.0 {
        Inner::File(file) => Some(file.damaged()(damage)),
        _ => None,
    });
    files.into_iter().next().unwrap_or_else(|| in_memory(damage))
}

impl IntegerSet {
    fn join(&self, op: Op, other: &Self) -> Result<Self> {
        if let (Some(a), Some(b)) = (self.bits(), other.bits())
            && let Some(joined) = join_bits(op, &a, &b)
        {
            return Ok(joined);
        }
        match (&self.0, &other.0) {
            (Inner::Roaring(a), Inner::Roaring(b)) => Ok(Self(Inner::Roaring(a.join(op, b)))),
            _ => planned(&[self, other], |plans| Plan::join(op, plans), collect),
        }
    }

    /// Values in both.
    ///
    /// # Errors
    ///
    /// If a mapped file is damaged; so for all operations below.
    pub fn intersection(&self, other: &Self) -> Result<Self> {
        self.join(Op::And, other)
    }

    /// Values in either.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn union(&self, other: &Self) -> Result<Self> {
        self.join(Op::Or, other)
    }

    /// Values of this set that are not in `other`.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn difference(&self, other: &Self) -> Result<Self> {
        self.join(Op::AndNot, other)
    }

    /// Values in one of the two.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn symmetric_difference(&self, other: &Self) -> Result<Self> {
        self.join(Op::Xor, other)
    }

    fn join_assign(&mut self, op: Op, other: &Self) -> Result<()> {
        if let Inner::Dense(bits, _) = &mut self.0
            && let Some(others) = other.bits()
            && bits.join_assign(op, &others).is_ok()
        {
            return Ok(());
        }
        if let (Inner::Roaring(set), Inner::Roaring(others)) = (&mut self.0, &other.0) {
            set.join_assign(op, others);
            return Ok(());
        }
        *self = self.join(op, other)?;
        Ok(())
    }

    /// Takes out the values that are not in `other`. Between plain bitmaps in
    /// place, at the speed of memory; a mapped set becomes one in memory.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection); nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::IntegerSet;
    ///
    /// let mut active = IntegerSet::from_iter([1, 2, 3]);
    /// active.intersection_assign(&IntegerSet::from_iter([2, 3, 4]))?;
    /// active.union_assign(&IntegerSet::from_iter([9]))?;
    /// active.difference_assign(&IntegerSet::from_iter([3]))?;
    /// assert_eq!(active.iter().collect::<Result<Vec<_>, _>>()?, [2, 9]);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn intersection_assign(&mut self, other: &Self) -> Result<()> {
        self.join_assign(Op::And, other)
    }

    /// Adds the values of `other`.
    ///
    /// # Errors
    ///
    /// As [`intersection_assign`](Self::intersection_assign).
    pub fn union_assign(&mut self, other: &Self) -> Result<()> {
        self.join_assign(Op::Or, other)
    }

    /// Takes out the values of `other`.
    ///
    /// # Errors
    ///
    /// As [`intersection_assign`](Self::intersection_assign).
    pub fn difference_assign(&mut self, other: &Self) -> Result<()> {
        self.join_assign(Op::AndNot, other)
    }

    /// Takes out the values of `other` that are there, and adds those that are
    /// not.
    ///
    /// # Errors
    ///
    /// As [`intersection_assign`](Self::intersection_assign).
    pub fn symmetric_difference_assign(&mut self, other: &Self) -> Result<()> {
        self.join_assign(Op::Xor, other)
    }

    /// Values in all of `sets`; none if there are no sets.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::IntegerSet;
    ///
    /// let sets = [[1, 2, 3], [2, 3, 4], [3, 4, 5]].map(IntegerSet::from_iter);
    /// let sets: Vec<_> = sets.iter().collect();
    /// let values = |set: IntegerSet| set.iter().map(Result::unwrap).collect::<Vec<_>>();
    /// assert_eq!(values(IntegerSet::intersection_of(&sets)?), [3]);
    /// assert_eq!(values(IntegerSet::union_of(&sets)?), [1, 2, 3, 4, 5]);
    /// assert_eq!(values(IntegerSet::at_least(2, &sets)?), [2, 3, 4]);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn intersection_of(sets: &[&Self]) -> Result<Self> {
        match all_roaring(sets) {
            Some(sets) => Ok(Self(Inner::Roaring(Roaring64::intersection_of(&sets)))),
            None => planned(sets, |plans| Plan::join(Op::And, plans), collect),
        }
    }

    /// Values in any of `sets`.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn union_of(sets: &[&Self]) -> Result<Self> {
        match all_roaring(sets) {
            Some(sets) => Ok(Self(Inner::Roaring(Roaring64::union_of(&sets)))),
            None => planned(sets, |plans| Plan::join(Op::Or, plans), collect),
        }
    }

    /// Values in at least `least` of `sets`.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn at_least(least: usize, sets: &[&Self]) -> Result<Self> {
        planned(sets, |plans| Plan::at_least(least.max(1), plans), collect)
    }

    /// The set that an expression over named sets stands for; `set` gives the
    /// set of a name.
    ///
    /// # Errors
    ///
    /// If `set` knows no set of a name, or as [`intersection`](Self::intersection).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::set::IntegerSet;
    ///
    /// let (a, b) = (IntegerSet::from_iter([1, 2, 3]), IntegerSet::from_iter([3, 4]));
    /// let found = IntegerSet::evaluate(&"(a | b) - 2..3".parse()?, |name| match name {
    ///     "a" => Some(&a),
    ///     "b" => Some(&b),
    ///     _ => None,
    /// })?;
    /// assert_eq!(found.iter().collect::<Result<Vec<_>, _>>()?, [1, 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evaluate<'s>(
        expression: &Expression,
        set: impl Fn(&str) -> Option<&'s Self>,
    ) -> Result<Self> {
        let names = expression.names();
        let unknown = |name: &str| Error::usage(format!("no set is given for {name}"));
        let sets: Result<Vec<&Self>> =
            names.iter().map(|name| set(name).ok_or_else(|| unknown(name))).collect();
        let readables: Vec<Readable<'_>> =
            sets?.into_iter().map(Self::readable).collect::<Result<_>>()?;
        let blames: Vec<_> = readables.iter().map(Readable::blame).collect();
        let plan = expression.plan(&|name: &str| {
            let index = names.iter().position(|known| *known == name);
            let found = index.and_then(|index| readables.get(index).zip(blames.get(index)));
            let (readable, blame) = found.ok_or_else(|| unknown(name))?;
            Ok::<_, Error>(Plan::set(readable.view(), blame))
        })?;
        collect(plan)
    }

    /// Number of values in both; the values themselves are not computed.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn intersection_len(&self, other: &Self) -> Result<u64> {
        match (&self.0, &other.0) {
            (Inner::Roaring(a), Inner::Roaring(b)) => Ok(a.intersection_len(b)),
            (Inner::Dense(a, base), Inner::Dense(b, other_base)) if base == other_base => {
                Ok(a.intersection_len(b))
            }
            _ => planned(
                &[self, other],
                |plans| Plan::join(Op::And, plans),
                |plan| plan.count(&Progress::default()),
            ),
        }
    }

    /// Number of values in either.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn union_len(&self, other: &Self) -> Result<u64> {
        self.either(other, self.intersection_len(other)?)
    }

    /// Number of values in either, of which `both` have so many.
    fn either(&self, other: &Self, both: u64) -> Result<u64> {
        let ours = self.without(other, both)?;
        ours.checked_add(other.cardinality()?).ok_or_else(|| contradiction([other, self]))
    }

    /// Number of values of this set that are not in `other`.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn difference_len(&self, other: &Self) -> Result<u64> {
        self.without(other, self.intersection_len(other)?)
    }

    /// Number of values in one of the two.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn symmetric_difference_len(&self, other: &Self) -> Result<u64> {
        let both = self.intersection_len(other)?;
        let (ours, theirs) = (self.without(other, both)?, other.without(self, both)?);
        ours.checked_add(theirs).ok_or_else(|| contradiction([self, other]))
    }

    /// Number of values that are not in `other`, if `both` have so many.
    fn without(&self, other: &Self, both: u64) -> Result<u64> {
        let ours = self.cardinality()?;
        ours.checked_sub(both).ok_or_else(|| contradiction([self, other]))
    }

    /// Whether all values of this set are in `other`.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn is_subset(&self, other: &Self) -> Result<bool> {
        if let (Inner::Roaring(a), Inner::Roaring(b)) = (&self.0, &other.0) {
            return Ok(a.is_subset(b));
        }
        Ok(self.difference_len(other)? == 0)
    }

    /// Whether no value is in both.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    pub fn is_disjoint(&self, other: &Self) -> Result<bool> {
        if let (Inner::Roaring(a), Inner::Roaring(b)) = (&self.0, &other.0) {
            return Ok(a.is_disjoint(b));
        }
        let (a, b) = (self.readable()?, other.readable()?);
        let (blame_a, blame_b) = (a.blame(), b.blame());
        Plan::is_disjoint(Plan::set(a.view(), &blame_a), Plan::set(b.view(), &blame_b))
    }

    /// The Jaccard index: what both have in proportion to what either has, 0 to
    /// 1; 1 for two empty sets.
    ///
    /// # Errors
    ///
    /// As [`intersection`](Self::intersection).
    #[expect(clippy::cast_precision_loss, reason = "a proportion")]
    pub fn jaccard(&self, other: &Self) -> Result<f64> {
        let both = self.intersection_len(other)?;
        let either = self.either(other, both)?;
        Ok(if either == 0 { 1.0 } else { both as f64 / either as f64 })
    }
}
