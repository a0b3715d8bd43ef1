//! The values of a set that finds them by their ranks, in order, from either end.

use super::search::sum;
use super::walk::{BLOCK, DISORDER};
use super::{Damage, RunList, SparseView};
use std::ops::Range;

/// A set without containers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Ranked<'a> {
    Sparse(SparseView<'a>),
    Runs(RunList<'a>),
}

impl Ranked<'_> {
    /// Number of values below `value`, and whether it is in the set.
    pub(super) fn position(self, value: u64) -> Result<(u64, bool), Damage> {
        match self {
            Self::Sparse(sparse) => sparse.position(value),
            Self::Runs(runs) => runs.position(value),
        }
    }

    /// The value that has `rank` values before it.
    pub(super) fn select(self, rank: u64) -> Result<Option<u64>, Damage> {
        match self {
            Self::Sparse(sparse) => sparse.select(rank),
            Self::Runs(runs) => runs.select(rank),
        }
    }

    /// Fills `out` with the values from `rank` on, which must exist, or with fewer; gives their
    /// number, at least one.
    fn decode(self, rank: u64, out: &mut [u64]) -> Result<usize, Damage> {
        match self {
            Self::Sparse(sparse) => Ok(sparse.decode(rank, None, out)?.0),
            Self::Runs(runs) => runs.decode(rank, out),
        }
    }
}

/// Values by their ranks, decoded a block at a time.
#[derive(Debug, Clone)]
pub(super) struct ByRank<'a> {
    view: Ranked<'a>,
    /// Ranks that neither side has decoded.
    ranks: Range<u64>,
    front: Block,
    back: Block,
    /// The last value from the front, and the last one from the back.
    met: (Option<u64>, Option<u64>),
    damage: Option<Damage>,
}

/// Decoded values of a side; those in `left` are still to come.
#[derive(Debug, Clone, Default)]
struct Block {
    values: Vec<u64>,
    left: Range<usize>,
}

impl Block {
    /// Decodes `count` values from `rank` on, or fewer if their group ends before.
    fn fill(&mut self, view: Ranked<'_>, rank: u64, count: u64) -> Result<u64, Damage> {
        let count = usize::try_from(count).map_or(BLOCK, |count| count.min(BLOCK));
        if self.values.len() < count {
            self.values.resize(count, 0);
        }
        let found = view.decode(rank, &mut self.values[..count])?;
        self.left = 0..found;
        Ok(found as u64)
    }

    fn rest(&self) -> &[u64] {
        &self.values[self.left.clone()]
    }
}

impl<'a> ByRank<'a> {
    /// The values from the first to the last of `ends`.
    pub(super) fn new(view: Ranked<'a>, ends: Option<(u64, u64)>) -> Self {
        let ranks = ends.map_or(Ok(0..0), |(first, last)| {
            let (end, is_there) = view.position(last)?;
            let (start, end) = (view.position(first)?.0, sum(end, is_there.into())?);
            if start > end { Err(DISORDER) } else { Ok(start..end) }
        });
        let (ranks, damage) = match ranks {
            Ok(ranks) => (ranks, None),
            Err(damage) => (0..0, Some(damage)),
        };
        let (front, back) = (Block::default(), Block::default());
        Self { view, ranks, front, back, met: (None, None), damage }
    }

    /// Drops all values that are left.
    fn end(&mut self) {
        (self.ranks, self.front.left, self.back.left) = (0..0, 0..0, 0..0);
    }

    /// Decodes values at the front if it has none, as long as there are any.
    #[cold]
    #[inline(never)]
    fn more(&mut self) -> Result<(), Damage> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        if self.ranks.is_empty() {
            self.front = std::mem::take(&mut self.back);
            return Ok(());
        }
        let (start, count) = (self.ranks.start, self.ranks.end - self.ranks.start);
        self.ranks.start += self.front.fill(self.view, start, count)?;
        let first = self.front.rest().first().copied();
        let follows = first.is_none_or(|first| self.met.0.is_none_or(|met| met < first));
        let last = self.front.rest().last().copied();
        let behind = self.met.1;
        let precedes = last.is_none_or(|last| behind.is_none_or(|behind| last < behind));
        self.met.0 = last.or(self.met.0);
        if follows && precedes { Ok(()) } else { Err(DISORDER) }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Result<u64, Damage>> {
        if self.front.left.is_empty()
            && let Err(damage) = self.more()
        {
            self.end();
            return Some(Err(damage));
        }
        let index = self.front.left.next()?;
        Some(Ok(self.front.values[index]))
    }

    /// Decodes values at the back if it has none, as long as there are any.
    #[cold]
    fn more_back(&mut self) -> Result<(), Damage> {
        if let Some(damage) = self.damage.take() {
            return Err(damage);
        }
        if self.ranks.is_empty() {
            return Ok(());
        }
        // Stop at the start of a group.
        let end = self.ranks.end;
        let block = BLOCK as u64;
        let start = self.ranks.start.max((end - 1) / block * block);
        let found = self.back.fill(self.view, start, end - start)?;
        self.ranks.end = start;
        let (first, last) = (self.back.rest().first().copied(), self.back.rest().last().copied());
        let precedes = last.is_none_or(|last| self.met.1.is_none_or(|met| last < met));
        let follows = first.is_none_or(|first| self.met.0.is_none_or(|met| met < first));
        self.met.1 = first.or(self.met.1);
        if precedes && follows && found == end - start { Ok(()) } else { Err(DISORDER) }
    }

    pub(super) fn next_back(&mut self) -> Option<Result<u64, Damage>> {
        if self.back.left.is_empty()
            && let Err(damage) = self.more_back()
        {
            self.end();
            return Some(Err(damage));
        }
        if let Some(index) = self.back.left.next_back() {
            return Some(Ok(self.back.values[index]));
        }
        let index = self.front.left.next_back()?;
        Some(Ok(self.front.values[index]))
    }

    /// Faster than `next`.
    pub(super) fn fold<B>(
        mut self,
        init: B,
        mut visit: impl FnMut(B, Result<u64, Damage>) -> B,
    ) -> B {
        let mut state = init;
        loop {
            for &value in self.front.rest() {
                state = visit(state, Ok(value));
            }
            self.front.left = 0..0;
            if let Err(damage) = self.more() {
                return visit(state, Err(damage));
            }
            if self.front.left.is_empty() {
                return state;
            }
        }
    }
}
