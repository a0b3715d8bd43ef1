//! Sets that are joined some at a time, because all of them would take too much memory at once.

use super::operand::AsSet;
use super::plan::Plan;
use super::view::SetView;
use crate::error::Result;
use crate::set::container::Op;

/// What becomes of all sets. Their order and their groups do not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// By [`Op::Or`], [`Op::And`] or [`Op::Xor`].
    By(Op),
    /// The values that at least so many sets have; at least one set.
    #[cfg(any(feature = "cli", test))]
    AtLeast(usize),
}

/// The results of batches of sets.
pub(crate) struct Batches<S> {
    rule: Rule,
    /// The results of a batch: one, or the values in at least one set, in at least two sets and so
    /// on. Each batch has more than twice as many values as the next one, so that a value is seldom
    /// copied.
    results: Vec<Vec<S>>,
}

impl<S: AsSet> Batches<S> {
    /// Most batches that wait; more are joined, whatever their sizes.
    const MOST: usize = 15;

    pub(crate) fn new(rule: Rule) -> Self {
        Self { rule, results: Vec::new() }
    }

    #[cfg(feature = "cli")]
    pub(crate) fn rule(&self) -> Rule {
        self.rule
    }

    #[cfg(feature = "cli")]
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Joins a batch of sets; `make` makes a set of a plan.
    pub(crate) fn push(
        &mut self,
        batch: Vec<Plan<'_>>,
        make: impl Fn(Plan<'_>) -> Result<S>,
    ) -> Result<()> {
        let result = match self.rule {
            Rule::By(op) => vec![make(Plan::join(op, batch))?],
            #[cfg(any(feature = "cli", test))]
            Rule::AtLeast(most) => (1..=most)
                .map(|least| make(Plan::at_least(least, batch.clone())))
                .collect::<Result<_>>()?,
        };
        self.results.push(result);
        while let [.., before, last] = &self.results[..]
            && (self.results.len() > Self::MOST || len(before)? / 2 <= len(last)?)
        {
            self.join_last(&make)?;
        }
        Ok(())
    }

    /// Joins the last two batches.
    fn join_last(&mut self, make: impl Fn(Plan<'_>) -> Result<S>) -> Result<()> {
        let (Some(b), Some(a)) = (self.results.pop(), self.results.pop()) else { return Ok(()) };
        let result = match self.rule {
            Rule::By(op) => vec![make(Plan::join(op, Plan::all([&a[0], &b[0]])))?],
            #[cfg(any(feature = "cli", test))]
            Rule::AtLeast(most) => (1..=most)
                .map(|least| {
                    // So many sets of one batch have the value, and all others of the other batch.
                    let both = (1..least)
                        .map(|of_a| Plan::all([&a[of_a - 1], &b[least - of_a - 1]]))
                        .map(|both| Plan::join(Op::And, both));
                    let either = Plan::all([&a[least - 1], &b[least - 1]]);
                    make(Plan::join(Op::Or, either.into_iter().chain(both).collect()))
                })
                .collect::<Result<_>>()?,
        };
        self.results.push(result);
        Ok(())
    }

    /// At most 15 sets, which [`Rule::By`] joins into the result; for [`Rule::AtLeast`] the result.
    pub(crate) fn finish(mut self, make: impl Fn(Plan<'_>) -> Result<S>) -> Result<Vec<S>> {
        if !matches!(self.rule, Rule::By(_)) {
            while self.results.len() > 1 {
                self.join_last(&make)?;
            }
        }
        Ok(self.results.into_iter().filter_map(|mut sets| sets.pop()).collect())
    }
}

/// Number of values in any set of a batch.
fn len<S: AsSet>(results: &[S]) -> Result<u64> {
    results.first().map_or(Ok(0), |set| set.as_set().ask(SetView::len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Progress;
    use crate::set::IntegerSet;
    use proptest::prelude::*;

    fn made(plan: Plan<'_>) -> Result<IntegerSet> {
        Ok(IntegerSet(plan.collect(&Progress::default())?))
    }

    proptest! {
        #[test]
        fn batches_are_joined_as_all_sets(
            sets in prop::collection::vec(prop::collection::btree_set(0_u64..300, 0..200), 1..60),
            some in 1_usize..5,
            least in 1_usize..7,
        ) {
            let sets: Vec<IntegerSet> = sets.into_iter().map(IntegerSet::from_iter).collect();
            let by = [Op::Or, Op::And, Op::Xor].map(Rule::By);
            for rule in by.into_iter().chain([Rule::AtLeast(least)]) {
                let mut batches = Batches::new(rule);
                for batch in sets.chunks(some) {
                    batches.push(Plan::all(batch), made).unwrap();
                    let lens = batches.results.iter().map(|sets| sets[0].len());
                    prop_assert!(lens.is_sorted_by(|a, b| a / 2 > *b));
                    prop_assert!(batches.results.len() <= 15);
                }
                let results = batches.finish(made).unwrap();
                let (joined, all) = (Plan::all(&results), Plan::all(&sets));
                let (joined, all) = match rule {
                    Rule::By(op) => (Plan::join(op, joined), Plan::join(op, all)),
                    Rule::AtLeast(least) => {
                        prop_assert_eq!(results.len(), 1);
                        (Plan::join(Op::Or, joined), Plan::at_least(least, all))
                    }
                };
                prop_assert_eq!(made(joined).unwrap(), made(all).unwrap());
            }
        }
    }

    #[test]
    fn many_batches_of_falling_sizes_wait_as_fifteen() {
        let mut batches = Batches::new(Rule::By(Op::Or));
        let mut from = 0;
        for log in (0..18).rev() {
            let to = from + 4_u64.pow(log);
            batches.push(vec![Plan::range(from, to)], made).unwrap();
            from = to + 1;
            assert!(batches.results.len() <= 15);
        }
        let results = batches.finish(made).unwrap();
        assert_eq!(results.len(), 15);
        let joined = Plan::join(Op::Or, Plan::all(&results));
        assert_eq!(joined.count(&Progress::default()).unwrap(), from);
    }
}
