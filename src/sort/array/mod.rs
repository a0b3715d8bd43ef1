//! Sorts numbers in memory into memory.
//!
//! Flow where the processor has a fast quicksort: the threads copy the values to the output, and
//! sort them there.
//!
//! Flow elsewhere: a sample gives the range → the threads count the values of each bucket → they
//! scatter them to their buckets in the output → each bucket, which fits the second-level cache,
//! is sorted there. Nothing is kept but the output, the counts and a bucket a thread.
//!
//! There the values are read twice, and they may be in memory that somebody changes meanwhile. Each
//! thread writes only to its own slices, so an additional value is an error and harms nothing.

mod buckets;
mod runs;
#[cfg(test)]
mod tests;

use super::finish::radix;
use super::partitioning::Entry;
use crate::error::{Error, Result};
use crate::io::read::spaced;
use crate::kernel::stages::{Miscounted, Stages};
use crate::kernel::sys::{Machine, advise_huge_pages};
use crate::kernel::{Level, in_threads, in_usize, on_each, quicksort, sort, within_threads};
use crate::progress::{Phase, Progress};
use buckets::Buckets;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Values that are read at once: they stay in the first-level cache.
const BLOCK: usize = 1 << 11;
/// A single thread sorts fewer values before a second one has started.
const FEW: usize = 1 << 14;
/// The same, where the processor has a fast quicksort.
const FEW_FAST: usize = 1 << 17;

/// Numbers that [`ArraySort`] sorts, in any memory. Several threads read them at a time.
pub trait ReadNumbers<T>: Sync {
    /// Number of numbers.
    fn count(&self) -> usize;

    /// Fills `out` with the numbers from index `from` on. There are as many.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read. The sort ends with one of these errors.
    fn read(&self, from: usize, out: &mut [T]) -> Result<()>;
}

impl<T: Copy + Sync, V: AsRef<[T]> + Sync> ReadNumbers<T> for V {
    fn count(&self) -> usize {
        self.as_ref().len()
    }

    fn read(&self, from: usize, out: &mut [T]) -> Result<()> {
        out.copy_from_slice(&self.as_ref()[from..from + out.len()]);
        Ok(())
    }
}

/// Sorts numbers in memory, in several threads.
///
/// Takes about 7 ns of processor time for each of 10⁸ evenly spread numbers of 64 bits, and 4 ns of
/// 32 bits. With AVX-512 it needs no memory beside the output; without, at most a quarter of the
/// output, and numbers that crowd in a small part of their range take a few times as long.
///
/// # Examples
///
/// ```
/// use bitsort::sort::ArraySort;
///
/// let mut sorted = [0; 3];
/// ArraySort::new().sort_u64(&[40, 3, 40], &mut sorted)?;
/// assert_eq!(sorted, [3, 40, 40]);
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct ArraySort {
    threads: Option<usize>,
    distinct: bool,
    reverse: bool,
    progress: Arc<Progress>,
    level: Option<Level>,
}

impl ArraySort {
    /// With as many threads as there are processors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses this many threads. The sort fails with none, or with more than 256.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// Keeps one of equal numbers.
    #[must_use]
    pub fn distinct(self, distinct: bool) -> Self {
        Self { distinct, ..self }
    }

    /// Sorts in descending order.
    #[must_use]
    pub fn reverse(self, reverse: bool) -> Self {
        Self { reverse, ..self }
    }

    /// Reports progress there, in bytes of numbers; the sort ends when it is cancelled.
    #[must_use]
    pub fn progress(self, progress: Arc<Progress>) -> Self {
        Self { progress, ..self }
    }

    /// Sorts `numbers` into `out`, which has the same length. Gives how many numbers are at the
    /// front of `out`: all, unless [`distinct`](Self::distinct) drops some.
    ///
    /// # Errors
    ///
    /// If a number cannot be read, the numbers change meanwhile, `out` is not as long, or the sort
    /// is cancelled. The content of `out` has no meaning then.
    pub fn sort_u64(&self, numbers: &dyn ReadNumbers<u64>, out: &mut [u64]) -> Result<usize> {
        self.sort(numbers, out)
    }

    /// The same for numbers below 2³².
    ///
    /// # Errors
    ///
    /// As [`sort_u64`](Self::sort_u64).
    pub fn sort_u32(&self, numbers: &dyn ReadNumbers<u32>, out: &mut [u32]) -> Result<usize> {
        self.sort(numbers, out)
    }

    /// Sorts `numbers` into the front of `out`, each number once. `out` has the length of
    /// `numbers`. Gives how often each number occurs. The counts take 8 bytes for each distinct
    /// number.
    ///
    /// # Errors
    ///
    /// As [`sort_u64`](Self::sort_u64), or if there is no memory for the counts.
    pub fn count_u64(&self, numbers: &dyn ReadNumbers<u64>, out: &mut [u64]) -> Result<Vec<u64>> {
        self.count(numbers, out)
    }

    /// The same for numbers below 2³².
    ///
    /// # Errors
    ///
    /// As [`count_u64`](Self::count_u64).
    pub fn count_u32(&self, numbers: &dyn ReadNumbers<u32>, out: &mut [u32]) -> Result<Vec<u64>> {
        self.count(numbers, out)
    }

    fn sort<T: Entry>(&self, numbers: &dyn ReadNumbers<T>, out: &mut [T]) -> Result<usize> {
        self.ascending(numbers, out)?;
        let len = if self.distinct { runs::distinct(out) } else { out.len() };
        if self.reverse {
            out[..len].reverse();
        }
        Ok(len)
    }

    fn count<T: Entry>(&self, numbers: &dyn ReadNumbers<T>, out: &mut [T]) -> Result<Vec<u64>> {
        self.ascending(numbers, out)?;
        let mut counts = runs::counts(out)?;
        let len = runs::distinct(out);
        if self.reverse {
            out[..len].reverse();
            counts.reverse();
        }
        Ok(counts)
    }

    fn ascending<T: Entry>(&self, numbers: &dyn ReadNumbers<T>, out: &mut [T]) -> Result<()> {
        super::settle::check_threads(self.threads)?;
        if out.len() != numbers.count() {
            let (room, count) = (out.len(), numbers.count());
            return Err(Error::usage(format!("room for {room} numbers, and not for {count}")));
        }
        advise_huge_pages(out);
        let threads = self.threads.unwrap_or_else(|| Machine::detect().threads);
        let level = self.level.unwrap_or_else(Level::best);
        let few = if quicksort::is_fast(level) { FEW_FAST } else { FEW };
        let threads = threads.min(out.len().div_ceil(few)).max(1);
        self.progress.enter(Phase::Load, 2 * size_of_val(out) as u64);
        Job { numbers, threads, level, progress: &self.progress }.sort(out)
    }
}

/// One sort.
struct Job<'a, T> {
    numbers: &'a dyn ReadNumbers<T>,
    threads: usize,
    level: Level,
    progress: &'a Progress,
}

/// Whether the numbers of a share ascend, descend or neither.
#[derive(Clone, Copy)]
struct Order<T> {
    ends: Option<(T, T)>,
    ascends: bool,
    descends: bool,
}

impl<T: Entry> Order<T> {
    const NONE: Self = Self { ends: None, ascends: true, descends: true };

    /// The order of these numbers and of later ones together.
    fn and(self, later: Self) -> Self {
        let (Some((first, last)), Some((next, end))) = (self.ends, later.ends) else {
            return if self.ends.is_none() { later } else { self };
        };
        Self {
            ends: Some((first, end)),
            ascends: self.ascends && later.ascends && last <= next,
            descends: self.descends && later.descends && last >= next,
        }
    }

    /// The order of these numbers and of a later block; does not read the block if there is no
    /// order already.
    fn and_of(self, block: &[T]) -> Self {
        if self.ascends || self.descends { self.and(Self::of(block)) } else { self }
    }

    /// Makes numbers that have this order ascend.
    fn turn(self, numbers: &mut [T]) {
        if !self.ascends {
            numbers.reverse();
        }
    }

    fn of(block: &[T]) -> Self {
        Self {
            ends: block.first().copied().zip(block.last().copied()),
            ascends: block.is_sorted(),
            descends: block.is_sorted_by(|a, b| a >= b),
        }
    }
}

impl<T: Entry> Job<'_, T> {
    fn sort(&self, out: &mut [T]) -> Result<()> {
        if out.len() < FEW || quicksort::is_fast(self.level) {
            return self.sort_in_place(out);
        }
        let buckets = Buckets::of(&mut self.sample(out.len())?, out.len());
        let shares = self.shares(out.len());
        let survey = |share: Range<usize>| self.survey(share, buckets);
        let surveyed: Vec<_> =
            on_each(shares.clone(), survey).into_iter().collect::<Result<_>>()?;
        let (orders, counts): (Vec<_>, Vec<_>) = surveyed.into_iter().unzip();
        let order = orders.into_iter().fold(Order::NONE, Order::and);
        if order.ascends || order.descends {
            self.copy(out)?;
            order.turn(out);
            return Ok(());
        }
        let lens = bucket_lens(&counts);
        self.scatter(shares, buckets, &counts, &lens, out)?;
        self.finish(&lens, out)
    }

    /// Numbers from all over.
    fn sample(&self, len: usize) -> Result<Vec<T>> {
        /// Blocks of the sample.
        const BLOCKS: usize = 256;
        const TOGETHER: usize = 16;
        let mut sample = vec![T::default(); BLOCKS * TOGETHER];
        let starts = spaced(len as u64, BLOCKS as u64, TOGETHER as u64);
        for (start, block) in starts.zip(sample.chunks_mut(TOGETHER)) {
            self.numbers.read(in_usize(start), block)?;
        }
        Ok(sample)
    }

    /// The indices that each thread reads. A share of its numbers fits a counter of 32 bits.
    fn shares(&self, len: usize) -> Vec<Range<usize>> {
        let share = len.div_ceil(self.threads).clamp(1, u32::MAX as usize);
        (0..len).step_by(share).map(|from| from..(from + share).min(len)).collect()
    }

    /// Gives the numbers of `share`, a block at a time.
    fn each_block(
        &self,
        share: Range<usize>,
        mut visit: impl FnMut(&[T]) -> Result<()>,
    ) -> Result<()> {
        let mut block = [T::default(); BLOCK];
        for from in share.clone().step_by(BLOCK) {
            let block = &mut block[..BLOCK.min(share.end - from)];
            self.numbers.read(from, block)?;
            visit(block)?;
            self.advance(size_of_val(block))?;
        }
        Ok(())
    }

    fn advance(&self, bytes: usize) -> Result<()> {
        self.progress.advance(bytes as u64);
        Error::if_cancelled(self.progress)
    }

    /// The order of the numbers of a share, and how many of them belong to each bucket.
    fn survey(&self, share: Range<usize>, buckets: Buckets) -> Result<(Order<T>, Vec<u32>)> {
        let mut counts = vec![0; buckets.count];
        let mut order = Order::NONE;
        self.each_block(share, |block| {
            order = order.and_of(block);
            for &value in block {
                counts[buckets.of_value(value)] += 1;
            }
            Ok(())
        })?;
        Ok((order, counts))
    }

    /// Reads the numbers from index `from` on; gives their order.
    fn fill(&self, from: usize, out: &mut [T]) -> Result<Order<T>> {
        let mut order = Order::NONE;
        for (number, block) in out.chunks_mut(BLOCK).enumerate() {
            self.numbers.read(from + number * BLOCK, block)?;
            order = order.and_of(block);
            self.advance(size_of_val(block))?;
        }
        Ok(order)
    }

    /// Reads all numbers without sorting them.
    fn copy(&self, out: &mut [T]) -> Result<Order<T>> {
        let share = out.len().div_ceil(self.threads).max(1);
        let parts: Vec<_> = out.chunks_mut(share).enumerate().collect();
        let orders = on_each(parts, |(number, part)| self.fill(number * share, part));
        orders.into_iter().try_fold(Order::NONE, |order, next| Ok(order.and(next?)))
    }

    /// Reads all numbers, and sorts them in the output.
    fn sort_in_place(&self, out: &mut [T]) -> Result<()> {
        let order = self.copy(out)?;
        if order.ascends || order.descends {
            order.turn(out);
            return self.advance(size_of_val(out)); // as much as to sort them
        }
        let done = |count| self.advance(count * size_of::<T>()).is_ok();
        within_threads(self.threads, |shared| quicksort::sort(self.level, shared, out, &done));
        self.advance(0)
    }

    /// Reads the numbers into their buckets.
    fn scatter(
        &self,
        shares: Vec<Range<usize>>,
        buckets: Buckets,
        counts: &[Vec<u32>],
        lens: &[usize],
        out: &mut [T],
    ) -> Result<()> {
        let parts = parts(counts, lens, out);
        let work = shares.into_iter().zip(parts).collect();
        let scattered = on_each(work, |(share, parts)| {
            let mut stages = Stages::new(parts);
            self.each_block(share, |block| {
                for &value in block {
                    stages.push(buckets.of_value(value), value).map_err(changed)?;
                }
                Ok(())
            })?;
            stages.end().map_err(changed)
        });
        scattered.into_iter().collect()
    }

    /// Sorts each bucket in the output. A bucket of up to a quarter of the output is sorted by
    /// digits, one in each thread; a larger bucket by comparisons, in all threads.
    fn finish(&self, lens: &[usize], mut out: &mut [T]) -> Result<()> {
        let most = out.len() / 4 / self.threads;
        let (mut small, mut large) = (Vec::with_capacity(lens.len()), Vec::new());
        for &len in lens {
            let (bucket, rest) = std::mem::take(&mut out).split_at_mut(len);
            out = rest;
            if len <= most { small.push(bucket) } else { large.push(bucket) }
        }
        for bucket in large {
            sort(self.threads, bucket);
            self.advance(0)?;
        }
        let waiting = Mutex::new(small.into_iter());
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let sorted = in_threads(self.threads, || {
            let (mut scratch, mut counters) = (Vec::new(), Vec::new());
            while let Some(bucket) = next() {
                if scratch.len() < bucket.len() {
                    scratch.resize(bucket.len(), T::default());
                }
                radix::sort_with(bucket, &mut scratch, &mut counters);
                self.advance(0)?;
            }
            Ok(())
        });
        sorted.into_iter().collect()
    }
}

/// The size of each bucket over all threads.
fn bucket_lens(counts: &[Vec<u32>]) -> Vec<usize> {
    let buckets = counts.first().map_or(0, Vec::len);
    let len = |bucket: usize| counts.iter().map(|counts| counts[bucket] as usize).sum();
    (0..buckets).map(len).collect()
}

/// For each thread, its part of each bucket: the parts of one bucket follow each other.
fn parts<'o, T>(
    counts: &[Vec<u32>],
    lens: &[usize],
    mut out: &'o mut [T],
) -> Vec<Vec<&'o mut [T]>> {
    let mut parts: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(lens.len())).collect();
    for bucket in 0..lens.len() {
        for (counts, parts) in counts.iter().zip(&mut parts) {
            let (part, rest) = std::mem::take(&mut out).split_at_mut(counts[bucket] as usize);
            parts.push(part);
            out = rest;
        }
    }
    parts
}

fn changed(_: Miscounted) -> Error {
    Error::InputRewritten { input: "the array".to_owned() }
}
