//! What a run will do, before it does anything: pure functions of what is known.
//!
//! In: a sample of the inputs, and what the caller wants. Out: a strategy, and how the
//! memory is divided among all who take part. Read [`budget`] first, then [`layout`].

pub(crate) mod budget;
pub(super) mod explain;
pub(super) mod facts;
pub(super) mod layout;
pub(super) mod strategy;
