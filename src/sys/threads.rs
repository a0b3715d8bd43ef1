//! Threads that work on one job.

use std::thread::ScopedJoinHandle;

/// What a thread gave; a panic goes on in this one.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
