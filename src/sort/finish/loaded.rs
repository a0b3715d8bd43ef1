//! Finishes all partitions of a window in several threads, each partition as a part of the output.
//!
//! The output is in order for two reasons: the windows of the parts follow each other, which this
//! file checks; and the batches of a part lie in its window, each
//! behind the one before, which [`emit`](super::emit) checks.

use super::cut::Counted;
use super::emit::{Emitter, Written};
use super::partition::Finisher;
use super::span::Span;
use super::ways::Way;
use crate::error::{Error, Result};
use crate::io::in_order::OnPanic;
use crate::kernel::in_threads;
use crate::progress::Phase;
use crate::sort::context::Context;
use crate::sort::load::entries::Source;
use crate::sort::load::scatter::{ABOVE, BELOW, OUTSIDE_BITS, Outside, Relief, Scatter};
use crate::sort::load::spill::ReadBuffers;
use crate::sort::partitioning::{Entry, Window};
use crate::sort::plan::layout::Layout;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A part of the output. The numbers are those of a partition, a table or a side.
#[derive(Debug, Clone, Copy)]
pub(in crate::sort) enum Task {
    Partition(usize),
    /// A span of a large partition, and its number of values.
    Span(usize, Span, u64),
    /// A span of a table of counters, and its number of values.
    Counted(usize, Span, u64),
    /// Values below or above the window.
    Outside(usize),
}

/// All partitions of a window.
pub(in crate::sort) struct Loaded<'l, 'o, 'p, 'r, 'b, E> {
    pub(in crate::sort) context: &'l Context<'l, 'o>,
    pub(in crate::sort) layout: &'l Layout,
    pub(in crate::sort) relief: &'r Relief<'b>,
    pub(in crate::sort) scatters: Vec<Scatter<'p, 'r, 'b, E>>,
}

impl<'p, E: Entry> Loaded<'_, '_, 'p, '_, '_, E> {
    fn source(&self, number: usize) -> Source<'_, 'p, E> {
        Source {
            held: self.scatters.iter().map(|scatter| scatter.part(number)).collect(),
            spill: self.relief.spill.as_ref(),
            bits: self.layout.partitioning.shift,
        }
    }

    fn outside_source(&self, side: usize) -> Source<'_, 'p, u64> {
        Source {
            held: self.scatters.iter().map(|scatter| scatter.outside_part(side)).collect(),
            spill: self.relief.spill.as_ref(),
            bits: OUTSIDE_BITS,
        }
    }

    pub(in crate::sort) fn emit(&self, outside: Outside) -> Result<Written> {
        let context = self.context;
        let count = self.layout.partitioning.count;
        let lens: Vec<u64> = (0..count).map(|partition| self.source(partition).len()).collect();
        let values: u64 = lens.iter().sum();
        let (tasks, tables) = self.tasks(&lens, values, outside)?;
        self.check_order(&tasks)?;
        let first = context.output.extend(tasks.len());
        self.announce(first, &tasks, &lens);
        context.scan.progress.enter(Phase::Emit, values);

        let kept_bytes = if tables.is_empty() { 0 } else { self.layout.scratch_bytes / 2 };
        let scratch_bytes = self.layout.scratch_bytes - kept_bytes;
        let next = AtomicUsize::new(0);
        let work = || -> Result<Written> {
            let _guard = OnPanic(|| context.output.abort());
            let mut worker = Worker {
                emitter: Emitter::new(
                    context.output,
                    context.scan.progress,
                    context.style,
                    self.layout.output_bytes,
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
        self.sum_up(in_threads(self.layout.threads, work))
    }

    /// Makes the tasks for partitions of `lens` values each, in the order of the output, and the
    /// counters of partitions that are cut by counting.
    fn tasks(
        &self,
        lens: &[u64],
        values: u64,
        outside: Outside,
    ) -> Result<(Vec<Task>, Vec<Counted>)> {
        // Otherwise all threads would wait for the one that has a large partition.
        let share = (values / (2 * self.layout.threads as u64)).max(self.layout.cut_values);
        let mut tasks = Vec::with_capacity(lens.len() + 2);
        let mut tables: Vec<Counted> = Vec::new();
        let mut table_room = self.layout.threads * self.layout.scratch_bytes / 2;
        for (partition, &len) in lens.iter().enumerate() {
            if len <= share || self.layout.threads == 1 || self.relief.bitmap_was_used() {
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
        // The number of values in a bitmap is known only when its partition is finished.
        if !style.selection.keeps_all() || self.relief.bitmap_was_used() {
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
        for written in Error::worst_of(results)? {
            total += written;
        }
        Ok(total)
    }

    pub(super) fn read_buffers<F: Entry>(&self) -> ReadBuffers<F> {
        ReadBuffers::new(self.read_entries())
    }

    fn read_entries(&self) -> usize {
        (self.layout.block_bytes / 32).clamp(64, 1 << 14)
    }

    fn finisher<F: Entry>(&self, scratch_bytes: usize) -> Finisher<F> {
        Finisher::new(self.context.scan.level, scratch_bytes, self.read_buffers())
    }

    fn task(
        &self,
        worker: &mut Worker<'_, '_, E>,
        number: usize,
        task: Task,
        tables: &[Counted],
    ) -> Result<()> {
        let window = self.window_of(task)?;
        worker.emitter.begin(number, window);
        let before = worker.emitter.written.values;
        let expected = match task {
            Task::Partition(partition) => self.partition(worker, partition, window.base)?,
            Task::Span(partition, span, count) => {
                let Worker { emitter, finisher } = &mut *worker;
                emitter.written.ways.take(Way::Span);
                finisher.span(&self.source(partition), span, count, emitter)?;
                self.context.scan.progress.advance(count);
                Some(count)
            }
            Task::Counted(table, span, count) => {
                let Worker { emitter, finisher } = &mut *worker;
                emitter.written.ways.take(Way::Counted);
                finisher.counted(tables[table].counts(), span, emitter)?;
                self.context.scan.progress.advance(count);
                Some(count)
            }
            Task::Outside(side) => Some(self.outside(&mut worker.emitter, side)?),
        };
        let done = worker.emitter.written.values - before;
        if let Some(expected) = expected.filter(|&expected| expected != done) {
            let (base, last) = (window.base, window.last);
            let what = format!("a part of {base} to {last} has {done} values, not {expected}");
            return Err(Error::Accounting { what });
        }
        worker.emitter.end()
    }

    /// Writes a whole partition that begins at `base`. Gives how many values it has, if it has none
    /// in the bitmap.
    fn partition(
        &self,
        worker: &mut Worker<'_, '_, E>,
        partition: usize,
        base: u64,
    ) -> Result<Option<u64>> {
        let Worker { emitter, finisher } = worker;
        let source = self.source(partition);
        if !source.is_in_memory() {
            emitter.written.ways.take(Way::Spilled);
        }
        let mut words = self
            .relief
            .used_segment(partition)
            .map(|segment| segment.lock().unwrap_or_else(PoisonError::into_inner));
        let words = words.as_mut().map(|words| &mut ***words);
        let is_absorbed = words.is_some();
        if is_absorbed {
            emitter.written.ways.take(Way::Absorbed);
        }
        finisher.finish(&source, base, words, emitter)?;
        self.context.scan.progress.advance(source.len());
        Ok((!is_absorbed).then(|| source.len()))
    }

    /// Writes the values below or above the window; gives how many there are.
    fn outside(&self, emitter: &mut Emitter<'_, '_>, side: usize) -> Result<u64> {
        let source = self.outside_source(side);
        if source.len() > 0 {
            let way = if side == BELOW { Way::Below } else { Way::Above };
            emitter.written.ways.take(way);
            self.finisher::<u64>(self.layout.scratch_bytes / 2)
                .finish(&source, 0, None, emitter)?;
        }
        self.context.scan.progress.advance(source.len());
        Ok(source.len())
    }
}

/// The memory of one thread while it finishes partitions.
struct Worker<'s, 'a, E> {
    emitter: Emitter<'s, 'a>,
    finisher: Finisher<E>,
}

impl<E: Entry> Loaded<'_, '_, '_, '_, '_, E> {
    /// The values that a part of the output may have.
    fn window_of(&self, task: Task) -> Result<Window> {
        let partitioning = &self.layout.partitioning;
        match task {
            Task::Partition(partition) => Ok(partitioning.window_of(partition)),
            Task::Span(_, span, _) | Task::Counted(_, span, _) => {
                Ok(Window { base: span.first(), last: span.last() })
            }
            // Without such values the part is empty, and its window does not matter.
            Task::Outside(side) => match partitioning.outside()[side] {
                Some(window) => Ok(window),
                None if self.outside_source(side).len() == 0 => {
                    let end = if side == BELOW { 0 } else { u64::MAX };
                    Ok(Window { base: end, last: end })
                }
                None => Err(Error::Accounting {
                    what: "values were found outside of the whole range".into(),
                }),
            },
        }
    }

    /// Checks that the windows of parts with values follow each other.
    fn check_order(&self, tasks: &[Task]) -> Result<()> {
        let reverse = self.context.style.selection.reverse;
        let mut previous: Option<Window> = None;
        for &task in tasks {
            if matches!(task, Task::Outside(side) if self.outside_source(side).len() == 0) {
                continue;
            }
            let window = self.window_of(task)?;
            window.check_behind(previous.replace(window), reverse)?;
        }
        Ok(())
    }
}
