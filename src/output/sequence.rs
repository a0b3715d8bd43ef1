//! Many threads write the pieces of one output, each at its place.
//!
//! The output is cut into numbered parts. A part's place is known when the
//! sizes of all parts before it are: so a size is announced as early as it is
//! known, and a thread waits only if it must.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where the bytes of an output end up.
pub(crate) enum Sink<'a> {
    /// Positioned writes, in any order.
    File(&'a File),
    /// One write after the other.
    Stream(Mutex<&'a mut (dyn Write + Send)>),
}

/// An output in numbered parts.
pub(crate) struct Sequence<'a> {
    sink: Sink<'a>,
    name: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    sizes: Vec<Option<u64>>,
    /// Parts `..known` have places; the next one begins at `place`.
    places: Vec<u64>,
    /// The part that may write to a stream.
    current: usize,
    aborted: bool,
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
    /// An output without parts yet; `name` is for error messages.
    pub(crate) fn new(sink: Sink<'a>, name: PathBuf) -> Self {
        let state = State { sizes: vec![], places: vec![0], current: 0, aborted: false };
        Self { sink, name, state: Mutex::new(state), changed: Condvar::new() }
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
        Part { sequence: self, number, place: None, announced, written: 0 }
    }

    /// Wakes everybody who waits; their writes fail.
    pub(crate) fn abort(&self) {
        self.lock().aborted = true;
        self.changed.notify_all();
    }

    /// Bytes of all parts; what a file must be cut to.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.lock().places.last().copied().unwrap_or(0)
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

    /// Appends to this part.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let (sequence, number) = (self.sequence, self.number);
        let written = match &sequence.sink {
            Sink::File(file) => {
                let place = match self.place {
                    Some(place) => place,
                    None => sequence.wait(|state| state.places.get(number).copied())?,
                };
                self.place = Some(place);
                file.write_all_at(bytes, place + self.written)
            }
            Sink::Stream(stream) => {
                sequence.wait(|state| (state.current == number).then_some(()))?;
                stream.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes)
            }
        };
        written.map_err(Error::io("write", &sequence.name))?;
        self.written += bytes.len() as u64;
        Ok(())
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
        let (sequence, number) = (self.sequence, self.number);
        if matches!(sequence.sink, Sink::Stream(_)) {
            sequence.wait(|state| (state.current == number).then_some(()))?;
            sequence.lock().current = number + 1;
            sequence.changed.notify_all();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_backwards(sink: Sink<'_>, announce: bool) -> u64 {
        let sequence = Sequence::new(sink, "out".into());
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
                        part.write(format!("{number} ").as_bytes()).unwrap();
                    }
                    part.finish().unwrap();
                });
            }
        });
        sequence.total_bytes()
    }

    const EXPECTED: &str = "0 1 1 2 2 2 3 3 3 3 4 4 4 4 4 ";

    #[test]
    fn parts_written_in_any_order_stand_in_order() {
        for announce in [false, true] {
            let file = tempfile::tempfile().unwrap();
            assert_eq!(write_backwards(Sink::File(&file), announce), EXPECTED.len() as u64);
            let mut found = vec![0; EXPECTED.len()];
            file.read_exact_at(&mut found, 0).unwrap();
            assert_eq!(found, EXPECTED.as_bytes());

            let mut stream = Vec::new();
            write_backwards(Sink::Stream(Mutex::new(&mut stream)), announce);
            assert_eq!(stream, EXPECTED.as_bytes());
        }
    }

    #[test]
    fn an_abort_wakes_those_who_wait() {
        let mut stream = Vec::new();
        let sequence = Sequence::new(Sink::Stream(Mutex::new(&mut stream)), "out".into());
        sequence.extend(2);
        std::thread::scope(|scope| {
            let late = scope.spawn(|| sequence.part(1).write(b"x"));
            sequence.abort();
            assert!(matches!(late.join().unwrap(), Err(Error::Interrupted)));
        });
    }
}
