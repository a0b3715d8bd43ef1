//! Who gets how much of the memory limit. It is divided here and in
//! [`layout`](super::layout), which divides what is left for the sort itself.
//!
//! | who | share |
//! |---|---|
//! | decoders of compressed inputs and of tables | a quarter |
//! | packing the output, or encoding a table | a quarter |
//! | the writer of a set | 10 MiB |
//! | blocks of the inputs of a merge | a quarter |

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

impl Budget {
    /// What was asked for, or the default, but never more than the machine has.
    pub(crate) fn in_force(asked: Option<ByteSize>) -> Self {
        let machine = Machine::detect();
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

    /// All that a command may use that is no sort.
    #[cfg(feature = "cli")]
    pub(crate) fn command(self) -> u64 {
        self.bytes - OWN_BYTES.min(self.bytes / 8)
    }
}

pub(in crate::sort) fn in_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
