//! Set algebra, container by container.
//!
//! A plan is a tree of operations over sets of any representation. It is
//! evaluated key by key: only containers that can matter are looked at, and
//! never more than one result is in memory, whatever the size of the sets.

use crate::bits::ContainerSink;
use crate::container::{self, Container, MAX_ARRAY, Op, Scratch};
use crate::error::{Error, Result};
use crate::progress::{Phase, Progress};
use crate::view::{Cursor, Damage, SetView};

/// Says which file a damage is in.
pub(crate) type Blame<'a> = &'a (dyn Fn(Damage) -> Error + 'a);

/// What is to be computed.
pub(crate) enum Plan<'a> {
    Set(Box<Leaf<'a>>),
    /// All values from the first to the last.
    Range(u64, u64),
    /// The operation between the first plan and each of the others in turn.
    Join(Op, Vec<Plan<'a>>),
    /// Values in at least that many of the plans.
    AtLeast(usize, Vec<Plan<'a>>),
}

/// A set with the container that comes next.
pub(crate) struct Leaf<'a> {
    cursor: Cursor<'a>,
    ahead: Option<(u64, Container<'a>)>,
    blame: Blame<'a>,
}

/// A container that is borrowed or was computed.
enum Piece<'a> {
    Borrowed(Container<'a>),
    Run([[u8; 4]; 1]),
    Computed(Scratch),
}

impl Piece<'_> {
    fn container(&self) -> Container<'_> {
        match self {
            Self::Borrowed(container) => *container,
            Self::Run(run) => Container::Runs(run),
            Self::Computed(scratch) => scratch.container(),
        }
    }

    fn is_empty(&self) -> bool {
        matches!(self, Self::Computed(scratch) if scratch.is_empty())
    }
}

/// Memory of containers that are used no more, for the next ones.
#[derive(Default)]
struct Pool(Vec<Scratch>);

impl Pool {
    fn take(&mut self) -> Scratch {
        self.0.pop().unwrap_or_default()
    }

    fn empty<'p>(&mut self) -> Piece<'p> {
        let mut scratch = self.take();
        scratch.clear();
        Piece::Computed(scratch)
    }

    fn give(&mut self, piece: Piece<'_>) {
        if let Piece::Computed(scratch) = piece {
            self.0.push(scratch);
        }
    }
}

impl<'a> Plan<'a> {
    /// The values of `view`.
    pub(crate) fn set(view: SetView<'a>, blame: Blame<'a>) -> Self {
        Self::Set(Box::new(Leaf { cursor: view.cursor(), ahead: None, blame }))
    }

    /// The smallest key from `from` on that may have values.
    fn key(&mut self, from: u64) -> Result<Option<u64>> {
        match self {
            Self::Set(leaf) => leaf.key(from),
            Self::Range(first, last) => {
                let key = from.max(*first >> 16);
                Ok((first <= last && key <= *last >> 16).then_some(key))
            }
            Self::Join(Op::And, plans) => {
                // Leapfrog: until all agree on a key.
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
            Self::Join(_, plans) | Self::AtLeast(_, plans) => {
                let mut least = None;
                for plan in plans {
                    least = match (least, plan.key(from)?) {
                        (Some(a), Some(b)) => Some(std::cmp::min(a, b)),
                        (a, b) => a.or(b),
                    };
                }
                Ok(least)
            }
        }
    }

    /// The values at `key`; keys must not descend from call to call.
    fn piece(&mut self, key: u64, pool: &mut Pool) -> Result<Piece<'a>> {
        match self {
            Self::Set(leaf) => leaf.piece(key, pool),
            Self::Range(first, last) => {
                if first > last || !(*first >> 16..=*last >> 16).contains(&key) {
                    return Ok(pool.empty());
                }
                #[expect(clippy::cast_possible_truncation, reason = "the low part is meant")]
                let low = |value: u64| u32::from(value as u16);
                let from = if *first >> 16 == key { low(*first) } else { 0 };
                let to = if *last >> 16 == key { low(*last) } else { 0xFFFF };
                Ok(Piece::Run([container::run(from, to)]))
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
            Self::AtLeast(least, plans) => {
                let pieces = plans.iter_mut().map(|plan| plan.piece(key, pool));
                let pieces = pieces.collect::<Result<Vec<_>>>()?;
                let computed = in_at_least(*least, &pieces);
                for piece in pieces {
                    pool.give(piece);
                }
                Ok(Piece::Computed(computed))
            }
        }
    }

    /// Upper bound of the keys that may have values, if there are any.
    fn last_key(&self) -> Option<u64> {
        match self {
            Self::Set(leaf) => leaf.cursor.last_key(),
            Self::Range(_, last) => Some(last >> 16),
            Self::Join(_, plans) | Self::AtLeast(_, plans) => {
                plans.iter().filter_map(Self::last_key).max()
            }
        }
    }

    /// Goes from key to key; `step` gets the plan and the key.
    fn walk(
        mut self,
        progress: &Progress,
        mut step: impl FnMut(&mut Self, u64) -> Result<()>,
    ) -> Result<()> {
        let mut from = 0;
        progress.enter(Phase::Walk, self.last_key().map_or(0, |last| last + 1));
        while let Some(key) = self.key(from)? {
            step(&mut self, key)?;
            progress.advance(key + 1 - from);
            from = key + 1;
            if progress.is_cancelled() {
                return Err(Error::Interrupted);
            }
        }
        Ok(())
    }

    /// Computes the result into `sink`.
    pub(crate) fn run(
        self,
        sink: &mut (impl ContainerSink + ?Sized),
        progress: &Progress,
    ) -> Result<()> {
        let mut pool = Pool::default();
        self.walk(progress, |plan, key| {
            let piece = plan.piece(key, &mut pool)?;
            sink.push(key, piece.container())?;
            pool.give(piece);
            Ok(())
        })
    }

    /// Number of values of the result. For two sets nothing is computed but
    /// the size of what they share.
    pub(crate) fn count(self, progress: &Progress) -> Result<u64> {
        let mut count = 0;
        let mut pool = Pool::default();
        self.walk(progress, |plan, key| {
            let pair = match plan {
                Self::Join(op, plans) => {
                    <&mut [_; 2]>::try_from(&mut plans[..]).ok().map(|pair| (*op, pair))
                }
                _ => None,
            };
            let Some((op, [x, y])) = pair else {
                let piece = plan.piece(key, &mut pool)?;
                count += u64::from(piece.container().len());
                pool.give(piece);
                return Ok(());
            };
            let (x, y) = (x.piece(key, &mut pool)?, y.piece(key, &mut pool)?);
            let (a, b) = (x.container(), y.container());
            let both = u64::from(container::intersection_len(a, b));
            let len = |container: Container<'_>| u64::from(container.len());
            // Containers of a damaged file may contradict themselves.
            count += match op {
                Op::And => both,
                Op::Or => (len(a) + len(b)).saturating_sub(both),
                Op::Xor => (len(a) + len(b)).saturating_sub(2 * both),
                Op::AndNot => len(a).saturating_sub(both),
            };
            pool.give(x);
            pool.give(y);
            Ok(())
        })?;
        Ok(count)
    }

    /// Number of values of the result, where a range may be all there is of the
    /// universe: what is beside the other set in it is not walked through.
    #[cfg(feature = "cli")]
    pub(crate) fn cardinality(mut self, progress: &Progress) -> Result<u128> {
        match &mut self {
            Self::Range(first, last) => Ok(range_len(*first, *last)),
            Self::Join(op @ (Op::Or | Op::Xor | Op::AndNot), plans) if plans.len() == 2 => {
                let (op, set) = (*op, plans.pop());
                match (plans.pop(), set) {
                    (Some(Self::Range(first, last)), Some(set)) => {
                        set.count_beside(op, first, last, progress)
                    }
                    (Some(set), Some(Self::Range(first, last))) if op != Op::AndNot => {
                        set.count_beside(op, first, last, progress)
                    }
                    (Some(a), Some(b)) => {
                        Self::Join(op, vec![a, b]).count(progress).map(u128::from)
                    }
                    _ => Ok(0),
                }
            }
            _ => self.count(progress).map(u128::from),
        }
    }

    /// The same of the range `first ..= last` joined with this plan.
    #[cfg(feature = "cli")]
    fn count_beside(self, op: Op, first: u64, last: u64, progress: &Progress) -> Result<u128> {
        let (mut all, mut inside) = (0_u128, 0_u128);
        let (mut pool, mut range) = (Pool::default(), Self::Range(first, last));
        self.walk(progress, |plan, key| {
            let (ours, theirs) = (plan.piece(key, &mut pool)?, range.piece(key, &mut pool)?);
            all += u128::from(ours.container().len());
            inside += u128::from(container::intersection_len(ours.container(), theirs.container()));
            pool.give(ours);
            pool.give(theirs);
            Ok(())
        })?;
        let outside = all.saturating_sub(inside);
        let left = range_len(first, last).saturating_sub(inside);
        Ok(match op {
            Op::And => inside,
            Op::Or => range_len(first, last) + outside,
            Op::Xor => left + outside,
            Op::AndNot => left,
        })
    }

    /// Whether two sets share no value.
    pub(crate) fn is_disjoint(mut a: Self, mut b: Self) -> Result<bool> {
        let mut from = 0;
        let mut pool = Pool::default();
        while let (Some(x), Some(y)) = (a.key(from)?, b.key(from)?) {
            if x == y {
                let (ours, theirs) = (a.piece(x, &mut pool)?, b.piece(x, &mut pool)?);
                if container::intersects(ours.container(), theirs.container()) {
                    return Ok(false);
                }
            }
            from = x.max(y) + u64::from(x == y);
        }
        Ok(true)
    }
}

#[cfg(feature = "cli")]
fn range_len(first: u64, last: u64) -> u128 {
    last.checked_sub(first).map_or(0, |more| u128::from(more) + 1)
}

/// The values that at least that many of the pieces have.
fn in_at_least(least: usize, pieces: &[Piece<'_>]) -> Scratch {
    let (mut lows, mut some) = (Vec::new(), Vec::new());
    let count: u64 = pieces.iter().map(|piece| u64::from(piece.container().len())).sum();
    if count <= MAX_ARRAY as u64 {
        // Few values are sorted: a counter for each there could be costs 50 µs.
        for piece in pieces {
            let found = piece.container().positions(0, &mut some);
            lows.extend_from_slice(&some[..found]);
        }
        lows.sort_unstable();
        let enough = lows.chunk_by(|a, b| a == b).filter(|copies| copies.len() >= least);
        #[expect(clippy::cast_possible_truncation, reason = "positions in a container")]
        let values: Vec<[u8; 2]> = enough.map(|copies| (copies[0] as u16).to_le_bytes()).collect();
        return Scratch::from(Container::Array(&values));
    }
    let mut counts = vec![0_u32; container::SPAN as usize];
    for piece in pieces {
        let found = piece.container().positions(0, &mut some);
        for &low in &some[..found] {
            counts[low as usize] += 1;
        }
    }
    let mut words = Box::new([[0; 8]; container::WORDS]);
    for (word, counts) in words.iter_mut().zip(counts.chunks(64)) {
        let bits = counts
            .iter()
            .rev()
            .fold(0_u64, |bits, &count| bits << 1 | u64::from(count as usize >= least));
        *word = bits.to_le_bytes();
    }
    let mut scratch = Scratch::default();
    scratch.set_bitmap(words);
    scratch
}

impl<'a> Leaf<'a> {
    fn key(&mut self, from: u64) -> Result<Option<u64>> {
        if self.ahead.is_none_or(|(key, _)| key < from) {
            self.cursor.seek(from);
            self.ahead = self.cursor.next().map_err(self.blame)?;
            if self.ahead.is_some_and(|(key, _)| key < from) {
                let what = "the keys of the containers do not ascend";
                return Err((self.blame)(Damage { offset: 0, what }));
            }
        }
        Ok(self.ahead.map(|(key, _)| key))
    }

    fn piece(&mut self, key: u64, pool: &mut Pool) -> Result<Piece<'a>> {
        self.key(key)?;
        Ok(match self.ahead {
            Some((found, container)) if found == key => Piece::Borrowed(container),
            _ => pool.empty(),
        })
    }
}
