//! Hands the containers of a plan to a sink in order, while threads compute the next ones.

use super::pieces::Pool;
use super::plan::{Plan, Steps};
use crate::error::{Error, Result};
use crate::io::in_order::{InOrder, OnPanic};
use crate::kernel::in_threads;
use crate::progress::Progress;
use crate::set::container::{Container, SPAN};
use crate::set::file::ValueSink;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

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

/// A container of a batch, or a stretch of containers that are alike.
struct Part {
    first_key: u64,
    last_key: u64,
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
    /// Becomes the next containers; gives whether there are any. It is an error that the values of a
    /// container of a set do not ascend, if this is `checked`.
    fn fill(&mut self, steps: &mut Steps<'_, '_>, checked: bool, pool: &mut Pool) -> Result<bool> {
        self.bytes.clear();
        self.parts.clear();
        while self.bytes.len() < BATCH_BYTES
            && self.parts.len() < BATCH_PARTS
            && let Some((first_key, last_key)) = steps.next()?
        {
            let piece = steps.plan.piece(first_key, pool)?;
            if checked && let Some(disorder) = steps.plan.disorder() {
                return Err(disorder);
            }
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
            self.parts.push(Part { first_key, last_key, kind, bytes });
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
            put(part.first_key, part.last_key, container)?;
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

/// Hands the containers of `plan` to `put` in order, with their first and their last key. Unless it is
/// `checked` that their values ascend, `put` finds out.
fn in_order(
    plan: Plan<'_>,
    checked: bool,
    progress: &Progress,
    put: impl FnMut(u64, u64, Container<'_>) -> Result<()> + Send,
) -> Result<()> {
    let threads = plan.threads();
    let windows = if threads == 1 { 1 } else { plan.bytes() / WINDOW_BYTES };
    let windows = plan.windows(windows.clamp(1, MAX_WINDOWS), progress)?;
    let (order, put, next) = (InOrder::<()>::default(), Mutex::new(put), AtomicUsize::new(0));
    let work = || {
        let (mut batch, mut pool) = (Batch::default(), Pool::default());
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= windows.len() {
                return Ok(());
            }
            let (number, mut steps) = (index as u64, windows.get(index, progress)?);
            while batch.fill(&mut steps, checked, &mut pool)? {
                order.wait(number)?;
                let mut put = put.lock().unwrap_or_else(PoisonError::into_inner);
                batch.hand_over(&mut *put)?;
            }
            order.complete(number, None, Ok::<(), Error>)?;
        }
    };
    let done = in_threads(threads.min(windows.len()), || {
        let _guard = OnPanic(|| order.abort());
        work().inspect_err(|_: &Error| order.abort())
    });
    done.into_iter().reduce(either).unwrap_or(Ok(()))
}

/// The result of two threads, or the error that says more.
fn either(one: Result<()>, other: Result<()>) -> Result<()> {
    match (one, other) {
        (Err(one), Err(other)) => Err(one.or_worse(other)),
        (one, other) => one.and(other),
    }
}
