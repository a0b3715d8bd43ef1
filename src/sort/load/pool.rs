//! The memory of one thread for partitioned values, in equal chunks.

use crate::error::{Error, Result};
use crate::kernel::cache;
use crate::kernel::sys::Pages;
use crate::sort::partitioning::Entry;
use std::slice::ChunksExactMut;

/// Zeroed memory of whole words.
pub(in crate::sort) fn reserve(bytes: u64) -> Result<Pages> {
    let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
    Pages::zeroed(words).map_err(Error::no_memory(words.saturating_mul(8)))
}

/// A chunk of entries.
pub(in crate::sort) type Chunk<'p> = &'p mut [u64];

/// Hands out chunks and takes them back.
#[derive(Debug)]
pub(in crate::sort) struct Pool<'p> {
    /// Chunks that were never used. The system may not have given pages to them yet.
    fresh: ChunksExactMut<'p, u64>,
    freed: Vec<Chunk<'p>>,
    /// Number of fresh chunks that are held back until the pool runs out for the first time.
    reserve: usize,
}

impl<'p> Pool<'p> {
    /// Cuts `memory` into chunks. It holds back all but `percent` of them until the pool runs out
    /// once: threads that run out at different times keep the disk busy.
    pub(in crate::sort) fn new(memory: &'p mut [u64], chunk_words: usize, percent: usize) -> Self {
        let fresh = memory.chunks_exact_mut(chunk_words);
        let reserve = fresh.len() * (100 - percent.min(100)) / 100;
        Self { fresh, freed: Vec::new(), reserve }
    }

    pub(in crate::sort) fn take(&mut self) -> Option<Chunk<'p>> {
        if let Some(chunk) = self.freed.pop() {
            return Some(chunk);
        }
        if self.fresh.len() > self.reserve {
            return self.fresh.next();
        }
        self.reserve = 0;
        None
    }

    pub(in crate::sort) fn give_back(&mut self, chunk: Chunk<'p>) {
        self.freed.push(chunk);
    }

    /// Number of chunks that can be taken.
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
