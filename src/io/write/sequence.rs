//! Many threads write the pieces of one output, each at its place.
//!
//! The output is cut into numbered parts. A part's place is known when the
//! sizes of all parts before it are: so a size is announced as early as it is
//! known, and a thread waits only if it must. Parts of a stream have turns, not
//! places: a thread leaves what it has to the one whose turn it is.

use super::direct::{DirectFile, DirectPart};
use super::relay::{Relay, Stream};
use super::turns::Turns;
use crate::error::{Error, Result};
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where the bytes of an output end up.
pub(crate) enum Sink<'a> {
    /// Positioned writes, in any order.
    File(&'a File),
    /// The same, past the page cache.
    Direct(DirectFile<'a>),
    /// One write after the other.
    Stream(Stream<'a>),
}

impl Sink<'_> {
    /// Whether a file of that many bytes is better written past a page cache
    /// that may have `memory_bytes`.
    pub(crate) fn is_large(bytes: u64, memory_bytes: u64) -> bool {
        bytes > memory_bytes / 2
    }

    /// Writes a file past the page cache, `write_bytes` at a time, where that
    /// can be done. It will have `bytes` bytes, or at most so many.
    pub(crate) fn directly(self, bytes: u64, is_exact: bool, write_bytes: usize) -> Self {
        match self {
            Self::File(file) => {
                let reserve_bytes = if is_exact { bytes } else { 0 };
                DirectFile::open(file, reserve_bytes, write_bytes)
                    .map_or(Self::File(file), Self::Direct)
            }
            other => other,
        }
    }
}

/// Threads a processor that write past the page cache.
pub(crate) const DIRECT_WRITERS: usize = 2;

/// An output in numbered parts.
pub(crate) struct Sequence<'a> {
    sink: Sink<'a>,
    name: PathBuf,
    turns: Turns,
    relay: Relay,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    sizes: Vec<Option<u64>>,
    /// Parts `..known` have places; the next one begins at `place`.
    places: Vec<u64>,
    aborted: bool,
}

/// One part, while it is written.
pub(crate) struct Part<'s, 'a> {
    sequence: &'s Sequence<'a>,
    number: usize,
    place: Option<u64>,
    announced: Option<u64>,
    written: u64,
    direct: Option<DirectPart>,
}

impl<'a> Sequence<'a> {
    /// An output without parts yet; `name` is for error messages. Threads may use
    /// up to `spare_buffers` more than their own.
    pub(crate) fn new(sink: Sink<'a>, name: PathBuf, spare_buffers: usize) -> Self {
        let state = State { sizes: vec![], places: vec![0], aborted: false };
        let (turns, relay) = (Turns::new(spare_buffers), Relay::new(spare_buffers));
        Self { sink, name, turns, relay, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds `parts` parts behind those there are; gives the first one's number.
    pub(crate) fn extend(&self, parts: usize) -> usize {
        let mut state = self.lock();
        let first = state.sizes.len();
        state.sizes.resize(first + parts, None);
        first
    }

    /// Says how many bytes part `number` will have.
    pub(crate) fn announce(&self, number: usize, bytes: u64) {
        let mut state = self.lock();
        state.sizes[number] = Some(bytes);
        let before = state.places.len();
        while let Some(&Some(size)) = state.sizes.get(state.places.len() - 1) {
            let place = state.places[state.places.len() - 1] + size;
            state.places.push(place);
        }
        if state.places.len() > before {
            self.changed.notify_all();
        }
    }

    /// Begins part `number`. Each part must be finished once, by the thread
    /// that began it; parts must be begun in order.
    pub(crate) fn part(&self, number: usize) -> Part<'_, 'a> {
        let announced = self.lock().sizes[number];
        Part { sequence: self, number, place: None, announced, written: 0, direct: None }
    }

    /// Wakes everybody who waits; their writes fail.
    pub(crate) fn abort(&self) {
        self.lock().aborted = true;
        self.changed.notify_all();
        self.relay.abort();
    }

    /// Threads that should write for each processor: two where a write waits
    /// for the disk, so that another thread computes meanwhile.
    pub(crate) fn writers_per_processor(&self) -> usize {
        if matches!(self.sink, Sink::Direct(_)) { DIRECT_WRITERS } else { 1 }
    }

    /// Ends the output; gives the bytes of all parts.
    pub(crate) fn finish(&self) -> Result<u64> {
        let total = self.lock().places.last().copied().unwrap_or(0);
        let finished = match &self.sink {
            Sink::File(file) => self.turns.finish(file),
            Sink::Direct(file) => file.set_len(total),
            Sink::Stream(_) => Ok(()),
        };
        finished.map_err(Error::io("write", &self.name))?;
        Ok(total)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<T>(&self, ready: impl Fn(&State) -> Option<T>) -> Result<T> {
        let mut state = self.lock();
        loop {
            if state.aborted {
                return Err(Error::Interrupted);
            }
            if let Some(found) = ready(&state) {
                return Ok(found);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
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

    /// Appends `buffer[..filled]` to this part. Another thread may write it
    /// later: then `buffer` is another one of the same size.
    pub(crate) fn write(&mut self, buffer: &mut Vec<u8>, filled: usize) -> Result<()> {
        if filled == 0 {
            return Ok(());
        }
        let (sequence, number) = (self.sequence, self.number);
        let written = match &sequence.sink {
            Sink::File(file) => {
                let place = self.place()?;
                sequence.turns.write(file, place + self.written, buffer, filled)
            }
            Sink::Direct(file) => {
                let place = self.place()?;
                let part = match self.direct.take() {
                    Some(part) => Ok(part),
                    None => file.part(place),
                };
                part.and_then(|mut part| {
                    file.write(&mut part, &buffer[..filled])?;
                    self.direct = Some(part);
                    Ok(())
                })
            }
            Sink::Stream(stream) => {
                if sequence.relay.leave(number, buffer, filled) {
                    Ok(())
                } else {
                    sequence.relay.wait(number)?;
                    sequence.relay.write(number, stream, &buffer[..filled])
                }
            }
        };
        written.map_err(Error::io("write", &sequence.name))?;
        self.written += filled as u64;
        Ok(())
    }

    /// Where this part begins, once that is known.
    fn place(&mut self) -> Result<u64> {
        let place = match self.place {
            Some(place) => place,
            None => self.sequence.wait(|state| state.places.get(self.number).copied())?,
        };
        self.place = Some(place);
        Ok(place)
    }

    /// Ends this part.
    pub(crate) fn finish(mut self) -> Result<()> {
        if let (Sink::Direct(file), Some(part)) = (&self.sequence.sink, self.direct.take()) {
            file.finish(part).map_err(Error::io("write", &self.sequence.name))?;
        }
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
        if let Sink::Stream(stream) = &self.sequence.sink {
            let finished = self.sequence.relay.finish(self.number, stream);
            finished.map_err(Error::io("write", &self.sequence.name))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

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
                        let mut piece = format!("{number} ").into_bytes();
                        let filled = piece.len();
                        part.write(&mut piece, filled).unwrap();
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
            for sink in [Sink::File(&file), Sink::File(&file).directly(1, true, 1 << 20)] {
                file.set_len(0).unwrap();
                assert_eq!(write_backwards(sink, announce, 2), EXPECTED.len() as u64);
                let mut found = vec![0; EXPECTED.len()];
                file.read_exact_at(&mut found, 0).unwrap();
                assert_eq!(found, EXPECTED.as_bytes());
            }

            for spare_buffers in [0, 2, 100] {
                let mut stream = Vec::new();
                write_backwards(Sink::Stream(Mutex::new(&mut stream)), announce, spare_buffers);
                assert_eq!(stream, EXPECTED.as_bytes());
            }
        }
    }

    #[test]
    fn an_abort_wakes_those_who_wait() {
        let mut stream = Vec::new();
        let sequence = Sequence::new(Sink::Stream(Mutex::new(&mut stream)), "out".into(), 0);
        sequence.extend(2);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| sequence.part(1).write(&mut b"x".to_vec(), 1));
            sequence.abort();
            assert!(matches!(late.join().unwrap(), Err(Error::Interrupted)));
        });
    }
}
