//! A folder as a set: parts, which are `.bits` files with ascending windows, and a manifest of
//! them, which is written last. `docs/format.md` specifies it.
//!
//! Flow: sets → [`Part`]s in a [`FolderWriter`] → manifest → rename → folder → [`SetFile`], which
//! asks the part that has the answer. Read `manifest.rs` first.
//!
//! [`SetFile`]: super::SetFile

mod manifest;
mod open;
mod piece;
#[cfg(test)]
mod tests;
mod writer;

pub(super) use manifest::MANIFEST;
pub use manifest::Part;
pub(super) use open::{Folder, open_parts};
pub use piece::{hashed_pieces, pieces};
pub(super) use writer::folder_of_part;
pub(crate) use writer::write_folder_in;
pub use writer::{FolderWriter, write_folder, write_folder_with};
