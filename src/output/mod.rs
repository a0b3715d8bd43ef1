//! Where bytes go: files that appear whole or not at all, and streams.

mod atomic;
mod direct;
mod sequence;
mod turns;

pub(crate) use atomic::{AtomicFile, Destination, open_destination};
pub(crate) use sequence::{Part, Sequence, Sink};
