//! Threads work on blocks of lines side by side; their results are taken in the order of the
//! inputs.

use super::block::Block;
use super::blocks::Claims;
use super::lines::LineInputs;
use crate::error::{Error, Result};
use crate::io::in_order::{InOrder, OnPanic};
use crate::kernel::in_threads;
use crate::progress::{Phase, Progress};
use std::sync::{Mutex, PoisonError};

/// How lines are read by threads that share the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineShare {
    pub(crate) threads: usize,
    /// Bytes of lines that a thread takes at a time.
    pub(crate) chunk_bytes: usize,
    /// Memory for unpacking a file.
    pub(crate) unpack_bytes: u64,
    /// Bytes of the longest line; at least a MiB is taken.
    pub(crate) line_bytes: usize,
}

/// Reads lines block by block.
#[derive(Clone, Copy)]
pub(crate) struct ChunkJob<'a> {
    pub(crate) share: LineShare,
    pub(crate) progress: &'a Progress,
}

impl ChunkJob<'_> {
    fn claims<'l>(self, lines: &'l LineInputs) -> Claims<'l>
    where
        Self: 'l,
    {
        self.progress.enter(Phase::Load, lines.known_bytes().unwrap_or(0));
        let rule = lines.rule(self.share.chunk_bytes, self.share.line_bytes);
        Claims::of_lines(lines, rule, self.share.threads, self.progress)
    }

    /// Claims the next lines.
    fn claim(self, claims: &Claims<'_>, block: &mut Block) -> Result<bool> {
        Error::if_cancelled(self.progress)?;
        let more = claims.claim(block)?;
        self.progress.read(block.claimed_bytes);
        Ok(more)
    }

    /// Each thread makes a state with `new` and does `work` on the lines that it claims, in any
    /// order. It hands its state to `take` when these lines have their turn. `work` reads them with
    /// [`Block::next_lines`].
    ///
    /// # Errors
    ///
    /// The first error in the order of the inputs. `take` gets all results before it and none
    /// behind it.
    pub(crate) fn run<S>(
        self,
        lines: &LineInputs,
        new: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, &mut Block) -> Result<()> + Sync,
        take: impl FnMut(&mut S, &Block) -> Result<()> + Send,
    ) -> Result<()> {
        let claims = self.claims(lines);
        let (order, take) = (InOrder::<()>::default(), Mutex::new(take));
        let each = || -> Result<()> {
            let mut state = new()?;
            let mut block = claims.block();
            loop {
                let done = match self.claim(&claims, &mut block) {
                    Ok(false) => return Ok(()),
                    Ok(true) => work(&mut state, &mut block),
                    Err(Error::Interrupted) => return Err(Error::Interrupted),
                    Err(error) => Err(error),
                };
                if order.wait(block.sequence).is_err() {
                    return Ok(()); // the thread that failed says why
                }
                done?;
                take.lock().unwrap_or_else(PoisonError::into_inner)(&mut state, &block)?;
                order.complete(block.sequence, None, Ok::<_, Error>)?;
            }
        };
        let stop = || {
            order.abort();
            claims.stop();
        };
        let thread = || {
            let _guard = OnPanic(stop);
            let done = each();
            if done.is_err() {
                stop();
            }
            done
        };
        in_threads(self.share.threads, thread).into_iter().collect()
    }

    /// Hands the lines to `visit`, block by block, in the calling thread.
    pub(crate) fn each(
        self,
        lines: &LineInputs,
        mut visit: impl FnMut(&Block) -> Result<()>,
    ) -> Result<()> {
        let claims = self.claims(lines);
        let mut block = claims.block();
        while self.claim(&claims, &mut block)? {
            while block.next_lines(usize::MAX)? {
                visit(&block)?;
            }
        }
        Ok(())
    }
}
