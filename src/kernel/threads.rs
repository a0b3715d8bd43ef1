//! Threads that work on one job, in pools of rayon.

use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::available_parallelism;

/// Calls `job` with each of `items`, each in a thread of its own. Gives the results in the order of
/// the items.
///
/// If the system refuses threads, fewer threads take one item after the other. So an item may wait
/// for earlier items, and never for a later one. If a job claims its work bit by bit, its items are
/// only threads: see [`in_threads`].
pub(crate) fn on_each<I: Send, T: Send>(items: Vec<I>, job: impl Fn(I) -> T + Sync) -> Vec<T> {
    let pool = pool(items.len());
    let (mut left, mut done) = (Some(items), Vec::new());
    if let Some(pool) = pool {
        wait_for(&mut || {
            let items = left.take().unwrap_or_default();
            done = pool.install(|| items.into_par_iter().with_max_len(1).map(&job).collect());
        });
    }
    match left {
        Some(items) => items.into_iter().map(job).collect(),
        None => done,
    }
}

/// Runs `job`, which enters a pool, and does nothing else until it ends. If this needs another
/// thread and the system refuses it, `job` does not run.
///
/// A thread of a pool that waits for another pool runs other items of its own pool meanwhile. Such
/// an item may need a lock that the thread holds, and would then wait forever. So another thread
/// waits instead.
fn wait_for(job: &mut (dyn FnMut() + Send)) {
    if rayon::current_thread_index().is_none() {
        return job();
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, job);
        if let Ok(Err(panic)) = thread.map(std::thread::ScopedJoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Most threads of work for which its caller names no number; more would wait for memory.
static MOST: AtomicUsize = AtomicUsize::new(16);

/// The number of threads for work for which its caller names none.
pub(crate) fn processors() -> usize {
    available_parallelism().map_or(1, NonZero::get).min(MOST.load(Ordering::Relaxed))
}

/// Limits [`processors`] in this process to the number of threads that its user asks for.
#[cfg(feature = "cli")]
pub(crate) fn use_at_most(threads: usize) {
    MOST.fetch_min(threads.max(1), Ordering::Relaxed);
}

/// Calls `job` in so many threads at once; gives all results.
pub(crate) fn in_threads<T: Send>(threads: usize, job: impl Fn() -> T + Sync) -> Vec<T> {
    on_each(vec![(); threads.max(1)], |()| job())
}

/// Calls `job` with each of `items` in one pool of so many threads, in which `rayon::join` and similar
/// calls of all jobs share work. `job` gets whether there is more than one thread.
pub(crate) fn share_threads<I: Send>(threads: usize, items: Vec<I>, job: impl Fn(I, bool) + Sync) {
    within_threads(threads, |shared| {
        if shared {
            items.into_par_iter().with_max_len(1).for_each(|item| job(item, true));
        } else {
            for item in items {
                job(item, false);
            }
        }
    });
}

/// Calls `job` in a pool of so many threads, in which `rayon::join` and similar calls share work.
/// `job` gets whether there is more than one thread.
pub(crate) fn within_threads<T: Send>(threads: usize, job: impl FnOnce(bool) -> T + Send) -> T {
    match pool(threads) {
        Some(pool) => pool.install(|| job(true)),
        None => job(false),
    }
}

/// Sorts values in up to so many threads.
pub(crate) fn sort<T: Ord + Send>(threads: usize, values: &mut [T]) {
    /// Fewer values are sorted before threads have started.
    const FEW: usize = 1 << 14;
    let threads = if values.len() < FEW { 1 } else { threads };
    within_threads(threads, |shared| {
        if shared { values.par_sort_unstable() } else { values.sort_unstable() }
    });
}

/// A pool of so many threads; if the system refuses them, of half as many, and so on. `None` for
/// one thread, which is the caller's.
fn pool(threads: usize) -> Option<ThreadPool> {
    let halves = std::iter::successors(Some(threads), |threads| Some(threads / 2));
    halves
        .take_while(|threads| *threads > 1)
        .find_map(|threads| ThreadPoolBuilder::new().num_threads(threads).build().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    #[test]
    fn all_threads_work_at_once() {
        for threads in [1, 2, 7] {
            let barrier = Barrier::new(threads);
            let done = in_threads(threads, || barrier.wait().is_leader());
            assert_eq!(done.len(), threads);
            assert_eq!(done.iter().filter(|leads| **leads).count(), 1);
        }
    }

    #[test]
    fn results_stand_in_the_order_of_the_items() {
        let begun = AtomicUsize::new(0);
        let squares = on_each((0..100_u64).collect(), |item| {
            begun.fetch_add(1, Ordering::Relaxed);
            item * item
        });
        assert_eq!(squares, (0..100).map(|item| item * item).collect::<Vec<_>>());
        assert_eq!(begun.into_inner(), 100);
        assert!(on_each(Vec::<u8>::new(), |item| item).is_empty());
    }

    /// A thread that takes a second item within the first one waits for itself where both
    /// need a lock. `bitset filter` hung so.
    #[test]
    fn a_job_within_a_job_begins_no_further_item_in_the_same_thread() {
        thread_local!(static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
        for _ in 0..20 {
            let done = in_threads(8, || {
                assert!(!INSIDE.replace(true), "a second item within the first");
                let done = in_threads(2, || 1).len();
                INSIDE.set(false);
                done
            });
            assert_eq!(done, [2; 8]);
        }
    }

    #[test]
    fn values_are_sorted_in_any_number_of_threads() {
        for threads in [1, 3] {
            let mut values: Vec<u64> =
                (0..40_000).map(|n: u64| n.wrapping_mul(0x9E37_79B9)).collect();
            let mut expected = values.clone();
            expected.sort_unstable();
            sort(threads, &mut values);
            assert_eq!(values, expected);
        }
    }

    #[test]
    fn a_panic_in_a_thread_goes_on_in_the_caller() {
        let caught = std::panic::catch_unwind(|| in_threads(3, || panic!("on purpose")));
        assert!(caught.is_err());
    }
}
