//! Temporary files of entries, packed to whole bytes.
//!
//! The extents of a partition form a chain: each begins with the place of the one before it. So
//! memory does not grow with the input.
//!
//! Extent: place of the previous extent (8 bytes: folder in the top 8 bits, of which there are at
//! most [`MAX_FOLDERS`], offset below), entries (8 bytes), then the packed entries.

use crate::error::{Error, Result};
use crate::io::write::nameless_in;
use crate::kernel::sys::give_back;
use crate::set::bitmap::Word;
use crate::sort::partitioning::Entry;
use byteorder::{ByteOrder, LittleEndian};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Temporary files without names, one in each folder.
#[derive(Debug)]
pub(in crate::sort) struct SpillFiles {
    files: Vec<SpillFile>,
    turn: AtomicUsize,
}

/// A file that is created at its first use.
#[derive(Debug)]
struct SpillFile {
    folder: PathBuf,
    file: OnceLock<File>,
    end: AtomicU64,
}

impl SpillFile {
    fn get(&self) -> Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = nameless_in(&self.folder)?;
        Ok(self.file.get_or_init(|| file))
    }
}

/// The last extent of a chain.
#[derive(Debug, Clone, Copy)]
pub(in crate::sort) struct Chain {
    last: u64,
    /// Number of entries in the whole chain.
    pub(in crate::sort) entries: u64,
}

/// The place that stands for no extent.
const NONE: u64 = u64::MAX;
const HEADER_BYTES: usize = 16;
const OFFSET_BITS: u32 = 56;
/// Most folders: a place has 8 bits for them, and [`NONE`] is no place.
pub(in crate::sort) const MAX_FOLDERS: usize = 255;
/// Bytes behind a packed entry that packing may overwrite and unpacking may read.
const OVERHANG: usize = 8;

impl Default for Chain {
    fn default() -> Self {
        Self { last: NONE, entries: 0 }
    }
}

/// Bytes that an entry of `bits` bits takes in a file.
pub(in crate::sort) fn packed_bytes(bits: u32) -> usize {
    bits.div_ceil(8).max(1) as usize
}

impl SpillFiles {
    /// Files in these folders. They have no names, so even a killed process leaves none behind.
    pub(in crate::sort) fn new(folders: &[PathBuf]) -> Self {
        let file = |folder: &PathBuf| SpillFile {
            folder: folder.clone(),
            file: OnceLock::new(),
            end: AtomicU64::new(0),
        };
        Self { files: folders.iter().map(file).collect(), turn: AtomicUsize::new(0) }
    }

    /// Bytes of the files, with those of writes for which a folder had no room.
    pub(in crate::sort) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.end.load(Ordering::Relaxed)).sum()
    }

    /// Writes whole extents from [`Extents`]. If a folder is full, they go to the next one.
    fn write(&self, extents: &Extents) -> Result<u64> {
        let bytes = &extents.bytes[..extents.filled];
        let first = self.turn.fetch_add(1, Ordering::Relaxed);
        let mut refused = None;
        for attempt in 0..self.files.len() {
            let index = (first + attempt) % self.files.len();
            let spill = &self.files[index];
            let file = spill.get()?;
            let offset = spill.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            let written = file.write_all_at(bytes, offset);
            match written.map_err(Error::io("write a temporary file in", &spill.folder)) {
                Ok(()) => return Ok((index as u64) << OFFSET_BITS | offset),
                Err(error) if error.is_full_disk() => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        let none = || Error::Accounting { what: "no folder for temporary files".into() };
        Err(refused.unwrap_or_else(none))
    }

    fn read(&self, place: u64, buffer: &mut [u8]) -> Result<()> {
        let spill = &self.files[(place >> OFFSET_BITS) as usize];
        let offset = place & u64::low_mask(OFFSET_BITS);
        spill
            .get()?
            .read_exact_at(buffer, offset)
            .map_err(Error::io("read a temporary file in", &spill.folder))
    }

    /// The place of the extent before the one at `place`, and the number of its entries.
    fn header(&self, place: u64) -> Result<(u64, u64)> {
        let mut header = [0; HEADER_BYTES];
        self.read(place, &mut header)?;
        Ok((LittleEndian::read_u64(&header), LittleEndian::read_u64(&header[8..])))
    }

    /// Gives the place of a chain on the disk back to the system. Nobody may read it again.
    pub(in crate::sort) fn give_back(&self, chain: Chain, bits: u32) -> Result<()> {
        let width = packed_bytes(bits) as u64;
        let mut place = chain.last;
        while place != NONE {
            let (previous, entries) = self.header(place)?;
            let spill = &self.files[(place >> OFFSET_BITS) as usize];
            let offset = place & u64::low_mask(OFFSET_BITS);
            give_back(spill.get()?, offset, HEADER_BYTES as u64 + entries * width);
            place = previous;
        }
        Ok(())
    }

    /// Hands the entries of a chain to `sink`, from the last extent to the first. The sizes
    /// of `buffers` limit the memory.
    pub(in crate::sort) fn for_each<E: Entry>(
        &self,
        chain: Chain,
        bits: u32,
        buffers: &mut ReadBuffers<E>,
        mut sink: impl FnMut(&[E]),
    ) -> Result<()> {
        let width = packed_bytes(bits);
        let mut place = chain.last;
        while place != NONE {
            let (previous, mut entries) = self.header(place)?;
            let mut at = place + HEADER_BYTES as u64;
            while entries > 0 {
                #[expect(clippy::cast_possible_truncation, reason = "bounded by the buffer")]
                let count = entries.min(buffers.entries.len() as u64) as usize;
                let bytes = count * width;
                self.read(at, &mut buffers.bytes[..bytes])?;
                unpack(&buffers.bytes, width, &mut buffers.entries[..count]);
                sink(&buffers.entries[..count]);
                entries -= count as u64;
                at += bytes as u64;
            }
            place = previous;
        }
        Ok(())
    }
}

/// Memory for reading chains.
#[derive(Debug)]
pub(in crate::sort) struct ReadBuffers<E> {
    bytes: Vec<u8>,
    entries: Vec<E>,
}

impl<E: Entry> ReadBuffers<E> {
    /// Buffers for `count` entries at a time.
    pub(in crate::sort) fn new(count: usize) -> Self {
        Self { bytes: vec![0; count * 8 + OVERHANG], entries: vec![E::default(); count] }
    }
}

fn unpack<E: Entry>(bytes: &[u8], width: usize, entries: &mut [E]) {
    let mask = u64::low_mask(8 * u32::try_from(width).unwrap_or(8));
    for (index, entry) in entries.iter_mut().enumerate() {
        if let Some(word) = bytes[index * width..].first_chunk::<8>() {
            *entry = E::narrow(u64::from_le_bytes(*word) & mask);
        }
    }
}

/// Extents of many partitions, gathered for one write.
#[derive(Debug)]
pub(in crate::sort) struct Extents {
    bytes: Vec<u8>,
    filled: usize,
    /// For each extent, its chain and its start in `bytes`.
    starts: Vec<(usize, usize)>,
}

impl Extents {
    /// A buffer of `bytes` bytes.
    pub(in crate::sort) fn new(bytes: usize) -> Self {
        Self { bytes: vec![0; bytes + OVERHANG], filled: 0, starts: Vec::new() }
    }

    /// Appends `entries` of `bits` bits to chain `number`, and writes the buffer when it is full. A
    /// buffer has at most one extent of each chain: if `number` is smaller than the last one, a new
    /// buffer begins.
    pub(in crate::sort) fn add<E: Entry>(
        &mut self,
        files: &SpillFiles,
        chains: &mut [Chain],
        number: usize,
        bits: u32,
        mut entries: &[E],
    ) -> Result<()> {
        let width = packed_bytes(bits);
        if self.starts.last().is_some_and(|&(last, _)| number < last) {
            self.flush(files, chains)?;
        }
        while !entries.is_empty() {
            let same = self.starts.last().is_some_and(|&(last, _)| last == number);
            let header = if same { 0 } else { HEADER_BYTES };
            let room = self.bytes.len() - OVERHANG - self.filled;
            if room < header + width {
                self.flush(files, chains)?;
                continue;
            }
            if !same {
                self.starts.push((number, self.filled));
                self.filled += HEADER_BYTES;
            }
            let count = entries.len().min((room - header) / width);
            let (now, later) = entries.split_at(count);
            for (entry, at) in now.iter().zip((self.filled..).step_by(width)) {
                if let Some(slot) = self.bytes[at..].first_chunk_mut::<8>() {
                    *slot = entry.widen().to_le_bytes();
                }
            }
            self.filled += count * width;
            let start = self.starts.last().map_or(0, |&(_, start)| start);
            let payload = (self.filled - start - HEADER_BYTES) / width;
            LittleEndian::write_u64(&mut self.bytes[start + 8..], payload as u64);
            chains[number].entries += count as u64;
            entries = later;
        }
        Ok(())
    }

    /// Writes the gathered extents.
    pub(in crate::sort) fn flush(
        &mut self,
        files: &SpillFiles,
        chains: &mut [Chain],
    ) -> Result<()> {
        if self.filled == 0 {
            return Ok(());
        }
        for &(number, start) in &self.starts {
            LittleEndian::write_u64(&mut self.bytes[start..], chains[number].last);
        }
        let place = files.write(self)?;
        for &(number, start) in &self.starts {
            chains[number].last = place + start as u64;
        }
        self.starts.clear();
        self.filled = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::MetadataExt;

    fn round_trip<E: Entry>(bits: u32, buffer: usize, pieces: &[(usize, Vec<E>)]) {
        let files = SpillFiles::new(&[std::env::temp_dir(), std::env::temp_dir()]);
        let mut chains = vec![Chain::default(); 4];
        let mut extents = Extents::new(buffer);
        let mut expected = vec![Vec::new(); 4];
        for (number, entries) in pieces {
            extents.add(&files, &mut chains, *number, bits, entries).unwrap();
            expected[*number].extend_from_slice(entries);
        }
        extents.flush(&files, &mut chains).unwrap();
        for (chain, mut expected) in chains.into_iter().zip(expected) {
            let mut found: Vec<E> = Vec::new();
            let mut buffers = ReadBuffers::new(7);
            files
                .for_each(chain, bits, &mut buffers, |part| found.extend_from_slice(part))
                .unwrap();
            assert_eq!(found.len() as u64, chain.entries);
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_chain_that_is_given_back_takes_no_other_with_it() {
        let files = SpillFiles::new(&[std::env::temp_dir()]);
        let mut chains = [Chain::default(); 2];
        let mut extents = Extents::new(100_000);
        for round in 0..20_u64 {
            for number in 0..2 {
                let entries: Vec<u64> = (0..9000).map(|i| (round << 32) + i).collect();
                extents.add(&files, &mut chains, number, 64, &entries).unwrap();
            }
        }
        extents.flush(&files, &mut chains).unwrap();
        let blocks = || files.files[0].get().unwrap().metadata().unwrap().blocks();
        let before = blocks();
        files.give_back(chains[0], 64).unwrap();
        assert!(blocks() <= before, "some file systems keep them");
        let (mut buffers, mut sum) = (ReadBuffers::<u64>::new(7), 0);
        let add = |entries: &[u64]| sum += entries.iter().map(|entry| entry >> 32).sum::<u64>();
        files.for_each(chains[1], 64, &mut buffers, add).unwrap();
        assert_eq!(sum, 9000 * (0..20).sum::<u64>());
    }

    proptest! {
        #[test]
        fn what_was_spilled_comes_back(
            bits in 0_u32..=64,
            buffer in 24_usize..300,
            pieces in prop::collection::vec(
                (0_usize..4, prop::collection::vec(any::<u64>(), 0..60)), 0..12),
        ) {
            let keep = |values: &[u64]| values.iter().map(|v| v & u64::low_mask(bits)).collect();
            let wide: Vec<(usize, Vec<u64>)> =
                pieces.iter().map(|(number, values)| (*number, keep(values))).collect();
            round_trip(bits, buffer, &wide);
            if bits <= 32 {
                let narrow: Vec<(usize, Vec<u32>)> = wide.iter()
                    .map(|(number, values)| (*number, values.iter().map(|&v| u32::narrow(v)).collect()))
                    .collect();
                round_trip(bits, buffer, &narrow);
            }
        }
    }
}
