//! Writes a file from front to back, and computes checksums of its blocks meanwhile.

use crate::io::page::{BLOCK_LOG, HEADER_BYTES};
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of one write. Each write ends at the end of a block.
const WRITE_BYTES: usize = 1 << 20;

/// Computes the checksum of each block that is whole in one write: it is still in the cache. The
/// first block is left out, because the number of buckets is written there last.
#[derive(Debug)]
pub(crate) struct Summed<'f> {
    file: &'f File,
    /// Place of the buffer in the file.
    place: u64,
    buffer: Vec<u8>,
    sums: Vec<(u64, u64)>,
}

impl<'f> Summed<'f> {
    /// Writes from `place` on, at or behind the end of the header.
    pub(crate) fn new(file: &'f File, place: u64) -> Self {
        Self { file, place, buffer: Vec::with_capacity(WRITE_BYTES), sums: Vec::new() }
    }

    /// The checksums so far, by the ascending numbers of their blocks.
    pub(crate) fn take_sums(&mut self) -> Vec<(u64, u64)> {
        mem::take(&mut self.sums)
    }

    /// Bytes between the end of the header and the start of the buffer.
    fn before(&self) -> u64 {
        self.place - HEADER_BYTES as u64
    }
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        #[expect(clippy::cast_possible_truncation, reason = "below the size of a write")]
        let end = WRITE_BYTES - (self.before() % WRITE_BYTES as u64) as usize;
        let taken = bytes.len().min(end - self.buffer.len());
        self.buffer.extend_from_slice(&bytes[..taken]);
        if self.buffer.len() == end {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.buffer, self.place)?;
        let first = self.before().div_ceil(1 << BLOCK_LOG).max(1);
        let skipped = usize::try_from((first << BLOCK_LOG) - self.before()).unwrap_or(usize::MAX);
        if let Some(blocks) = self.buffer.get(skipped..) {
            let blocks = blocks.chunks_exact(1 << BLOCK_LOG).map(xxh3_64);
            self.sums.extend((first..).zip(blocks));
        }
        self.place += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_whole_blocks_of_one_write() {
        let block = 1 << BLOCK_LOG;
        let words = (0..40 * block as u64 / 8).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        // From the header on, from a block on, and from inside of one.
        for start in [0, 3 * block, 3 * block + 1, WRITE_BYTES - 1] {
            for piece in [block / 2 - 1, 3 * block, bytes.len()] {
                let file = tempfile::tempfile().unwrap();
                let place = (HEADER_BYTES + start) as u64;
                let mut out = Summed::new(&file, place);
                bytes.chunks(piece).for_each(|piece| out.write_all(piece).unwrap());
                out.flush().unwrap();
                let mut read = vec![0; bytes.len()];
                file.read_exact_at(&mut read, place).unwrap();
                assert!(read == bytes);
                let whole = start.div_ceil(block).max(1)..(start + bytes.len()) / block;
                let sum = |number: usize| xxh3_64(&bytes[number * block - start..][..block]);
                let expected: Vec<_> = whole.map(|number| (number as u64, sum(number))).collect();
                assert_eq!(out.take_sums(), expected);
            }
        }
        // Half a block is not known, nor is the other half in a write of its own.
        let file = tempfile::tempfile().unwrap();
        let mut out = Summed::new(&file, (HEADER_BYTES + block) as u64);
        for half in bytes[..block].chunks(block / 2) {
            out.write_all(half).unwrap();
            out.flush().unwrap();
        }
        assert_eq!(out.take_sums(), []);
    }
}
