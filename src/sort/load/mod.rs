//! Puts values in any order into partitions, in memory or in temporary files.
//!
//! In: the values of blocks, from each thread. Out: the entries of each partition. Read [`scatter`]
//! first.

pub(super) mod entries;
pub(super) mod scatter;
pub(super) mod spill;
