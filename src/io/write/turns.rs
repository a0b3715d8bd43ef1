//! Threads that take turns at writing one file.
//!
//! A kernel lets one thread at a time write a file of the page cache; others
//! would spin at its lock. Here a thread that finds another one writing leaves
//! its buffer to it, takes an empty one and computes on. When too much is left,
//! it writes as well, if the file is one in memory: these can be written through
//! maps meanwhile.

use crate::kernel::sys::{is_in_memory, write_mapped};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError, TryLockError};

/// What is written, and by whom.
#[derive(Debug)]
pub(super) struct Turns {
    turn: Mutex<()>,
    left: Mutex<Left>,
}

#[derive(Debug)]
struct Left {
    /// Place in the file, buffer, bytes of it that count.
    pieces: Vec<(u64, Vec<u8>, usize)>,
    spare: Spare,
}

/// Empty buffers for threads that leave theirs to others.
#[derive(Debug)]
pub(super) struct Spare {
    empty: Vec<Vec<u8>>,
    /// Buffers that may still be made.
    more: usize,
}

impl Spare {
    /// Up to `buffers` at once.
    pub(super) fn new(buffers: usize) -> Self {
        Self { empty: Vec::new(), more: buffers }
    }

    /// Takes `buffer` and leaves an empty one in its place, if there is one.
    pub(super) fn exchange(&mut self, buffer: &mut Vec<u8>) -> Option<Vec<u8>> {
        let empty = self.empty.pop().or_else(|| {
            self.more = self.more.checked_sub(1)?;
            Some(vec![0; buffer.len()])
        });
        empty.map(|empty| std::mem::replace(buffer, empty))
    }

    /// Takes a buffer whose bytes are written.
    pub(super) fn give_back(&mut self, buffer: Vec<u8>) {
        self.empty.push(buffer);
    }
}

impl Turns {
    /// With up to `spare` buffers beside the threads' own.
    pub(super) fn new(spare: usize) -> Self {
        let left = Left { pieces: Vec::new(), spare: Spare::new(spare) };
        Self { turn: Mutex::new(()), left: Mutex::new(left) }
    }

    /// Writes `buffer[..filled]` at `place`, or leaves it to the thread that
    /// writes; `buffer` may be another one of the same size afterwards.
    pub(super) fn write(
        &self,
        file: &File,
        place: u64,
        buffer: &mut Vec<u8>,
        filled: usize,
    ) -> io::Result<()> {
        let turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(turn)) => turn.into_inner(),
            Err(TryLockError::WouldBlock) => {
                if self.leave(place, buffer, filled) {
                    return Ok(());
                }
                let bytes = &buffer[..filled];
                if is_in_memory(file) && write_mapped(file, place, bytes).is_ok() {
                    return Ok(());
                }
                // What failed will fail again, or not.
                self.turn.lock().unwrap_or_else(PoisonError::into_inner)
            }
        };
        file.write_all_at(&buffer[..filled], place)?;
        self.write_left(file)?;
        drop(turn);
        Ok(())
    }

    fn leave(&self, place: u64, buffer: &mut Vec<u8>, filled: usize) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(full) = left.spare.exchange(buffer) else { return false };
        left.pieces.push((place, full, filled));
        true
    }

    fn write_left(&self, file: &File) -> io::Result<()> {
        loop {
            let piece = self.left.lock().unwrap_or_else(PoisonError::into_inner).pieces.pop();
            let Some((place, buffer, filled)) = piece else { return Ok(()) };
            file.write_all_at(&buffer[..filled], place)?;
            self.left.lock().unwrap_or_else(PoisonError::into_inner).spare.give_back(buffer);
        }
    }

    /// Writes what was left when the last turn was over.
    pub(super) fn finish(&self, file: &File) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_left(file)
    }
}
