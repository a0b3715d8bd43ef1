//! The plan of a run: pure functions of facts that are known before it starts.
//!
//! In: a sample of the inputs, and the wishes of the caller. Out: a strategy, and the division of
//! the memory. Read [`budget`] first, then [`layout`].

pub(crate) mod budget;
pub(super) mod explain;
pub(super) mod facts;
pub(super) mod layout;
pub(super) mod strategy;
#[cfg_attr(not(feature = "_testing"), expect(unreachable_pub, reason = "for tests"))]
pub(super) mod tuning;
