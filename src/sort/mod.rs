//! Sorting natural numbers within a memory limit.
//!
//! In: inputs and options, in the builder [`Sort`]. Flow: `plan` → `load` → `finish` → output;
//! `engine` does one pass, `run` does all of them. Out: a file, a stream, a table, a set or an
//! iterator, and a [`Report`]. Read `run` first.

// Circle: `check`, `iterate`, `merge`, `options`, `ranges`, `rejects`, `run`: the builder `Sort` is
// in `options`. Its last methods start the work of each other file, and these read its fields.

mod array;
mod check;
mod context;
mod engine;
mod finish;
mod iterate;
mod load;
mod merge;
mod multipass;
mod open;
mod options;
mod partitioning;
pub(crate) mod plan;
mod ranges;
mod rejects;
mod report;
mod run;
mod set;
mod settle;
mod values;

pub use array::{ArraySort, ReadNumbers};
pub use check::Disorder;
#[cfg(feature = "_testing")]
#[doc(hidden)]
pub use finish::ways::{Way, Ways};
pub use iterate::SortedValues;
#[cfg(feature = "cli")]
pub(crate) use open::Found;
pub use options::Sort;
pub use plan::explain::Explanation;
pub use plan::strategy::{ParseStrategyError, Strategy};
#[cfg(feature = "_testing")]
#[doc(hidden)]
pub use plan::tuning::Tuning;
#[cfg(feature = "cli")]
pub(crate) use ranges::joined;
pub use rejects::InvalidLines;
pub use report::Report;
#[cfg(feature = "cli")]
pub(crate) use settle::check_threads;
