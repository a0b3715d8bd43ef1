//! Values that are far apart: Elias–Fano in groups of 2^16.
//!
//! A [`Group`] has the values of 2^16 neighbouring ranks, the last one fewer. It has a
//! [`Layout`], which follows from their number and their ends. The bytes are specified in
//! `docs/format.md`.
//!
//! Flow: ascending values → [`GroupEncoder`] → bytes → [`Group`] → values. Read `group.rs`
//! first.

mod encoder;
mod group;
mod layout;
mod size;

pub(crate) use encoder::GroupEncoder;
pub(crate) use group::Group;
pub(crate) use layout::{ENTRY_BYTES, Entry, GROUP_LOG, GROUP_VALUES, Layout};
pub(crate) use size::SparseSize;
