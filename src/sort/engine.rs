//! One pass: load a window of values, then emit it in order.

use super::entry::{Entry, low_mask};
use super::finish::cut::Counted;
use super::finish::emit::{Emitter, Style, Written};
use super::finish::output::Output;
use super::finish::partition::Finisher;
use super::finish::task::Task;
use super::finish::ways::Way;
use super::load::pool::Pool;
use super::load::scatter::{ABOVE, BELOW, OUTSIDE_BITS, Outside, Relief, Scatter, Segments};
use super::load::source::Source;
use super::load::spill::{ReadBuffers, SpillFiles};
use super::plan::layout::Layout;
use crate::error::{Error, Result};
use crate::io::read::{Cut, Invalid, Ledger, Opened, ScanOptions, Tally, scan};
use crate::kernel::Level;
use crate::kernel::in_threads;
use crate::kernel::sys::Pages;
use crate::progress::{Phase, Progress};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The state that all passes of a run share.
pub(super) struct Context<'a, 'o> {
    pub(super) inputs: &'a [Opened],
    pub(super) cut: &'a Cut,
    pub(super) header: bool,
    pub(super) level: Level,
    pub(super) progress: &'a Progress,
    /// Bytes of all inputs, as far as known.
    pub(super) input_bytes: u64,
    pub(super) style: Style,
    pub(super) folders: &'a [PathBuf],
    pub(super) output: &'a Output<'o>,
}

impl Context<'_, '_> {
    pub(super) fn scan_options(&self) -> ScanOptions<'_> {
        ScanOptions {
            cut: self.cut,
            header: self.header,
            level: self.level,
            progress: self.progress,
        }
    }

    pub(super) fn ledger<'l>(&self, invalid: Invalid<'l>) -> Ledger<'l> {
        Ledger::of(self.inputs, invalid)
    }
}

/// Counts and times of one pass.
#[derive(Debug, Default)]
pub(super) struct Pass {
    pub(super) tally: Tally,
    pub(super) written: Written,
    pub(super) spilled_bytes: u64,
    pub(super) load: Duration,
    pub(super) emit: Duration,
}

/// Reads all inputs, and writes the values of the layout's window.
///
/// # Errors
///
/// [`out_of_chunks`](super::load::scatter::out_of_chunks), with nothing written, if
/// the window has more than fits and nothing may be spilled.
pub(super) fn pass(
    context: &Context<'_, '_>,
    layout: &Layout,
    outside: Outside,
    may_spill: bool,
    invalid: Invalid<'_>,
) -> Result<Pass> {
    if layout.entry_bits == 32 {
        run::<u32>(context, layout, outside, may_spill, invalid)
    } else {
        run::<u64>(context, layout, outside, may_spill, invalid)
    }
}

/// Zeroed memory of whole words.
pub(super) fn reserve(bytes: u64) -> Result<Pages> {
    let words = usize::try_from(bytes / 8).unwrap_or(usize::MAX);
    Pages::zeroed(words).map_err(Error::no_memory(words.saturating_mul(8)))
}

fn run<E: Entry>(
    context: &Context<'_, '_>,
    layout: &Layout,
    outside: Outside,
    may_spill: bool,
    invalid: Invalid<'_>,
) -> Result<Pass> {
    let partitioning = layout.partitioning;
    let mut pool_pages = reserve(layout.pool_bytes)?;
    let segment_words = low_mask(partitioning.shift) / 64 + 1;
    let segment_words = usize::try_from(segment_words).unwrap_or(usize::MAX);
    let mut bitmap_pages = match layout.bitmap_bytes {
        0 => reserve(0)?,
        _ => reserve((segment_words * partitioning.count) as u64 * 8)?,
    };
    let segments: Option<Segments<'_>> = (layout.bitmap_bytes > 0).then(|| {
        let words = bitmap_pages.words_mut();
        words.chunks_exact_mut(segment_words).map(Mutex::new).collect()
    });
    let spill = may_spill.then(|| SpillFiles::new(context.folders));
    let distinct = context.style.selection.ignores_copies();
    let relief = Relief::new(segments, spill, distinct);

    let started = Instant::now();
    context.progress.enter(Phase::Load, context.input_bytes);
    let pool_words = pool_pages.words_mut();
    let share = (pool_words.len() / layout.threads).max(1);
    let io_bytes = (layout.block_bytes / 2).clamp(1 << 12, 1 << 20);
    let scatters: Vec<Scatter<'_, '_, '_, E>> = pool_words
        .chunks_mut(share)
        .take(layout.threads)
        .enumerate()
        .map(|(thread, memory)| {
            let percent = if layout.overflows { 100 * (thread + 1) / layout.threads } else { 100 };
            let pool = Pool::new(memory, layout.chunk_words, percent);
            Scatter::new(partitioning, outside, &relief, pool, layout.stage_bytes, io_bytes)
        })
        .collect();
    let ledger = context.ledger(invalid);
    let scanned = scan(context.inputs, &context.scan_options(), &ledger, scatters);
    // Tell the user of the first malformed line, even if something else went wrong too.
    let tally = ledger.finish()?;
    let scatters = scanned?;
    let load = started.elapsed();

    let started = Instant::now();
    let loaded = Loaded { context, layout, relief: &relief, scatters };
    let written = loaded.emit(outside)?;
    Ok(Pass {
        tally,
        written,
        spilled_bytes: relief.spill.as_ref().map_or(0, SpillFiles::bytes),
        load,
        emit: started.elapsed(),
    })
}

/// All partitions of a window.
pub(super) struct Loaded<'l, 'o, 'p, 'r, 'b, E> {
    pub(super) context: &'l Context<'l, 'o>,
    pub(super) layout: &'l Layout,
    pub(super) relief: &'r Relief<'b>,
    pub(super) scatters: Vec<Scatter<'p, 'r, 'b, E>>,
}

impl<'p, E: Entry> Loaded<'_, '_, 'p, '_, '_, E> {
    fn source(&self, number: usize) -> Source<'_, 'p, E> {
        Source {
            held: self.scatters.iter().map(|scatter| scatter.part(number)).collect(),
            spill: self.relief.spill.as_ref(),
            bits: self.layout.partitioning.shift,
        }
    }

    pub(super) fn outside_source(&self, side: usize) -> Source<'_, 'p, u64> {
        Source {
            held: self.scatters.iter().map(|scatter| scatter.outside_part(side)).collect(),
            spill: self.relief.spill.as_ref(),
            bits: OUTSIDE_BITS,
        }
    }

    fn emit(&self, outside: Outside) -> Result<Written> {
        let context = self.context;
        let count = self.layout.partitioning.count;
        let lens: Vec<u64> = (0..count).map(|partition| self.source(partition).len()).collect();
        let values: u64 = lens.iter().sum();
        let (tasks, tables) = self.tasks(&lens, values, outside)?;
        self.check_order(&tasks)?;
        let first = context.output.extend(tasks.len());
        self.announce(first, &tasks, &lens);
        context.progress.enter(Phase::Emit, values);

        // More threads share the same memory.
        let per_processor = context.output.writers_per_processor();
        let output_bytes = self.layout.output_bytes / per_processor;
        let kept_bytes = if tables.is_empty() { 0 } else { self.layout.scratch_bytes / 2 };
        let scratch_bytes = (self.layout.scratch_bytes - kept_bytes) / per_processor;
        let next = AtomicUsize::new(0);
        let work = || -> Result<Written> {
            let _guard = AbortOnPanic(context.output);
            let mut worker = Worker {
                emitter: Emitter::new(
                    context.output,
                    context.progress,
                    context.style,
                    output_bytes,
                ),
                finisher: self.finisher(scratch_bytes),
            };
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(&task) = tasks.get(index) else { break };
                if let Err(error) = self.task(&mut worker, first + index, task, &tables) {
                    context.output.abort();
                    return Err(error);
                }
            }
            Ok(worker.emitter.written)
        };
        self.sum_up(in_threads(self.layout.threads * per_processor, work))
    }

    /// Makes the tasks for partitions of `lens` values each, in the order of the output, and the
    /// counters of partitions that are cut by counting.
    fn tasks(
        &self,
        lens: &[u64],
        values: u64,
        outside: Outside,
    ) -> Result<(Vec<Task>, Vec<Counted>)> {
        // All threads would wait for one that has a large partition to itself.
        let share = (values / (2 * self.layout.threads as u64)).max(self.layout.cut_values);
        let mut tasks = Vec::with_capacity(lens.len() + 2);
        let mut tables: Vec<Counted> = Vec::new();
        let mut table_room = self.layout.threads * self.layout.scratch_bytes / 2;
        for (partition, &len) in lens.iter().enumerate() {
            if len <= share || self.layout.threads == 1 || self.relief.was_used() {
                tasks.push(Task::Partition(partition));
            } else if let Some(counted) = self.count(partition, len, table_room)? {
                table_room -= 4 * counted.counts().len();
                tasks.append(&mut self.cut_counted(&counted, tables.len(), share));
                tables.push(counted);
            } else {
                tasks.append(&mut self.cut(partition, share)?);
            }
        }
        if outside == Outside::Keep {
            tasks.insert(0, Task::Outside(BELOW));
            tasks.push(Task::Outside(ABOVE));
        }
        if self.context.style.selection.reverse {
            tasks.reverse();
        }
        Ok((tasks, tables))
    }

    /// Tells the output how long the parts of `tasks` will be, from part `first` on. It leaves out
    /// parts whose length is not known yet.
    fn announce(&self, first: usize, tasks: &[Task], lens: &[u64]) {
        let Context { style, output, .. } = self.context;
        // Values in a bitmap are counted when their partition is finished.
        if !style.selection.keeps_all() || self.relief.was_used() {
            return;
        }
        for (number, &task) in (first..).zip(tasks) {
            let (len, base, last) = match task {
                Task::Partition(partition) => {
                    let window = self.layout.partitioning.window_of(partition);
                    (lens[partition], window.base, window.last)
                }
                Task::Span(_, span, len) | Task::Counted(_, span, len) => {
                    (len, span.first(), span.last())
                }
                Task::Outside(side) => (self.outside_source(side).len(), 0, u64::MAX),
            };
            let line = style.line_bytes(base, last);
            if let Some(line) = if len == 0 { Some(0) } else { line } {
                output.announce(number, len * line);
            }
        }
    }

    /// Adds up the counts of all threads, or gives the error of the thread that failed.
    fn sum_up(&self, results: Vec<Result<Written>>) -> Result<Written> {
        let dropped = self.relief.dropped.load(Ordering::Relaxed);
        let mut total = Written { values: dropped, ..Written::default() };
        let mut failed: Option<Error> = None;
        for result in results {
            match result {
                Ok(written) => total += written,
                Err(error) if failed.as_ref().is_none_or(|first| error.outranks(first)) => {
                    failed = Some(error);
                }
                Err(_) => {} // this thread gave up because another one failed
            }
        }
        failed.map_or(Ok(total), Err)
    }

    pub(super) fn read_buffers<F: Entry>(&self) -> ReadBuffers<F> {
        ReadBuffers::new(self.read_entries())
    }

    fn read_entries(&self) -> usize {
        (self.layout.block_bytes / 32).clamp(64, 1 << 14)
    }

    fn finisher<F: Entry>(&self, scratch_bytes: usize) -> Finisher<F> {
        Finisher::new(self.context.level, scratch_bytes, self.read_buffers())
    }

    fn task(
        &self,
        worker: &mut Worker<'_, '_, E>,
        number: usize,
        task: Task,
        tables: &[Counted],
    ) -> Result<()> {
        let Worker { emitter, finisher } = worker;
        let window = self.window_of(task)?;
        emitter.begin(number, window);
        let before = emitter.written.values;
        let mut expected = None;
        match task {
            Task::Partition(partition) => {
                let source = self.source(partition);
                if !source.is_in_memory() {
                    emitter.written.ways.take(Way::Spilled);
                }
                let mut words = self
                    .relief
                    .used_segment(partition)
                    .map(|segment| segment.lock().unwrap_or_else(PoisonError::into_inner));
                let words = words.as_mut().map(|words| &mut ***words);
                if words.is_none() {
                    expected = Some(source.len());
                } else {
                    emitter.written.ways.take(Way::Absorbed);
                }
                finisher.finish(&source, window.base, words, emitter)?;
                self.context.progress.advance(source.len());
            }
            Task::Span(partition, span, count) => {
                emitter.written.ways.take(Way::Span);
                finisher.span(&self.source(partition), span, count, emitter)?;
                expected = Some(count);
                self.context.progress.advance(count);
            }
            Task::Counted(table, span, count) => {
                emitter.written.ways.take(Way::Counted);
                finisher.counted(tables[table].counts(), span, emitter)?;
                expected = Some(count);
                self.context.progress.advance(count);
            }
            Task::Outside(side) => {
                let source = self.outside_source(side);
                expected = Some(source.len());
                if source.len() > 0 {
                    let way = if side == BELOW { Way::Below } else { Way::Above };
                    emitter.written.ways.take(way);
                    self.finisher::<u64>(self.layout.scratch_bytes / 2)
                        .finish(&source, 0, None, emitter)?;
                }
                self.context.progress.advance(source.len());
            }
        }
        let done = emitter.written.values - before;
        if let Some(expected) = expected.filter(|&expected| expected != done) {
            let (base, last) = (window.base, window.last);
            let what = format!("a part of {base} to {last} has {done} values, not {expected}");
            return Err(Error::Accounting { what });
        }
        emitter.end()
    }
}

/// Wakes the threads that wait for one that panics.
struct AbortOnPanic<'s, 'o>(&'s Output<'o>);

impl Drop for AbortOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.abort();
        }
    }
}

/// One thread's memory while partitions are finished.
struct Worker<'s, 'a, E> {
    emitter: Emitter<'s, 'a>,
    finisher: Finisher<E>,
}

impl<'b> Relief<'b> {
    fn new(segments: Option<Segments<'b>>, spill: Option<SpillFiles>, distinct: bool) -> Self {
        Self { segments, spill, distinct, dropped: AtomicU64::new(0), used: false.into() }
    }
}
