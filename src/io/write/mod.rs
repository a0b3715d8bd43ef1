//! Where bytes go: files that appear whole or not at all, and streams.

mod atomic;
mod direct;
mod lock;
mod relay;
mod sequence;
mod turns;

pub(crate) use atomic::{AtomicFile, Destination, is_same_file, open_destination};
pub(crate) use lock::lock;
pub(crate) use sequence::{DIRECT_WRITERS, Part, Sequence, Sink};
