//! Gathers ranges in any order and gives the runs of a set, ascending, within a share of the
//! memory.
//!
//! Each thread gathers ranges. When its memory is full, it sorts them and joins those that overlap
//! or touch. If that frees less than half of the memory, they go to a temporary file. At the end
//! all of them are merged; if all are in memory, they are sorted together.
//!
//! # Cost
//! 8 bytes for each range below 2^32, else 16, however long it is; O(ranges · log ranges).

use crate::error::{Error, Result};
use crate::io::write::Spool;
use crate::kernel::sys::advise_huge_pages;
use crate::kernel::{Level, on_each, quicksort, share_threads, sort};
use crate::progress::Progress;
use crate::set::ranges::Windows;
use crate::sort::{ArraySort, ReadNumbers};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::slice::Iter;
use std::sync::Arc;

/// A range in memory, ordered by its first value.
trait Kept: Copy + Ord + Send {
    fn new(range: [u64; 2]) -> Self;

    fn range(self) -> [u64; 2];
}

/// A range below 2^32.
impl Kept for u64 {
    fn new([first, last]: [u64; 2]) -> Self {
        first << 32 | last
    }

    fn range(self) -> [u64; 2] {
        [self >> 32, self & u64::from(u32::MAX)]
    }
}

impl Kept for [u64; 2] {
    fn new(range: [u64; 2]) -> Self {
        range
    }

    fn range(self) -> [u64; 2] {
        self
    }
}

/// Sorts ranges in so many threads, and joins those that overlap or touch.
fn join<K: Kept>(ranges: &mut Vec<K>, threads: usize) {
    sort(threads, ranges);
    join_sorted(ranges);
}

/// Joins sorted ranges that overlap or touch.
fn join_sorted<K: Kept>(ranges: &mut Vec<K>) {
    let Some(mut run) = ranges.first().map(|range| range.range()) else { return };
    let mut joined = 0;
    for at in 1..ranges.len() {
        let [first, last] = ranges[at].range();
        // The next range is joined to this one, or goes behind it.
        ranges[joined] = K::new(run);
        let is_apart = first > run[1].saturating_add(1);
        joined += usize::from(is_apart);
        run = if is_apart { [first, last] } else { [run[0], run[1].max(last)] };
    }
    ranges[joined] = K::new(run);
    ranges.truncate(joined + 1);
}

/// Gathers the ranges of one thread.
#[derive(Debug)]
pub(crate) struct Gatherer {
    narrow: Vec<u64>,
    wide: Vec<[u64; 2]>,
    room_bytes: usize,
    spool: Spool,
    spilled: Option<Spilled>,
    pub(crate) spilled_bytes: u64,
    /// Whether it has the ranges of all threads, sorted and joined.
    is_joined: bool,
}

/// Ascending runs in a temporary file.
#[derive(Debug)]
struct Spilled {
    file: File,
    /// Number of runs in each part of the file.
    parts: Vec<u64>,
}

/// Bytes of a run in a temporary file.
const RUN_BYTES: usize = 16;
/// A single thread sorts fewer ranges before a second one has started.
const FEW: usize = 1 << 17;
/// Least bytes of a part that are read at once.
const MIN_READ_BYTES: usize = 4 << 10;
const MAX_READ_BYTES: usize = 256 << 10;

/// Number of ranges below 2^32 in memory.
fn count(gatherers: &[Gatherer]) -> usize {
    gatherers.iter().map(|gatherer| gatherer.narrow.len()).sum()
}

impl Gatherer {
    /// It takes about `room_bytes` of memory between two calls of [`relieve`](Self::relieve), and a
    /// temporary file for more. It allocates room for `expected_bytes` of ranges at once.
    pub(crate) fn new(room_bytes: usize, expected_bytes: usize, spool: Spool) -> Self {
        // Memory that is not touched costs nothing.
        let mut narrow = vec![0_u64; expected_bytes.min(room_bytes) / 8];
        advise_huge_pages(&mut narrow);
        narrow.clear();
        Self {
            narrow,
            wide: Vec::new(),
            room_bytes,
            spool,
            spilled: None,
            spilled_bytes: 0,
            is_joined: false,
        }
    }

    fn bytes(&self) -> usize {
        8 * self.narrow.len() + RUN_BYTES * self.wide.len()
    }

    /// Takes ranges.
    #[inline]
    pub(crate) fn take(&mut self, ranges: impl Iterator<Item = [u64; 2]> + Clone) {
        if ranges.clone().fold(0, |bits, [_, last]| bits | last) <= u32::MAX.into() {
            self.narrow.extend(ranges.map(u64::new));
            return;
        }
        for [first, last] in ranges {
            if last <= u32::MAX.into() {
                self.narrow.push(Kept::new([first, last]));
            } else {
                self.wide.push([first, last]);
            }
        }
    }

    /// Joins or spills ranges if they take more than their memory.
    pub(crate) fn relieve(&mut self) -> Result<()> {
        if self.bytes() < self.room_bytes {
            return Ok(());
        }
        self.join(1);
        if self.bytes() < self.room_bytes / 2 {
            return Ok(());
        }
        let mut spilled = match self.spilled.take() {
            Some(spilled) => spilled,
            None => Spilled { file: self.spool.file()?, parts: Vec::new() },
        };
        let mut failed = self.spill(&mut spilled);
        self.narrow.clear();
        self.wide.clear();
        // Every part is read through a buffer, and there is no memory for more buffers.
        if failed.is_ok() && spilled.parts.len() * MIN_READ_BYTES > self.room_bytes / 2 {
            let mut whole = Spilled { file: self.spool.file()?, parts: Vec::new() };
            let sources = spilled.sources(self.room_bytes);
            failed = whole.append(&mut Joined::new(sources), &mut self.spilled_bytes);
            spilled = whole;
        }
        self.spilled = Some(spilled);
        failed.map_err(self.spool.label().failed())
    }

    fn spill(&mut self, spilled: &mut Spilled) -> io::Result<()> {
        let sources = vec![Source::Narrow(self.narrow.iter()), Source::Wide(self.wide.iter())];
        spilled.append(&mut Joined::new(sources), &mut self.spilled_bytes)
    }

    /// Sorts the ranges in memory, and joins those that overlap or touch.
    fn join(&mut self, threads: usize) {
        join(&mut self.narrow, threads);
        join(&mut self.wide, threads);
    }

    /// Sorts and joins the ranges of each of `lists` in the array of its first thread, if there is
    /// room, all are below 2^32, and sorting in one array is fast. The lists are sorted side by side.
    pub(crate) fn sort_lists(lists: Vec<&mut [Self]>, progress: &Progress) -> Result<()> {
        let fits = |list: &&mut [Self]| {
            let in_memory =
                |gatherer: &Self| gatherer.spilled.is_none() && gatherer.wide.is_empty();
            let first = list.first().filter(|first| !first.is_joined);
            first.is_some_and(|first| first.narrow.capacity() >= count(list))
                && list.iter().all(in_memory)
        };
        if !quicksort::is_fast(Level::best()) {
            return Ok(());
        }
        let lists: Vec<_> = lists.into_iter().filter(fits).collect();
        let threads = lists.iter().map(|list| list.len()).max().unwrap_or(1);
        let few = lists.iter().map(|list| count(list)).sum::<usize>() < FEW;
        share_threads(if few { 1 } else { threads }, lists, |list, shared| {
            let Some((first, others)) = list.split_first_mut() else { return };
            for other in others {
                first.append(other);
            }
            let goes_on = |_| !progress.is_cancelled();
            quicksort::sort(Level::best(), shared, &mut first.narrow, &goes_on);
            join_sorted(&mut first.narrow);
            first.is_joined = true;
        });
        Error::if_cancelled(progress)
    }

    /// Sorts the ranges of all threads in one array, if all are below 2^32 and there is memory: a
    /// quarter more than they take. Gives whether it sorted them.
    fn sort_narrow(gatherers: &mut [Self], progress: &Arc<Progress>) -> Result<bool> {
        if gatherers.iter().any(|gatherer| !gatherer.wide.is_empty()) {
            return Ok(false);
        }
        let (threads, count) = (gatherers.len(), count(gatherers));
        let room: usize = gatherers.iter().map(|gatherer| gatherer.room_bytes).sum();
        if 18 * count > room {
            return Ok(false);
        }
        let mut sorted = vec![0; count];
        let kept = gatherers.iter().map(|gatherer| &gatherer.narrow[..]).collect();
        let sort = ArraySort::new().threads(threads).progress(Arc::clone(progress));
        sort.sort_u64(&Slices(kept), &mut sorted)?;
        join_sorted(&mut sorted);
        for gatherer in &mut *gatherers {
            gatherer.narrow = Vec::new();
        }
        if let Some(first) = gatherers.first_mut() {
            first.narrow = sorted;
        }
        Ok(true)
    }

    /// Takes over the ranges that another gatherer has in memory.
    fn append(&mut self, other: &mut Self) {
        self.narrow.append(&mut other.narrow);
        self.wide.append(&mut other.wide);
        (other.narrow, other.wide) = (Vec::new(), Vec::new()); // frees the memory
    }

    /// All runs of what the threads gathered.
    pub(crate) fn joined<'g>(
        gatherers: &'g mut [Self],
        progress: &Arc<Progress>,
    ) -> Result<Joined<'g>> {
        let threads = gatherers.len();
        if gatherers.iter().any(|gatherer| gatherer.spilled.is_some()) {
            on_each(gatherers.iter_mut().collect(), |gatherer: &mut Self| gatherer.join(1));
        } else {
            Self::sort_lists(vec![&mut *gatherers], progress)?;
            let is_joined = gatherers.first().is_some_and(|first| first.is_joined);
            if !is_joined
                && !Self::sort_narrow(gatherers, progress)?
                && let Some((first, others)) = gatherers.split_first_mut()
            {
                for other in others {
                    first.append(other);
                }
                first.join(threads);
            }
        }
        let sources = gatherers.iter().flat_map(|gatherer| {
            let kept = [Source::Narrow(gatherer.narrow.iter()), Source::Wide(gatherer.wide.iter())];
            let files = gatherer.spilled.as_ref();
            let files = files.map_or_else(Vec::new, |files| files.sources(gatherer.room_bytes));
            files.into_iter().chain(kept)
        });
        Ok(Joined::new(sources.collect()))
    }
}

/// Reads several slices one after the other.
struct Slices<'s>(Vec<&'s [u64]>);

impl ReadNumbers<u64> for Slices<'_> {
    fn count(&self) -> usize {
        self.0.iter().map(|slice| slice.len()).sum()
    }

    fn read(&self, mut from: usize, mut out: &mut [u64]) -> Result<()> {
        for slice in &self.0 {
            if let Some(rest) = slice.get(from..) {
                let (now, later) = out.split_at_mut(rest.len().min(out.len()));
                now.copy_from_slice(&rest[..now.len()]);
                (from, out) = (0, later);
            } else {
                from -= slice.len();
            }
        }
        Ok(())
    }
}

impl Spilled {
    /// Appends runs as another part.
    fn append(&mut self, runs: &mut Joined<'_>, bytes: &mut u64) -> io::Result<()> {
        let mut out = BufWriter::with_capacity(1 << 16, &self.file);
        let mut count = 0;
        while let Some(run) = runs.next()? {
            out.write_all(bytemuck::bytes_of(&run))?;
            count += 1;
        }
        out.flush()?;
        self.parts.push(count);
        *bytes += count * RUN_BYTES as u64;
        Ok(())
    }

    /// The parts of the file. They are read through half of `room_bytes` of memory.
    fn sources(&self, room_bytes: usize) -> Vec<Source<'_>> {
        let share = room_bytes / 2 / self.parts.len().max(1);
        let runs = share.clamp(MIN_READ_BYTES, MAX_READ_BYTES) / RUN_BYTES;
        let mut place = 0;
        let part = |&left: &u64| {
            let at = place;
            place += left * RUN_BYTES as u64;
            Source::File(FileRuns { file: &self.file, at, left, runs, read: Vec::new(), next: 0 })
        };
        self.parts.iter().map(part).collect()
    }
}

/// Ascending ranges.
enum Source<'g> {
    Narrow(Iter<'g, u64>),
    Wide(Iter<'g, [u64; 2]>),
    File(FileRuns<'g>),
}

/// Runs in a temporary file.
struct FileRuns<'g> {
    file: &'g File,
    /// Place of the runs that were not read yet.
    at: u64,
    left: u64,
    /// Number of runs that are read at once.
    runs: usize,
    read: Vec<[u64; 2]>,
    next: usize,
}

impl FileRuns<'_> {
    fn next(&mut self) -> io::Result<Option<[u64; 2]>> {
        if self.next == self.read.len() {
            let count = usize::try_from(self.left).map_or(self.runs, |left| left.min(self.runs));
            self.read.resize(count, [0; 2]);
            self.file.read_exact_at(bytemuck::cast_slice_mut(&mut self.read), self.at)?;
            self.at += (count * RUN_BYTES) as u64;
            self.left -= count as u64;
            self.next = 0;
        }
        let run = self.read.get(self.next).copied();
        self.next += 1;
        Ok(run)
    }
}

impl Source<'_> {
    #[inline]
    fn next(&mut self) -> io::Result<Option<[u64; 2]>> {
        match self {
            Self::Narrow(ranges) => Ok(ranges.next().map(|range| range.range())),
            Self::Wide(ranges) => Ok(ranges.next().copied()),
            Self::File(runs) => runs.next(),
        }
    }
}

/// Merges sources into runs: ranges that overlap or touch become one.
pub(crate) struct Joined<'g> {
    sources: Vec<Source<'g>>,
    /// The next range of each source that has one.
    heads: BinaryHeap<Reverse<([u64; 2], usize)>>,
    is_begun: bool,
}

impl<'g> Joined<'g> {
    fn new(sources: Vec<Source<'g>>) -> Self {
        let has_some = |source: &Source<'_>| match source {
            Source::Narrow(ranges) => ranges.len() > 0,
            Source::Wide(ranges) => ranges.len() > 0,
            Source::File(runs) => runs.left > 0,
        };
        let sources = sources.into_iter().filter(has_some).collect();
        Self { sources, heads: BinaryHeap::new(), is_begun: false }
    }

    /// The next run.
    #[inline]
    pub(crate) fn next(&mut self) -> io::Result<Option<[u64; 2]>> {
        // The runs of one source do not touch.
        if let [only] = &mut self.sources[..] { only.next() } else { self.merge() }
    }

    /// Whether all ranges are in memory and below 2^32.
    pub(crate) fn is_narrow(&self) -> bool {
        self.sources.iter().all(|source| matches!(source, Source::Narrow(_)))
    }

    /// The windows of runs that are all in memory, in one array.
    pub(crate) fn windows(&self, threads: usize) -> Option<Windows> {
        let [Source::Narrow(runs)] = &self.sources[..] else { return None };
        let runs = runs.as_slice();
        Windows::of(threads, runs.len(), |index| runs[index].range()[0])
    }

    /// The runs with a value in `window`.
    pub(crate) fn window(&self, [first, last]: [u64; 2]) -> Option<Joined<'_>> {
        let [Source::Narrow(runs)] = &self.sources[..] else { return None };
        let runs = runs.as_slice();
        let from = runs.partition_point(|run| run.range()[1] < first);
        let to = runs.partition_point(|run| run.range()[0] <= last).max(from);
        Some(Joined::new(vec![Source::Narrow(runs[from..to].iter())]))
    }

    /// Appends the next `count` runs to `runs`.
    pub(crate) fn take(&mut self, count: usize, runs: &mut Vec<[u64; 2]>) -> io::Result<()> {
        if let [Source::Narrow(ranges)] = &mut self.sources[..] {
            runs.extend(ranges.by_ref().take(count).map(|range| range.range()));
            return Ok(());
        }
        for _ in 0..count {
            let Some(run) = self.next()? else { break };
            runs.push(run);
        }
        Ok(())
    }

    /// The next run of several sources.
    fn merge(&mut self) -> io::Result<Option<[u64; 2]>> {
        if !self.is_begun {
            self.is_begun = true;
            for (number, source) in self.sources.iter_mut().enumerate() {
                self.heads.extend(source.next()?.map(|range| Reverse((range, number))));
            }
        }
        let mut run: Option<[u64; 2]> = None;
        while let Some(mut head) = self.heads.peek_mut() {
            let Reverse(([first, last], number)) = *head;
            match &mut run {
                Some([_, end]) if first > end.saturating_add(1) => break,
                Some([_, end]) => *end = last.max(*end),
                None => run = Some([first, last]),
            }
            match self.sources[number].next()? {
                Some(range) => *head = Reverse((range, number)),
                None => drop(PeekMut::pop(head)),
            }
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn joined(gatherers: &mut [Gatherer]) -> Vec<[u64; 2]> {
        let mut joined = Gatherer::joined(gatherers, &Arc::default()).unwrap();
        std::iter::from_fn(|| joined.next().unwrap()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

        #[test]
        fn ranges_become_the_runs_of_their_values_in_any_memory(
            ranges in prop::collection::vec((0..6_usize, 0..1500_u64, 0..40_u64), 0..800),
            threads in 1..4_usize,
            room in prop::sample::select(vec![64_usize, 1 << 10, 1 << 20]),
        ) {
            let starts = [0, 65_000, u64::from(u32::MAX) - 700, 1 << 40, u64::MAX - 1600, 1 << 31];
            let folder = tempfile::tempdir().unwrap();
            let spool = Spool { folder: folder.path().into(), ..Spool::default() };
            let new = || Gatherer::new(room, 0, spool.clone());
            let mut gatherers: Vec<_> = std::iter::repeat_with(new).take(threads).collect();
            let mut model = BTreeSet::new();
            for (number, &(start, from, length)) in ranges.iter().enumerate() {
                let first = starts[start] + from;
                let last = first.saturating_add(length);
                model.extend(first..=last);
                let gatherer = &mut gatherers[number % threads];
                gatherer.take([[first, last]].into_iter());
                gatherer.relieve().unwrap();
            }
            let runs = joined(&mut gatherers);
            let apart = |pair: &[[u64; 2]]| pair[0][1] < pair[1][0] - 1;
            prop_assert!(runs.windows(2).all(apart));
            let whole = Gatherer::joined(&mut gatherers, &Arc::default()).unwrap();
            if let Some(shared) = whole.windows(2) {
                let window = |window| {
                    let mut part = whole.window(window).unwrap();
                    std::iter::from_fn(move || part.next().unwrap())
                };
                let parts: Vec<_> = shared.windows.into_iter().flat_map(window).collect();
                prop_assert_eq!(&parts, &runs);
            }
            let values: Vec<u64> = runs.iter().flat_map(|&[first, last]| first..=last).collect();
            prop_assert!(values.iter().eq(model.iter()));
        }
    }

    #[test]
    fn so_many_parts_that_their_buffers_have_no_room_become_one() {
        let spool = Spool::default();
        let mut gatherer = Gatherer::new(1 << 14, 0, spool);
        for value in 0..20_000_u64 {
            let value = value.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
            gatherer.take([[value, value]].into_iter());
            gatherer.relieve().unwrap();
        }
        assert!(gatherer.spilled.as_ref().unwrap().parts.len() <= 2);
        let mut gatherers = [gatherer];
        assert_eq!(joined(&mut gatherers).len(), 20_000);
    }
}
