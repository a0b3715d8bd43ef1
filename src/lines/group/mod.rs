//! Rows of a key and a number → a file of sets, one for each key.
//!
//! Flow: rows → [`numbering`], which makes one number of each → [`Sort`](crate::sort::Sort) →
//! [`stage`], which encodes the set of each key → [`merge`](crate::set::keyed) → file. Rows that
//! do not fit into a number of 64 bits, or whose keys do not fit into the memory, are kept
//! [`aside`] in temporary files, cut by their keys, and are encoded afterwards. Read `builder.rs`
//! first.

mod aside;
mod builder;
mod dictionary;
mod numbering;
mod stage;
#[cfg(test)]
mod tests;

pub use builder::{Group, GroupReport};
