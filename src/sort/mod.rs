//! Sorting natural numbers within a memory limit.
//!
//! Flow: inputs → `survey` → `plan` → `engine` (or `multipass`) → output. [`Sort`] is the builder that sets it going.

mod blocks;
mod check;
mod counts;
mod cut;
mod emit;
mod engine;
mod entry;
mod explain;
mod finish;
mod iterate;
mod merge;
mod multipass;
mod open;
mod options;
mod partitioning;
mod plan;
mod pool;
mod radix;
mod rejects;
mod report;
mod run;
mod scan;
mod scatter;
mod set;
mod settle;
mod source;
mod span;
mod spill;
mod strategy;
mod survey;
mod task;
mod ways;
mod workspace;

pub use check::Disorder;
pub use explain::Explanation;
pub use iterate::SortedValues;
pub use open::open_any;
#[cfg(feature = "cli")]
pub(crate) use open::open_set;
pub use options::Sort;
pub use plan::Tuning;
pub use rejects::InvalidLines;
pub use report::Report;
pub use set::build;
#[cfg(feature = "cli")]
pub(crate) use set::build_stream;
#[cfg(feature = "cli")]
pub(crate) use settle::{MAX_THREADS, check_threads};
pub use strategy::Strategy;
pub use ways::{Way, Ways};
