//! Counts work in steps, in builds with debug assertions. Tests check how the number of steps grows
//! with the input; times could not show that.
//!
//! A step is a container that is read, or some words or values that are passed.

#[cfg(debug_assertions)]
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(debug_assertions)]
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Counts steps of this process.
#[inline]
pub(crate) fn count(steps: usize) {
    #[cfg(debug_assertions)]
    STEPS.fetch_add(steps as u64, Ordering::Relaxed);
    let _ = steps; // a release build does not count
}

/// The steps so far, in builds that count them.
#[cfg(feature = "cli")]
pub(crate) fn taken() -> Option<u64> {
    #[cfg(debug_assertions)]
    let taken = Some(STEPS.load(Ordering::Relaxed));
    #[cfg(not(debug_assertions))]
    let taken = None;
    taken
}
