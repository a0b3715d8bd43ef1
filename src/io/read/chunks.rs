//! Threads look at chunks of lines side by side; what comes of each chunk is
//! taken in the order of the inputs.

use super::line_chunk::LineChunk;
use super::lines::LineReader;
use crate::error::{Error, Result};
use crate::kernel::in_threads;
use crate::progress::{Phase, Progress};
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};

/// How chunks are looked at.
#[derive(Clone, Copy)]
pub(crate) struct ChunkJob<'a> {
    pub(crate) threads: usize,
    /// Bytes of lines that a thread takes at a time.
    pub(crate) chunk_bytes: usize,
    /// Longest line; at least a MiB is taken.
    pub(crate) line_bytes: usize,
    pub(crate) progress: &'a Progress,
}

/// Whose turn it is.
struct Turn<F> {
    take: F,
    sequence: u64,
    failed: bool,
}

impl ChunkJob<'_> {
    /// Each thread makes a state with `new`, does `work` on the chunks that it
    /// gets, in any order, and hands each to `take` when it is its turn.
    ///
    /// # Errors
    ///
    /// The first in the order of the inputs; what comes before it is taken, and
    /// nothing behind it.
    pub(crate) fn run<S>(
        self,
        reader: LineReader,
        new: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, &mut LineChunk) -> Result<()> + Sync,
        take: impl FnMut(&mut S, &LineChunk) -> Result<()> + Send,
    ) -> Result<()> {
        self.progress.enter(Phase::Load, reader.known_bytes());
        let stop = reader.stop();
        let reader = Mutex::new(reader.up_to(self.line_bytes));
        let turn = Mutex::new(Turn { take, sequence: 0, failed: false });
        let passed = Condvar::new();
        let each = || -> Result<()> {
            let mut state = new()?;
            let mut chunk = LineChunk::new(self.chunk_bytes)?;
            loop {
                if self.progress.is_cancelled() {
                    return Err(Error::Interrupted);
                }
                let mut lines = reader.lock().unwrap_or_else(PoisonError::into_inner);
                let (sequence, more) = (lines.chunks(), lines.next(&mut chunk));
                if more.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                drop(lines);
                let done = match more {
                    Ok(false) => return Ok(()),
                    Ok(true) => {
                        self.progress.read(chunk.claimed_bytes);
                        work(&mut state, &mut chunk)
                    }
                    Err(error) => Err(error),
                };
                let mut turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
                while turn.sequence != sequence && !turn.failed {
                    turn = passed.wait(turn).unwrap_or_else(PoisonError::into_inner);
                }
                if turn.failed {
                    return Ok(());
                }
                done?;
                (turn.take)(&mut state, &chunk)?;
                turn.sequence += 1;
                passed.notify_all();
            }
        };
        let thread = || {
            let done = each();
            if done.is_err() {
                turn.lock().unwrap_or_else(PoisonError::into_inner).failed = true;
                passed.notify_all();
                stop.store(true, Ordering::Relaxed);
            }
            done
        };
        in_threads(self.threads, thread).into_iter().collect()
    }

    /// Hands the chunks to `visit`, one after the other, in this thread.
    pub(crate) fn each(
        self,
        reader: LineReader,
        mut visit: impl FnMut(&LineChunk) -> Result<()>,
    ) -> Result<()> {
        let mut chunk = LineChunk::new(self.chunk_bytes)?;
        self.progress.enter(Phase::Load, reader.known_bytes());
        let mut reader = reader.up_to(self.line_bytes);
        while reader.next(&mut chunk)? {
            if self.progress.is_cancelled() {
                return Err(Error::Interrupted);
            }
            self.progress.read(chunk.lines().len() as u64);
            visit(&chunk)?;
        }
        Ok(())
    }
}
