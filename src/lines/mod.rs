//! Lines of text as keys: the lines that a set or a filter has, repeated lines, lines that two
//! files share, and an index that finds the lines of a key in a large file.
//!
//! In: files of lines, and sets and filters. Out: lines, in the order of the files; filters;
//! index files. Read `tools.rs` first: each tool is a method there. `keys.rs` makes keys of
//! lines, and hands chunks of them to threads.

pub(crate) mod common_lines;
mod distinct;
mod exact;
mod filter;
mod group;
pub mod index;
pub(crate) mod keys;
mod records;
mod spool;
mod tools;

#[cfg(feature = "cli")]
pub(crate) use records::HEAD_BYTES as RECORD_HEAD_BYTES;

pub use filter::Answered;
pub use group::{Group, GroupReport};
pub use keys::Funnel;
pub use tools::{Keep, LineTools};
