//! Many sets in one file, each under a key.
//!
//! Flow: ascending values of one key → `encoder` → bytes → `writer`, by ascending keys → file →
//! [`KeyedSets`] → [`SetFile`](super::SetFile). The format is specified in
//! `docs/format.md`. Read `file.rs` first.

mod body;
mod encoder;
mod file;
mod format;
mod merge;
mod name;
mod overlap;
mod piece;
mod writer;

pub(crate) use body::Body;
pub(crate) use encoder::SetEncoder;
pub(crate) use file::open_named;
pub use file::{Keyed, KeyedSets};
pub(crate) use format::{Head, MAGIC, is_sets_file, no_set_inside};
#[cfg(feature = "cli")]
pub(crate) use merge::union_watched;
pub(crate) use merge::{Heads, KeyRun, Stored, merge, write_sets};
pub use merge::{union, union_with};
pub use name::KeyName;
pub(crate) use name::unquoted;
pub use overlap::{Overlap, OverlapBy, Pair};
pub use piece::{Pieces, pieces};
pub use writer::WrittenSets;
