//! Threads that take turns at writing one file.
//!
//! A kernel lets one thread at a time write a file of the page cache; others
//! would spin at its lock. Here a thread that finds another one writing leaves
//! its buffer to it, takes an empty one and computes on. When too much is left,
//! it writes as well, if the file is one in memory: these can be written through
//! maps meanwhile.

use crate::sys::{is_in_memory, write_mapped};
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
    empty: Vec<Vec<u8>>,
    /// Buffers that may still be made.
    spare: usize,
}

impl Turns {
    /// With up to `spare` buffers beside the threads' own.
    pub(super) fn new(spare: usize) -> Self {
        let left = Left { pieces: Vec::new(), empty: Vec::new(), spare };
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
        let empty = match left.empty.pop() {
            Some(empty) => empty,
            None if left.spare > 0 => {
                left.spare -= 1;
                vec![0; buffer.len()]
            }
            None => return false,
        };
        left.pieces.push((place, std::mem::replace(buffer, empty), filled));
        true
    }

    fn write_left(&self, file: &File) -> io::Result<()> {
        loop {
            let piece = self.left.lock().unwrap_or_else(PoisonError::into_inner).pieces.pop();
            let Some((place, buffer, filled)) = piece else { return Ok(()) };
            file.write_all_at(&buffer[..filled], place)?;
            self.left.lock().unwrap_or_else(PoisonError::into_inner).empty.push(buffer);
        }
    }

    /// Writes what was left when the last turn was over.
    pub(super) fn finish(&self, file: &File) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.write_left(file)
    }
}
