//! Who gets how much of the memory limit. It is divided here and in
//! [`layout`](super::layout), which divides what is left for the sort itself.
//!
//! | who | share |
//! |---|---|
//! | decoders of compressed inputs and of tables | a quarter |
//! | packing the output, or encoding a table | a quarter |
//! | the writer of a set | 10 MiB |
//! | blocks of the inputs of a merge | a quarter |
//! | ranges | three quarters, a fifteenth of it blocks of lines |
//! | lines that a set is asked for | five eighths, a quarter of these for a filter before it |
//! | lines of keys | a sixteenth of a thread's memory a chunk |
//! | lines that differ | six eighths for the set of them, one for temporary files |
//! | lines in common | two filters of 3/16, a set of 7/16, temporary files of 1/16 |

use crate::error::{Error, Result};
use crate::kernel::sys::Machine;
use crate::size::ByteSize;

/// Smallest memory limit that is promised to be kept.
pub(in crate::sort) const MIN_MEMORY: ByteSize = ByteSize::from_mib(64);
/// More threads would only divide the memory further.
pub(crate) const MAX_THREADS: usize = 256;
/// Below this a sorting thread's buffers leave too little for values.
const MEMORY_PER_THREAD: u64 = 8 << 20;
/// What the writer of a set takes beside the sort.
pub(in crate::sort) const SET_WRITER_BYTES: u64 = 10 << 20;
/// A command that is no sort: the program itself, its stacks and small buffers.
#[cfg(feature = "cli")]
const OWN_BYTES: u64 = 8 << 20;

/// The memory limit that is in force for the whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    bytes: u64,
}

/// How lines are read by threads that share the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineShare {
    pub(crate) threads: usize,
    /// Bytes of lines that a thread takes at a time.
    pub(crate) chunk_bytes: usize,
    /// Longest line.
    pub(crate) line_bytes: usize,
}

/// How a thread reads ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) struct RangeShare {
    /// Bytes of lines that it takes at a time.
    pub(in crate::sort) block_bytes: usize,
    /// The ranges that it gathers before those of a block.
    pub(in crate::sort) room_bytes: usize,
}

/// What the search for common lines takes beside the lines that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the unit")]
pub(crate) struct CommonShare {
    /// Each of two filters.
    pub(crate) filter_bytes: u64,
    /// The set of lines, while both filters may be there.
    pub(crate) set_bytes: u64,
    /// Buffers of temporary files.
    pub(crate) spilled_bytes: u64,
}

impl Budget {
    /// What was asked for, or the default, but never more than the machine has.
    pub(crate) fn in_force(asked: Option<ByteSize>) -> Self {
        Self::on(&Machine::detect(), asked)
    }

    /// The same on a machine that was looked at already.
    pub(in crate::sort) fn on(machine: &Machine, asked: Option<ByteSize>) -> Self {
        let default = machine.default_memory_limit();
        let most = machine.memory_bytes.max(MIN_MEMORY.bytes());
        Self { bytes: asked.map_or(default, ByteSize::bytes).min(most) }
    }

    /// This limit, whatever the machine has.
    pub(crate) fn of(limit: ByteSize) -> Self {
        Self { bytes: limit.bytes() }
    }

    /// What is left when `bytes` are set aside.
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

    /// The bytes beside `others`, which are a share.
    pub(in crate::sort) fn beside(self, others: u64) -> u64 {
        self.bytes.saturating_sub(others)
    }

    /// The number of threads of a sort for who names none: that of the processors, or
    /// fewer if the limit has no room for so many.
    pub(in crate::sort) fn default_threads(self, processors: usize) -> usize {
        let room = usize::try_from(self.bytes / MEMORY_PER_THREAD).unwrap_or(MAX_THREADS);
        processors.min(room).clamp(1, MAX_THREADS)
    }

    /// Decoders of inputs that are open at the same time.
    pub(in crate::sort) fn unpacking(self) -> u64 {
        self.bytes / 4
    }

    /// What packs the output, or encodes a table.
    pub(in crate::sort) fn packing(self) -> u64 {
        self.bytes / 4
    }

    /// What the allocator keeps of decoders that are gone.
    pub(in crate::sort) fn decoders_left(self) -> u64 {
        self.bytes / 12
    }

    /// Blocks of all inputs of a merge, with their values.
    pub(in crate::sort) fn merged_blocks(self) -> u64 {
        self.bytes / 4
    }

    /// The output buffer of a merge.
    pub(in crate::sort) fn merged_output(self) -> u64 {
        self.bytes / 16
    }

    /// Ranges of `threads` threads, beside `others`, which are a share.
    pub(in crate::sort) fn ranges(self, threads: usize, others: u64) -> RangeShare {
        // Half of the room again for what is read of temporary files; for a block itself and
        // the ranges of its lines of a digit each.
        const PARTS: u64 = 30;
        let part = in_usize(self.beside(others) / 4 * 3 / threads.max(1) as u64 / PARTS);
        let block_bytes = (2 * part).clamp(1 << 12, 1 << 20);
        RangeShare { block_bytes, room_bytes: (12 * part).max(1 << 12) }
    }

    pub(crate) fn bytes(self) -> u64 {
        self.bytes
    }

    /// Lines that a set is asked for by up to `threads` threads, and the bytes of a filter
    /// before the set, if there is to be one.
    pub(crate) fn set_lines(self, threads: usize, is_screened: bool) -> (LineShare, usize) {
        /// More threads would not keep to the limit.
        const BYTES_PER_THREAD: u64 = 24 << 20;
        /// Bytes of memory a byte of text, where every line is one digit in some chunks,
        /// and empty in others: the text, its values, where they lie, the values in order,
        /// the answers, and in buffers that grow the output, the empty lines and those that
        /// are kept.
        const FACTOR: usize = 45;
        /// Larger chunks are answered no faster.
        const MAX_CHUNK_BYTES: usize = 32 << 20;
        // The rest is for what the allocator keeps of buffers that grew, in each thread.
        let bytes = self.bytes / 8 * 5;
        // A line of a MiB is taken in any memory.
        let threads = threads.min(in_usize(bytes / BYTES_PER_THREAD)).max(1);
        let screen_bytes = if is_screened { bytes / 4 } else { 0 };
        let line_bytes = in_usize((bytes - screen_bytes) / (FACTOR * threads) as u64);
        let chunk_bytes = line_bytes.min(MAX_CHUNK_BYTES);
        (LineShare { threads, chunk_bytes, line_bytes }, in_usize(screen_bytes))
    }

    /// Lines whose keys are asked for, or put into filters, by `threads` threads.
    pub(crate) fn key_lines(self, threads: usize) -> LineShare {
        /// Bytes of memory a byte of a chunk: the lines, what is copied of them, or
        /// answers to them.
        const FACTOR: u64 = 16;
        const MIN_CHUNK_BYTES: usize = 1 << 12;
        /// Lines that stay in the cache of a processor.
        const MAX_CHUNK_BYTES: usize = 1 << 20;
        let line_bytes = in_usize(self.bytes / (FACTOR * threads as u64));
        let chunk_bytes = line_bytes.clamp(MIN_CHUNK_BYTES, MAX_CHUNK_BYTES);
        LineShare { threads, chunk_bytes, line_bytes }
    }

    /// The set of lines that differ.
    pub(crate) fn distinct_lines(self) -> u64 {
        self.bytes / 8 * 6
    }

    /// Buffers of temporary files beside that set.
    pub(crate) fn spilled_lines(self) -> u64 {
        self.bytes / 8
    }

    /// The search for common lines. What is left of 16 parts is for the lines that are read.
    pub(crate) fn common_lines(self) -> CommonShare {
        let part = self.bytes / 16;
        CommonShare { filter_bytes: 3 * part, set_bytes: 7 * part, spilled_bytes: part }
    }

    /// All that a command may use that is no sort.
    #[cfg(feature = "cli")]
    pub(crate) fn command(self) -> Self {
        Self { bytes: self.bytes - OWN_BYTES.min(self.bytes / 8) }
    }
}

pub(in crate::sort) fn in_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
