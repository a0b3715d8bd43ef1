//! Threads that work on one job.

use std::io;
use std::thread::{Builder, Scope, ScopedJoinHandle};

/// Starts a thread, which the system may refuse.
pub(crate) fn start<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    job: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    Builder::new().spawn_scoped(scope, job)
}

/// Does a job in this thread and in others, as many as `threads` in all; gives
/// what each gave. Whoever cannot be started leaves its work to the others.
pub(crate) fn in_threads<T: Send>(threads: usize, job: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).filter_map(|_| start(scope, &job).ok()).collect();
        let own = job();
        others.into_iter().map(joined).chain([own]).collect()
    })
}

/// What a thread gave; a panic goes on in this one.
pub(crate) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
