//! The entries of one partition: in chunks of memory, which threads take from their pools, and in
//! temporary files.

use super::spill::{Chain, ReadBuffers, SpillFiles};
use crate::error::{Error, Result};
use crate::kernel::sys::Pages;
use crate::kernel::{cache, in_usize, prefetch};
use crate::set::bitmap::Word;
use crate::sort::partitioning::Entry;
use std::slice::ChunksExactMut;
use std::sync::{Arc, Mutex, PoisonError};

/// Zeroed memory of whole words.
pub(in crate::sort) fn reserve(bytes: u64) -> Result<Pages> {
    let words = in_usize(bytes / 8);
    Pages::zeroed(words).map_err(Error::no_memory(words.saturating_mul(8)))
}

/// A chunk of entries.
pub(in crate::sort) type Chunk<'p> = &'p mut [u64];

/// Chunks that the pools of all threads share.
pub(in crate::sort) type Shared<'p> = Arc<Mutex<ChunksExactMut<'p, u64>>>;

/// Hands out chunks and takes them back.
#[derive(Debug)]
pub(in crate::sort) struct Pool<'p> {
    /// Chunks that were never used. The system may not have given pages to them yet.
    fresh: ChunksExactMut<'p, u64>,
    freed: Vec<Chunk<'p>>,
    /// Fresh chunks for whoever has used up its own ones.
    shared: Shared<'p>,
    /// Number of fresh chunks that are held back until the pool runs out for the first time.
    reserve: usize,
}

impl<'p> Pool<'p> {
    /// Cuts `memory` into chunks. It holds back all but `percent` of them until the pool runs out
    /// once: threads that run out at different times keep the disk busy.
    pub(in crate::sort) fn new(
        memory: &'p mut [u64],
        shared: Shared<'p>,
        chunk_words: usize,
        percent: usize,
    ) -> Self {
        let fresh = memory.chunks_exact_mut(chunk_words);
        let reserve = fresh.len() * (100 - percent.min(100)) / 100;
        Self { fresh, freed: Vec::new(), shared, reserve }
    }

    pub(in crate::sort) fn take(&mut self) -> Option<Chunk<'p>> {
        if let Some(chunk) = self.freed.pop() {
            return Some(chunk);
        }
        if self.fresh.len() > self.reserve {
            return self.fresh.next();
        }
        if let Some(chunk) = self.shared.lock().unwrap_or_else(PoisonError::into_inner).next() {
            return Some(chunk);
        }
        self.reserve = 0;
        None
    }

    pub(in crate::sort) fn give_back(&mut self, chunk: Chunk<'p>) {
        self.freed.push(chunk);
    }

    /// Number of its own chunks that can be taken.
    pub(in crate::sort) fn available(&self) -> usize {
        self.freed.len() + self.fresh.len()
    }
}

/// The entries of one partition that one thread holds in memory.
#[derive(Debug, Default)]
pub(in crate::sort) struct ChunkList<'p> {
    /// Closed chunks, each with its number of entries.
    closed: Vec<(Chunk<'p>, usize)>,
    open: Option<Chunk<'p>>,
    /// Entries in the open chunk.
    open_len: usize,
}

impl<'p> ChunkList<'p> {
    /// Whether there is no room for `count` more entries without a new chunk.
    pub(in crate::sort) fn needs_chunk<E: Entry>(&self, count: usize) -> bool {
        self.room::<E>() < count
    }

    /// Entries that the open chunk has room for.
    pub(in crate::sort) fn room<E: Entry>(&self) -> usize {
        let len =
            self.open.as_deref().map_or(0, |chunk| bytemuck::cast_slice::<u64, E>(chunk).len());
        len - self.open_len
    }

    /// Number of chunks.
    pub(in crate::sort) fn chunks(&self) -> usize {
        self.closed.len() + usize::from(self.open.is_some())
    }

    /// Closes the open chunk and opens a new one.
    pub(in crate::sort) fn add_chunk(&mut self, chunk: Chunk<'p>) {
        let len = std::mem::take(&mut self.open_len);
        self.closed.extend(self.open.replace(chunk).map(|chunk| (chunk, len)));
    }

    /// Appends to the open chunk.
    #[inline]
    pub(in crate::sort) fn append<E: Entry>(&mut self, entries: &[E]) {
        if let Some(chunk) = &mut self.open {
            let slots: &mut [E] = bytemuck::cast_slice_mut(chunk);
            slots[self.open_len..self.open_len + entries.len()].copy_from_slice(entries);
            self.open_len += entries.len();
        }
    }

    /// Appends whole cache lines, past the caches. Call [`cache::fence`] before anybody reads
    /// them, or gives their chunk back.
    #[inline]
    pub(in crate::sort) fn append_lines<E: Entry>(&mut self, lines: &[E]) {
        if let Some(chunk) = &mut self.open {
            let slots: &mut [E] = bytemuck::cast_slice_mut(chunk);
            let to = &mut slots[self.open_len..self.open_len + lines.len()];
            let to: &mut [u8] = bytemuck::cast_slice_mut(to);
            let from: &[u8] = bytemuck::cast_slice(lines);
            for (from, to) in from.as_chunks().0.iter().zip(to.as_chunks_mut().0) {
                cache::copy_line(from, to);
            }
            self.open_len += lines.len();
        }
    }

    /// The entries, one slice for each chunk.
    pub(in crate::sort) fn slices<E: Entry>(&self) -> impl Iterator<Item = &[E]> {
        let open = self.open.as_deref().map(|chunk| (chunk, self.open_len));
        let closed = self.closed.iter().map(|(chunk, len)| (&**chunk, *len));
        closed.chain(open).map(|(chunk, len)| &bytemuck::cast_slice(chunk)[..len])
    }

    /// Number of entries.
    pub(in crate::sort) fn len(&self) -> usize {
        self.closed.iter().map(|(_, len)| len).sum::<usize>() + self.open_len
    }

    /// Takes all chunks out, each with its number of entries.
    pub(in crate::sort) fn take_all(&mut self) -> Vec<(Chunk<'p>, usize)> {
        let len = std::mem::take(&mut self.open_len);
        let mut all = std::mem::take(&mut self.closed);
        all.extend(self.open.take().map(|chunk| (chunk, len)));
        all
    }
}

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
        if lo == 0 && last >= u64::low_mask(self.bits) {
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
