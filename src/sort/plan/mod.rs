//! The plan of a run: pure functions of facts that are known before it starts.
//!
//! In: a sample of the inputs, and what the caller wants. Out: a strategy, and how the
//! memory is divided among all who take part. Read [`budget`] first, then [`layout`].

pub(crate) mod budget;
pub(super) mod explain;
pub(super) mod facts;
pub(super) mod layout;
pub(super) mod strategy;
#[cfg_attr(not(any(fuzzing, feature = "_testing")), expect(unreachable_pub, reason = "for tests"))]
pub(super) mod tuning;
