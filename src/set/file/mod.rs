//! The `.bits` file: a set that is queried where it lies. The format is
//! specified in `docs/format.md`.
//!
//! In: ascending containers. Out: a file and its view. Flow: containers → [`BitsWriter`] → file →
//! [`SetFile`] → view.

mod body;
mod bucket;
mod extent;
mod header;
mod portable;
mod questions;
mod runs;
mod set_file;
mod sizes;
mod sparse;
mod writer;

pub(crate) use crate::io::write::Spool;
pub(crate) use bucket::{BucketEncoder, in_order, is_out_of_order};
pub(crate) use extent::Extent;
pub use header::Representation;
pub(crate) use portable::{Portable, PortableWriter};
pub use questions::FileValues;
#[cfg(feature = "cli")]
pub(crate) use set_file::NO_SET;
pub(crate) use set_file::{Member, Sections};
pub use set_file::{SetFile, SetKind};
pub(crate) use sizes::Sizes;
#[cfg(feature = "cli")]
pub(crate) use sizes::dense_bytes;
pub(crate) use writer::{BitsWriter, Finished, ValueSink, in_containers, push_array};
