//! Numbered parts that threads make in any order, and that complete in order.
//!
//! Threads work on parts side by side. The first part that is not complete has the turn. A thread
//! with a later part waits for its turn, or leaves its items here. The thread with the turn takes
//! these items when it comes to their part.

use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The order of parts, and the items of later parts that wait.
#[derive(Debug)]
pub(crate) struct InOrder<T> {
    state: Mutex<State<T>>,
    passed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    /// The part that has the turn.
    current: u64,
    left: BTreeMap<u64, Left<T>>,
    is_aborted: bool,
}

/// Items of a part that wait for its turn.
#[derive(Debug)]
struct Left<T> {
    items: Vec<T>,
    is_complete: bool,
}

impl<T> Default for Left<T> {
    fn default() -> Self {
        Self { items: Vec::new(), is_complete: false }
    }
}

impl<T> Default for InOrder<T> {
    fn default() -> Self {
        let state = State { current: 0, left: BTreeMap::new(), is_aborted: false };
        Self { state: Mutex::new(state), passed: Condvar::new() }
    }
}

impl<T> InOrder<T> {
    /// Leaves an item of part `number`, which `make` makes. False if the part has the turn, or
    /// `make` gives no item: then the caller waits for the turn.
    pub(crate) fn leave(&self, number: u64, make: impl FnOnce() -> Option<T>) -> bool {
        let mut state = self.lock();
        if state.current == number {
            return false;
        }
        let Some(item) = make() else { return false };
        state.left.entry(number).or_default().items.push(item);
        true
    }

    /// Waits until all parts before `number` are complete.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] after an [`abort`](Self::abort).
    pub(crate) fn wait(&self, number: u64) -> Result<()> {
        let waits = |state: &mut State<T>| !state.is_aborted && state.current < number;
        let state = self.passed.wait_while(self.lock(), waits);
        let is_aborted = state.unwrap_or_else(PoisonError::into_inner).is_aborted;
        if is_aborted { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Takes the items that wait of part `number`.
    pub(crate) fn take(&self, number: u64) -> Vec<T> {
        let left = self.lock().left.get_mut(&number).map(|left| std::mem::take(&mut left.items));
        left.unwrap_or_default()
    }

    /// Completes part `number` with its last item. If it has the turn, its items go to `take`, and
    /// then the items of the parts behind it, up to an incomplete one. Only one thread at a time
    /// is in `take`.
    ///
    /// # Errors
    ///
    /// Those of `take`: then no further part is ever complete.
    pub(crate) fn complete<E>(
        &self,
        number: u64,
        last: Option<T>,
        mut take: impl FnMut(T) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut state = self.lock();
        let left = state.left.entry(number).or_default();
        left.items.extend(last);
        left.is_complete = true;
        if state.current != number {
            return Ok(());
        }
        while let Some(part) = state.take_complete() {
            drop(state);
            part.items.into_iter().try_for_each(&mut take)?;
            state = self.lock();
            state.current += 1;
        }
        self.passed.notify_all();
        Ok(())
    }

    /// Wakes all threads that wait; their parts fail.
    pub(crate) fn abort(&self) {
        self.lock().is_aborted = true;
        self.passed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls the function if the thread panics: it wakes threads that would wait forever for the part of
/// this one.
pub(crate) struct OnPanic<F: Fn()>(pub(crate) F);

impl<F: Fn()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

impl<T> State<T> {
    /// The part that has the turn, if it is complete.
    fn take_complete(&mut self) -> Option<Left<T>> {
        let first = self.left.first_entry()?;
        (*first.key() == self.current && first.get().is_complete).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Runs four threads on 1000 parts of 0 to 6 items each.
    fn run(work: impl Fn(u64) + Sync) {
        let next = AtomicU64::new(0);
        let each = || {
            let numbers = || next.fetch_add(1, Ordering::Relaxed);
            std::iter::repeat_with(numbers).take_while(|&number| number < 1000).for_each(&work);
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(each))));
    }

    fn items(number: u64) -> impl Iterator<Item = (u64, u64)> {
        (0..number % 7).map(move |item| (number, item))
    }

    #[test]
    fn items_are_taken_in_order_whoever_takes_them() {
        for leaves_some in [false, true] {
            let order = InOrder::default();
            let taken = Mutex::new(Vec::new());
            let take = |item| -> std::result::Result<(), ()> {
                taken.lock().unwrap().push(item);
                Ok(())
            };
            run(|number| {
                for item in items(number) {
                    let leave = || Some(item).filter(|item| leaves_some && item.1 % 3 > 0);
                    if !order.leave(number, leave) {
                        order.wait(number).unwrap();
                        order.take(number).into_iter().chain([item]).try_for_each(take).unwrap();
                    }
                }
                order.complete(number, Some((number, 7)), take).unwrap();
            });
            let expected = (0..1000).flat_map(|number| items(number).chain([(number, 7)]));
            assert!(taken.into_inner().unwrap().into_iter().eq(expected));
        }
    }

    #[test]
    fn an_abort_wakes_those_who_wait() {
        let order = InOrder::<()>::default();
        std::thread::scope(|scope| {
            let late = scope.spawn(|| order.wait(1));
            order.abort();
            assert!(matches!(late.join().unwrap(), Err(Error::Interrupted)));
        });
    }

    #[test]
    fn nothing_follows_a_part_that_fails() {
        let order = InOrder::default();
        order.complete(1, Some(1), |_| Err(())).unwrap();
        assert_eq!(order.complete(0, Some(0), |_| Err(())), Err(()));
        assert!(order.take(1) == [1] && order.take(0).is_empty());
    }
}
