//! Turns the entries of partitions into sorted values, and these into the output.
//!
//! In: the entries of each partition. Out: parts of the output in order, as bytes or as
//! values. Read [`loaded`] first, then [`partition`] and [`emit`].

// Circle: `loaded`, `cut`: `Loaded` has methods in both, a subject in each.

pub(super) mod batch;
pub(super) mod cut;
pub(super) mod emit;
pub(super) mod loaded;
pub(super) mod partition;
pub(super) mod radix;
pub(super) mod span;
mod typed;
#[cfg_attr(not(feature = "_testing"), expect(unreachable_pub, reason = "for tests"))]
pub(super) mod ways;
pub(super) mod workspace;
