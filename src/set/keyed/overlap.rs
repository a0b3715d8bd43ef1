//! Finds the pairs of sets that have most values in common.
//!
//! It takes sets by descending sizes. It walks through the largest ones together, and counts each
//! id for every pair of sets that have it. If that looks cheaper, it intersects these sets in pairs
//! instead, and leaves out pairs whose sizes show that they cannot be among the best so far. All
//! other sets are small: it makes an index of the ids of many of them and compares one set after
//! the other with it, so sets that share nothing only cost reading them.

use super::file::KeyedSets;
use crate::error::{Error, Result};
use crate::kernel::{in_usize, steps};
use crate::progress::Progress;
use crate::set::batches::{Batches, Rule};
use crate::set::container::Op;
use crate::set::integer_set::IntegerSet;
use crate::set::operand::{AsSet, Operand};
use crate::set::plan::Plan;
use crate::set::view::{BLOCK, SetView, Shape};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// An id that so many sets have may be left out at first.
const FREQUENT: usize = if cfg!(test) { 2 } else { 64 };

/// What makes one pair of sets better than another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OverlapBy {
    /// Number of values in both.
    #[default]
    Intersection,
    /// Number of values in both, divided by the number of values in either.
    Jaccard,
    /// Number of values in both, divided by the number that two independent sets of these sizes
    /// would share. The universe is all values that are in any set.
    Lift,
}

/// Two sets and the number of values that they share.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// Numbers of the sets (from 0), the smaller one first.
    pub sets: [usize; 2],
    /// Their cardinalities.
    pub sizes: [u64; 2],
    /// Number of values in both.
    pub intersection: u64,
    /// See [`OverlapBy::Jaccard`].
    pub jaccard: f64,
    /// See [`OverlapBy::Lift`]; only in a search by it.
    pub lift: Option<f64>,
}

/// A search for the pairs of sets that have most in common.
///
/// It only finds pairs with a value in common. Of pairs with the same score, those with more values
/// in common come first; of others that are alike in both, it may keep any.
///
/// # Cost
///
/// The n values of the large sets (the largest 2048, and all of more than 2^20 values) are merged, in
/// O(n log sets); each id costs a step for each pair of sets that have it, and the counters of 2048
/// sets take 16 MB. If that looks cheaper, as with dense sets, or if the merge would take more than
/// 64 MiB, these sets are intersected in pairs instead, in O(sets × bytes). The other sets have
/// m values together. An index of 2^20 of these at a time is in memory (52 bytes a value) and is
/// compared with all larger sets. So there are O(m / 2^20) passes over the values of all sets, and
/// each id costs a step for each pair of small sets that have it, unless the best pairs so far share
/// more ids than that: then an id that most sets have costs little. [`OverlapBy::Lift`] also keeps
/// the union of all sets in memory.
///
/// # Examples
///
/// ```
/// use bitsort::set::{IntegerSet, keyed::{Overlap, OverlapBy}};
///
/// let sets = [[1, 2, 3], [2, 3, 4], [7, 8, 9]].map(IntegerSet::from);
/// let pairs = Overlap::new(10).by(OverlapBy::Jaccard).of(&[&sets[0], &sets[1], &sets[2]])?;
/// assert_eq!(pairs.len(), 1);
/// assert_eq!((pairs[0].sets, pairs[0].intersection, pairs[0].jaccard), ([0, 1], 2, 0.5));
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Overlap {
    top: usize,
    by: OverlapBy,
    least: u64,
    /// Number of sets that count as large.
    paired: usize,
    /// Most pairs of equal ids that a merge of the large sets may meet; none to find out.
    most_met: Option<u64>,
    /// Most values of an index.
    index_values: u64,
    /// Most bytes of a merge: its counters, and the values that are decoded.
    merge_bytes: u64,
    /// Most pairs that are in memory, if their memory is bounded.
    most_pairs: Option<usize>,
}

/// Sets by their numbers.
trait Many {
    fn count(&self) -> usize;
    fn cardinality(&self, index: usize) -> Result<u64>;
    fn operand(&self, index: usize) -> Result<Operand<'_>>;
}

impl Many for &[&dyn AsSet] {
    fn count(&self) -> usize {
        self.len()
    }

    fn cardinality(&self, index: usize) -> Result<u64> {
        self[index].as_set().ask(SetView::len)
    }

    fn operand(&self, index: usize) -> Result<Operand<'_>> {
        Ok(self[index].as_set())
    }
}

impl Many for KeyedSets {
    fn count(&self) -> usize {
        self.len()
    }

    fn cardinality(&self, index: usize) -> Result<u64> {
        Ok(self.about(index)?.cardinality)
    }

    fn operand(&self, index: usize) -> Result<Operand<'_>> {
        KeyedSets::operand(self, index)
    }
}

impl Overlap {
    /// Looks for the best `top` pairs by [intersection](OverlapBy::Intersection).
    #[must_use]
    pub fn new(top: usize) -> Self {
        let (by, least) = (OverlapBy::default(), 1);
        let (index_values, merge_bytes) = (1 << 20, 64 << 20);
        let (paired, most_met, most_pairs) = (1 << 11, None, None);
        Self { top, by, least, paired, most_met, index_values, merge_bytes, most_pairs }
    }

    /// The score that makes a pair better.
    #[must_use]
    pub fn by(mut self, by: OverlapBy) -> Self {
        self.by = by;
        self
    }

    /// Leaves out pairs with fewer values in common; the default is 1.
    #[must_use]
    pub fn at_least(mut self, values: u64) -> Self {
        self.least = values.max(1);
        self
    }

    /// The best pairs of these sets, the best first. The numbers in a pair are places in `sets`.
    ///
    /// # Errors
    ///
    /// If a file is damaged.
    pub fn of(&self, sets: &[&dyn AsSet]) -> Result<Vec<Pair>> {
        self.search(&sets, &Progress::default())
    }

    /// The best pairs of the sets of a file, the best first. The numbers in a pair are those of the
    /// keys in their order, as [`KeyedSets::iter`] gives them.
    ///
    /// # Errors
    ///
    /// If the file is damaged.
    pub fn of_file(&self, sets: &KeyedSets) -> Result<Vec<Pair>> {
        self.search(sets, &Progress::default())
    }

    /// Divides so many bytes: a quarter for the best pairs, the rest for a merge or an index.
    #[cfg(feature = "cli")]
    pub(crate) fn memory(mut self, bytes: u64) -> Self {
        /// Values with their sets while they are sorted, and the index of them.
        const BYTES_PER_VALUE: u64 = 52;
        /// A pair while the best ones are found, and where it is handed over.
        const BYTES_PER_PAIR: u64 = (size_of::<Reverse<Scored>>() + size_of::<Pair>()) as u64;
        self.index_values = self.index_values.min(bytes / 2 / BYTES_PER_VALUE);
        self.merge_bytes = self.merge_bytes.min(bytes / 4 * 3);
        self.most_pairs = Some(in_usize(bytes / 4 / BYTES_PER_PAIR));
        self
    }

    #[cfg(feature = "cli")]
    pub(crate) fn of_watched(&self, sets: &[&dyn AsSet], progress: &Progress) -> Result<Vec<Pair>> {
        self.search(&sets, progress)
    }

    #[cfg(feature = "cli")]
    pub(crate) fn of_file_watched(
        &self,
        sets: &KeyedSets,
        progress: &Progress,
    ) -> Result<Vec<Pair>> {
        self.search(sets, progress)
    }

    fn search(&self, sets: &impl Many, progress: &Progress) -> Result<Vec<Pair>> {
        if self.top == 0 {
            return Ok(Vec::new());
        }
        let sizes = (0..sets.count()).map(|index| sets.cardinality(index));
        let sizes = sizes.collect::<Result<Vec<_>>>()?;
        let mut order: Vec<usize> =
            (0..sizes.len()).filter(|&index| sizes[index] >= self.least).collect();
        order.sort_unstable_by_key(|&index| (Reverse(sizes[index]), index));
        let universe = match self.by {
            OverlapBy::Lift => universe(sets, progress)?,
            _ => 0,
        };
        // All at once: memory that grows is copied to other memory.
        let capacity = self.most_pairs.map_or(0, |most| most.min(self.top) + 1);
        let best = Best { search: self, universe, heap: BinaryHeap::with_capacity(capacity) };
        let mut search = Search { sets, sizes, order, progress, best };
        let most_met = self.most_met.map_or_else(|| search.most_met(), |most| Ok(Some(most)))?;
        let is_merged = most_met.map_or(Ok(false), |most_met| search.merge_of_large(most_met))?;
        if !is_merged {
            search.pairs_of_large()?;
        }
        search.pairs_of_small()?;
        let best = search.best;
        (0..sets.count()).try_for_each(|index| sets.operand(index)?.after(Ok(())))?;
        Ok(best.into_pairs())
    }
}

/// Number of values in any of the sets.
fn universe(sets: &impl Many, progress: &Progress) -> Result<u64> {
    /// Number of sets that are walked through together.
    const SOME: usize = 512;
    let make = |plan: Plan<'_>| Ok(IntegerSet(plan.collect(progress)?));
    let mut unions = Batches::new(Rule::By(Op::Or));
    for from in (0..sets.count()).step_by(SOME) {
        let some = from..sets.count().min(from + SOME);
        let is_last = some.end == sets.count();
        let plans = some.map(|index| sets.operand(index).map(Plan::set));
        let plans = plans.collect::<Result<Vec<_>>>()?;
        if is_last {
            let unions = unions.finish(make)?;
            let all = Plan::join(Op::Or, [Plan::all(&unions), plans].concat());
            // It becomes a quotient: one value of 2^64 does not count.
            return Ok(u64::try_from(all.cardinality(progress)?).unwrap_or(u64::MAX));
        }
        unions.push(plans, make)?;
    }
    Ok(0)
}

/// The best pairs so far.
struct Best<'o> {
    search: &'o Overlap,
    universe: u64,
    heap: BinaryHeap<Reverse<Scored>>,
}

struct Scored {
    score: f64,
    pair: Pair,
}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        let by_size = self.pair.intersection.cmp(&other.pair.intersection);
        by_score.then(by_size).then(other.pair.sets.cmp(&self.pair.sets))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scored {}

#[expect(clippy::cast_precision_loss, reason = "shares of counts")]
impl Best<'_> {
    /// Whether a set of `large` values and one of at most `small` can make one of the best pairs.
    fn may_be(&self, large: u64, small: u64) -> bool {
        self.heap.len() < self.search.top
            || self.heap.peek().is_some_and(|Reverse(worst)| {
                let (large, small_len, small) = (large as f64, small, small as f64);
                let bound = match self.search.by {
                    OverlapBy::Intersection => small,
                    OverlapBy::Jaccard => small / large,
                    OverlapBy::Lift => self.universe as f64 / large,
                };
                match bound.total_cmp(&worst.score) {
                    Ordering::Greater => true,
                    // The pair with more in common is the better one.
                    Ordering::Equal => small_len > worst.pair.intersection,
                    Ordering::Less => false,
                }
            })
    }

    /// Fewest values that a set of `size` values shares with another one, if they are to be one of
    /// the best pairs.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    fn least_shared(&self, size: u64) -> u64 {
        /// Less than one, by more than what rounding makes of a quotient.
        const SAFE: f64 = 1.0 - 1e-9;
        let least = self.search.least;
        match self.heap.peek() {
            Some(Reverse(worst)) if self.heap.len() >= self.search.top => {
                let more = match self.search.by {
                    OverlapBy::Intersection => worst.pair.intersection + 1,
                    // They have at least `size` values together.
                    OverlapBy::Jaccard => (worst.score * size as f64 * SAFE) as u64 + 1,
                    OverlapBy::Lift => 1,
                };
                least.max(more)
            }
            _ => least,
        }
    }

    fn offer(&mut self, sets: [usize; 2], sizes: [u64; 2], intersection: u64) -> Result<()> {
        if intersection < self.search.least {
            return Ok(());
        }
        let (sets, sizes) = match sets {
            [a, b] if a > b => ([b, a], [sizes[1], sizes[0]]),
            _ => (sets, sizes),
        };
        let [a, b] = sizes.map(|size| size as f64);
        let both = intersection as f64;
        let jaccard = both / (a + b - both);
        let lift = both * self.universe as f64 / (a * b);
        let lift = (self.search.by == OverlapBy::Lift).then_some(lift);
        let score = match self.search.by {
            OverlapBy::Intersection => both,
            OverlapBy::Jaccard => jaccard,
            OverlapBy::Lift => lift.unwrap_or(0.0),
        };
        let found = Scored { score, pair: Pair { sets, sizes, intersection, jaccard, lift } };
        if self.heap.len() < self.search.top {
            self.heap.push(Reverse(found));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && found > worst.0
        {
            *worst = Reverse(found);
        }
        match self.search.most_pairs {
            Some(0) => Err(Error::usage("the memory limit has no room for pairs")),
            Some(most) if self.heap.len() > most => Err(Error::usage(format!(
                "more than {most} pairs do not fit in the memory limit: ask for fewer"
            ))),
            _ => Ok(()),
        }
    }

    fn into_pairs(self) -> Vec<Pair> {
        // The order is reversed, so this gives the best pair first.
        self.heap.into_sorted_vec().into_iter().map(|Reverse(scored)| scored.pair).collect()
    }
}

/// Where the counters of set `b` with the sets before it begin; so many pairs are in `b` sets.
fn first_counter(b: usize) -> usize {
    b * b.saturating_sub(1) / 2
}

struct Search<'s, M> {
    sets: &'s M,
    /// The size of each set, by its number.
    sizes: Vec<u64>,
    /// Numbers of sets, the largest first.
    order: Vec<usize>,
    progress: &'s Progress,
    best: Best<'s>,
}

impl<M: Many> Search<'_, M> {
    fn size(&self, place: usize) -> u64 {
        self.sizes[self.order[place]]
    }

    /// Number of sets that count as large, those among them that no index can hold.
    fn large(&self) -> usize {
        let search = self.best.search;
        let unheld = self.order.partition_point(|&index| self.sizes[index] > search.index_values);
        self.order.len().min(search.paired).max(unheld)
    }

    fn check(&self) -> Result<()> {
        Error::if_cancelled(self.progress)
    }

    /// If merging the large sets looks cheaper than intersecting them in pairs, and fits in memory:
    /// how many pairs of equal ids it may meet before that is wrong.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    fn most_met(&self) -> Result<Option<u64>> {
        // Measured times in nanoseconds: of a value that is merged, of an id for each further pair,
        // of a value in a pair of sparse sets, of a byte in a pair of arrays or bitmaps.
        const MERGED: f64 = 80.0;
        const MET: f64 = 1.0;
        const PAIRED: f64 = 3.0;
        const BYTE: f64 = 0.1;
        // Bytes of an open set and of where the merge is in it.
        const BYTES: u64 = 1 << 10;
        let large = self.large();
        let mut bytes = 8 * first_counter(large) as u64;
        let (mut values, mut pairs, mut ends) = (0.0, 0.0, None);
        for place in 0..large {
            let set = self.sets.operand(self.order[place])?;
            let (view, len) = (set.view(), self.size(place) as f64);
            let found = view.min().and_then(|min| Ok(min.zip(view.max()?)));
            let found = found.map_err(|damage| set.damaged(damage))?;
            ends = match (ends, found) {
                (Some((a, b)), Some((c, d))) => Some((std::cmp::min(a, c), std::cmp::max(b, d))),
                (a, b) => a.or(b),
            };
            values += len;
            // A block of a sparse set is decoded, and a container of others.
            let (cost, decoded) = match view.0 {
                Shape::Sparse(_) => (PAIRED * len, 8 * self.size(place).min(BLOCK as u64)),
                _ => (BYTE * view.bytes().max(1 << 13) as f64, 4 * self.size(place).min(1 << 16)),
            };
            pairs += cost;
            bytes = bytes.saturating_add(BYTES + decoded);
        }
        let range = ends.map_or(1.0, |(min, max)| (max - min) as f64 + 1.0);
        let (merge, pairs) =
            (values * (MERGED + MET * values / range), pairs * self.large() as f64);
        let is_cheaper = merge < pairs && bytes <= self.best.search.merge_bytes;
        Ok(is_cheaper.then_some((pairs / MET) as u64))
    }

    /// Walks through all large sets together and counts; gives up, and offers none, if it meets more
    /// than so many pairs of equal ids.
    fn merge_of_large(&mut self, most_met: u64) -> Result<bool> {
        let large = self.large();
        let first = first_counter;
        let mut counts = vec![0_u64; first(large)];
        let operands = (0..large).map(|place| self.sets.operand(self.order[place]));
        let operands = operands.collect::<Result<Vec<_>>>()?;
        let mut ids: Vec<_> = operands.iter().map(|set| set.view().iter()).collect();
        let mut heap = BinaryHeap::new();
        let mut next = |heap: &mut BinaryHeap<_>, place: usize| -> Result<()> {
            let id = ids[place].next().transpose();
            let id = id.map_err(|damage| operands[place].damaged(damage))?;
            heap.extend(id.map(|id| Reverse((id, place))));
            Ok(())
        };
        (0..large).try_for_each(|place| next(&mut heap, place))?;
        let (mut having, mut steps, mut met) = (Vec::new(), 0_u64, 0_u64);
        while let Some(Reverse((id, place))) = heap.pop() {
            having.clear();
            having.push(place);
            next(&mut heap, place)?;
            while let Some(&Reverse((other, place))) = heap.peek()
                && other == id
            {
                heap.pop();
                having.push(place);
                next(&mut heap, place)?;
            }
            met = met.saturating_add(first(having.len()) as u64);
            if met > most_met {
                return Ok(false);
            }
            // The places ascend.
            for (index, &b) in having.iter().enumerate() {
                for &a in &having[..index] {
                    counts[first(b) + a] += 1;
                }
            }
            steps += 1;
            if steps.is_multiple_of(1 << 16) {
                self.check()?;
            }
        }
        for b in 0..large {
            for a in 0..b {
                let sizes = [self.size(a), self.size(b)];
                self.best.offer([self.order[a], self.order[b]], sizes, counts[first(b) + a])?;
            }
        }
        Ok(true)
    }

    fn pairs_of_large(&mut self) -> Result<()> {
        let watched = Progress::default(); // each pair is a walk of its own
        for b in 0..self.large() {
            self.check()?;
            // Take the nearest in size first: if a pair cannot be among the best, the later ones
            // cannot either.
            for a in (0..b).rev() {
                let (large, small) = (self.size(a), self.size(b));
                if !self.best.may_be(large, small) {
                    break;
                }
                let sets = [self.order[a], self.order[b]];
                let plans = [self.sets.operand(sets[0])?, self.sets.operand(sets[1])?];
                let both = Plan::join(Op::And, plans.map(Plan::set).into()).count(&watched)?;
                self.best.offer(sets, [large, small], both)?;
            }
        }
        Ok(())
    }

    /// Offers the pairs whose smaller set is not a large one.
    fn pairs_of_small(&mut self) -> Result<()> {
        let mut from = self.large();
        while from < self.order.len() {
            let (mut to, mut left) = (from, self.best.search.index_values);
            // The first one fits: larger sets count as large ones.
            while to < self.order.len()
                && let Some(now) = left.checked_sub(self.size(to))
            {
                (left, to) = (now, to + 1);
            }
            // All later sets are at most as large.
            if self.best.search.by == OverlapBy::Intersection
                && !self.best.may_be(self.size(from), self.size(from))
            {
                break;
            }
            let may_be =
                |place| self.best.may_be(self.size(place), self.size(from).min(self.size(place)));
            if !(0..to).any(may_be) {
                from = to;
                continue;
            }
            let index = self.index(from, to)?;
            let mut met = Met { counts: vec![0; to - from], ..Met::default() };
            for place in 0..to {
                if self.best.may_be(self.size(place), self.size(from).min(self.size(place))) {
                    self.check()?;
                    self.hold(&index, place, from, &mut met)?;
                }
            }
            from = to;
        }
        Ok(())
    }

    /// An index of the ids of the sets at places from `from` up to `to`.
    fn index(&self, from: usize, to: usize) -> Result<Index> {
        // A damaged file may say that a set has any number of values.
        let most = 2 * self.best.search.index_values;
        let values = (from..to).map(|place| self.size(place)).fold(0, u64::saturating_add);
        let values = usize::try_from(values.min(most)).unwrap_or(0);
        let mut all: Vec<(u64, u32)> = Vec::with_capacity(values);
        for (number, place) in (0..).zip(from..to) {
            let set = self.sets.operand(self.order[place])?;
            for id in set.view() {
                all.push((id.map_err(|damage| set.damaged(damage))?, number));
            }
        }
        all.sort_unstable();
        Ok(Index::of(&all))
    }

    /// Offers the pairs of one set with the sets of an index. The index begins at place `from`;
    /// only its sets behind this set count.
    ///
    /// A pair that is to be among the best shares at least so many ids. If one less are left out at
    /// first, the other ids still tell which sets may be partners. So an id that nearly all sets
    /// have makes no pairs.
    fn hold(&mut self, index: &Index, place: usize, from: usize, met: &mut Met) -> Result<()> {
        let number = self.order[place];
        let mut ids = std::mem::take(&mut met.ids);
        self.places(index, number, &mut ids)?;
        let least = self.best.least_shared(self.size(place));
        if (ids.len() as u64) < least {
            met.ids = ids;
            return Ok(());
        }
        let mut frequent = Vec::new();
        if least > 1 {
            let of_many = |&mut at: &mut usize| index.sets_of(at).len() >= FREQUENT;
            frequent.extend(ids.extract_if(.., of_many));
            frequent.sort_unstable_by_key(|&at| Reverse(index.sets_of(at).len()));
            let left_out = in_usize(least - 1);
            ids.extend(frequent.drain(left_out.min(frequent.len())..));
        }
        for &at in &ids {
            let sets = index.sets_of(at);
            let behind = sets.partition_point(|&other| from + other as usize <= place);
            steps::count(1 + sets.len() - behind);
            sets[behind..].iter().for_each(|&other| met.add(other));
        }
        for &at in &frequent {
            met.add_known(index.sets_of(at));
        }
        met.ids = ids;
        for other in met.sets.drain(..) {
            let both = std::mem::take(&mut met.counts[other as usize]);
            let other = from + other as usize;
            let sizes = [self.size(place), self.size(other)];
            self.best.offer([number, self.order[other]], sizes, both)?;
        }
        Ok(())
    }

    /// The places in the index of the ids of a set.
    fn places(&self, index: &Index, number: usize, places: &mut Vec<usize>) -> Result<()> {
        places.clear();
        let set = self.sets.operand(number)?;
        if self.sizes[number] / 8 < index.ids.len() as u64 {
            for id in set.view() {
                places.extend(index.find(id.map_err(|damage| set.damaged(damage))?));
            }
        } else {
            let mut found = vec![false; index.ids.len()];
            let asked = set.view().contains_many(&index.ids, &mut found);
            asked.map_err(|damage| set.damaged(damage))?;
            places.extend((0..found.len()).filter(|&at| found[at]));
        }
        Ok(())
    }
}

/// The sets of an index that share ids with one set.
#[derive(Default)]
struct Met {
    /// Places of the ids of that set.
    ids: Vec<usize>,
    /// Sets that share one, and for each set of the index, how many it shares.
    sets: Vec<u32>,
    counts: Vec<u64>,
}

impl Met {
    #[inline]
    fn add(&mut self, other: u32) {
        let count = &mut self.counts[other as usize];
        if *count == 0 {
            self.sets.push(other);
        }
        *count += 1;
    }

    /// Counts an id for those of ascending `sets` that were met.
    fn add_known(&mut self, sets: &[u32]) {
        let searched = self.sets.len() * (1 + sets.len().checked_ilog2().unwrap_or(0) as usize);
        steps::count(searched.min(sets.len()));
        let counts = &mut self.counts;
        if sets.len() <= searched {
            for &other in sets {
                let count = &mut counts[other as usize];
                *count += u64::from(*count > 0);
            }
        } else {
            for &other in &self.sets {
                counts[other as usize] += u64::from(sets.binary_search(&other).is_ok());
            }
        }
    }
}

/// Ids, and for each the sets that have it.
struct Index {
    /// Ascending.
    ids: Vec<u64>,
    /// The start of the sets of each id, and the end of the last ones.
    starts: Vec<usize>,
    sets: Vec<u32>,
    /// The ids from the smallest to the largest lie in about as many buckets of equal width, two to
    /// the power of `shift`. The start of each bucket in `ids`, and the end of the last one.
    buckets: Vec<usize>,
    shift: u32,
}

impl Index {
    /// The index of these pairs of an id and a set, which ascend.
    fn of(pairs: &[(u64, u32)]) -> Self {
        let (mut ids, mut starts, mut sets) = (
            Vec::with_capacity(pairs.len()),
            Vec::with_capacity(pairs.len()),
            Vec::with_capacity(pairs.len()),
        );
        for of_id in pairs.chunk_by(|a, b| a.0 == b.0) {
            ids.push(of_id[0].0);
            starts.push(sets.len());
            sets.extend(of_id.iter().map(|(_, number)| number));
        }
        starts.push(sets.len());
        let (first, last) = (ids.first().copied().unwrap_or(0), ids.last().copied().unwrap_or(0));
        let width = u64::BITS - (last - first).leading_zeros();
        let shift = width.saturating_sub(ids.len().checked_ilog2().unwrap_or(0));
        let mut buckets = vec![0];
        for (at, id) in ids.iter().enumerate() {
            while buckets.len() as u64 <= (id - first) >> shift {
                buckets.push(at);
            }
        }
        buckets.push(ids.len());
        Self { ids, starts, sets, buckets, shift }
    }

    /// The place of an id.
    #[inline]
    fn find(&self, id: u64) -> Option<usize> {
        let bucket = id.checked_sub(*self.ids.first()?)? >> self.shift;
        let ends = self.buckets.get(usize::try_from(bucket).ok()?..)?;
        let [from, to] = *ends.first_chunk()?;
        self.ids[from..to].binary_search(&id).ok().map(|at| from + at)
    }

    /// The sets that have the id at `at`, ascending.
    #[inline]
    fn sets_of(&self, at: usize) -> &[u32] {
        &self.sets[self.starts[at]..self.starts[at + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[expect(clippy::cast_precision_loss, reason = "shares of counts")]
    fn share(count: u64) -> f64 {
        count as f64
    }

    fn brute(sets: &[IntegerSet], by: OverlapBy, least: u64) -> Vec<f64> {
        let universe = sets.iter().fold(IntegerSet::new(), |all, set| &all | set).len();
        let mut scores = Vec::new();
        for b in 0..sets.len() {
            for a in 0..b {
                let both = (&sets[a] & &sets[b]).len();
                let [x, y, both_share, all] =
                    [sets[a].len(), sets[b].len(), both, universe].map(share);
                if both >= least {
                    scores.push(match by {
                        OverlapBy::Intersection => both_share,
                        OverlapBy::Jaccard => both_share / (x + y - both_share),
                        OverlapBy::Lift => both_share * all / (x * y),
                    });
                }
            }
        }
        scores.sort_by(|a, b| b.total_cmp(a));
        scores
    }

    proptest! {
        #[test]
        fn the_best_pairs_are_those_of_all_pairs(
            values in prop::collection::vec(prop::collection::vec(0..60_u64, 0..25), 0..12),
            top in 1..9_usize, least in 1..4_u64, paired in 0..12_usize, index_values in 1..60_u64,
            most_met in prop::option::of(prop_oneof![Just(0), 0..50_u64, Just(u64::MAX)]),
            merge_bytes in prop_oneof![0..10_000_u64, Just(u64::MAX)],
        ) {
            let far = |value: u64| value.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let sets: Vec<IntegerSet> =
                values.into_iter().map(|set| set.into_iter().map(far).collect()).collect();
            let operands: Vec<&dyn AsSet> = sets.iter().map(|set| set as &dyn AsSet).collect();
            for by in [OverlapBy::Intersection, OverlapBy::Jaccard, OverlapBy::Lift] {
                let mut overlap = Overlap::new(top).by(by).at_least(least);
                (overlap.paired, overlap.index_values) = (paired, index_values);
                (overlap.most_met, overlap.merge_bytes) = (most_met, merge_bytes);
                let found = overlap.of(&operands).unwrap();
                for pair in &found {
                    let [a, b] = pair.sets.map(|index| &sets[index]);
                    prop_assert_eq!(pair.intersection, (a & b).len());
                    prop_assert_eq!(pair.sizes, [a.len(), b.len()]);
                }
                let scores: Vec<f64> = found.iter().map(|pair| match by {
                    OverlapBy::Intersection => share(pair.intersection),
                    OverlapBy::Jaccard => pair.jaccard,
                    OverlapBy::Lift => pair.lift.unwrap(),
                }).collect();
                let mut expected = brute(&sets, by, least);
                expected.truncate(top);
                prop_assert_eq!(scores, expected, "{:?}", by);
            }
        }
    }
}
