//! Where bytes come from and where they go: files, streams, tables, compressed or not.
//!
//! In: paths, pipes, readers. Out: blocks of bytes for threads ([`read`]), and files that
//! appear whole or not at all ([`write`]). Read [`read`] first.

pub(crate) mod caught;
pub(crate) mod compression;
pub(crate) mod in_order;
pub(crate) mod page;
pub(crate) mod read;
pub(crate) mod roaring;
pub(crate) mod table;
pub(crate) mod write;
