//! The `.bits` file: a set that is queried where it lies. The format is
//! specified in `docs/format.md`.
//!
//! Flow: ascending containers → [`BitsWriter`] → file → [`SetFile`] → view.

mod bucket;
mod file;
mod header;
mod writer;

pub use file::{SetFile, SetKind};
pub use header::Representation;
pub(crate) use writer::{BitsWriter, ContainerSink, Portable, PortableWriter, Spool};
