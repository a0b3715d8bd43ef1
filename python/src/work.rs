//! Runs long work without the interpreter's lock; Ctrl-C ends it.

use crate::error::raise;
use bitsort::Progress;
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use std::cell::Cell;
use std::panic::resume_unwind;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often signals are checked and progress is reported.
const TICK: Duration = Duration::from_millis(50);

/// Work on fewer values ends before anybody could press Ctrl-C.
pub(crate) const FEW: u64 = 1 << 16;

/// Runs `job` in another thread. Meanwhile this thread checks for signals and calls `callback` with
/// the progress. An exception of a signal or of `callback` cancels `progress`; the job must then
/// end soon, and the exception is raised.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: &Arc<Progress>,
    callback: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    let (mut job, mut result) = (Some(job), None);
    watch(py, progress, callback, &mut || {
        let found = job.take().map(|job| job());
        let is_done = matches!(found, Some(Ok(_)));
        result = found;
        is_done
    })?;
    result.unwrap_or_else(|| Err(PyRuntimeError::new_err("the work did not begin")))
}

/// As [`watched`], once for all kinds of jobs, because a wheel is small. `job` says whether it did
/// its work.
fn watch(
    py: Python<'_>,
    progress: &Arc<Progress>,
    callback: Option<&Bound<'_, PyAny>>,
    job: &mut (dyn FnMut() -> bool + Send),
) -> PyResult<()> {
    // A callback that always fails ends the work before it begins.
    callback.map_or(Ok(()), |callback| tell(callback, progress))?;
    let (sender, done) = sync_channel::<()>(1);
    let done = Mutex::new(done); // only one thread at a time may use the receiver
    thread::scope(|scope| {
        let run = move || {
            let is_done = job();
            drop(sender); // wakes the watcher
            is_done
        };
        let spawned = thread::Builder::new().name("bitsort".into()).spawn_scoped(scope, run);
        let thread = spawned.map_err(|error| PyOSError::new_err(error.to_string()))?;
        let stopped = loop {
            let waited = py
                .detach(|| done.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(TICK));
            if waited != Err(RecvTimeoutError::Timeout) {
                break None;
            }
            let told = callback.map_or(Ok(()), |callback| tell(callback, progress));
            if let Err(error) = py.check_signals().and(told) {
                progress.cancel_flag().store(true, Ordering::Relaxed);
                break Some(error);
            }
        };
        let is_done = py.detach(|| thread.join()).unwrap_or_else(|panic| resume_unwind(panic));
        match (stopped, callback) {
            (Some(error), _) => Err(error),
            (None, Some(callback)) if is_done => tell(callback, progress),
            (None, _) => Ok(()),
        }
    })
}

/// Runs `job`, which works on so many values. If there are many, Ctrl-C cancels its progress, which
/// the job must check. A few are done before anybody could press Ctrl-C.
pub(crate) fn in_pieces<T: Send>(
    py: Python<'_>,
    values: u64,
    job: impl FnOnce(&Arc<Progress>) -> PyResult<T> + Send,
) -> PyResult<T> {
    let progress = Arc::new(Progress::default());
    if values <= FEW {
        return py.detach(|| job(&progress));
    }
    watched(py, &progress, None, || job(&progress))
}

/// The same for a job of the library.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    job: impl FnOnce(Arc<Progress>) -> bitsort::Result<T> + Send,
) -> PyResult<T> {
    let progress = Arc::new(Progress::default());
    let theirs = Arc::clone(&progress);
    watched(py, &progress, None, move || job(theirs).map_err(raise))
}

/// For loops that hold the interpreter's lock: lets the thread run that watches for signals, or looks
/// for them itself. An error if the work was cancelled.
pub(crate) fn check(py: Python<'_>, progress: &Progress) -> PyResult<()> {
    /// A thread that waits gets the lock if it has waited for 5 ms (`sys.getswitchinterval`) when the
    /// lock is free, and begins to count again each time that this one takes it back.
    const TURN: Duration = Duration::from_millis(10);
    thread_local!(static LET_GO: Cell<Option<Instant>> = const { Cell::new(None) });
    if LET_GO.get().is_none_or(|last| last.elapsed() >= TURN) {
        py.detach(|| ());
        LET_GO.set(Some(Instant::now()));
    }
    py.check_signals()?;
    interrupted(progress)
}

/// Ends loops of this package after a cancellation.
pub(crate) fn interrupted(progress: &Progress) -> PyResult<()> {
    if progress.is_cancelled() { Err(raise(bitsort::Error::Interrupted)) } else { Ok(()) }
}

/// Does `job` on each of `items` in so many threads, each with a `scratch` of its own; the error
/// of the first item that has one.
///
/// The threads end with the call: a process that forks has none of a pool.
pub(crate) fn in_threads<I: Send, S>(
    threads: usize,
    items: Vec<I>,
    scratch: impl Fn() -> S + Sync,
    job: impl Fn(&mut S, I) -> PyResult<()> + Sync,
) -> PyResult<()> {
    let items = Mutex::new(items.into_iter().enumerate());
    let failed: Mutex<Option<(usize, PyErr)>> = Mutex::new(None);
    let work = || {
        let mut scratch = scratch();
        loop {
            if failed.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
                return;
            }
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, item)) = next else { return };
            if let Err(error) = job(&mut scratch, item) {
                // Items are taken in order, so none before the first that fails is left out.
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(first, _)| number < *first) {
                    *failed = Some((number, error));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Fewer threads do the work, too.
            let _ = thread::Builder::new().name("bitsort".into()).spawn_scoped(scope, work);
        }
        work();
    });
    failed
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), |(_, error)| Err(error))
}

fn tell(callback: &Bound<'_, PyAny>, progress: &Progress) -> PyResult<()> {
    let (phase, done, total) = progress.snapshot();
    callback.call1((phase.name(), done, total)).map(drop)
}
