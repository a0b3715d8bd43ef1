//! Writing past the page cache.
//!
//! An output that is larger than the memory pushes all other files out of the page cache, and costs
//! time for copying, allocating and reclaiming its pages. Aligned direct writes avoid these costs.
//! A part may share its first and last page with its neighbours; these pages go through the cache.

use crate::kernel::sys::{Pages, open_direct};
use rustix::fs::FallocateFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// Offsets, lengths and memory of direct writes are multiples of this. No disk asks for more.
const ALIGNMENT: usize = 4096;

/// A second descriptor of a file, for direct writes, and buffers for them.
#[derive(Debug)]
pub(crate) struct DirectFile<'a> {
    cached: &'a File,
    direct: File,
    buffers: Mutex<Vec<Pages>>,
    /// Bytes of one write; a multiple of the alignment.
    write_bytes: usize,
}

/// Bytes on their way to one stretch of the file.
#[derive(Debug)]
pub(super) struct DirectPart {
    buffer: Pages,
    /// Place in the file of the first byte of the buffer; aligned.
    start: u64,
    /// Bytes at the front of the buffer that belong to the part before.
    skip: usize,
    /// End of the bytes in the buffer.
    end: usize,
}

impl<'a> DirectFile<'a> {
    /// Opens a second descriptor. The file will have about `reserve_bytes` bytes. `None` if the
    /// system or the file system has no direct writes.
    pub(crate) fn open(file: &'a File, reserve_bytes: u64, write_bytes: usize) -> Option<Self> {
        let direct = open_direct(file)?;
        // Without this, every write makes the file longer and blocks other writers meanwhile.
        let reserved = rustix::fs::fallocate(file, FallocateFlags::empty(), 0, reserve_bytes);
        if reserved.is_err() {
            // `fallocate` may have reserved a part: release it. If that fails, `set_len` at the
            // end fails as well, and reports it.
            let _ = file.set_len(0);
        }
        let write_bytes = write_bytes.next_multiple_of(ALIGNMENT);
        Some(Self { cached: file, direct, buffers: Mutex::default(), write_bytes })
    }

    /// Sets the length, and so releases reserved bytes behind the end.
    pub(super) fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.cached.set_len(bytes)
    }

    /// Begins a stretch at `place`.
    pub(super) fn part(&self, place: u64) -> io::Result<DirectPart> {
        let kept = self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let buffer = kept.map_or_else(|| Pages::zeroed(self.write_bytes / 8), Ok)?;
        let skip = usize::try_from(place % ALIGNMENT as u64).unwrap_or(0);
        Ok(DirectPart { buffer, start: place - skip as u64, skip, end: skip })
    }

    /// Appends to a stretch.
    pub(super) fn write(&self, part: &mut DirectPart, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = &mut part.buffer.bytes_mut()[part.end..self.write_bytes];
            let (now, later) = rest.split_at(room.len().min(rest.len()));
            room[..now.len()].copy_from_slice(now);
            part.end += now.len();
            rest = later;
            if part.end == self.write_bytes {
                self.flush(part)?;
            }
        }
        Ok(())
    }

    /// Ends a stretch.
    pub(super) fn finish(&self, mut part: DirectPart) -> io::Result<()> {
        self.flush(&mut part)?;
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(part.buffer);
        Ok(())
    }

    fn flush(&self, part: &mut DirectPart) -> io::Result<()> {
        let DirectPart { start, skip, end, .. } = *part;
        let bytes = &part.buffer.bytes_mut()[..end];
        // Whole pages that belong to this part alone.
        let from = skip.next_multiple_of(ALIGNMENT).min(end);
        let to = (end / ALIGNMENT * ALIGNMENT).max(from);
        self.cached.write_all_at(&bytes[skip..from], start + skip as u64)?;
        if from < to {
            let place = start + from as u64;
            // If the disk refuses, write through the cache: that works, or reports the error.
            let done = self.direct.write_at(&bytes[from..to], place).unwrap_or(0);
            self.cached.write_all_at(&bytes[from + done..to], place + done as u64)?;
        }
        self.cached.write_all_at(&bytes[to..], start + to as u64)?;
        part.start += self.write_bytes as u64;
        (part.skip, part.end) = (0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_written_side_by_side_join_without_a_seam() {
        let file = tempfile::tempfile_in(".").unwrap();
        let Some(direct) = DirectFile::open(&file, 5 << 20, 1 << 20) else { return };
        let sizes = [1_usize, 5000, 4095, 4097, 3 << 20, 100, (1 << 20) + 7];
        let mut expected = Vec::new();
        std::thread::scope(|scope| {
            let mut place = 0;
            for (number, size) in (1_u8..).zip(sizes) {
                let direct = &direct;
                scope.spawn(move || {
                    let mut part = direct.part(place).unwrap();
                    for piece in vec![number; size].chunks(100_000) {
                        direct.write(&mut part, piece).unwrap();
                    }
                    direct.finish(part).unwrap();
                });
                place += size as u64;
                expected.resize(expected.len() + size, number);
            }
        });
        direct.set_len(expected.len() as u64).unwrap();
        let mut found = vec![0; expected.len()];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found == expected);
        assert_eq!(file.metadata().unwrap().len(), expected.len() as u64);
    }
}
