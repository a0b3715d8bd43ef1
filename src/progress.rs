//! The progress of a run, and a flag to cancel it. The working threads and the thread that shows
//! the progress share it.

use crate::kernel::{in_usize, steps};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

/// The present work of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[non_exhaustive]
pub enum Phase {
    /// Sampling the inputs for a plan.
    Survey,
    /// Reading, parsing and partitioning.
    Load,
    /// Finishing partitions, formatting and writing.
    Emit,
    /// Reading sets, an index or a filter.
    Walk,
}

impl Phase {
    /// The name of the variant in lower case, as the Python package has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Survey => "survey",
            Self::Load => "load",
            Self::Emit => "emit",
            Self::Walk => "walk",
        }
    }
}

/// Counters of a run, cheap enough to be updated once a block.
///
/// # Examples
///
/// ```
/// # use bitsort::Progress;
/// let progress = Progress::default();
/// progress.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
/// assert!(progress.is_cancelled());
/// ```
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    read: AtomicU64,
    cancelled: Arc<AtomicBool>,
}

impl Progress {
    /// Set to `true`, it ends the run with
    /// [`Error::Interrupted`](crate::Error::Interrupted) at the next block.
    #[must_use]
    pub fn cancel_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.cancelled)
    }

    /// Whether somebody wants the run to end.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The phase, the units done in it, and all of its units (0 if unknown):
    /// bytes of input while loading, values while emitting. The units of walking differ: only
    /// their share of all has a meaning.
    #[must_use]
    pub fn snapshot(&self) -> (Phase, u64, u64) {
        let phase = match self.phase.load(Ordering::Relaxed) {
            0 => Phase::Survey,
            1 => Phase::Load,
            2 => Phase::Emit,
            _ => Phase::Walk,
        };
        (phase, self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }

    /// Bytes of input read so far, in all phases.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self, bytes: u64) {
        steps::count(in_usize(bytes / 8));
        self.read.fetch_add(bytes, Ordering::Relaxed);
        self.advance(bytes);
    }

    pub(crate) fn enter(&self, phase: Phase, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }
}
