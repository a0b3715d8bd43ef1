//! Reads the entries of one partition, from memory and from temporary files.

use super::pool::ChunkList;
use super::spill::{Chain, ReadBuffers, SpillFiles};
use crate::error::Result;
use crate::kernel::prefetch;
use crate::sort::partitioning::{Entry, low_mask};

/// Cache lines of entries that are prefetched together.
const AHEAD_LINES: usize = 16;

/// The entries of one partition that one thread holds.
pub(in crate::sort) struct Held<'s, 'p, E> {
    pub(in crate::sort) list: &'s ChunkList<'p>,
    pub(in crate::sort) staged: &'s [E],
    pub(in crate::sort) chain: Chain,
}

impl<E: Entry> Held<'_, '_, E> {
    /// Hands the entries in memory to `sink`, and prefetches the next ones meanwhile: the processor
    /// cannot foresee them, because chunks are short and lie anywhere.
    #[inline]
    fn for_each(&self, mut sink: impl FnMut(&[E])) {
        let size = AHEAD_LINES * E::LINE;
        let mut slices = self.list.slices::<E>().peekable();
        while let Some(mut slice) = slices.next() {
            while let Some((now, later)) = slice.split_at_checked(size) {
                let next = if later.is_empty() { slices.peek().copied() } else { Some(later) };
                let next = next.unwrap_or_default();
                (0..next.len().min(size)).step_by(E::LINE).for_each(|at| prefetch(next, at));
                sink(now);
                slice = later;
            }
            sink(slice);
        }
        sink(self.staged);
    }
}

/// The entries of one partition, in memory and in temporary files.
pub(in crate::sort) struct Source<'s, 'p, E> {
    pub(in crate::sort) held: Vec<Held<'s, 'p, E>>,
    pub(in crate::sort) spill: Option<&'s SpillFiles>,
    /// Bits of an entry.
    pub(in crate::sort) bits: u32,
}

impl<E: Entry> Source<'_, '_, E> {
    /// Number of entries.
    pub(in crate::sort) fn len(&self) -> u64 {
        let of = |held: &Held<'_, '_, E>| {
            (held.list.len() + held.staged.len()) as u64 + held.chain.entries
        };
        self.held.iter().map(of).sum()
    }

    /// Whether all entries are in memory.
    pub(in crate::sort) fn is_in_memory(&self) -> bool {
        self.held.iter().all(|held| held.chain.entries == 0)
    }

    /// Gives the temporary files of the entries back to the system. Nobody may read them again.
    pub(in crate::sort) fn give_back(&self) -> Result<()> {
        let Some(files) = self.spill else { return Ok(()) };
        self.held.iter().try_for_each(|held| files.give_back(held.chain, self.bits))
    }

    /// Hands the entries in memory to `sink`, a whole chunk at a time: for the radix sort, smaller
    /// pieces with prefetching cost more than they save.
    pub(in crate::sort) fn for_each_held(&self, sink: &mut dyn FnMut(&[E])) {
        for held in &self.held {
            held.list.slices::<E>().for_each(&mut *sink);
            sink(held.staged);
        }
    }

    /// Hands all entries to `sink`.
    pub(in crate::sort) fn for_each(
        &self,
        buffers: &mut ReadBuffers<E>,
        mut sink: impl FnMut(&[E]),
    ) -> Result<()> {
        for held in &self.held {
            held.for_each(&mut sink);
            if let Some(files) = self.spill {
                files.for_each(held.chain, self.bits, buffers, &mut sink)?;
            }
        }
        Ok(())
    }

    /// Hands the entries in `lo ..= last` to `sink`, less `lo`.
    pub(in crate::sort) fn for_each_in(
        &self,
        lo: u64,
        last: u64,
        buffers: &mut ReadBuffers<E>,
        mut sink: impl FnMut(&[E]),
    ) -> Result<()> {
        if lo == 0 && last >= low_mask(self.bits) {
            return self.for_each(buffers, sink);
        }
        let last = last - lo;
        let mut inside = [E::default(); 1024];
        self.for_each(buffers, |entries| {
            for part in entries.chunks(inside.len()) {
                let mut count = 0;
                for entry in part {
                    let offset = entry.widen().wrapping_sub(lo);
                    inside[count] = E::narrow(offset);
                    count += usize::from(offset <= last);
                }
                sink(&inside[..count]);
            }
        })
    }
}
