//! The shares of the memory limit. This file divides the limit among all users of memory;
//! [`layout`](super::layout) divides the rest for the sort itself.
//!
//! | who | share |
//! |---|---|
//! | the program and its small buffers | 9 MiB; in a command that is no sort 8 MiB, at most an eighth |
//! | names of inputs in a list (`--files0-from`) | at most a sixteenth, beside the others |
//! | closed decoders, whose memory the allocator keeps | a twelfth |
//! | decoders of compressed inputs and of tables | a quarter; half of it for what all open tables keep |
//! | packing the output, or encoding a table | a quarter |
//! | the writer of a set | 10 MiB |
//! | values on their way to an iterator | 2 MiB |
//! | decoding sets in memory or in files | 256 KiB a thread |
//! | keys of rows that are grouped | an eighth, and a thirty-second for rows that are kept aside |
//! | keys of sets that have an id (`bitset keys-of`) | an eighth |
//! | sets that are joined | 2 KiB a set; the container of a sparse set or of a list of runs |
//! | blocks of the inputs of a merge | a quarter |
//! | the output buffer of a merge | a sixteenth, at most 1 MiB |
//! | ranges | three quarters, a fifteenth of it blocks of lines; of delimited text up to half |
//! | lines that are looked up in a set (`bitset filter`) | five eighths, at most half of these for a filter before it |
//! | lines of keys | a chunk has a sixteenth of the memory of its thread |
//! | distinct lines (`bloom dedup --exact`) | six eighths for the set of them, one for temporary files |
//! | distinct lines by a filter (`bloom dedup`) | seven eighths for the filter, which may grow |
//! | lines in common (`bloom common`) | two filters of 3/16, a set of 7/16, temporary files of 1/16 |
//! | a decoder of lines | a quarter |
//! | packing the output, or encoding a table, of a command that is no sort | a quarter, at most 16 MiB |
//!
//! Outputs without a limit, such as a set or a filter that a library user saves, take the fixed
//! [`Spool::MEMORY_BYTES`] and [`Spool::PACK_BYTES`]. While an index is built, its tables take four
//! times [`INDEX_TABLE_BYTES`].

use crate::error::{Error, Result};
use crate::io::read::{BlockFormat, LineShare, WAITING_BYTES};
use crate::io::write::Spool;
use crate::kernel::in_usize;
use crate::kernel::sys::Machine;
use crate::number::MAX_RECORD_BYTES;
use crate::size::ByteSize;
use std::path::PathBuf;

/// Smallest memory limit that a run can keep.
pub(in crate::sort) const MIN_MEMORY: ByteSize = ByteSize::from_mib(64);
/// More threads would only divide the memory further.
pub(crate) const MAX_THREADS: usize = 256;
/// With less memory, the buffers of a sorting thread leave too little for values.
const MEMORY_PER_THREAD: u64 = 8 << 20;
/// Memory of the writer of a set beside the sort. It keeps the containers of a bucket and a table
/// of them; each goes to a temporary file when it is full.
pub(in crate::sort) const SET_WRITER_BYTES: u64 = 10 << 20;
const _: () = assert!(2 * Spool::MEMORY_BYTES as u64 <= SET_WRITER_BYTES);
/// Batches of values that wait for the caller of an iterator, or are on their way to it.
pub(in crate::sort) const ITERATOR_BYTES: u64 = 2 << 20;
/// Bytes of a table of an index that stay in memory before they go to a file.
pub(crate) const INDEX_TABLE_BYTES: usize = 4 << 20;
/// Program, C library, tables and allocator. A part is for malformed lines that wait for earlier
/// blocks, and for the sampled bytes of a stream.
pub(in crate::sort) const BASE_BYTES: u64 = 9 << 20;
const _: () = assert!((WAITING_BYTES + AHEAD_BYTES) as u64 <= BASE_BYTES / 2);
/// Bytes of a stream that the sample reads. They are kept until they are sorted.
pub(in crate::sort) const AHEAD_BYTES: usize = 2 << 20;
/// Bytes of a block of delimited text: a record fits in it.
pub(in crate::sort) const RECORD_BLOCK_BYTES: usize =
    BlockFormat::block_of_records(MAX_RECORD_BYTES);
/// Memory for notes of malformed lines, in multiples of the block. The worst block has a
/// malformed line in every second byte; a note takes five bytes, and twice that while its vector
/// grows.
pub(in crate::sort) const REJECTS_PER_BLOCK: usize = 5;
/// Bytes of the only block of a check.
pub(in crate::sort) const CHECK_BLOCK_BYTES: usize = 256 << 10;
/// A thread that joins sets: a batch of the result, and a block and a container of each of a few sets.
#[cfg(feature = "cli")]
const JOIN_BYTES: u64 = 1 << 20;
/// The program itself, its stacks and small buffers, in a command that is no sort.
#[cfg(feature = "cli")]
const OWN_BYTES: u64 = 8 << 20;

/// The memory limit that is in force for the whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    bytes: u64,
}

/// How a thread reads ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) struct RangeShare {
    pub(in crate::sort) threads: usize,
    /// Bytes of lines that it takes at a time.
    pub(in crate::sort) block_bytes: usize,
    /// Bytes of ranges that it keeps in memory beside those of a block.
    pub(in crate::sort) room_bytes: usize,
}

/// Memory of the search for common lines beside the lines that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit")]
pub(crate) struct CommonShare {
    /// Bytes of each of two filters.
    pub(crate) filter_bytes: u64,
    /// Bytes of the set of lines, while both filters may be in memory.
    pub(crate) set_bytes: u64,
    /// Buffers of temporary files.
    pub(crate) spilled_bytes: u64,
}

/// The shares of all work beside the sort itself. They are reserved before the rest is divided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::sort) struct Beside {
    /// Decoders of compressed inputs and of tables.
    pub(in crate::sort) unpacking: u64,
    /// Decoding of sets.
    pub(in crate::sort) decoding: u64,
    /// The packer of the output, or the encoder of a table.
    pub(in crate::sort) packing: u64,
    /// The writer of a set.
    pub(in crate::sort) set_writer: u64,
    /// Values on their way to an iterator.
    pub(in crate::sort) iterator: u64,
    /// Keys of rows, and rows that are kept aside.
    pub(in crate::sort) keys: u64,
}

impl Beside {
    /// The shares with their names for messages.
    pub(in crate::sort) fn named(self) -> [(u64, &'static str); 6] {
        [
            (self.unpacking, "unpacking inputs, or reading tables"),
            (self.decoding, "decoding sets"),
            (self.packing, "packing the output, or encoding a table"),
            (self.set_writer, "writing the set"),
            (self.iterator, "handing values over"),
            (self.keys, "keys of rows"),
        ]
    }

    pub(in crate::sort) fn total(self) -> u64 {
        self.named().iter().fold(0, |sum, (bytes, _)| sum.saturating_add(*bytes))
    }
}

/// The buffers of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) struct MergeShare {
    /// A block of each input.
    pub(in crate::sort) block_bytes: usize,
    pub(in crate::sort) output_bytes: usize,
}

impl Budget {
    /// The limit that the caller asked for, or the default; never more than the machine has.
    pub(crate) fn in_force(asked: Option<ByteSize>) -> Self {
        Self::on(&Machine::detect(), asked)
    }

    /// The same on this machine.
    pub(in crate::sort) fn on(machine: &Machine, asked: Option<ByteSize>) -> Self {
        let default = machine.default_memory_limit();
        let most = machine.memory_bytes.max(MIN_MEMORY.bytes());
        Self { bytes: asked.map_or(default, ByteSize::bytes).min(most) }
    }

    /// This limit, even if the machine has less.
    pub(crate) fn of(limit: ByteSize) -> Self {
        Self { bytes: limit.bytes() }
    }

    /// The rest of the limit after `bytes` are reserved.
    ///
    /// # Errors
    ///
    /// If nothing is left.
    pub(in crate::sort) fn without(self, bytes: u64) -> Result<ByteSize> {
        let too_small = Error::MemoryLimitTooSmall {
            limit_bytes: self.bytes,
            needed_bytes: bytes.saturating_add(MIN_MEMORY.bytes()),
        };
        self.bytes.checked_sub(bytes).map(ByteSize::from_bytes).ok_or(too_small)
    }

    /// The threads of a sort: `most`, or fewer if the limit has no room for so many.
    pub(in crate::sort) fn threads_up_to(self, most: usize) -> usize {
        most.min(in_usize(self.bytes / MEMORY_PER_THREAD)).clamp(1, MAX_THREADS)
    }

    /// Memory for the names of inputs in a list.
    #[cfg(feature = "cli")]
    pub(crate) fn names(self) -> u64 {
        self.bytes / 16
    }

    /// Memory for the decoders of all inputs that are open at the same time. Files of lines are
    /// read one after the other.
    pub(in crate::sort) fn unpacking(self) -> u64 {
        self.bytes / 4
    }

    /// How many of `most` threads may read delimited text, in blocks that a record fits in; at least
    /// one. As much again is for the values.
    pub(in crate::sort) fn record_threads(self, most: usize, keeps_rejects: bool) -> usize {
        let rejects = if keeps_rejects { REJECTS_PER_BLOCK } else { 0 };
        self.block_threads(most, ((1 + rejects) * RECORD_BLOCK_BYTES) as u64)
    }

    /// How many of `most` threads join sets.
    #[cfg(feature = "cli")]
    pub(crate) fn join_threads(self, most: usize) -> usize {
        self.block_threads(most, JOIN_BYTES)
    }

    /// How many of `most` threads may have so many bytes each in half of the memory; at least one.
    fn block_threads(self, most: usize, bytes: u64) -> usize {
        most.min(in_usize(self.bytes / (2 * bytes))).max(1)
    }

    /// Memory for the places of pieces and the dictionaries of all tables that are open at the same
    /// time.
    pub(in crate::sort) fn tables(self) -> u64 {
        self.unpacking() / 2
    }

    /// Memory for the packer of the output, or the encoder of a table.
    pub(in crate::sort) fn packing(self) -> u64 {
        self.bytes / 4
    }

    /// Memory of closed decoders that the allocator keeps.
    pub(in crate::sort) fn decoders_left(self) -> u64 {
        self.bytes / 12
    }

    /// Memory for decoding sets in so many threads.
    pub(in crate::sort) fn decoding_sets(threads: usize) -> u64 {
        const LOWS_BYTES: u64 = 4 << 16; // the values of a container, 4 bytes each
        LOWS_BYTES * threads as u64
    }

    /// Keys of sets that `keys-of` holds at once: an eighth, because lists grow by doubling.
    #[cfg(feature = "cli")]
    pub(crate) fn keys_of_sets(self) -> usize {
        in_usize(self.bytes / 8) / size_of::<&[u8]>()
    }

    /// Memory for the keys of rows.
    pub(crate) fn keys(self) -> u64 {
        self.bytes / 8
    }

    /// Memory for rows that were kept aside, and their keys, after all input is read.
    pub(crate) fn grouping(self) -> u64 {
        self.bytes.saturating_sub(BASE_BYTES + SET_WRITER_BYTES + 2 * self.rows_aside())
    }

    /// Memory for the buffers of rows that are kept aside.
    pub(crate) fn rows_aside(self) -> u64 {
        self.bytes / 32
    }

    /// The buffers of a merge of so many inputs, which are delimited text if `is_delimited`; none
    /// if they do not fit.
    pub(in crate::sort) fn merge(self, inputs: usize, is_delimited: bool) -> Option<MergeShare> {
        /// Memory of an input as a multiple of its block: the block, and its values, at two bytes a
        /// line.
        const MEMORY_PER_BLOCK: u64 = 6;
        /// Smaller blocks would make a merge slower than a sort.
        const MIN_BLOCK_BYTES: usize = 16 << 10;
        const MAX_BLOCK_BYTES: usize = 256 << 10;
        const MAX_OUTPUT_BYTES: usize = 1 << 20;
        let each = in_usize(self.bytes / 4 / MEMORY_PER_BLOCK / inputs.max(1) as u64);
        let (least, most) = if is_delimited {
            (RECORD_BLOCK_BYTES, RECORD_BLOCK_BYTES)
        } else {
            (MIN_BLOCK_BYTES, MAX_BLOCK_BYTES)
        };
        let output_bytes = in_usize(self.bytes / 16).min(MAX_OUTPUT_BYTES);
        (each >= least).then(|| MergeShare { block_bytes: most.min(each), output_bytes })
    }

    /// Memory and folder for bytes of an output that cannot be written at once.
    pub(in crate::sort) fn spool(self, folder: PathBuf) -> Spool {
        Spool { pack_bytes: self.packing(), folder, ..Spool::default() }
    }

    /// The same for the output of a command that is no sort.
    #[cfg(feature = "cli")]
    pub(crate) fn command_spool(self, folder: PathBuf) -> Spool {
        let spool = self.spool(folder);
        Spool { pack_bytes: spool.pack_bytes.min(Spool::PACK_BYTES), ..spool }
    }

    /// The limit without the share of a decoder of lines.
    pub(crate) fn without_unpacking(self) -> Self {
        Self { bytes: self.bytes - self.unpacking() }
    }

    /// The shares of up to `threads` threads that read ranges. `others` is already taken. Of
    /// delimited text, `records` says whether its malformed lines are kept.
    pub(in crate::sort) fn ranges(
        self,
        threads: usize,
        others: u64,
        records: Option<bool>,
    ) -> RangeShare {
        // The room, half of it again for reading temporary files, and a block with the ranges of
        // its lines, which may have one digit each.
        const PARTS: u64 = 30;
        /// Memory for the ranges of a block of delimited text, in multiples of the block: a line
        /// has two bytes at least, and a range below 2^32 takes 8.
        const RANGES_PER_BLOCK: usize = 4;
        let bytes = self.bytes.saturating_sub(others) / 4 * 3;
        let record_bytes = records.map_or(0, |keeps_rejects| {
            let beside = if keeps_rejects { REJECTS_PER_BLOCK } else { RANGES_PER_BLOCK };
            ((1 + beside) * RECORD_BLOCK_BYTES) as u64
        });
        let threads = Self { bytes }.block_threads(threads, record_bytes.max(1));
        let part = in_usize((bytes / threads as u64).saturating_sub(record_bytes) / PARTS);
        let block_bytes = match records {
            Some(_) => RECORD_BLOCK_BYTES,
            // A block of this size is still in the second-level cache when it is parsed.
            None => (2 * part).clamp(1 << 12, 1 << 18),
        };
        RangeShare { threads, block_bytes, room_bytes: (12 * part).max(1 << 12) }
    }

    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// The lines that up to `threads` threads look up in a set at a time; and the bytes of the
    /// screen, the filter in front of the set. The best one has `best_screen` bytes; with less than
    /// a quarter of these there is none.
    pub(crate) fn set_lines(self, threads: usize, best_screen: u64) -> (LineShare, usize) {
        /// With less memory for each thread, the limit would not hold.
        const BYTES_PER_THREAD: u64 = 24 << 20;
        /// Bytes of memory per byte of text, at worst: some chunks have lines of one digit, others
        /// have empty lines. The bytes are the text, its values, their places, the sorted values,
        /// the answers, the values of which a screen is not sure, their places, and the buffers of
        /// the output, of empty lines and of kept lines.
        const FACTOR: usize = 54;
        /// Larger chunks give no more speed.
        const MAX_CHUNK_BYTES: usize = 32 << 20;
        // The rest is for memory that the allocator keeps of buffers that grew, in each thread.
        let bytes = self.bytes / 8 * 5;
        // A line of a MiB is accepted however little memory there is.
        let threads = threads.min(in_usize(bytes / BYTES_PER_THREAD)).max(1);
        let screen_bytes = if bytes / 2 < best_screen / 4 { 0 } else { best_screen.min(bytes / 2) };
        let line_bytes = in_usize((bytes - screen_bytes) / (FACTOR * threads) as u64);
        let chunk_bytes = line_bytes.min(MAX_CHUNK_BYTES);
        let unpack_bytes = self.unpacking();
        (LineShare { threads, chunk_bytes, unpack_bytes, line_bytes }, in_usize(screen_bytes))
    }

    /// Lines whose keys `threads` threads look up or put into filters.
    pub(crate) fn key_lines(self, threads: usize) -> LineShare {
        /// Bytes of memory for each byte of a chunk: the lines, and copies of them or answers.
        const FACTOR: u64 = 16;
        const MIN_CHUNK_BYTES: usize = 1 << 12;
        /// Lines that stay in the cache of a processor.
        const MAX_CHUNK_BYTES: usize = 1 << 20;
        /// With less memory for each thread, lines of a MiB, which are always accepted, would not fit.
        const BYTES_PER_THREAD: u64 = 10 << 20;
        let threads = threads.min(in_usize(self.bytes / BYTES_PER_THREAD)).max(1);
        let line_bytes = in_usize(self.bytes / (FACTOR * threads as u64));
        let chunk_bytes = line_bytes.clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
        LineShare { threads, chunk_bytes, unpack_bytes: self.unpacking(), line_bytes }
    }

    /// Memory for the set of distinct lines.
    pub(crate) fn distinct_lines(self) -> u64 {
        self.bytes / 8 * 6
    }

    /// How many of `most` threads may make filters of an index; at least one. A thread holds the
    /// hashes of the keys of 64 MiB of rows, which take up to twice as much if rows are short; of a
    /// larger block twice.
    #[cfg(feature = "cli")]
    pub(crate) fn index_threads(self, most: usize, block_bytes: u64) -> usize {
        let bytes = block_bytes.saturating_mul(4).max(128 << 20);
        in_usize(self.bytes / bytes).clamp(1, most.max(1))
    }

    /// Memory for a filter of distinct lines. The rest is for the lines that are read.
    pub(crate) fn distinct_filter(self) -> u64 {
        self.bytes / 8 * 7
    }

    /// Memory for the buffers of temporary files beside that set.
    pub(crate) fn spilled_lines(self) -> u64 {
        self.bytes / 8
    }

    /// Memory for the search for common lines. The rest of 16 parts is for the lines that are read.
    pub(crate) fn common_lines(self) -> CommonShare {
        let part = self.bytes / 16;
        CommonShare { filter_bytes: 3 * part, set_bytes: 7 * part, spilled_bytes: part }
    }

    /// The memory of a command in which each of these two filters gets `filter_bytes`.
    #[cfg(feature = "cli")]
    pub(crate) fn for_common_filter(filter_bytes: u64) -> Self {
        let bytes = filter_bytes.div_ceil(3).saturating_mul(16);
        // With the memory of the program: the inverse of `command`.
        Self { bytes: bytes.saturating_add(OWN_BYTES.min(bytes.div_ceil(7))) }
    }

    /// Checks that so many sets can be joined at once, if the values that are in memory at a time take
    /// so many bytes. The others stay where they are.
    ///
    /// # Errors
    ///
    /// If they take more than the memory.
    #[cfg(feature = "cli")]
    pub(crate) fn check_sets(self, sets: usize, values_bytes: u64) -> Result<()> {
        /// A set that is open, its names, and where a join is in it.
        const SET_BYTES: u64 = 2 << 10;
        let sets_bytes = (sets as u64 * SET_BYTES).saturating_add(values_bytes);
        if sets_bytes <= self.command().bytes {
            return Ok(());
        }
        let needed_bytes = sets_bytes + OWN_BYTES;
        Err(Error::MemoryLimitTooSmall { limit_bytes: self.bytes, needed_bytes })
    }

    /// The memory of a command that is no sort, without that of the program itself.
    #[cfg(feature = "cli")]
    pub(crate) fn command(self) -> Self {
        Self { bytes: self.bytes - OWN_BYTES.min(self.bytes / 8) }
    }
}
