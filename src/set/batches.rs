//! Sets that are joined some at a time, because all of them would take too much memory at once.

use super::operand::AsSet;
use super::plan::Plan;
use super::view::SetView;
use crate::error::Result;
use crate::set::container::Op;

/// The results of batches of sets, which an operation joins: [`Op::Or`], [`Op::And`] or
/// [`Op::Xor`], where the order and the groups of the sets do not matter.
pub(crate) struct Batches<S> {
    op: Op,
    /// Each has more than twice as many values as the next one, so that a value is seldom copied.
    results: Vec<S>,
}

impl<S: AsSet> Batches<S> {
    /// Most results that wait; more are joined, whatever their sizes.
    const MOST: usize = 15;

    pub(crate) fn new(op: Op) -> Self {
        Self { op, results: Vec::new() }
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
        let len = |set: &S| set.as_set().ask(SetView::len);
        let mut result = make(Plan::join(self.op, batch))?;
        while let Some(before) = self.results.pop() {
            if self.results.len() + 1 < Self::MOST && len(&before)? / 2 > len(&result)? {
                self.results.push(before);
                break;
            }
            result = make(Plan::join(self.op, Plan::all([&before, &result])))?;
        }
        self.results.push(result);
        Ok(())
    }

    /// The results, at most 15. The operation joins them into that of all sets.
    pub(crate) fn into_results(self) -> Vec<S> {
        self.results
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Progress;
    use crate::set::IntegerSet;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn batches_are_joined_as_all_sets(
            sets in prop::collection::vec(prop::collection::btree_set(0_u64..300, 0..200), 1..60),
            some in 1_usize..5,
        ) {
            let sets: Vec<IntegerSet> = sets.into_iter().map(IntegerSet::from_iter).collect();
            let progress = Progress::default();
            let made = |plan: Plan<'_>| Ok(IntegerSet(plan.collect(&progress)?));
            for op in [Op::Or, Op::And, Op::Xor] {
                let mut batches = Batches::new(op);
                for batch in sets.chunks(some) {
                    batches.push(Plan::all(batch), made).unwrap();
                }
                let results = batches.into_results();
                prop_assert!(results.len() <= 15);
                prop_assert!(results.is_sorted_by(|a, b| a.len() / 2 > b.len()));
                let all = Plan::join(op, Plan::all(&sets));
                let joined = Plan::join(op, Plan::all(&results));
                prop_assert_eq!(made(joined).unwrap(), made(all).unwrap());
            }
        }

        #[test]
        fn many_batches_of_falling_sizes_wait_as_fifteen(step in 1_u64..4) {
            let mut batches = Batches::new(Op::Or);
            let progress = Progress::default();
            let made = |plan: Plan<'_>| Ok(IntegerSet(plan.collect(&progress)?));
            let mut from = 0;
            for log in (0..20).rev() {
                let to = from + (step << log);
                batches.push(vec![Plan::range(from, to)], made).unwrap();
                from = to + 1;
                prop_assert!(batches.results.len() <= 15);
            }
            let results = batches.into_results();
            let joined = Plan::join(Op::Or, Plan::all(&results));
            prop_assert_eq!(joined.count(&progress).unwrap(), from);
        }
    }
}
