//! Calls of the operating system.

mod cache_lines;
mod closed;
mod disk;
mod files;
mod guard;
#[cfg(feature = "cli")]
mod ignored;
mod limits;
#[cfg(feature = "cli")]
mod lost;
mod map;
mod memory;
mod named;
mod temporary;

pub(crate) use cache_lines::{CacheLines, atomic_words};
pub(crate) use closed::Standard;
pub(crate) use disk::{free_bytes, give_back};
#[cfg(feature = "cli")]
pub(crate) use files::begin_program;
pub(crate) use files::{Nameless, duplicate};
pub use guard::guard_mapped_files;
pub(crate) use guard::{LOST, any_was_lost, maps_are_guarded};
#[cfg(feature = "cli")]
pub(crate) use ignored::is_ignored;
pub use limits::Machine;
pub(crate) use limits::peak_resident_bytes;

#[cfg(feature = "cli")]
pub(crate) use lost::{watch_maps, watch_memory};
pub(crate) use map::{Map, map_copy, map_file};
#[cfg(feature = "cli")]
pub(crate) use memory::give_back_large_blocks;
pub(crate) use memory::{Pages, advise_huge_pages};
pub(crate) use named::NamedFile;
#[cfg(feature = "cli")]
pub(crate) use named::{remove_names, remove_names_on};
pub(crate) use temporary::TemporaryFile;
