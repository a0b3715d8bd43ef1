//! Where bytes go: files that appear whole or not at all, and streams.

mod access;
mod atomic;
mod deferred;
mod folder;
mod lock;
mod sequence;
mod summed;
mod telling;
mod writer;

pub(crate) use access::Access;
#[cfg(feature = "cli")]
pub(crate) use atomic::Place;
pub(crate) use atomic::{end_of_links, folder_of, is_same_file, is_standard_input};
pub(crate) use deferred::{Deferred, Spooled};
pub(crate) use folder::publish_folder;
pub(crate) use lock::lock;
pub(crate) use sequence::{Buffer, Carried, Part, Relay, Sequence, Sink};
pub(crate) use summed::{Summed, append_checksums, checksums_of};
pub(crate) use telling::Telling;
pub(crate) use writer::{Encoding, FileLabel, Spool, Whole, Writer, nameless_in, temporary_folder};
