//! Groups rows of a key and a number into a `.sets` file with a set for each key.
//!
//! Flow: rows → [`numbering`], which makes one number of each → [`Sort`](crate::sort::Sort) →
//! [`bodies`], which encodes the set of each key → [`merge`](crate::set::keyed) → file. Some rows do
//! not fit in a number of 64 bits, or their keys do not fit in memory. They are kept [`aside`] in
//! temporary files, cut by their keys, and are encoded afterwards. Read `builder.rs` first.

mod aside;
mod bodies;
mod builder;
mod dictionary;
mod numbering;

#[cfg(test)]
mod tests;

pub use builder::{Group, GroupReport};
