//! Numbered parts that are written to a stream one after the other.
//!
//! A thread whose part has not the turn leaves its buffer to the one that has, takes
//! an empty one and computes on. It waits only where no empty one can be had.

use super::turns::Spare;
use crate::error::{Error, Result};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A stream that threads share.
pub(super) type Stream<'a> = Mutex<&'a mut (dyn Write + Send)>;

/// Which part has the turn, and what was left of others.
#[derive(Debug)]
pub(super) struct Relay {
    state: Mutex<State>,
    passed: Condvar,
}

#[derive(Debug)]
struct State {
    current: usize,
    left: BTreeMap<usize, Left>,
    spare: Spare,
    aborted: bool,
}

/// What is left of a part.
#[derive(Debug, Default)]
struct Left {
    /// Buffers, and bytes of them that count.
    pieces: Vec<(Vec<u8>, usize)>,
    is_finished: bool,
}

impl Relay {
    /// With up to `spare` buffers beside the threads' own.
    pub(super) fn new(spare: usize) -> Self {
        let (left, spare) = (BTreeMap::new(), Spare::new(spare));
        let state = State { current: 0, left, spare, aborted: false };
        Self { state: Mutex::new(state), passed: Condvar::new() }
    }

    /// Wakes everybody who waits, to no avail.
    pub(super) fn abort(&self) {
        self.lock().aborted = true;
        self.passed.notify_all();
    }

    /// Leaves `buffer[..filled]` of part `number` to another thread, unless the part
    /// has the turn or there is no other buffer; tells whether it is left. Then
    /// `buffer` is another one of the same size.
    pub(super) fn leave(&self, number: usize, buffer: &mut Vec<u8>, filled: usize) -> bool {
        let mut state = self.lock();
        if state.current == number {
            return false;
        }
        let Some(full) = state.spare.exchange(buffer) else { return false };
        state.left.entry(number).or_default().pieces.push((full, filled));
        true
    }

    /// Waits for the turn of part `number`.
    pub(super) fn wait(&self, number: usize) -> Result<()> {
        let waits = |state: &mut State| !state.aborted && state.current != number;
        let state = self.passed.wait_while(self.lock(), waits);
        let aborted = state.unwrap_or_else(PoisonError::into_inner).aborted;
        if aborted { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// Writes what is left of part `number`, which has the turn, and `bytes`.
    pub(super) fn write(&self, number: usize, stream: &Stream<'_>, bytes: &[u8]) -> io::Result<()> {
        let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.lock().left.remove(&number).unwrap_or_default();
        for (buffer, filled) in left.pieces {
            stream.write_all(&buffer[..filled])?;
            self.lock().spare.give_back(buffer);
        }
        stream.write_all(bytes)
    }

    /// Ends part `number`. If it has the turn, what is left of it is written, and of
    /// later parts, up to one that somebody is still at.
    pub(super) fn finish(&self, number: usize, stream: &Stream<'_>) -> io::Result<()> {
        let mut state = self.lock();
        if state.current != number {
            state.left.entry(number).or_default().is_finished = true;
            return Ok(());
        }
        loop {
            let current = state.current;
            drop(state);
            self.write(current, stream, &[])?;
            state = self.lock();
            state.current += 1;
            if !state.left.get(&state.current).is_some_and(|left| left.is_finished) {
                self.passed.notify_all();
                return Ok(());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn what_is_left_to_others_stands_in_order() {
        const PARTS: usize = 1000;
        let pieces = |number| (0..number % 7).map(move |piece| format!("{number} {piece}\n"));
        let expected: String = (0..PARTS).flat_map(pieces).collect();
        for spare in 0..8 {
            let mut written = Vec::new();
            let (relay, next) = (Relay::new(spare), AtomicUsize::new(0));
            let stream: Stream<'_> = Mutex::new(&mut written);
            let work = || loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= PARTS {
                    break;
                }
                for piece in pieces(number) {
                    let mut buffer = piece.into_bytes();
                    let filled = buffer.len();
                    buffer.resize(20, 0);
                    if !relay.leave(number, &mut buffer, filled) {
                        relay.wait(number).unwrap();
                        relay.write(number, &stream, &buffer[..filled]).unwrap();
                    }
                    assert_eq!(buffer.len(), 20);
                }
                relay.finish(number, &stream).unwrap();
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
            assert!(written == expected.as_bytes(), "with {spare} spare buffers");
        }
    }
}
