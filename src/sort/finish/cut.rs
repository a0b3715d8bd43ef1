//! Cutting a large partition into spans, so that all threads finish it.
//!
//! If the partition is narrow, each thread first counts the values that it scattered, and every span is
//! a range of one table of counters. If not, histograms show where to cut, and each span reads its
//! entries again.

use super::loaded::{Loaded, Task};
use super::partition::MAX_BITMAP_BITS;
use super::span::{Group, Span, join_buckets};
use crate::error::Result;
use crate::kernel::on_each;
use crate::kernel::sys::Pages;
use crate::set::bitmap::Word;
use crate::sort::load::entries::{Source, reserve};
use crate::sort::load::scatter::Scatter;
use crate::sort::partitioning::Entry;

/// Bits of a histogram that cuts a partition.
const CUT_BITS: u32 = 12;
/// A table of counters is worth its memory for this many values a counter.
const VALUES_PER_COUNTER: u64 = 2;

/// The values of a narrow partition, counted.
pub(in crate::sort) struct Counted {
    pub(in crate::sort) partition: usize,
    pages: Pages,
}

impl Counted {
    /// Copies of each value of the window.
    pub(in crate::sort) fn counts(&self) -> &[u32] {
        bytemuck::cast_slice(self.pages.words())
    }
}

impl<E: Entry> Loaded<'_, '_, '_, '_, '_, E> {
    /// Counts the values of a partition of `len` values, if the tables of all
    /// threads fit in `room_bytes`.
    pub(in crate::sort) fn count(
        &self,
        partition: usize,
        len: u64,
        room_bytes: usize,
    ) -> Result<Option<Counted>> {
        let bits = self.layout.partitioning.shift;
        let table_bytes = 4_usize.checked_shl(bits).unwrap_or(usize::MAX);
        let dense = bits > 0 && len.checked_shr(bits).unwrap_or(0) >= VALUES_PER_COUNTER;
        let fits = table_bytes.saturating_mul(self.scatters.len()) <= room_bytes;
        if bits > MAX_BITMAP_BITS || !dense || !fits || len > u32::MAX.into() {
            return Ok(None);
        }
        let mut tables = self.in_each_scatter(partition, |source| {
            let mut pages = reserve(table_bytes as u64)?;
            let counts: &mut [u32] = bytemuck::cast_slice_mut(pages.words_mut());
            source.for_each(&mut self.read_buffers(), |entries| {
                for entry in entries {
                    #[expect(clippy::cast_possible_truncation, reason = "at most 24 bits")]
                    let low = entry.widen() as usize;
                    counts[low] += 1;
                }
            })?;
            Ok(pages)
        })?;
        let Some(mut pages) = tables.pop() else { return Ok(None) };
        let sums: &mut [u32] = bytemuck::cast_slice_mut(pages.words_mut());
        for table in tables {
            let counts: &[u32] = bytemuck::cast_slice(table.words());
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        Ok(Some(Counted { partition, pages }))
    }

    /// Runs `job` in all threads, each on its own entries of a partition.
    fn in_each_scatter<T: Send>(
        &self,
        partition: usize,
        job: impl Fn(Source<'_, '_, E>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let bits = self.layout.partitioning.shift;
        let spill = self.relief.spill.as_ref();
        let run = |scatter: &Scatter<'_, '_, '_, E>| {
            job(Source { held: vec![scatter.part(partition)], spill, bits })
        };
        on_each(self.scatters.iter().collect(), run).into_iter().collect()
    }

    /// Cuts counted values into spans of about `share` values. `table` is the number of their
    /// table.
    pub(in crate::sort) fn cut_counted(
        &self,
        counted: &Counted,
        table: usize,
        share: u64,
    ) -> Vec<Task> {
        let window = self.layout.partitioning.window_of(counted.partition);
        let whole = Span::whole(window.base, self.layout.partitioning.shift);
        let groups = join_buckets(counted.counts().iter().copied().map(u64::from), share);
        let task =
            |Group { first, last, count }| Task::Counted(table, whole.part(first, last), count);
        groups.into_iter().map(task).collect()
    }

    /// Cuts a partition into spans of about `share` values each.
    pub(in crate::sort) fn cut(&self, partition: usize, share: u64) -> Result<Vec<Task>> {
        let window = self.layout.partitioning.window_of(partition);
        let whole = Span::whole(window.base, self.layout.partitioning.shift);
        let mut spans = Vec::new();
        for (span, count) in self.histogram(partition, whole, share)? {
            if count > share && span.bits() > 0 {
                spans.append(&mut self.histogram(partition, span, share)?);
            } else {
                spans.push((span, count));
            }
        }
        // Neighbours that came from different levels may fit together. But a narrow span of many
        // values is counted, which is faster than to sort it with a few others that lie far apart.
        let is_narrow = |span: Span| span.bits() <= MAX_BITMAP_BITS;
        let mut joined: Vec<(Span, u64)> = Vec::new();
        for (span, count) in spans {
            match joined.last_mut() {
                Some((last, sum))
                    if *sum + count <= share
                        && (is_narrow(Span { hi: span.hi, ..*last }) || !is_narrow(*last)) =>
                {
                    last.hi = span.hi;
                    *sum += count;
                }
                _ => joined.push((span, count)),
            }
        }
        let task = |(span, count)| Task::Span(partition, Span { is_part: true, ..span }, count);
        Ok(joined.into_iter().map(task).collect())
    }

    /// Spans of neighbouring buckets with up to `share` values. Each thread counts the entries that
    /// it scattered.
    fn histogram(&self, partition: usize, span: Span, share: u64) -> Result<Vec<(Span, u64)>> {
        let shift = span.bits().saturating_sub(CUT_BITS);
        let parts = self.in_each_scatter(partition, |source| {
            let mut counts = vec![0_u64; 1 << (span.bits() - shift)];
            source.for_each_in(span.lo, span.hi, &mut self.read_buffers(), |entries| {
                for entry in entries {
                    #[expect(clippy::cast_possible_truncation, reason = "at most 12 bits")]
                    let bucket = (entry.widen() >> shift) as usize;
                    counts[bucket] += 1;
                }
            })?;
            Ok(counts)
        })?;
        let mut total = vec![0_u64; 1 << (span.bits() - shift)];
        for part in parts {
            total.iter_mut().zip(part).for_each(|(sum, count)| *sum += count);
        }
        let groups = join_buckets(total, share).into_iter();
        let spans = groups.map(|Group { first, last, count }| {
            (span.part(first << shift, (last << shift) | u64::low_mask(shift)), count)
        });
        Ok(spans.collect())
    }
}
