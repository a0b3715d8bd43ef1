//! The entries of partitions → sorted values → the output.
//!
//! In: the entries of each partition. Out: parts of the output in order, as bytes or as
//! values. Read [`partition`] first, then [`emit`].

pub(super) mod batch;
pub(super) mod counts;
pub(super) mod cut;
pub(super) mod emit;
pub(super) mod output;
pub(super) mod partition;
pub(super) mod radix;
pub(super) mod scan;
pub(super) mod span;
pub(super) mod task;
#[cfg_attr(not(any(fuzzing, feature = "_testing")), expect(unreachable_pub, reason = "for tests"))]
pub(super) mod ways;
pub(super) mod workspace;
