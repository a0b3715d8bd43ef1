//! Vector kernels, each with a scalar twin, and the calls of the operating system.
//!
//! In: slices of bytes, words or values. Out: slices or numbers. Read `level` and `parse/mod.rs`
//! first.
//!
//! # Rules of the house
//! 1. A kernel is a folder: `mod.rs` has its contract and dispatch, `scalar.rs`
//!    (or a `task::Task`) the twin, one file an instruction set. One that needs no choice is a file.
//! 2. A kernel is a safe `#[target_feature]` function on slices; inside it only
//!    loads and stores are unsafe, outside it only its dispatcher.
//!    A loop that the compiler vectorizes is a `task::Task`.
//! 3. Dispatch happens once a block, on a [`Level`] that only a check of the CPU can make.
//! 4. The function of an unsafe block checks all that the block relies on, or
//!    a private field guarantees it; it is never left to a caller. In `parse` the ends of lines
//!    are found and used by one loop around the kernels; `cache` has a fence that
//!    its callers must call.

pub(crate) mod arrays;
pub(crate) mod cache;
pub(crate) mod decimal;
pub(crate) mod elias_fano;
mod flags;
mod level;
pub(crate) mod line;
pub(crate) mod low_halves;
pub(crate) mod ones;
pub(crate) mod order;
pub(crate) mod parse;
pub(crate) mod places;
pub(crate) mod popcount;
pub(crate) mod quads;
pub(crate) mod quicksort;
pub(crate) mod retain;
pub(crate) mod runs;
pub(crate) mod stages;
pub(crate) mod steps;
#[deny(unsafe_code, reason = "opened again function by function")]
pub(crate) mod sys;
mod task;
mod threads;
pub(crate) mod words;

pub(crate) use cache::prefetch;
pub(crate) use flags::packed;
pub(crate) use level::Level;
#[cfg(feature = "cli")]
pub(crate) use threads::use_at_most;
pub(crate) use threads::{in_threads, on_each, processors, share_threads, sort, within_threads};

/// `number` as a length or an index; [`usize::MAX`] if it is negative, or larger: more than any memory
/// has.
#[inline]
pub(crate) fn in_usize(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or(usize::MAX)
}
