//! The `.bits` file: a set that is queried where it lies. The format is
//! specified in `docs/format.md`.
//!
//! Flow: ascending containers → [`BitsWriter`] → file → [`SetFile`] → view.

mod body;
mod bucket;
mod checksums;
mod file;
mod header;
pub(crate) mod page;
mod portable;
mod summed;
mod writer;

pub(crate) use bucket::{BucketEncoder, in_order};
pub(crate) use checksums::verify_checksums;
pub(crate) use file::map;
pub use file::{SetFile, SetKind};
pub use header::Representation;
pub(crate) use header::{BLOCK_LOG, Section, blocks};
pub(crate) use page::HEADER_BYTES;
#[cfg(feature = "cli")]
pub(crate) use portable::PortableSize;
pub(crate) use portable::{Portable, PortableWriter};
pub(crate) use writer::{BitsWriter, ContainerSink, Spool};
