//! The output of a run in numbered parts: bytes at their places, or values in turn.

use super::batch::{Batch, Typed};
use crate::error::Result;
use crate::io::write::{self, Buffer, Relay, Sequence, Sink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Where a run puts its output.
pub(in crate::sort) enum Target<'a> {
    /// A file or stream, and its name.
    Bytes(Sink<'a>, PathBuf),
    /// A function, and the name of the file that it writes, or `-`.
    Values(Typed, TakeBatch<'a>, PathBuf),
}

/// Takes batches in order.
pub(in crate::sort) type TakeBatch<'a> = &'a mut (dyn FnMut(&Batch) -> Result<()> + Send);

impl Target<'_> {
    /// The kind of values that it takes; none if it takes bytes.
    pub(in crate::sort) fn typed(&self) -> Option<Typed> {
        match self {
            Self::Bytes(..) => None,
            Self::Values(typed, ..) => Some(*typed),
        }
    }

    /// The name of the file that the run writes, or `-`.
    pub(in crate::sort) fn name(&self) -> &Path {
        match self {
            Self::Bytes(_, name) | Self::Values(_, _, name) => name,
        }
    }
}

/// An output in numbered parts.
pub(in crate::sort) enum Output<'a> {
    Bytes(Sequence<'a>),
    /// The relay, and the number of parts.
    Values(Relay<'a, Batch>, AtomicUsize),
}

/// One part, while it is written.
pub(in crate::sort) enum Part<'s, 'a> {
    Bytes(write::Part<'s, 'a>),
    Values(&'s Relay<'a, Batch>, usize),
}

impl<'a> Output<'a> {
    /// An output without parts. Threads may use up to `spare` buffers beside their own.
    pub(in crate::sort) fn new(target: Target<'a>, spare: usize) -> Self {
        match target {
            Target::Bytes(sink, name) => Self::Bytes(Sequence::new(sink, name, spare)),
            Target::Values(_, take, _) => {
                Self::Values(Relay::new(spare, take), AtomicUsize::new(0))
            }
        }
    }

    /// Adds `parts` parts at the end; gives the number of the first one.
    pub(in crate::sort) fn extend(&self, parts: usize) -> usize {
        match self {
            Self::Bytes(sequence) => sequence.extend(parts),
            Self::Values(_, count) => count.fetch_add(parts, Ordering::Relaxed),
        }
    }

    /// Says how many bytes part `number` will have.
    pub(in crate::sort) fn announce(&self, number: usize, bytes: u64) {
        if let Self::Bytes(sequence) = self {
            sequence.announce(number, bytes);
        }
    }

    /// Begins part `number`. Each part must be finished once, by the thread that began
    /// it; parts must be begun in order.
    pub(in crate::sort) fn part(&self, number: usize) -> Part<'_, 'a> {
        match self {
            Self::Bytes(sequence) => Part::Bytes(sequence.part(number)),
            Self::Values(relay, _) => Part::Values(relay, number),
        }
    }

    /// Wakes all threads that wait; their writes fail.
    pub(in crate::sort) fn abort(&self) {
        match self {
            Self::Bytes(sequence) => sequence.abort(),
            Self::Values(relay, _) => relay.abort(),
        }
    }

    /// Ends the output; gives the bytes of all parts.
    pub(in crate::sort) fn finish(&self) -> Result<u64> {
        match self {
            Self::Bytes(sequence) => sequence.finish(),
            Self::Values(..) => Ok(0),
        }
    }
}

impl Part<'_, '_> {
    /// Announces how many bytes this part will have, unless it is announced already or the size
    /// does not matter.
    pub(in crate::sort) fn announce(&mut self, bytes: impl FnOnce(u64) -> u64) {
        if let Self::Bytes(part) = self
            && !part.is_announced()
        {
            part.announce(bytes(part.written()));
        }
    }

    /// Appends the content of `buffer` or `batch`; both are empty afterwards.
    pub(in crate::sort) fn write(&mut self, buffer: &mut Buffer, batch: &mut Batch) -> Result<()> {
        match self {
            Self::Bytes(part) => part.write(buffer),
            Self::Values(relay, number) => relay.pass(*number, batch),
        }
    }

    /// Ends this part.
    pub(in crate::sort) fn finish(self) -> Result<()> {
        match self {
            Self::Bytes(part) => part.finish(),
            Self::Values(relay, number) => relay.finish(number),
        }
    }
}
