//! Many threads write the parts of one output: each at its place, or one after the other.
//!
//! The output is cut into numbered parts. The place of a part follows from the sizes of all parts
//! before it, so threads announce sizes as early as they can, and rarely wait. Parts of a stream
//! have turns instead of places: a thread leaves its full buffer for the thread with the turn.

use crate::error::{Error, Result};
use crate::io::in_order::InOrder;
use std::convert::Infallible;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where the bytes of an output end up.
pub(crate) enum Sink<'a> {
    /// Positioned writes, in any order.
    File(&'a File),
    /// One write after the other.
    Stream(&'a mut (dyn Write + Send)),
}

/// An output in numbered parts.
pub(crate) struct Sequence<'a> {
    to: To<'a>,
    name: PathBuf,
    sizes: Mutex<Sizes>,
    /// Knows a part as complete when its size is known.
    announced: InOrder<u64>,
}

enum To<'a> {
    File(&'a File),
    Stream(Relay<'a, Buffer>),
}

struct Sizes {
    announced: Vec<Option<u64>>,
    /// Places of all parts whose predecessors are announced; and the end of the last of these.
    places: Vec<u64>,
}

impl Sizes {
    /// Bytes of all parts. All must be announced.
    fn total(&self) -> Result<u64> {
        if let Some(&total) = self.places.get(self.announced.len()) {
            return Ok(total);
        }
        let (known, parts) = (self.places.len() - 1, self.announced.len());
        let what = format!("{known} of {parts} parts of the output were written");
        Err(Error::Accounting { what })
    }
}

/// One part, while it is written.
pub(crate) struct Part<'s, 'a> {
    sequence: &'s Sequence<'a>,
    number: usize,
    place: Option<u64>,
    announced: Option<u64>,
    written: u64,
}

impl<'a> Sequence<'a> {
    /// An output without parts; `name` is for error messages. Threads may use up to `spare_buffers`
    /// buffers beside their own.
    pub(crate) fn new(sink: Sink<'a>, name: PathBuf, spare_buffers: usize) -> Self {
        let to = match sink {
            Sink::File(file) => To::File(file),
            Sink::Stream(stream) => {
                let name = name.clone();
                To::Stream(Relay::new(spare_buffers, move |buffer: &Buffer| {
                    stream.write_all(buffer.filled()).map_err(Error::io("write", &name))
                }))
            }
        };
        let sizes = Mutex::new(Sizes { announced: vec![], places: vec![0] });
        Self { to, name, sizes, announced: InOrder::default() }
    }

    /// Adds `parts` parts at the end; gives the number of the first one.
    pub(crate) fn extend(&self, parts: usize) -> usize {
        let mut sizes = self.lock();
        let first = sizes.announced.len();
        sizes.announced.resize(first + parts, None);
        first
    }

    /// Says how many bytes part `number` will have.
    pub(crate) fn announce(&self, number: usize, bytes: u64) {
        self.lock().announced[number] = Some(bytes);
        let place = |size| {
            let places = &mut self.lock().places;
            places.push(places[places.len() - 1] + size);
            Ok(())
        };
        let Ok(()) = self.announced.complete::<Infallible>(number as u64, Some(bytes), place);
    }

    /// Begins part `number`. Each part must be finished once, by the thread
    /// that began it; parts must be begun in order.
    pub(crate) fn part(&self, number: usize) -> Part<'_, 'a> {
        let announced = self.lock().announced[number];
        Part { sequence: self, number, place: None, announced, written: 0 }
    }

    /// Wakes all threads that wait; their writes fail.
    pub(crate) fn abort(&self) {
        self.announced.abort();
        if let To::Stream(relay) = &self.to {
            relay.abort();
        }
    }

    /// Ends the output; gives the bytes of all parts.
    pub(crate) fn finish(&self) -> Result<u64> {
        self.lock().total()
    }

    fn lock(&self) -> MutexGuard<'_, Sizes> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part<'_, '_> {
    /// Whether the size of this part is known already.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced.is_some()
    }

    /// Says how many bytes this part will have.
    pub(crate) fn announce(&mut self, bytes: u64) {
        self.announced = Some(bytes);
        self.sequence.announce(self.number, bytes);
    }

    /// Bytes of this part that are written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Appends the content of `buffer` to this part. Another thread may write it later. Afterwards
    /// `buffer` is empty; it may be another buffer of the same size.
    pub(crate) fn write(&mut self, buffer: &mut Buffer) -> Result<()> {
        let filled = buffer.filled as u64;
        if filled == 0 {
            return Ok(());
        }
        let sequence = self.sequence;
        match &sequence.to {
            To::File(file) => {
                let place = self.place()? + self.written;
                let written = file.write_all_at(buffer.filled(), place);
                written.map_err(Error::io("write", &sequence.name))?;
                buffer.filled = 0;
            }
            To::Stream(relay) => relay.pass(self.number, buffer)?,
        }
        self.written += filled;
        Ok(())
    }

    /// Place of this part. Waits until it is known.
    fn place(&mut self) -> Result<u64> {
        if let Some(place) = self.place {
            return Ok(place);
        }
        self.sequence.announced.wait(self.number as u64)?;
        let place = self.sequence.lock().places[self.number];
        self.place = Some(place);
        Ok(place)
    }

    /// Ends this part.
    pub(crate) fn finish(mut self) -> Result<()> {
        match self.announced {
            None => self.announce(self.written),
            Some(announced) if announced != self.written => {
                return Err(Error::Accounting {
                    what: format!(
                        "a part of {} bytes was announced with {announced}",
                        self.written
                    ),
                });
            }
            Some(_) => {}
        }
        if let To::Stream(relay) = &self.sequence.to {
            relay.finish(self.number)?;
        }
        Ok(())
    }
}

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

/// Parts on their way to one taker. A thread whose part does not have the turn leaves its full buffer,
/// takes an empty one and goes on. It waits only if no buffer is empty.
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
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn write_backwards(sink: Sink<'_>, announce: bool, spare_buffers: usize) -> u64 {
        let sequence = Sequence::new(sink, "out".into(), spare_buffers);
        sequence.extend(5);
        std::thread::scope(|scope| {
            for number in (0..5).rev() {
                let sequence = &sequence;
                scope.spawn(move || {
                    let mut part = sequence.part(number);
                    if announce {
                        part.announce(2 * (number as u64 + 1));
                    }
                    for _ in 0..=number {
                        let bytes = format!("{number} ").into_bytes();
                        let mut piece = Buffer { filled: bytes.len(), bytes };
                        part.write(&mut piece).unwrap();
                    }
                    part.finish().unwrap();
                });
            }
        });
        sequence.finish().unwrap()
    }

    const EXPECTED: &str = "0 1 1 2 2 2 3 3 3 3 4 4 4 4 4 ";

    #[test]
    fn parts_written_in_any_order_stand_in_order() {
        for announce in [false, true] {
            let file = tempfile::tempfile_in(".").unwrap();
            assert_eq!(write_backwards(Sink::File(&file), announce, 2), EXPECTED.len() as u64);
            let mut found = vec![0; EXPECTED.len()];
            file.read_exact_at(&mut found, 0).unwrap();
            assert_eq!(found, EXPECTED.as_bytes());

            for spare_buffers in [0, 2, 100] {
                let mut stream = Vec::new();
                write_backwards(Sink::Stream(&mut stream), announce, spare_buffers);
                assert_eq!(stream, EXPECTED.as_bytes());
            }
        }
    }

    #[test]
    fn an_output_that_lacks_a_part_is_not_taken() {
        let file = tempfile::tempfile_in(".").unwrap();
        let sequence = Sequence::new(Sink::File(&file), "out".into(), 0);
        assert_eq!(sequence.finish().unwrap(), 0);
        sequence.extend(2);
        sequence.part(1).finish().unwrap();
        let found = sequence.finish().unwrap_err().to_string();
        assert!(found.contains("0 of 2 parts of the output were written"), "{found}");
        sequence.part(0).finish().unwrap();
        assert_eq!(sequence.finish().unwrap(), 0);
    }

    #[test]
    fn an_abort_wakes_those_who_wait() {
        let mut stream = Vec::new();
        let sequence = Sequence::new(Sink::Stream(&mut stream), "out".into(), 0);
        sequence.extend(2);
        std::thread::scope(|scope| {
            let late =
                scope.spawn(|| sequence.part(1).write(&mut Buffer { bytes: vec![0], filled: 1 }));
            sequence.abort();
            assert!(matches!(late.join().unwrap(), Err(Error::Interrupted)));
        });
    }

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
