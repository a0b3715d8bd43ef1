//! The values of a sparse set, ascending, a block at a time.

use super::{Damage, SparseView};
use crate::set::container::Scratch;

/// Most values that are decoded at once.
pub(super) const BLOCK: usize = 512;
/// The same just after a seek, because another seek may follow.
const FIRST_BLOCK: usize = 16;

pub(super) const DISORDER: Damage =
    Damage { offset: 0, what: "the values of a sparse set do not ascend" };

/// Reads the values of a sparse set from the smallest to the largest.
#[derive(Debug, Clone)]
pub(crate) struct Walk<'a> {
    view: SparseView<'a>,
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
    /// The rank behind the last value to read, and a value that is larger than all of these.
    end: u64,
    behind: Option<u64>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(view: SparseView<'a>) -> Self {
        let (block, wanted) = (Vec::new(), FIRST_BLOCK);
        let (end, behind) = (view.len(), None);
        Self { view, rank: 0, block, filled: 0, next: 0, wanted, met: None, end, behind }
    }

    /// The values from `first` on, up to those below `behind` if there is an end.
    pub(crate) fn within(&self, first: u64, behind: Option<u64>) -> Result<Self, Damage> {
        let rank = self.view.position(first)?.0;
        let end = match behind {
            Some(behind) => self.view.position(behind)?.0,
            None => self.view.len(),
        };
        if end < rank {
            return Err(DISORDER);
        }
        Ok(Self { rank, end, behind, met: first.checked_sub(1), ..Self::new(self.view) })
    }

    /// The value that has `rank` values before it.
    pub(crate) fn select(&self, rank: u64) -> Result<Option<u64>, Damage> {
        self.view.select(rank)
    }

    /// Number of values of the set.
    pub(crate) fn len(&self) -> u64 {
        self.view.len()
    }

    /// The largest value of the set.
    pub(crate) fn last(&self) -> Option<u64> {
        Some(self.view.ends()?.1)
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
        let filled = self.view.decode(self.rank, &mut self.block[..most])?;
        if self.met.is_some_and(|met| met >= self.block[0])
            || self.behind.is_some_and(|behind| behind <= self.block[filled - 1])
        {
            return Err(DISORDER);
        }
        self.filled = filled;
        self.rank += filled as u64;
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
        let rank = self.view.position(value)?.0.min(self.end);
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
            let alike = rest.iter().take_while(|&&value| value >> 16 == key).count();
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
