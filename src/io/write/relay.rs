//! Numbered parts that one taker gets one after the other.
//!
//! A thread whose part does not have the turn leaves its full buffer, takes an empty one and goes
//! on. It waits only if no buffer is empty.

use crate::error::Result;
use crate::io::in_order::InOrder;
use std::sync::{Mutex, PoisonError};

/// A buffer of bytes or values that a relay hands on and uses again.
pub(crate) trait Carried: Send {
    /// An empty one of the same size.
    fn another(&self) -> Self;

    /// Whether it holds nothing.
    fn is_empty(&self) -> bool;

    /// Drops its content and keeps its memory.
    fn clear(&mut self);
}

/// Bytes on their way to a file or stream.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: Vec<u8>,
    /// Bytes that count, from the first one on.
    pub(crate) filled: usize,
}

impl Buffer {
    /// An empty buffer of `size` bytes.
    pub(crate) fn new(size: usize) -> Self {
        Self { bytes: vec![0; size], filled: 0 }
    }

    /// The bytes that count.
    pub(crate) fn filled(&self) -> &[u8] {
        &self.bytes[..self.filled]
    }

    /// The bytes that are free.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        &mut self.bytes[self.filled..]
    }
}

impl Carried for Buffer {
    fn another(&self) -> Self {
        Self::new(self.bytes.len())
    }

    fn is_empty(&self) -> bool {
        self.filled == 0
    }

    fn clear(&mut self) {
        self.filled = 0;
    }
}

/// Parts on their way to one taker.
pub(crate) struct Relay<'a, T> {
    order: InOrder<T>,
    spare: Mutex<Spare<T>>,
    taker: Mutex<Taker<'a, T>>,
}

/// Gets the items of all parts, in order.
type Taker<'a, T> = Box<dyn FnMut(&T) -> Result<()> + Send + 'a>;

/// Empty buffers for threads that leave theirs.
struct Spare<T> {
    empty: Vec<T>,
    /// Buffers that may still be made.
    more: usize,
}

impl<T: Carried> Spare<T> {
    /// Takes `full` and leaves an empty buffer in its place, if there is one.
    fn exchange(&mut self, full: &mut T) -> Option<T> {
        let empty = self.empty.pop().or_else(|| {
            self.more = self.more.checked_sub(1)?;
            Some(full.another())
        });
        empty.map(|empty| std::mem::replace(full, empty))
    }
}

impl<'a, T: Carried> Relay<'a, T> {
    /// Hands all parts to `taker`, with up to `spare` buffers beside the threads' own.
    pub(crate) fn new(spare: usize, taker: impl FnMut(&T) -> Result<()> + Send + 'a) -> Self {
        Self {
            order: InOrder::default(),
            spare: Mutex::new(Spare { empty: Vec::new(), more: spare }),
            taker: Mutex::new(Box::new(taker)),
        }
    }

    /// Hands on `item`, the next one of part `number`. Afterwards `item` is empty; it may be
    /// another buffer of the same size.
    pub(crate) fn pass(&self, number: usize, item: &mut T) -> Result<()> {
        if item.is_empty() {
            return Ok(());
        }
        let number = number as u64;
        if self.order.leave(number, || self.lock_spare().exchange(item)) {
            return Ok(());
        }
        self.order.wait(number)?;
        self.order.take(number).into_iter().try_for_each(|left| self.hand_over(left))?;
        self.take(item)
    }

    /// Ends part `number`. If it has the turn, the taker gets the rest of it, and later parts up to
    /// an incomplete one.
    pub(crate) fn finish(&self, number: usize) -> Result<()> {
        self.order.complete(number as u64, None, |left| self.hand_over(left))
    }

    /// Wakes all threads that wait; their parts fail.
    pub(crate) fn abort(&self) {
        self.order.abort();
    }

    fn hand_over(&self, mut left: T) -> Result<()> {
        self.take(&mut left)?;
        self.lock_spare().empty.push(left);
        Ok(())
    }

    fn take(&self, item: &mut T) -> Result<()> {
        (self.taker.lock().unwrap_or_else(PoisonError::into_inner))(item)?;
        item.clear();
        Ok(())
    }

    fn lock_spare(&self) -> std::sync::MutexGuard<'_, Spare<T>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
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
            let take = |buffer: &Buffer| {
                written.extend_from_slice(buffer.filled());
                Ok(())
            };
            let (relay, next) = (Relay::new(spare, take), AtomicUsize::new(0));
            let work = || {
                let mut buffer = Buffer::new(20);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= PARTS {
                        break;
                    }
                    for piece in pieces(number) {
                        buffer.room()[..piece.len()].copy_from_slice(piece.as_bytes());
                        buffer.filled = piece.len();
                        relay.pass(number, &mut buffer).unwrap();
                        assert_eq!((buffer.bytes.len(), buffer.filled), (20, 0));
                    }
                    relay.finish(number).unwrap();
                }
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
            drop(relay);
            assert!(written == expected.as_bytes(), "with {spare} spare buffers");
        }
    }
}
