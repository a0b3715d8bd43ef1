//! Turns the entries of one partition into sorted values, in the cheapest of four ways that fits
//! the memory of the thread:
//!
//! | way | when |
//! |---|---|
//! | bitmap | the window is narrow, and most values occur once |
//! | counting | the window is narrow, and values repeat |
//! | radix sort | the entries fit, twice |
//! | split | otherwise: the window is split into sub-windows |
//!
//! A few sub-windows read the entries again, each for itself. For many, entries in temporary files
//! are written once more, a chain for each sub-window.
//!
//! A split ends because a window narrows with every level, and a narrow window
//! can be counted however many entries it has.

use super::emit::{Emitter, Scan, emit_counts};
use super::radix;
use super::span::{Group, Span, join_buckets};
use super::ways::Way;
use super::workspace::Workspace;
use crate::error::Result;
use crate::kernel::{Level, in_usize, popcount};
use crate::set::bitmap::{BitmapMut, Word};
use crate::sort::load::entries::{ChunkList, Held, Source};
use crate::sort::load::spill::{Chain, Extents, ReadBuffers, SpillFiles};
use crate::sort::partitioning::Entry;

/// Widest window of a bitmap: 2^24 values, 2 MiB.
pub(in crate::sort) const MAX_BITMAP_BITS: u32 = 24;
/// Scanning this many words of a bitmap takes as long as sorting one value in another way.
const WORDS_PER_VALUE: u64 = 8;
/// Bits of the histogram that splits a window.
const SPLIT_BITS: u32 = 12;
/// A chain is read again for at most so many sub-windows. For more, it is written once more.
const MOST_READINGS: usize = 4;
/// Bytes that are written at once then.
const WRITE_BYTES: usize = 64 << 10;
/// Smaller pieces of a chain would make reading it slow.
const EXTENT_BYTES: usize = 4 << 10;

/// The memory of one thread for finishing partitions.
pub(in crate::sort) struct Finisher<E> {
    level: Level,
    /// Bytes for each of the purposes below.
    budget_bytes: usize,
    buffers: ReadBuffers<E>,
    /// A bitmap, counters, or values.
    workspace: Workspace,
    positions: Vec<u32>,
    duplicates: Vec<u32>,
    scratch: Vec<u32>,
    /// The offset of a value, once for every 2^16 copies that its counter cannot show.
    carries: Vec<u32>,
    values_scratch: Vec<E>,
}

impl<E: Entry> Finisher<E> {
    /// Memory of at most about `budget_bytes`. It is allocated when it is needed.
    pub(in crate::sort) fn new(level: Level, budget_bytes: usize, buffers: ReadBuffers<E>) -> Self {
        Self {
            level,
            // Workspace, duplicates and scratch take a third each.
            budget_bytes: budget_bytes / 3,
            buffers,
            workspace: Workspace::new(budget_bytes / 3),
            positions: Vec::new(),
            duplicates: Vec::new(),
            scratch: Vec::new(),
            carries: Vec::new(),
            values_scratch: Vec::new(),
        }
    }

    /// Writes the values of a partition that begins at `base`. `segment` has the bits of values
    /// that the bitmap absorbed before.
    pub(in crate::sort) fn finish(
        &mut self,
        source: &Source<'_, '_, E>,
        base: u64,
        segment: Option<&mut [u64]>,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<()> {
        let span = Span::whole(base, source.bits);
        let count = source.len();
        if let Some(segment) = segment {
            let room = (self.budget_bytes / 8) as u64;
            if count <= room || emit.style().selection.ignores_duplicates() {
                return self.by_bitmap(source, span, Some(segment), emit).map(drop);
            }
            return self.by_counting(source, span, Some(segment), emit);
        }
        self.span(source, span, count, emit)
    }

    /// Writes the `count` values of a span.
    pub(in crate::sort) fn span(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        count: u64,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        if span.lo == span.hi {
            emit.written.ways.take(Way::OneValue);
            return emit.run(span.first(), count);
        }
        let narrow = span.bits() <= MAX_BITMAP_BITS;
        let ignores_duplicates = emit.style().selection.ignores_duplicates();
        let bitmap_fits = span.len() / 8 <= self.budget_bytes as u64;
        if narrow && !ignores_duplicates && count >= span.len() / 2 {
            return self.by_counting_or_split(source, span, count, emit);
        }
        let scans_well = span.len() / 64 <= WORDS_PER_VALUE * count;
        if narrow && bitmap_fits && scans_well {
            if self.by_bitmap(source, span, None, emit)? {
                return Ok(());
            }
            return self.by_counting_or_split(source, span, count, emit);
        }
        if count <= self.room() {
            return self.by_radix(source, span, count, emit);
        }
        self.by_split(source, span, emit)
    }

    /// Number of entries that fit in a third of the memory.
    fn room(&self) -> u64 {
        self.budget_bytes as u64 / u64::from(E::BITS / 8)
    }

    /// Finishes a span by a bitmap. False if there are too many duplicates; nothing is written
    /// then.
    fn by_bitmap(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        segment: Option<&mut [u64]>,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<bool> {
        let selection = emit.style().selection;
        let room = self.budget_bytes / 8;
        let level = self.level;
        let Self { buffers, workspace, duplicates, positions, .. } = self;
        let persistent = segment.is_some();
        let words = if let Some(segment) = segment {
            segment
        } else {
            let count = in_usize(span.len().div_ceil(64));
            workspace.zeros(count)?
        };
        let ones_of = |words: &[u64]| popcount::ones(level, bytemuck::cast_slice(words));
        let before = if persistent { ones_of(words) } else { 0 };
        let mut bits = BitmapMut::from_words_mut(0, words);
        let most = if persistent { usize::MAX } else { room };
        let wanted = (!selection.ignores_duplicates()).then_some((most, &mut *duplicates));
        let Some((read, met_again)) = set_bits(source, span, buffers, &mut bits, wanted)? else {
            return Ok(false);
        };
        emit.written.ways.take(Way::Bitmap);
        if span.is_part && (selection.keeps_all() || selection.ignores_duplicates()) {
            let count = || ones_of(words) + met_again as u64;
            emit.announce(count, span.first(), span.last());
        }
        let duplicates = &mut duplicates[..met_again];
        if self.scratch.len() < met_again {
            self.scratch.resize(met_again, 0);
        }
        radix::sort(duplicates, &mut self.scratch);

        let distinct = Scan { level, span, words, duplicates }.emit(positions, emit)?;
        if selection.ignores_duplicates() {
            // Dropped duplicates are values of the input too.
            emit.written.values += before + read - distinct;
        }
        Ok(true)
    }

    /// Counters that fit in memory.
    fn counters(&self) -> u64 {
        (self.budget_bytes as u64 / 2).clamp(64, 1 << 32)
    }

    /// Counts the copies of each value, unless that would read a chain too often.
    fn by_counting_or_split(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        count: u64,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<()> {
        let readings = span.len().div_ceil(self.counters());
        let too_many = readings > MOST_READINGS as u64 && !source.is_in_memory();
        if too_many && count > self.room() {
            return self.by_split(source, span, emit);
        }
        self.by_counting(source, span, None, emit)
    }

    /// Counts the copies of each value, for one sub-window after the other, each as large as memory
    /// allows.
    fn by_counting(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        segment: Option<&mut [u64]>,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<()> {
        emit.written.ways.take(Way::Counting);
        let size = self.counters().min(span.len());
        let windows = span.len().div_ceil(size);
        let reverse = emit.style().selection.reverse;
        let segment = segment.map(|words| BitmapMut::from_words_mut(0, words));
        for index in 0..windows {
            let window = if reverse { windows - 1 - index } else { index };
            let offset = window * size;
            let part = span.part(offset, offset + size - 1);
            let Self { buffers, workspace, carries, positions, .. } = self;
            let counts: &mut [u16] = workspace.slice(in_usize(part.len()))?;
            counts.fill(0);
            carries.clear();
            if let Some(absorbed) = &segment {
                #[expect(clippy::cast_possible_truncation, reason = "within the window")]
                absorbed.for_each_in(part.lo, part.len(), |low| counts[low as usize] += 1);
            }
            source.for_each_in(part.lo, part.hi, buffers, |entries| {
                for entry in entries {
                    let low = u32::narrow(entry.widen());
                    let count = &mut counts[low as usize];
                    *count = count.wrapping_add(1);
                    if *count == 0 {
                        carries.push(low);
                    }
                }
            })?;
            carries.sort_unstable();
            emit_counts(counts, carries, span.first() + offset, positions, emit)?;
        }
        Ok(())
    }

    /// Writes the values of a span from a table of counters.
    pub(in crate::sort) fn counted(
        &mut self,
        counts: &[u32],
        span: Span,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<()> {
        #[expect(clippy::cast_possible_truncation, reason = "within the table")]
        let counts = &counts[span.lo as usize..=span.hi as usize];
        emit_counts(counts, &[], span.first(), &mut self.positions, emit)
    }

    fn by_radix(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        count: u64,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<()> {
        emit.written.ways.take(Way::Radix);
        let Self { buffers, workspace, values_scratch, .. } = self;
        let count_here = in_usize(count);
        let counters = radix::counters_for(count_here);
        let (values, counters) = workspace.slices(count_here, counters)?;
        if source.is_in_memory() && span == Span::whole(span.base, source.bits) {
            radix::sort_into(
                |sink| source.for_each_held(sink),
                span.bits(),
                values,
                counters,
                values_scratch,
            );
        } else {
            let mut gathered = 0;
            source.for_each_in(span.lo, span.hi, buffers, |entries| {
                values[gathered..gathered + entries.len()].copy_from_slice(entries);
                gathered += entries.len();
            })?;
            if values_scratch.len() < values.len() {
                values_scratch.resize(values.len(), E::default());
            }
            radix::sort(values, values_scratch);
        }
        if span.is_part && emit.style().selection.keeps_all() {
            emit.announce(|| count, span.first(), span.last());
        }
        emit.sorted(span.first(), values)
    }

    /// Splits a span into groups of sub-windows that fit in memory, and finishes these in order.
    fn by_split(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<()> {
        emit.written.ways.take(Way::Split);
        let split_bits = SPLIT_BITS.min(span.bits());
        let shift = span.bits() - split_bits;
        let mut histogram = vec![0_u64; 1 << split_bits];
        source.for_each_in(span.lo, span.hi, &mut self.buffers, |entries| {
            for entry in entries {
                #[expect(clippy::cast_possible_truncation, reason = "at most 12 bits")]
                let bucket = (entry.widen() >> shift) as usize;
                histogram[bucket] += 1;
            }
        })?;
        // Join neighbouring buckets while they fit together.
        let mut groups = join_buckets(histogram.iter().copied(), self.room());
        let files = source.spill.filter(|_| !source.is_in_memory());
        let files = files.filter(|_| groups.len() > MOST_READINGS);
        let count: u64 = histogram.iter().sum();
        if files.is_some() {
            let most = (self.budget_bytes / EXTENT_BYTES).max(16) as u64;
            groups = join_buckets(histogram.iter().copied(), self.room().max(count / most));
        }
        drop(histogram);
        let part_of = |group: &Group| {
            span.part(group.first << shift, (group.last << shift) | u64::low_mask(shift))
        };
        let parts: Vec<Span> = groups.iter().map(part_of).collect();
        let chains = match files {
            Some(files) => self.scattered(source, span, &parts, files)?,
            None => None,
        };
        if chains.is_some() {
            emit.written.ways.take(Way::Scattered);
            if count == source.len() {
                source.give_back()?; // nobody else needs them
            }
        }
        for index in 0..parts.len() {
            let index =
                if emit.style().selection.reverse { parts.len() - 1 - index } else { index };
            let (part, count) = (parts[index], groups[index].count);
            let Some(chain) = chains.as_ref().map(|chains| chains[index]) else {
                self.span(source, part, count, emit)?;
                continue;
            };
            let held = Held { list: &ChunkList::default(), staged: &[], chain };
            let source = Source { held: vec![held], spill: files, bits: part.bits() };
            let part = Span { base: part.first(), lo: 0, hi: part.hi - part.lo, ..part };
            self.span(&source, part, count, emit)?;
        }
        Ok(())
    }

    /// Writes the entries of a span once more, a chain for each of its parts; none if the disk has no
    /// room for that.
    fn scattered(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        parts: &[Span],
        files: &SpillFiles,
    ) -> Result<Option<Vec<Chain>>> {
        let mut chains = vec![Chain::default(); parts.len()];
        match self.scatter(source, span, parts, files, &mut chains) {
            Ok(()) => Ok(Some(chains)),
            Err(error) if error.is_full_disk() => {
                for (chain, part) in chains.into_iter().zip(parts) {
                    files.give_back(chain, part.bits())?;
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Appends the entries of a span to the chains of its parts, less the first entry of the part.
    fn scatter(
        &mut self,
        source: &Source<'_, '_, E>,
        span: Span,
        parts: &[Span],
        files: &SpillFiles,
        chains: &mut [Chain],
    ) -> Result<()> {
        let room = in_usize(self.room()).max(1);
        let Self { buffers, workspace, values_scratch, .. } = self;
        let mut extents = Extents::new(WRITE_BYTES);
        let mut write = |batch: &mut [E]| -> Result<()> {
            values_scratch.resize(values_scratch.len().max(batch.len()), E::default());
            radix::sort(batch, values_scratch);
            let mut rest = batch;
            for (number, part) in parts.iter().enumerate() {
                let (lo, hi) = (part.lo - span.lo, part.hi - span.lo);
                let count = rest.partition_point(|entry| entry.widen() <= hi);
                let (now, later) = rest.split_at_mut(count);
                for entry in &mut *now {
                    *entry = E::narrow(entry.widen() - lo);
                }
                extents.add(files, chains, number, part.bits(), now)?;
                rest = later;
            }
            Ok(())
        };
        let batch: &mut [E] = workspace.slice(room)?;
        let (mut filled, mut outcome) = (0, Ok(()));
        source.for_each_in(span.lo, span.hi, buffers, |mut entries| {
            while outcome.is_ok() && !entries.is_empty() {
                let (now, later) = entries.split_at(entries.len().min(room - filled));
                batch[filled..filled + now.len()].copy_from_slice(now);
                filled += now.len();
                entries = later;
                if filled == room {
                    outcome = write(&mut batch[..std::mem::take(&mut filled)]);
                }
            }
        })?;
        outcome?;
        write(&mut batch[..filled])?;
        extents.flush(files, chains)
    }
}

/// Sets the bits of the entries in a span. Gives how many entries it read, and how many of them
/// are duplicates of others. These go to the vector in `duplicates`; none are wanted without it. If there
/// are more duplicates than the number in `duplicates`, it gives none.
fn set_bits<E: Entry>(
    source: &Source<'_, '_, E>,
    span: Span,
    buffers: &mut ReadBuffers<E>,
    bits: &mut BitmapMut<'_>,
    mut duplicates: Option<(usize, &mut Vec<u32>)>,
) -> Result<Option<(u64, usize)>> {
    let (mut read, mut met_again, mut overflow) = (0, 0, false);
    source.for_each_in(span.lo, span.hi, buffers, |entries| {
        read += entries.len() as u64;
        let Some((most, duplicates)) = &mut duplicates else {
            bits.insert_all(entries);
            return;
        };
        for part in entries.chunks(1024) {
            overflow |= met_again > *most;
            if overflow {
                return;
            }
            let mut again = [E::default(); 1024];
            let count = bits.insert_lows(part, &mut again);
            if duplicates.len() < met_again + count {
                duplicates.resize((met_again + count).next_multiple_of(1024), 0);
            }
            for (slot, entry) in duplicates[met_again..].iter_mut().zip(&again[..count]) {
                *slot = u32::narrow(entry.widen());
            }
            met_again += count;
        }
    })?;
    Ok((!overflow).then_some((read, met_again)))
}
