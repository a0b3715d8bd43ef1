//! Lines of text as keys: which of them a set or a filter holds, which occur twice or in two
//! files, and an index that finds the lines of a key in a large file.
//!
//! In: blocks of lines from [`io::read`](crate::io), sets and filters. Out: lines, counts,
//! index files. Read `keys.rs` first: it makes keys of lines.

pub(crate) mod common_lines;
pub(crate) mod distinct;
mod exact;
pub(crate) mod filter;
pub(crate) mod funnel;
pub mod index;
pub(crate) mod keys;
mod records;
pub(crate) mod spool;
