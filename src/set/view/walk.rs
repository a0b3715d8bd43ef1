//! The values of a sparse set, of a folder of these, or of a set of few values, ascending, a block at
//! a time.

use super::{Damage, FolderView, SetView, Shape, SparseView};
use crate::kernel::low_halves::alike;
use crate::kernel::{Level, in_usize};
use crate::set::container::Scratch;
use std::sync::Arc;

/// Most values that are decoded at once.
pub(crate) const BLOCK: usize = 1024;
/// The same just after a seek, because another seek may follow.
const FIRST_BLOCK: usize = 16;

pub(super) const DISORDER: Damage =
    Damage { offset: 0, what: "the values of a sparse set do not ascend" };

/// Reads the values of a set from the smallest to the largest.
#[derive(Debug, Clone)]
pub(crate) struct Walk<'a> {
    origin: Origin<'a>,
    /// The rank of the value behind the block.
    rank: u64,
    block: Vec<u64>,
    /// Number of values of the block. Those before `next` were passed.
    filled: usize,
    next: usize,
    /// Number of values of the next block.
    wanted: usize,
    /// The last value of the block before.
    met: Option<u64>,
    /// Where the last decoded values end, and the rank behind them.
    decoded: Option<(u64, usize)>,
    /// The rank behind the last value to read, and a value that is larger than all of these.
    end: u64,
    behind: Option<u64>,
}

/// Where the values come from.
#[derive(Debug, Clone)]
enum Origin<'a> {
    Sparse(SparseView<'a>),
    /// A folder of sparse parts.
    Parts(FolderView<'a>),
    Few(Arc<[u64]>),
}

impl Origin<'_> {
    fn len(&self) -> u64 {
        match self {
            Self::Sparse(view) => view.len(),
            Self::Parts(folder) => folder.len(),
            Self::Few(values) => values.len() as u64,
        }
    }

    fn last(&self) -> Option<u64> {
        match self {
            Self::Sparse(view) => Some(view.ends()?.1),
            Self::Parts(folder) => folder.previous(u64::MAX).ok()?,
            Self::Few(values) => values.last().copied(),
        }
    }

    /// Number of values below `value`.
    fn rank(&self, value: u64) -> Result<u64, Damage> {
        match self {
            Self::Sparse(view) => Ok(view.position(value)?.0),
            Self::Parts(folder) => value.checked_sub(1).map_or(Ok(0), |value| folder.rank(value)),
            Self::Few(values) => Ok(values.partition_point(|&other| other < value) as u64),
        }
    }

    fn select(&self, rank: u64) -> Result<Option<u64>, Damage> {
        match self {
            Self::Sparse(view) => view.select(rank),
            Self::Parts(folder) => folder.select(rank),
            Self::Few(values) => Ok(values[..].get(in_usize(rank)).copied()),
        }
    }

    /// Fills `out` with values from `rank` on, which must exist; gives their number, at least one, and
    /// their end. `end` is that of the values before `rank`, if it is known.
    fn decode(
        &self,
        rank: u64,
        end: Option<usize>,
        out: &mut [u64],
    ) -> Result<(usize, usize), Damage> {
        match self {
            Self::Sparse(view) => view.decode(rank, end, out),
            Self::Parts(folder) => {
                let part = folder.part_at(rank).ok_or(Damage::of("the set has fewer values"))?;
                part.ask(|view| match view.0 {
                    Shape::Sparse(view) => view.decode(rank.saturating_sub(part.rank), end, out),
                    _ => Err(Damage::of("a part is no sparse set")),
                })
            }
            Self::Few(values) => {
                let from = in_usize(rank);
                let rest = values.get(from..).unwrap_or_default();
                let count = rest.len().min(out.len());
                out[..count].copy_from_slice(&rest[..count]);
                Ok((count, from + count))
            }
        }
    }
}

impl<'a> Walk<'a> {
    pub(crate) fn new(view: SparseView<'a>) -> Self {
        Self::over(Origin::Sparse(view))
    }

    /// The values of a folder, if all its parts are sparse sets.
    pub(super) fn of_parts(folder: FolderView<'a>) -> Option<Self> {
        let mut parts = folder.parts().iter();
        let are_sparse = parts.all(|part| matches!(part.view().0, Shape::Sparse(_)));
        are_sparse.then(|| Self::over(Origin::Parts(folder)))
    }

    /// The values of a set that has at most `most` of them and is sound.
    pub(crate) fn of_few(set: SetView<'_>, most: u64) -> Option<Self> {
        let len = set.len().ok().filter(|&len| len <= most)?;
        let values: Vec<u64> = set.iter().collect::<Result<_, _>>().ok()?;
        let is_sound = values.is_sorted_by(|a, b| a < b) && values.len() as u64 == len;
        is_sound.then(|| Self::over(Origin::Few(values.into())))
    }

    /// The values of a range that has at most `most` of them.
    pub(crate) fn of_short_range(first: u64, last: u64, most: u64) -> Option<Self> {
        (last - first < most).then(|| Self::over(Origin::Few((first..=last).collect())))
    }

    fn over(origin: Origin<'a>) -> Self {
        let (block, wanted) = (Vec::new(), FIRST_BLOCK);
        let (end, behind, met, decoded) = (origin.len(), None, None, None);
        Self { origin, rank: 0, block, filled: 0, next: 0, wanted, met, decoded, end, behind }
    }

    /// The values of a walk that has not begun from `first` on, up to those below `behind` if there
    /// is an end.
    pub(crate) fn within(&self, first: u64, behind: Option<u64>) -> Result<Self, Damage> {
        let rank = self.origin.rank(first)?;
        let end = match behind {
            Some(behind) => self.origin.rank(behind)?,
            None => self.origin.len(),
        };
        if end < rank {
            return Err(DISORDER);
        }
        let rank = rank.max(self.rank);
        let end = end.min(self.end).max(rank);
        let behind = behind.into_iter().chain(self.behind).min();
        let met = first.checked_sub(1).max(self.met);
        Ok(Self { rank, met, end, behind, ..Self::over(self.origin.clone()) })
    }

    /// The value that has `rank` values before it.
    pub(crate) fn select(&self, rank: u64) -> Result<Option<u64>, Damage> {
        self.origin.select(rank)
    }

    /// Number of values of the set.
    pub(crate) fn len(&self) -> u64 {
        self.origin.len()
    }

    /// The largest value of the set.
    pub(crate) fn last(&self) -> Option<u64> {
        self.origin.last()
    }

    /// The next values; none at the end.
    #[inline]
    pub(crate) fn rest(&mut self) -> Result<&[u64], Damage> {
        if self.next == self.filled {
            self.fill()?;
        }
        Ok(&self.block[self.next..self.filled])
    }

    /// Passes the first `count` values of the rest.
    #[inline]
    pub(crate) fn pass(&mut self, count: usize) {
        self.next = (self.next + count).min(self.filled);
    }

    fn fill(&mut self) -> Result<(), Damage> {
        if self.filled > 0 {
            self.met = Some(self.block[self.filled - 1]);
        }
        (self.next, self.filled) = (0, 0);
        let Some(left) = self.end.checked_sub(self.rank).filter(|&left| left > 0) else {
            return Ok(());
        };
        if self.block.len() < self.wanted {
            self.block.resize(self.wanted, 0);
        }
        let most = usize::try_from(left).map_or(self.wanted, |left| left.min(self.wanted));
        let end = self.decoded.filter(|&(rank, _)| rank == self.rank).map(|(_, end)| end);
        let (filled, end) = self.origin.decode(self.rank, end, &mut self.block[..most])?;
        if self.met.is_some_and(|met| met >= self.block[0])
            || self.behind.is_some_and(|behind| behind <= self.block[filled - 1])
        {
            return Err(DISORDER);
        }
        self.filled = filled;
        self.rank += filled as u64;
        self.decoded = Some((self.rank, end));
        self.wanted = (2 * self.wanted).min(BLOCK);
        Ok(())
    }

    /// Passes all values.
    pub(super) fn end(&mut self) {
        (self.next, self.filled, self.rank) = (0, 0, self.end);
    }

    /// Moves to the first value from `value` on; never back.
    pub(crate) fn seek(&mut self, value: u64) -> Result<(), Damage> {
        let rest = &self.block[self.next..self.filled];
        if rest.last().is_some_and(|&last| last >= value) {
            self.next += gallop(rest, value);
            return Ok(());
        }
        let rank = self.origin.rank(value)?.min(self.end);
        if rank >= self.rank {
            if let Some(last) = self.filled.checked_sub(1) {
                self.met = Some(self.block[last]);
            }
            if rank - self.rank > BLOCK as u64 {
                self.wanted = FIRST_BLOCK;
            }
            (self.next, self.filled, self.rank) = (0, 0, rank);
        } else if self.next < self.filled {
            return Err(DISORDER);
        }
        Ok(())
    }

    /// Takes all values of the aligned range of 2^16 that has the next value into `scratch`; gives
    /// their upper bits.
    pub(super) fn container(&mut self, scratch: &mut Scratch) -> Result<Option<u64>, Damage> {
        let Some(&first) = self.rest()?.first() else { return Ok(None) };
        let key = first >> 16;
        scratch.clear();
        loop {
            let rest = self.rest()?;
            let alike = match rest.first() {
                Some(first) if first >> 16 == key => alike(Level::best(), rest),
                _ => 0,
            };
            scratch.append(&rest[..alike]);
            let is_last = alike < rest.len() || rest.is_empty();
            self.pass(alike);
            if is_last {
                scratch.close();
                return Ok(Some(key));
            }
        }
    }
}

/// Number of values of `ascending` below `value`: mostly one of the first values is not.
#[inline]
fn gallop(ascending: &[u64], value: u64) -> usize {
    let mut end = 1;
    while end < ascending.len() && ascending[end - 1] < value {
        end *= 2;
    }
    let (from, to) = (end / 2, end.min(ascending.len()));
    from + ascending[from..to].partition_point(|&other| other < value)
}
