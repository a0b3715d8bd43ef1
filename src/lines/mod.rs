//! Lines of text as keys: which of them a set or a filter holds, which occur twice or in two
//! files, and an index that finds the lines of a key in a large file.
//!
//! In: blocks of lines from [`io::read`](crate::io), sets and filters. Out: lines, counts,
//! index files. Read `keys.rs` first: it makes keys of lines.

#[cfg(feature = "cli")]
pub(crate) mod common_lines;
#[cfg(feature = "cli")]
pub(crate) mod distinct;
#[cfg(feature = "cli")]
mod exact;
#[cfg(feature = "cli")]
pub(crate) mod filter;
#[cfg(feature = "cli")]
pub(crate) mod funnel;
pub mod index;
#[cfg(feature = "cli")]
pub(crate) mod keys;
#[cfg(feature = "cli")]
mod records;
#[cfg(feature = "cli")]
pub(crate) mod spool;
