//! Values that are far apart: Elias–Fano in groups of 2^16.
//!
//! A [`Group`] has 2^16 values that are neighbours by rank; the last group has fewer. Its
//! [`Layout`] follows from the number of its values and from the first and the last of them.
//! `docs/format.md` specifies the bytes.
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
