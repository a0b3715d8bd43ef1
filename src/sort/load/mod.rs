//! Values in any order → partitions, in memory or in temporary files.
//!
//! In: values of blocks, from each thread. Out: the entries of a partition, wherever they
//! are. Read [`scatter`] first.

pub(super) mod partitioning;
pub(super) mod pool;
pub(super) mod scatter;
pub(super) mod source;
pub(super) mod spill;
