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
mod settle;
mod source;
mod span;
mod spill;
mod strategy;
mod survey;
mod task;
mod ways;
mod workspace;

pub(crate) use blocks::{BLOCK_HEAD, IS_BITMAP};
pub use check::Disorder;
pub use explain::Explanation;
pub use iterate::SortedValues;
pub use options::Sort;
pub use plan::Tuning;
pub use rejects::InvalidLines;
pub use report::Report;
#[cfg(feature = "cli")]
pub(crate) use settle::{MAX_THREADS, check_threads};
pub use strategy::Strategy;
pub use ways::{Way, Ways};
