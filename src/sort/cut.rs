//! Cutting a large partition into spans, so that all threads finish it.

use super::engine::{Loaded, Task, joined};
use super::entry::{Entry, low_mask};
use super::scatter::{Scatter, Source};
use super::span::{Group, Span, join_buckets};
use crate::error::Result;

/// Bits of a histogram that cuts a partition.
const CUT_BITS: u32 = 12;

impl<E: Entry> Loaded<'_, '_, '_, '_, '_, E> {
    /// Cuts a partition into spans of about `share` values each.
    pub(super) fn cut(&self, partition: usize, share: u64) -> Result<Vec<Task>> {
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
        // Neighbours that one level kept apart may fit together.
        let mut joined: Vec<(Span, u64)> = Vec::new();
        for (span, count) in spans {
            match joined.last_mut() {
                Some((last, sum)) if *sum + count <= share => {
                    last.hi = span.hi;
                    *sum += count;
                }
                _ => joined.push((span, count)),
            }
        }
        let task = |(span, count)| Task::Span(partition, Span { is_part: true, ..span }, count);
        Ok(joined.into_iter().map(task).collect())
    }

    /// Spans of neighbouring buckets with up to `share` values; each thread
    /// counts the entries that it scattered.
    fn histogram(&self, partition: usize, span: Span, share: u64) -> Result<Vec<(Span, u64)>> {
        let shift = span.bits().saturating_sub(CUT_BITS);
        let count = |scatter: &Scatter<'_, '_, '_, E>| -> Result<Vec<u64>> {
            let mut counts = vec![0; 1 << (span.bits() - shift)];
            let source = Source {
                held: vec![scatter.part(partition)],
                spill: self.relief.spill.as_ref(),
                bits: self.layout.partitioning.shift,
            };
            source.for_each_in(span.lo, span.hi, &mut self.read_buffers(), |entries| {
                for entry in entries {
                    #[expect(clippy::cast_possible_truncation, reason = "at most 12 bits")]
                    let bucket = (entry.widen() >> shift) as usize;
                    counts[bucket] += 1;
                }
            })?;
            Ok(counts)
        };
        let parts: Vec<Result<Vec<u64>>> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                self.scatters.iter().map(|scatter| scope.spawn(|| count(scatter))).collect();
            threads.into_iter().map(joined).collect()
        });
        let mut total = vec![0; 1 << (span.bits() - shift)];
        for part in parts {
            total.iter_mut().zip(part?).for_each(|(sum, count)| *sum += count);
        }
        let groups = join_buckets(&total, share).into_iter();
        let spans = groups.map(|Group { first, last, count }| {
            (span.part(first << shift, (last << shift) | low_mask(shift)), count)
        });
        Ok(spans.collect())
    }
}
