//! Completes the options: fills in defaults and refuses contradictions.

use super::load::spill::MAX_FOLDERS;
use super::options::Sort;
use super::plan::budget::{Budget, MAX_THREADS, MIN_MEMORY};
use super::plan::strategy::Strategy;
use super::rejects::InvalidLines;
use crate::error::{Error, Result};
use crate::io::read::{BlockFormat, Input, KeyColumn, OpenOptions, Opened, Purpose, ScanOptions};
use crate::io::table::TableFormat;
use crate::io::write::{Spool, temporary_folder};
use crate::kernel::Level;
use crate::kernel::sys::Machine;
use crate::number::{Column, NO_FIELDS, Selector};
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// With a lower rate of false positives a row takes more than 150 bytes of a filter.
const LEAST_RATE: f64 = 1e-15;

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

impl Sort {
    /// Fills in defaults and refuses contradictions. With `is_typed` the output takes values, which
    /// have no format.
    pub(super) fn settle(&mut self, is_typed: bool) -> Result<()> {
        check_threads(self.threads)?;
        self.check_filter()?;
        if let Some(limit) = self.memory
            && limit < MIN_MEMORY
        {
            return Err(Error::MemoryLimitTooSmall {
                limit_bytes: limit.bytes(),
                needed_bytes: MIN_MEMORY.bytes(),
            });
        }
        if self.has_ranges() {
            self.check_ranges()?;
        }
        if !self.has_text() && self.invalid != InvalidLines::Fail {
            return Err(Error::usage(
                "binary formats and numbers in memory have no malformed lines to skip or reject",
            ));
        }
        if !self.has_text() && (self.column.is_some() || self.header) {
            return Err(Error::usage(
                "columns and headers are for text, not for binary formats and numbers in memory",
            ));
        }
        if self.selection.counted && !self.to.is_text() && self.table.is_none() && !is_typed {
            return Err(Error::usage("counts are for text only, and for Parquet and Arrow files"));
        }
        if self.no_quoting && self.column.is_none() {
            return Err(Error::usage(NO_FIELDS));
        }
        let delimiter = self.column.as_ref().map_or(b',', |(_, delimiter)| *delimiter);
        let columns = self.column.iter().map(|(column, _)| column);
        for column in columns.chain(self.keys.iter().map(|(key, _)| key)) {
            if let Some(fault) = column.fault(delimiter, self.terminator()) {
                return Err(Error::usage(fault));
            }
            self.header |= matches!(column, Column::Name(_));
        }
        let is_split = |input: &Input| matches!(input, Input::Split(..));
        let is_split = self.inputs.iter().any(is_split);
        if is_split
            && (self.column.is_some() || self.keys.is_some() || self.header || self.zero_terminated)
        {
            return Err(Error::usage(
                "a split needs plain lines that end in a newline, without columns or a header",
            ));
        }
        if self.folders.is_empty() {
            self.folders.push(temporary_folder());
        }
        self.check_spilling()?;
        if self.tuning.partitions.is_some_and(|count| !count.is_power_of_two()) {
            return Err(Error::usage("the number of partitions must be a power of two"));
        }
        let machine = Machine::detect();
        let limit = Budget::on(&machine, self.memory).without(self.beside.total())?;
        self.memory = Some(limit);
        let most = self.threads.unwrap_or(machine.threads);
        self.threads = Some(Budget::of(limit).threads_up_to(most));
        Ok(())
    }

    /// Refuses too many folders for temporary files, and none where these are demanded.
    fn check_spilling(&self) -> Result<()> {
        if self.folders.len() > MAX_FOLDERS {
            return Err(Error::usage(format!(
                "temporary files can have at most {MAX_FOLDERS} folders, not {}",
                self.folders.len()
            )));
        }
        if self.no_spill && self.strategy == Some(Strategy::Spill) {
            return Err(Error::usage(
                "the strategy spill needs temporary files, and temporary files are not allowed",
            ));
        }
        Ok(())
    }

    /// Refuses a filter if the output is no table that can have one.
    pub(super) fn check_filter(&self) -> Result<()> {
        match (self.table_filter, self.table) {
            (None, _) => Ok(()),
            (Some(rate), Some(TableFormat::Parquet)) if (LEAST_RATE..1.0).contains(&rate) => Ok(()),
            (Some(_), Some(TableFormat::Parquet)) => Err(Error::usage(format!(
                "the rate of false positives of a filter in Parquet is between 0 and 1, and at least {LEAST_RATE:e}"
            ))),
            _ => Err(Error::usage("only Parquet files have Bloom filters")),
        }
    }

    /// Whether inputs may have lines of text.
    fn has_text(&self) -> bool {
        let is_typed = |input: &Input| matches!(input, Input::Values(_) | Input::Pieces(_));
        let only_values = !self.inputs.is_empty() && self.inputs.iter().all(is_typed);
        self.from.is_text() && !only_values
    }

    /// The memory limit, with all shares.
    pub(crate) fn budget(&self) -> Budget {
        Budget::in_force(self.memory)
    }

    /// The memory for the sort itself, after options are settled.
    pub(super) fn rest(&self) -> Budget {
        self.memory.map_or_else(|| self.budget(), Budget::of)
    }

    /// The limit of the whole process, after options are settled.
    pub(super) fn limit_bytes(&self) -> u64 {
        self.memory.map_or(u64::MAX, |rest| rest.bytes().saturating_add(self.beside.total()))
    }

    /// What an output needs beside its values, before options are settled.
    pub(super) fn spool(&self) -> Spool {
        Spool { column: self.column_name(), ..self.budget().spool(self.folder()) }
    }

    /// The name of the column of values in a table that is written: that of the input, if it was
    /// chosen by its name.
    pub(crate) fn column_name(&self) -> Cow<'static, str> {
        match &self.column {
            Some((Column::Name(name), _)) => Cow::Owned(name.clone()),
            _ => Spool::COLUMN,
        }
    }

    /// The first folder for temporary files.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folders.first().cloned().unwrap_or_else(temporary_folder)
    }

    /// Whether its inputs are text, so that tables and compressed files differ from them at the
    /// first bytes.
    pub(crate) fn reads_text(&self) -> bool {
        self.from.is_text()
    }

    /// How to open inputs if the run reads one of them at a time.
    pub(super) fn open_options(&self) -> OpenOptions<'_> {
        OpenOptions {
            purpose: Purpose::Values,
            format: self.from,
            unpack_bytes: self.rest().unpacking(),
            table_bytes: self.rest().tables(),
            column: self.column.as_ref().map(|(column, _)| column),
            keys: self.keys.as_ref().map(|(column, _)| column),
            threads: self.threads.unwrap_or(1),
            leaves_out: self.invalid != InvalidLines::Fail,
        }
    }

    /// Threads that read these inputs, after options are settled.
    pub(super) fn threads_for(&self, opened: &[Opened]) -> usize {
        let threads = self.threads.unwrap_or(1);
        opened.iter().filter_map(Opened::table_threads).fold(threads, usize::min)
    }

    /// Whether malformed lines are kept, to be written to a file.
    pub(super) fn keeps_rejects(&self) -> bool {
        matches!(self.invalid, InvalidLines::Reject(_))
    }

    pub(super) fn terminator(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// How inputs are cut into blocks of this size.
    pub(super) fn block_format(&self, block_bytes: usize) -> BlockFormat {
        let (format, terminator, column) = (self.from, self.terminator(), self.selector());
        let keys = self.keys.as_ref().and_then(|(key, numbers)| {
            let selector = Selector { column: key.clone(), ..column.clone()? };
            Some(KeyColumn { selector, numbers: Arc::clone(numbers) })
        });
        BlockFormat { format, terminator, column, keys, block_bytes }
    }

    /// How these blocks are read.
    pub(super) fn scan_options<'s>(&'s self, block_format: &'s BlockFormat) -> ScanOptions<'s> {
        ScanOptions {
            block_format,
            header: self.header,
            level: Level::best(),
            progress: &self.progress,
        }
    }

    fn selector(&self) -> Option<Selector> {
        self.column.clone().map(|(column, delimiter)| Selector {
            column,
            delimiter,
            terminator: self.terminator(),
            notation: self.from.notation().unwrap_or_default(),
            header: self.header,
            quoting: !self.no_quoting,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::ByteSize;
    use crate::sort::Strategy;

    #[test]
    fn a_machine_of_many_processors_sorts_in_little_memory() {
        for mebibytes in [48, 64, 100, 256, 512, 2048] {
            let limit = ByteSize::from_mib(mebibytes);
            let threads = Budget::of(limit).threads_up_to(256);
            assert!(threads >= 4, "{mebibytes} MiB: {threads}");
            let sort = Sort::new().values((0..1000).map(|value| value << 40)).threads(threads);
            let sort = sort.memory(limit.max(MIN_MEMORY)).strategy(Strategy::Spill);
            assert!(sort.explain().is_ok(), "{mebibytes} MiB, {threads} threads");
        }
        assert_eq!(Budget::of(MIN_MEMORY).threads_up_to(2), 2);
        assert_eq!(Budget::of(ByteSize::from_mib(1)).threads_up_to(2), 1);
    }
}
