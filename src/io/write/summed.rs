//! Writes a file from front to back with the checksums of its blocks, which it computes meanwhile.

use crate::io::page::{BLOCK_LOG, HEADER_BYTES, Section, blocks};
use crate::kernel::{in_usize, on_each, processors};
use std::fs::File;
use std::io::{self, Write};
use std::mem;
use std::ops::Range;
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
        let skipped = in_usize((first << BLOCK_LOG) - self.before());
        if let Some(blocks) = self.buffer.get(skipped..) {
            let blocks = blocks.chunks_exact(1 << BLOCK_LOG).map(xxh3_64);
            self.sums.extend((first..).zip(blocks));
        }
        self.place += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

/// Appends the checksums of the bytes between the header and `end`. It does not read blocks whose
/// checksums are `known`, by their ascending numbers.
pub(crate) fn append_checksums(file: &File, end: u64, known: &[(u64, u64)]) -> io::Result<Section> {
    let count = blocks(end);
    let share = count.div_ceil(processors() as u64).max(64);
    let parts = on_each((0..count.div_ceil(share)).collect(), |part| {
        let blocks = part * share..count.min((part + 1) * share);
        checksums(file, blocks, end, known)
    });
    let sums = with_own(parts.into_iter().collect::<io::Result<Vec<_>>>()?.concat());
    file.write_all_at(&sums, end)?;
    Ok(Section { offset: end, len: sums.len() as u64 })
}

/// The checksums of these bytes, which follow the header of a file, and the checksum of them.
pub(crate) fn checksums_of(bytes: &[u8]) -> Vec<u8> {
    with_own(bytes.chunks(1 << BLOCK_LOG).flat_map(|block| xxh3_64(block).to_le_bytes()).collect())
}

/// Puts the checksum of the checksums behind them.
fn with_own(mut sums: Vec<u8>) -> Vec<u8> {
    let own = xxh3_64(&sums).to_le_bytes();
    sums.extend_from_slice(&own);
    sums
}

/// The checksums of some of these blocks.
fn checksums(
    file: &File,
    blocks: Range<u64>,
    end: u64,
    known: &[(u64, u64)],
) -> io::Result<Vec<u8>> {
    let first = known.partition_point(|&(index, _)| index < blocks.start);
    let mut known = known[first..].iter().peekable();
    let mut sums = Vec::new();
    let mut block = vec![0; 1 << BLOCK_LOG];
    let hole = xxh3_64(&block);
    let mut data = 0; // no byte from the block on to here was ever written
    for index in blocks {
        if let Some((_, sum)) = known.next_if(|known| known.0 == index) {
            sums.extend_from_slice(&sum.to_le_bytes());
            continue;
        }
        let at = HEADER_BYTES as u64 + (index << BLOCK_LOG);
        let len = usize::try_from(end - at).map_or(block.len(), |left| left.min(block.len()));
        if data <= at {
            data = data_from(file, at).unwrap_or(at); // without an answer all is read
        }
        if len == block.len() && at + len as u64 <= data {
            sums.extend_from_slice(&hole.to_le_bytes());
            continue;
        }
        file.read_exact_at(&mut block[..len], at)?;
        sums.extend_from_slice(&xxh3_64(&block[..len]).to_le_bytes());
    }
    Ok(sums)
}

/// The place of the first byte from `place` on that is not in a hole of the file; none if the
/// system does not tell.
fn data_from(file: &File, place: u64) -> Option<u64> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(place)) {
        Ok(data) => Some(data),
        Err(rustix::io::Errno::NXIO) => Some(u64::MAX), // there is none
        Err(_) => None,
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
