//! Everything that asks the operating system.

mod disk;
mod limits;
mod lines;
mod map;
mod memory;
mod threads;

pub(crate) use disk::free_bytes;
pub use limits::Machine;
pub(crate) use limits::peak_resident_bytes;
#[cfg(feature = "cli")]
pub(crate) use limits::raise_file_limit;
pub(crate) use lines::{Lines, atomic_words};
pub(crate) use map::map_file;
pub(crate) use memory::Pages;
pub(crate) use threads::{joined, start};
