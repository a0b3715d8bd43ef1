//! Scatters values into partitions by their high bits.
//!
//! Flow: [`crate::io::read`] → **here** → [`finish`](crate::sort::finish::partition).
//!
//! Setting bits in the order of the input would miss the cache once for each value. So a value
//! first goes to the stage of its partition, a few cache lines, and a full stage moves to the chunk
//! of the partition: the writes become sequential. When the chunks run out, their partitions are
//! absorbed into the bitmap, if the plan has one, or spilled.
//!
//! # Invariants
//! 1. Value `v` goes to partition `(v - base) >> shift` and to no other, or is
//!    outside of the window.
//! 2. Every entry that leaves the memory of a partition is put in one place: in its segment of the
//!    bitmap, or in its chain.

use super::entries::{Chunk, ChunkList, Held, Pool};
use super::spill::{Chain, Extents, SpillFiles};
use crate::error::{Error, Result};
use crate::io::read::Consumer;
use crate::kernel::cache;
use crate::set::bitmap::BitmapMut;
use crate::sort::partitioning::{Entry, Partitioning};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bitmap segments, one a partition.
pub(in crate::sort) type Segments<'b> = Vec<Mutex<&'b mut [u64]>>;

/// What happens to partitions when the chunks run out: they go to a bitmap or to temporary files.
pub(in crate::sort) struct Relief<'b> {
    pub(in crate::sort) segments: Option<Segments<'b>>,
    pub(in crate::sort) spill: Option<SpillFiles>,
    /// Whether duplicates may be dropped.
    pub(in crate::sort) distinct: bool,
    /// Number of duplicates that were dropped when bits were set.
    pub(in crate::sort) dropped: AtomicU64,
    /// Whether any bit was set.
    pub(in crate::sort) used: AtomicBool,
    /// Whether the values take more memory than a thread has for them, and nothing relieves it.
    full: AtomicBool,
}

impl<'b> Relief<'b> {
    /// Whether partitions were absorbed into the bitmap.
    pub(in crate::sort) fn bitmap_was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Whether the pass ended because its values did not fit.
    pub(in crate::sort) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Ends the pass, because its values do not fit.
    fn give_up(&self) -> Error {
        self.full.store(true, Ordering::Relaxed);
        Error::Interrupted
    }

    /// A partition's segment, if the bitmap was used.
    pub(in crate::sort) fn used_segment(&self, number: usize) -> Option<&Mutex<&'b mut [u64]>> {
        self.segments.as_ref().filter(|_| self.bitmap_was_used())?.get(number)
    }
}

/// What happens to values outside of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) enum Outside {
    /// They are kept in lists of their own.
    Keep,
    /// Another pass takes them.
    Drop,
}

/// Values that are tested together for the same partition: skewed values, sorted ones and copies of
/// one often belong to one.
const GROUP: usize = 16;

/// One thread's partitions.
pub(in crate::sort) struct Scatter<'p, 'r, 'b, E> {
    partitioning: Partitioning,
    outside: Outside,
    /// Entries of a stage; a power of two.
    stage_len: usize,
    /// A stage for each partition, and the place of its next entry; if the stage is full, that is
    /// its end.
    stages: Vec<E>,
    next: Vec<u32>,
    kept: Kept<'p, 'r, 'b>,
}

/// The entries of one thread's partitions that have left their stages, and the memory for more.
struct Kept<'p, 'r, 'b> {
    /// Number of low bits of a value that are kept as its entry.
    shift: u32,
    relief: &'r Relief<'b>,
    pool: Pool<'p>,
    lists: Vec<ChunkList<'p>>,
    chains: Vec<Chain>,
    /// Values below and above the window.
    outside_lists: [ChunkList<'p>; 2],
    outside_chains: [Chain; 2],
    io_bytes: usize,
    failed: Option<Error>,
}

/// The parts outside of the window, as numbers of [`Scatter::part`].
pub(in crate::sort) const BELOW: usize = 0;
/// See [`BELOW`].
pub(in crate::sort) const ABOVE: usize = 1;
/// Bits of an entry outside of the window: the whole value.
pub(in crate::sort) const OUTSIDE_BITS: u32 = 64;

impl<'b> Relief<'b> {
    pub(in crate::sort) fn new(
        segments: Option<Segments<'b>>,
        spill: Option<SpillFiles>,
        distinct: bool,
    ) -> Self {
        Self {
            segments,
            spill,
            distinct,
            dropped: 0.into(),
            used: false.into(),
            full: false.into(),
        }
    }
}

impl<'p, 'r, 'b, E: Entry> Scatter<'p, 'r, 'b, E> {
    /// `stage_bytes` is a power of two. Temporary files are written `io_bytes` at a time.
    pub(in crate::sort) fn new(
        partitioning: Partitioning,
        outside: Outside,
        relief: &'r Relief<'b>,
        pool: Pool<'p>,
        stage_bytes: usize,
        io_bytes: usize,
    ) -> Self {
        let count = partitioning.count;
        let stage_len = stage_bytes / size_of::<E>();
        Self {
            partitioning,
            outside,
            stage_len,
            stages: vec![E::default(); count * stage_len],
            next: (0..).step_by(stage_len).take(count).collect(),
            kept: Kept {
                shift: partitioning.shift,
                relief,
                pool,
                lists: std::iter::repeat_with(ChunkList::default).take(count).collect(),
                chains: vec![Chain::default(); count],
                outside_lists: Default::default(),
                outside_chains: Default::default(),
                io_bytes,
                failed: None,
            },
        }
    }

    /// Stages values one by one. It is a call: in the loop of a parser it would take its registers.
    #[inline(never)]
    fn append_each(&mut self, values: &[u64]) {
        let mut rest = values.iter();
        while self.append_some(&mut rest) {
            if let Some(&value) = rest.next() {
                self.append_one(value);
            }
        }
    }

    /// Stages values up to one whose stage is empty or full; gives whether there is one. This loop
    /// calls no function, so that all its variables stay in registers.
    #[inline]
    fn append_some(&mut self, values: &mut std::slice::Iter<'_, u64>) -> bool {
        let (partitioning, within) = (self.partitioning, self.stage_len - 1);
        let (stages, next) = (&mut self.stages[..], &mut self.next[..]);
        while let Some(&value) = values.as_slice().first() {
            let Some(next) = next.get_mut(partitioning.number_of(value)) else { return true };
            let at = *next as usize;
            if at & within == 0 {
                return true;
            }
            let Some(slot) = stages.get_mut(at) else { return true };
            *slot = partitioning.entry_of(value);
            *next += 1;
            values.next();
        }
        false
    }

    /// Stages a value. A full stage moves only when the next value for it comes, because its stores
    /// have reached the cache by then.
    fn append_one(&mut self, value: u64) {
        let number = self.partitioning.number_of(value);
        let Some(next) = self.next.get_mut(number) else {
            if self.outside == Outside::Keep {
                self.kept.append_outside::<E>(value, value < self.partitioning.window.base);
            }
            return;
        };
        let first = number * self.stage_len;
        let stage = &mut self.stages[first..][..self.stage_len];
        let mut filled = *next as usize - first;
        if filled == stage.len() {
            self.kept.append_stage(number, stage);
            filled = 0;
        }
        stage[filled] = self.partitioning.entry_of(value);
        #[expect(clippy::cast_possible_truncation, reason = "at most 64 for each of 4096")]
        let behind = (first + filled + 1) as u32;
        *next = behind;
    }

    /// Stages values of one partition. One by one, each would wait until the store of its stage's fill
    /// by the value before it can be loaded again.
    fn append_alike(&mut self, number: usize, values: &[u64; GROUP]) {
        let partitioning = self.partitioning;
        let first = number * self.stage_len;
        let stage = &mut self.stages[first..][..self.stage_len];
        let mut filled = self.next[number] as usize - first;
        let mut rest = &values[..];
        while !rest.is_empty() {
            if filled == stage.len() {
                self.kept.append_stage(number, stage);
                filled = 0;
            }
            let (now, later) = rest.split_at(rest.len().min(stage.len() - filled));
            for (slot, value) in stage[filled..].iter_mut().zip(now) {
                *slot = partitioning.entry_of(*value);
            }
            (filled, rest) = (filled + now.len(), later);
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most 64 for each of 4096")]
        let next = (first + filled) as u32;
        self.next[number] = next;
    }

    /// The entries of partition `number` that this thread holds.
    pub(in crate::sort) fn part(&self, number: usize) -> Held<'_, 'p, E> {
        let first = number * self.stage_len;
        Held {
            list: &self.kept.lists[number],
            staged: &self.stages[first..self.next[number] as usize],
            chain: self.kept.chains[number],
        }
    }

    /// The values below or above the window that this thread holds.
    pub(in crate::sort) fn outside_part(&self, side: usize) -> Held<'_, 'p, u64> {
        let Kept { outside_lists, outside_chains, .. } = &self.kept;
        Held { list: &outside_lists[side], staged: &[], chain: outside_chains[side] }
    }
}

impl<'p> Kept<'p, '_, '_> {
    /// Moves a full stage to its partition's chunk.
    fn append_stage<E: Entry>(&mut self, number: usize, stage: &[E]) {
        if self.lists[number].needs_chunk::<E>(stage.len()) {
            let Some(chunk) = self.chunk::<E>() else { return };
            self.lists[number].add_chunk(chunk);
        }
        self.lists[number].append_lines(stage);
    }

    #[cold]
    fn append_outside<E: Entry>(&mut self, value: u64, is_below: bool) {
        let side = if is_below { BELOW } else { ABOVE };
        if self.outside_lists[side].needs_chunk::<u64>(1) {
            let Some(chunk) = self.chunk::<E>() else { return };
            self.outside_lists[side].add_chunk(chunk);
        }
        self.outside_lists[side].append(&[value]);
    }

    /// A free chunk. If there is none, makes room first.
    fn chunk<E: Entry>(&mut self) -> Option<Chunk<'p>> {
        if self.failed.is_some() {
            return None;
        }
        if let Some(chunk) = self.pool.take() {
            return Some(chunk);
        }
        if let Err(error) = self.relieve::<E>() {
            self.failed = Some(error);
            return None;
        }
        let chunk = self.pool.take();
        if chunk.is_none() {
            self.failed = Some(self.relief.give_up());
        }
        chunk
    }

    fn held_chunks(&self) -> usize {
        self.lists.iter().chain(&self.outside_lists).map(ChunkList::chunks).sum()
    }

    #[cold]
    fn relieve<E: Entry>(&mut self) -> Result<()> {
        cache::fence();
        let held = self.held_chunks();
        if let Some(segments) = &self.relief.segments {
            self.relief.used.store(true, Ordering::Relaxed);
            let mut duplicates = Vec::new();
            for (list, segment) in self.lists.iter_mut().zip(segments) {
                let mut words = segment.lock().unwrap_or_else(PoisonError::into_inner);
                if list.len() >= words.len() / cache::LINE_WORDS {
                    cache::read_lines(&words); // most of them are met, in any order
                }
                let mut bits = BitmapMut::from_words_mut(0, &mut words);
                let mut dropped = 0;
                for (chunk, len) in list.take_all() {
                    let entries: &[E] = &bytemuck::cast_slice(chunk)[..len];
                    duplicates.resize(len.max(duplicates.len()), E::default());
                    let met_again = bits.insert_lows(entries, &mut duplicates);
                    self.pool.give_back(chunk);
                    if self.relief.distinct {
                        dropped += met_again as u64;
                        continue;
                    }
                    let mut left = &duplicates[..met_again];
                    while !left.is_empty() {
                        if list.needs_chunk::<E>(1) {
                            // A chunk was just given back, so the pool has one.
                            let chunk = self.pool.take().ok_or_else(|| self.relief.give_up())?;
                            list.add_chunk(chunk);
                        }
                        let (now, later) = left.split_at(list.room::<E>().min(left.len()));
                        list.append(now);
                        left = later;
                    }
                }
                self.relief.dropped.fetch_add(dropped, Ordering::Relaxed);
            }
        }
        // If this freed little, the pool would soon be full again: spill too.
        if self.pool.available() * 4 >= held {
            return Ok(());
        }
        match &self.relief.spill {
            Some(_) => self.spill::<E>(),
            None if self.pool.available() * 32 > held => Ok(()),
            None => Err(self.relief.give_up()),
        }
    }

    fn spill<E: Entry>(&mut self) -> Result<()> {
        let Some(files) = &self.relief.spill else { return Ok(()) };
        let mut extents = Extents::new(self.io_bytes);
        let bits = self.shift;
        for number in 0..self.lists.len() {
            for (chunk, len) in self.lists[number].take_all() {
                let entries: &[E] = &bytemuck::cast_slice(chunk)[..len];
                extents.add(files, &mut self.chains, number, bits, entries)?;
                self.pool.give_back(chunk);
            }
        }
        extents.flush(files, &mut self.chains)?;
        for side in [BELOW, ABOVE] {
            for (chunk, len) in self.outside_lists[side].take_all() {
                extents.add(files, &mut self.outside_chains, side, OUTSIDE_BITS, &chunk[..len])?;
                self.pool.give_back(chunk);
            }
        }
        extents.flush(files, &mut self.outside_chains)
    }
}

impl<E: Entry> Consumer for Scatter<'_, '_, '_, E> {
    #[inline]
    fn values(&mut self, values: &[u64]) {
        let partitioning = self.partitioning;
        let number_of = |value: u64| partitioning.number_of(value);
        let mut from = 0;
        for (index, group) in values.as_chunks::<GROUP>().0.iter().enumerate() {
            let number = number_of(group[0]);
            if number_of(group[GROUP - 1]) == number
                && number < partitioning.count
                && group.iter().all(|&value| number_of(value) == number)
            {
                self.append_each(&values[from..index * GROUP]);
                self.append_alike(number, group);
                from = (index + 1) * GROUP;
            }
        }
        self.append_each(&values[from..]);
    }

    fn checkpoint(&mut self) -> Result<()> {
        cache::fence();
        self.kept.failed.take().map_or(Ok(()), Err)
    }
}
