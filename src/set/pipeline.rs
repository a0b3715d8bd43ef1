//! Cuts a plan into windows of keys, which threads compute at once, and hands their containers to a sink
//! in order.

use super::pieces::Pool;
use super::plan::{Plan, Steps};
use crate::error::{Error, Result};
use crate::io::in_order::{InOrder, OnPanic};
use crate::kernel::{in_threads, processors};
use crate::progress::Progress;
use crate::set::container::{Container, SPAN};
use crate::set::file::ValueSink;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Sets of fewer bytes together are not worth another thread.
const MIN_SHARED_BYTES: u64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// Threads, times the sets of each. The blocks and containers of so many take some 1.5 MB.
const MAX_SHARED: usize = 32;
/// Windows for each thread, if no order is kept: some take longer than others.
const WINDOWS_EACH: u64 = 8;
/// A batch that has more bytes is full.
const BATCH_BYTES: usize = 128 << 10;
/// The same for its containers.
const BATCH_PARTS: usize = 1 << 10;
/// Bytes of all sets for each window, so that a window mostly makes a batch.
const WINDOW_BYTES: u64 = if cfg!(test) { 256 } else { 128 << 10 };
/// Most windows: each looks up its ends in all sets.
const MAX_WINDOWS: u64 = 1 << 10;

/// Containers on their way to what takes them.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    parts: Vec<Part>,
}

/// A container of a batch.
struct Part {
    key: u64,
    kind: Kind,
    /// Where its bytes are in those of the batch.
    bytes: Range<usize>,
}

#[derive(Clone, Copy)]
enum Kind {
    Array,
    Bitmap,
    Runs,
}

impl Batch {
    /// Becomes the next containers of a window; gives whether there are any. With an error it has those
    /// before.
    fn fill(&mut self, steps: &mut Steps<'_, '_>, checked: bool, pool: &mut Pool) -> Result<bool> {
        self.bytes.clear();
        self.parts.clear();
        while self.bytes.len() < BATCH_BYTES
            && self.parts.len() < BATCH_PARTS
            && let Some((key, _)) = steps.next()?
        {
            let piece = steps.plan.piece(key, pool)?;
            steps.check(checked)?;
            let container = piece.container();
            let kind = match container {
                Container::Array(_) => Kind::Array,
                Container::Bitmap(_) => Kind::Bitmap,
                Container::Runs(_) => Kind::Runs,
            };
            // Words that lie at a multiple of eight are read where they lie.
            let start = self.bytes.len().next_multiple_of(8);
            self.bytes.resize(start, 0);
            self.bytes.extend_from_slice(container.bytes());
            let bytes = start..self.bytes.len();
            self.parts.push(Part { key, kind, bytes });
            pool.give(piece);
        }
        Ok(!self.parts.is_empty())
    }

    fn hand_over(&self, mut put: impl FnMut(u64, u64, Container<'_>) -> Result<()>) -> Result<()> {
        let cut = || Error::Accounting { what: "a container of a batch was cut".into() };
        for part in &self.parts {
            let bytes = self.bytes.get(part.bytes.clone()).ok_or_else(cut)?;
            let container = match part.kind {
                Kind::Array => Container::Array(bytes.as_chunks().0),
                Kind::Bitmap => {
                    Container::Bitmap(bytes.as_chunks().0.try_into().map_err(|_| cut())?)
                }
                Kind::Runs => Container::Runs(bytes.as_chunks().0),
            };
            put(part.key, part.key, container)?;
        }
        Ok(())
    }
}

/// Computes the result of `plan` into `sink`, which takes stretches if `takes_stretches`.
pub(super) fn run(
    plan: Plan<'_>,
    sink: &mut (impl ValueSink + ?Sized),
    takes_stretches: bool,
    progress: &Progress,
) -> Result<()> {
    let put = |first: u64, last: u64, container: Container<'_>| {
        if first == last {
            return sink.container(first, container);
        }
        if takes_stretches && container.len() == SPAN {
            return sink.stretch([first << 16, last << 16 | 0xFFFF]);
        }
        if container.len() > 0 {
            for key in first..=last {
                sink.container(key, container)?;
                Error::if_cancelled(progress)?;
            }
        }
        Ok(())
    };
    in_order(plan, false, progress, put)
}

impl Plan<'_> {
    /// Hands over the containers of the result and their keys. Their values ascend.
    #[cfg(feature = "cli")]
    pub(crate) fn for_each_container(
        self,
        progress: &Progress,
        mut take: impl FnMut(u64, Container<'_>) -> Result<()> + Send,
    ) -> Result<()> {
        let sets = self.operands();
        let ran = in_order(self, true, progress, |first, last, container| {
            (first..=last).try_for_each(|key| take(key, container))
        });
        Self::after(&sets, ran)
    }
}

/// Hands the containers of `plan` to `put` in order, with their first and their last key. If they are
/// `checked`, it is an error that the values of one do not ascend; else `put` has to find out.
fn in_order(
    plan: Plan<'_>,
    checked: bool,
    progress: &Progress,
    put: impl FnMut(u64, u64, Container<'_>) -> Result<()> + Send,
) -> Result<()> {
    plan.enter(progress);
    let threads = plan.threads();
    let windows = if threads == 1 { 1 } else { plan.bytes() / WINDOW_BYTES };
    match plan.cut(windows.min(MAX_WINDOWS)) {
        Cut::Whole(plan) => in_turn(Steps::new(plan, progress), checked, put),
        Cut::Windows(windows) => side_by_side(&windows, threads, checked, progress, put),
    }
}

fn in_turn(
    mut steps: Steps<'_, '_>,
    checked: bool,
    mut put: impl FnMut(u64, u64, Container<'_>) -> Result<()>,
) -> Result<()> {
    let mut pool = Pool::default();
    while let Some((first, last)) = steps.next()? {
        let piece = steps.plan.piece(first, &mut pool)?;
        steps.check(checked)?;
        put(first, last, piece.container())?;
        pool.give(piece);
    }
    Ok(())
}

/// Threads compute windows. The one whose turn it is hands its batches over. What comes before an error
/// is handed over first, so that the number of threads changes neither the error nor this.
fn side_by_side(
    windows: &Windows<'_>,
    threads: usize,
    checked: bool,
    progress: &Progress,
    put: impl FnMut(u64, u64, Container<'_>) -> Result<()> + Send,
) -> Result<()> {
    let (order, put, next) = (InOrder::<()>::default(), Mutex::new(put), AtomicUsize::new(0));
    let hand_over = |number: u64, batch: &Batch, filled: Result<bool>| {
        order.wait(number)?;
        let mut put = put.lock().unwrap_or_else(PoisonError::into_inner);
        batch.hand_over(&mut *put)?;
        filled
    };
    let work = || {
        let (mut batch, mut pool) = (Batch::default(), Pool::default());
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= windows.len() {
                return Ok(());
            }
            let number = index as u64;
            let mut steps = match windows.get(index, progress) {
                Ok(steps) => steps,
                Err(error) => return hand_over(number, &Batch::default(), Err(error)).map(drop),
            };
            loop {
                let filled = batch.fill(&mut steps, checked, &mut pool);
                if !hand_over(number, &batch, filled)? {
                    break;
                }
            }
            order.complete(number, None, Ok::<(), Error>)?;
        }
    };
    let done = in_threads(threads.min(windows.len()), || {
        let _guard = OnPanic(|| order.abort());
        work().inspect_err(|_: &Error| order.abort())
    });
    Error::worst_of(done).map(drop)
}

/// A plan for threads.
pub(super) enum Cut<'a> {
    /// It cannot be cut, or is not worth it.
    Whole(Plan<'a>),
    Windows(Windows<'a>),
}

/// A plan in parts that threads work on at once, each for a range of keys.
pub(super) struct Windows<'a> {
    plan: Plan<'a>,
    /// The first key of each window.
    firsts: Vec<u64>,
}

impl<'a> Windows<'a> {
    pub(super) fn len(&self) -> usize {
        self.firsts.len()
    }

    /// The steps of window `index`, which must exist.
    pub(super) fn get<'p>(&self, index: usize, progress: &'p Progress) -> Result<Steps<'a, 'p>> {
        let (first, behind) = (self.firsts[index], self.firsts.get(index + 1).copied());
        let uncut = || Error::Accounting { what: "a plan that was cut cannot be cut".into() };
        let window = self.plan.within(first, behind)?.ok_or_else(uncut)?;
        Ok(Steps::of_window(window, first, progress))
    }
}

impl<'a> Plan<'a> {
    /// The number of threads that compute it. Each holds a block and a container of each set, so that
    /// more sets get fewer threads.
    fn threads(&self) -> usize {
        let is_large = self.bytes() >= MIN_SHARED_BYTES;
        let most = if is_large { MAX_SHARED / self.operands().len().max(1) } else { 1 };
        processors().min(most).max(1)
    }

    /// Up to `count` windows of about as many values of the largest set each.
    pub(super) fn cut(self, count: u64) -> Cut<'a> {
        let mut firsts = vec![0];
        let sets = if count > 1 && !self.is_wide() { self.operands() } else { Vec::new() };
        // Damage that is met here is met again, by whoever reads it.
        let can_be_cut = || matches!(self.within(0, None), Ok(Some(_)));
        if let Some(largest) = sets.iter().max_by_key(|set| set.view().bytes())
            && can_be_cut()
        {
            let cursor = largest.view().cursor();
            for window in 1..count {
                let key = cursor.key_behind_part(window, count);
                firsts.extend(key.filter(|key| firsts.last() < Some(key)));
            }
        }
        if firsts.len() == 1 {
            return Cut::Whole(self);
        }
        Cut::Windows(Windows { plan: self, firsts })
    }

    /// The results of `work` on windows of keys, in the order of the keys. Threads work on them at once.
    pub(super) fn in_windows<T: Send>(
        self,
        progress: &Progress,
        work: impl Fn(&mut Steps<'_, '_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        self.enter(progress);
        let threads = self.threads();
        let count = if threads == 1 { 1 } else { WINDOWS_EACH * threads as u64 };
        let windows = match self.cut(count) {
            Cut::Whole(plan) => return Ok(vec![work(&mut Steps::new(plan, progress))?]),
            Cut::Windows(windows) => windows,
        };
        let next = AtomicUsize::new(0);
        let parts = in_threads(threads, || {
            let mut made = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= windows.len() {
                    return made;
                }
                let part = windows.get(index, progress).and_then(|mut steps| work(&mut steps));
                if part.is_err() {
                    next.store(windows.len(), Ordering::Relaxed);
                }
                made.push((index, part));
            }
        });
        let mut parts: Vec<_> = parts.into_iter().flatten().collect();
        // All windows before one that failed were begun, so the error is that of the first one.
        parts.sort_unstable_by_key(|(index, _)| *index);
        parts.into_iter().map(|(_, part)| part).collect()
    }
}
