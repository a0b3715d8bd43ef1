//! Options made complete: defaults filled in, contradictions refused.

use super::options::Sort;
use super::rejects::InvalidLines;
use crate::error::{Error, Result};
use crate::io::compression::MEMORY_SHARE;
use crate::io::read::{OpenOptions, Purpose};
use crate::kernel::sys::Machine;
use crate::number::Format;
use crate::number::{Column, Selector};
use crate::size::ByteSize;

/// Smallest memory limit that is promised to be kept.
const MIN_MEMORY: ByteSize = ByteSize::from_mib(64);
/// More threads would only divide the memory further.
pub(crate) const MAX_THREADS: usize = 256;

/// Below this a thread's buffers leave too little for values.
const MEMORY_PER_THREAD: u64 = 8 << 20;

/// Refuses a number of threads that cannot be used.
pub(crate) fn check_threads(threads: Option<usize>) -> Result<()> {
    match threads {
        Some(0) => Err(Error::usage("at least 1 thread is needed")),
        Some(threads) if threads > MAX_THREADS => {
            Err(Error::usage(format!("at most {MAX_THREADS} threads can be used")))
        }
        _ => Ok(()),
    }
}

/// The number of threads for who names none: that of the processors, or fewer if
/// the memory limit has no room for so many.
fn default_threads(processors: usize, limit: ByteSize) -> usize {
    let room = usize::try_from(limit.bytes() / MEMORY_PER_THREAD).unwrap_or(MAX_THREADS);
    processors.min(room).clamp(1, MAX_THREADS)
}

/// The memory limit that is in force: what was asked for, or the default, but never more
/// than the machine has.
pub(super) fn limit_in_force(asked: Option<ByteSize>) -> ByteSize {
    let machine = Machine::detect();
    let default = ByteSize::from_bytes(machine.default_memory_limit());
    let most = ByteSize::from_bytes(machine.memory_bytes).max(MIN_MEMORY);
    asked.unwrap_or(default).min(most)
}

impl Sort {
    /// Fills in defaults and refuses contradictions.
    pub(super) fn settle(&mut self) -> Result<()> {
        check_threads(self.threads)?;
        if let Some(limit) = self.memory
            && limit < MIN_MEMORY
        {
            return Err(Error::MemoryLimitTooSmall {
                limit_bytes: limit.bytes(),
                needed_bytes: MIN_MEMORY.bytes(),
            });
        }
        if self.from != Format::Text && self.invalid != InvalidLines::Fail {
            return Err(Error::usage("binary formats have no malformed lines to skip or reject"));
        }
        if self.from != Format::Text && (self.column.is_some() || self.header) {
            return Err(Error::usage("columns and headers are for text, not for binary formats"));
        }
        if self.selection.counted && self.to != Format::Text && self.table.is_none() {
            return Err(Error::usage("counts are written as text only"));
        }
        if let Some((column, delimiter)) = &self.column {
            if *column == Column::Number(0) {
                return Err(Error::usage("columns are numbered from 1"));
            }
            if [self.terminator(), b'"', b'\r'].contains(delimiter) {
                return Err(Error::usage("this byte cannot be a delimiter"));
            }
            self.header |= matches!(column, Column::Name(_));
        }
        if self.folders.is_empty() {
            self.folders.push(std::env::temp_dir());
        }
        if self.tuning.partitions.is_some_and(|count| !count.is_power_of_two()) {
            return Err(Error::usage("the number of partitions must be a power of two"));
        }
        let limit = limit_in_force(self.memory);
        let too_small = Error::MemoryLimitTooSmall {
            limit_bytes: limit.bytes(),
            needed_bytes: self.reserved.bytes().saturating_add(MIN_MEMORY.bytes()),
        };
        let limit = limit.bytes().checked_sub(self.reserved.bytes()).ok_or(too_small)?;
        let limit = ByteSize::from_bytes(limit);
        self.memory = Some(limit);
        let processors = Machine::detect().threads;
        self.threads = Some(self.threads.unwrap_or(default_threads(processors, limit)));
        Ok(())
    }

    /// The limit in force for the whole process, of which a part may be reserved.
    pub(super) fn limit_bytes(&self) -> u64 {
        self.memory.map_or(u64::MAX, |rest| rest.bytes().saturating_add(self.reserved.bytes()))
    }

    /// Takes `bytes` from what the sort itself may use.
    pub(super) fn set_aside(&mut self, bytes: u64) {
        let Some(rest) = self.memory else { return };
        let bytes = bytes.min(rest.bytes());
        self.memory = Some(ByteSize::from_bytes(rest.bytes() - bytes));
        self.reserved = ByteSize::from_bytes(self.reserved.bytes().saturating_add(bytes));
    }

    /// Memory that unpacking may take beside the sort, whose options are not settled yet.
    pub(crate) fn unpack_room(&self) -> u64 {
        limit_in_force(self.memory).bytes() / MEMORY_SHARE
    }

    /// Whether its inputs are text, so that other content tells itself apart.
    pub(crate) fn reads_text(&self) -> bool {
        self.from == Format::Text
    }

    /// Memory that unpacking may take.
    pub(super) fn unpack_bytes(&self) -> u64 {
        self.memory.map_or(u64::MAX, ByteSize::bytes) / MEMORY_SHARE
    }

    /// How inputs are opened, of which `count` are read at the same time.
    pub(super) fn open_options(&self, count: u64) -> OpenOptions<'_> {
        OpenOptions {
            purpose: Purpose::Values,
            format: self.from,
            unpack_bytes: self.unpack_bytes() / count,
            column: self.column.as_ref().map(|(column, _)| column),
            threads: if count > 1 { 1 } else { self.threads.unwrap_or(1) },
        }
    }

    pub(super) fn terminator(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    pub(super) fn selector(&self) -> Option<Selector> {
        self.column.clone().map(|(column, delimiter)| Selector {
            column,
            delimiter,
            terminator: self.terminator(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sort::Strategy;

    #[test]
    fn a_machine_of_many_processors_sorts_in_little_memory() {
        for mebibytes in [48, 64, 100, 256, 512, 2048] {
            let limit = ByteSize::from_mib(mebibytes);
            let threads = default_threads(256, limit);
            assert!(threads >= 4, "{mebibytes} MiB: {threads}");
            let sort = Sort::new().values((0..1000).map(|value| value << 40)).threads(threads);
            let sort = sort.memory(limit.max(MIN_MEMORY)).strategy(Strategy::Spill);
            assert!(sort.explain().is_ok(), "{mebibytes} MiB, {threads} threads");
        }
        assert_eq!(default_threads(2, MIN_MEMORY), 2);
        assert_eq!(default_threads(2, ByteSize::from_mib(1)), 1);
    }
}
