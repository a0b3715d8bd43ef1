//! A file that is written front to back, and the checksums of what is written.

use super::header::BLOCK_LOG;
use super::page::HEADER_BYTES;
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::os::unix::fs::FileExt;
use xxhash_rust::xxh3::xxh3_64;

/// Takes the checksum of each block that one write has whole: it is in the cache
/// then, and need not be read again. But for the first one, where the number of
/// buckets is put in last.
#[derive(Debug)]
pub(super) struct Summed<'f> {
    file: &'f File,
    place: u64,
    sums: Vec<(u64, u64)>,
}

impl<'f> Summed<'f> {
    /// Writes from `place` on, which is not before the end of the header.
    pub(super) fn new(file: &'f File, place: u64) -> Self {
        Self { file, place, sums: Vec::new() }
    }

    /// The checksums so far, by the numbers of their blocks, which ascend.
    pub(super) fn take_sums(&mut self) -> Vec<(u64, u64)> {
        mem::take(&mut self.sums)
    }
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write_at(bytes, self.place)?;
        let from = self.place - HEADER_BYTES as u64;
        let first = from.div_ceil(1 << BLOCK_LOG).max(1);
        let before = usize::try_from((first << BLOCK_LOG) - from).unwrap_or(usize::MAX);
        if let Some(blocks) = bytes[..written].get(before..) {
            let blocks = blocks.chunks_exact(1 << BLOCK_LOG).map(xxh3_64);
            self.sums.extend((first..).zip(blocks));
        }
        self.place += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_whole_blocks_of_one_write() {
        let file = tempfile::tempfile().unwrap();
        let block = 1 << BLOCK_LOG;
        let words = (0..5 * block as u64 / 8).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        // Two blocks and a half, half a block, one and a byte, the rest.
        let start = HEADER_BYTES as u64 + 3 * block as u64;
        let mut out = Summed::new(&file, start);
        let mut from = 0;
        for len in [2 * block + block / 2, block / 2, block + 1, block - 1] {
            out.write_all(&bytes[from..from + len]).unwrap();
            from += len;
        }
        let mut read = vec![0; bytes.len()];
        file.read_exact_at(&mut read, start).unwrap();
        assert!(read == bytes);
        let sum = |number: usize| xxh3_64(&bytes[number * block..][..block]);
        assert_eq!(out.take_sums(), [(3, sum(0)), (4, sum(1)), (6, sum(3))]);
        let mut out = Summed::new(&file, HEADER_BYTES as u64);
        out.write_all(&bytes).unwrap();
        assert_eq!(out.take_sums(), [1, 2, 3, 4].map(|number| (number as u64, sum(number))));
        // One that does not begin with a block.
        let mut out = Summed::new(&file, start + 1);
        out.write_all(&bytes).unwrap();
        let sum = |number: usize| xxh3_64(&bytes[number * block - 1..][..block]);
        assert_eq!(out.take_sums(), [1, 2, 3, 4].map(|number| (number as u64 + 3, sum(number))));
    }
}
