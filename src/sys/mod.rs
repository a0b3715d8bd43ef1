//! Everything that asks the operating system.

mod closed;
mod disk;
mod files;
mod limits;
mod lines;
#[cfg(feature = "cli")]
mod lost;
mod map;
mod memory;
mod named;
#[cfg(feature = "cli")]
mod temporary;
mod threads;

pub(crate) use closed::Standard;
pub(crate) use disk::free_bytes;
pub(crate) use files::{Nameless, open_direct};
pub use limits::Machine;
pub(crate) use limits::peak_resident_bytes;
#[cfg(feature = "cli")]
pub(crate) use limits::raise_file_limit;
pub(crate) use lines::{Lines, atomic_words};
#[cfg(feature = "cli")]
pub(crate) use lost::{watch_maps, watch_memory};
pub(crate) use map::{is_in_memory, map_file, write_mapped};
pub(crate) use memory::Pages;
pub(crate) use named::NamedFile;
#[cfg(feature = "cli")]
pub(crate) use named::{remove_names, remove_names_on};
#[cfg(feature = "cli")]
pub(crate) use temporary::TemporaryFile;
pub(crate) use threads::{in_threads, joined, start};
