//! Sorting natural numbers within a memory limit.
//!
//! Flow: inputs → `plan` → `load` → `finish` → output. [`Sort`] is the builder that sets it
//! going; `engine` does one pass of it, `run` all of them. Read `run` first.

mod check;
mod engine;
mod entry;
mod finish;
mod iterate;
mod load;
mod merge;
mod multipass;
mod open;
mod options;
pub(crate) mod plan;
mod ranges;
mod rejects;
mod report;
mod run;
mod set;
mod settle;

pub use check::Disorder;
pub use finish::ways::{Way, Ways};
pub use iterate::SortedValues;
pub use options::Sort;
pub use plan::explain::Explanation;
#[doc(hidden)]
pub use plan::layout::Tuning;
pub use plan::strategy::Strategy;
pub use rejects::InvalidLines;
pub use report::Report;
#[cfg(feature = "cli")]
pub(crate) use settle::check_threads;
