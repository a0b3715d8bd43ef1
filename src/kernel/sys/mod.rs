//! Everything that asks the operating system.

mod closed;
mod disk;
mod limits;
mod lines;
#[cfg(feature = "cli")]
mod lost;
mod map;
mod memory;
mod threads;

pub(crate) use closed::Standard;
pub(crate) use disk::free_bytes;
pub use limits::Machine;
pub(crate) use limits::peak_resident_bytes;
pub(crate) use lines::{Lines, atomic_words};
#[cfg(feature = "cli")]
pub(crate) use lost::{watch_maps, watch_memory};
pub(crate) use map::{is_in_memory, map_file, write_mapped};
pub(crate) use memory::Pages;
pub(crate) use threads::{in_threads, joined, start};
