//! The `.bits` file: a set that is queried where it lies. The format is
//! specified in `docs/format.md`.
//!
//! Flow: ascending containers → [`BitsWriter`] → file → [`SetFile`] → view.

mod body;
mod bucket;
mod header;
mod portable;
mod questions;
mod set_file;
mod sizes;
mod sparse;
mod summed;
mod writer;

pub(crate) use crate::io::write::Spool;
pub(crate) use bucket::{BucketEncoder, in_order};
pub use header::Representation;
pub(crate) use portable::{Portable, PortableWriter};
pub use set_file::{SetFile, SetKind};
#[cfg(feature = "cli")]
pub(crate) use sizes::{Sizes, dense_bytes};
pub(crate) use writer::{BitsWriter, ValueSink, push_array};
