//! The tools for lines, and the settings that they share: the key of a line, and the limits.

use super::common_lines::CommonLines;
use super::distinct::Distinct;
use super::filter::{Answered, Filter, LineAnswer};
use super::keys::{Funnel, LineJob, LineRules};
use super::spool::{named_as_typed, rereadable};
use crate::bloom::growing::Growing;
use crate::bloom::{self, AnyFilter, Plain, Storage};
use crate::error::{Error, Result};
use crate::io::read::{ChunkJob, Unchanged, may_unpack};
use crate::io::write::temporary_folder;
use crate::kernel::sys::Machine;
use crate::number::{Column, NO_FIELDS, Notation, Selector};
use crate::progress::Progress;
use crate::set::AsSet;
use crate::size::ByteSize;
use crate::sort::plan::budget::Budget;
use std::path::PathBuf;
use std::sync::Arc;

/// Which lines [`LineTools::filter`] and [`LineTools::filter_by_set`] copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Lines whose keys are known.
    Known,
    /// Lines whose keys are not known.
    Unknown,
}

/// Tools for the lines of files. Each line has a key: the whole line by default.
///
/// Files may be compressed and are read in their order; `-` is standard input. Lines are handed
/// over in their order, many at a time, each with its terminator. A last line without a terminator
/// gets one. An error of the function that takes the lines ends the tool.
///
/// # Examples
///
/// ```
/// use bitsort::bloom::{AnyFilter, BloomFilter};
/// use bitsort::lines::{Keep, LineTools};
///
/// # let folder = tempfile::tempdir()?;
/// # let (day, other) = (folder.path().join("day"), folder.path().join("other"));
/// std::fs::write(&day, "fox\ndog\nfox\n")?;
/// std::fs::write(&other, "cow\nfox\n")?;
/// let tools = LineTools::new();
///
/// let mut distinct = Vec::new();
/// tools.distinct([&day], |lines| Ok(distinct.extend_from_slice(lines)))?;
/// assert_eq!(distinct, b"fox\ndog\n");
///
/// let mut common = Vec::new();
/// tools.common([&day, &other], 0.01, |lines| Ok(common.extend_from_slice(lines)))?;
/// assert_eq!(common, b"fox\n");
///
/// let seen = tools.collect([&day], |keys| Ok(AnyFilter::Standard(BloomFilter::new(keys, 0.001)?)))?;
/// let mut new = Vec::new();
/// tools.filter([&other], &seen, Keep::Unknown, |lines| Ok(new.extend_from_slice(lines)))?;
/// assert_eq!(new, b"cow\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "nothing is read before a tool is called"]
pub struct LineTools {
    pub(super) rules: LineRules,
    column: Option<(Column, u8)>,
    header: bool,
    no_quoting: bool,
    /// How the numbers in lines are written.
    pub(super) notation: Notation,
    pub(super) skip_invalid: bool,
    pub(super) threads: usize,
    pub(super) memory: Budget,
    pub(super) folder: PathBuf,
    pub(super) progress: Arc<Progress>,
}

impl Default for LineTools {
    fn default() -> Self {
        let machine = Machine::detect();
        Self {
            rules: LineRules::default(),
            column: None,
            header: false,
            no_quoting: false,
            notation: Notation::DECIMAL,
            skip_invalid: false,
            threads: machine.threads,
            memory: Budget::of(ByteSize::from_bytes(machine.default_memory_limit())),
            folder: temporary_folder(),
            progress: Arc::default(),
        }
    }
}

/// Settings.
impl LineTools {
    /// The default: lines end in a newline and are their own keys; uses all processors, and as much
    /// memory as a sort.
    pub fn new() -> Self {
        Self::default()
    }

    /// The byte that ends a line; the default is a newline.
    pub fn terminator(mut self, byte: u8) -> Self {
        self.rules.terminator = byte;
        self
    }

    /// Whether a carriage return at the end of a line is no part of its key.
    pub fn crlf(mut self, crlf: bool) -> Self {
        self.rules.crlf = crlf;
        self
    }

    /// Whether lines with an empty key are left out.
    pub fn skip_empty(mut self, skip: bool) -> Self {
        self.rules.skip_empty = skip;
        self
    }

    /// The part of a key that filters hash.
    pub fn funnel(mut self, funnel: Funnel) -> Self {
        self.rules.funnel = funnel;
        self
    }

    /// Takes keys from this column of delimited text; a record then counts as a line. Only for
    /// [`filter`](Self::filter), [`filter_by_set`](Self::filter_by_set) and
    /// [`tell_by_set`](Self::tell_by_set); other tools refuse it.
    pub fn column(mut self, column: Column, delimiter: u8) -> Self {
        self.column = Some((column, delimiter));
        self
    }

    /// Takes a `"` in delimited text like any other byte: see
    /// [`Sort::no_quoting`](crate::sort::Sort::no_quoting). Only with a [`column`](Self::column).
    pub fn no_quoting(mut self, no_quoting: bool) -> Self {
        self.no_quoting = no_quoting;
        self
    }

    /// Whether the first record of each input is a header, which is handed over as it is. A column
    /// that is named always has one. Only with a [`column`](Self::column).
    pub fn header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// How lines write their numbers in [`filter_by_set`](Self::filter_by_set), one on each line;
    /// the default is decimal.
    pub fn notation(mut self, notation: Notation) -> Self {
        self.notation = notation.without_ranges();
        self
    }

    /// Whether [`filter_by_set`](Self::filter_by_set) leaves out lines that are no numbers. The
    /// default is to fail at the first one.
    pub fn skip_invalid(mut self, skip: bool) -> Self {
        self.skip_invalid = skip;
        self
    }

    /// The number of threads. The tools use at least one, and no more than the memory has room for.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Memory that a tool may take, apart from the sets and filters that it is given.
    pub fn memory(mut self, limit: ByteSize) -> Self {
        self.memory = Budget::of(limit);
        self
    }

    /// The folder for temporary files.
    pub fn temporary_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// Counts progress there. The tool ends when that is cancelled.
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = progress;
        self
    }
}

fn paths(files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Vec<PathBuf> {
    files.into_iter().map(Into::into).collect()
}

/// The tools.
impl LineTools {
    /// Hands over the lines whose keys may be in a filter, or those whose keys are certainly not in
    /// it. A header is handed over too.
    ///
    /// O(bytes) time; memory for some chunks of lines.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or a key is not what the funnel takes.
    pub fn filter<S: Storage + Sync>(
        &self,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
        filter: &AnyFilter<S>,
        keep: Keep,
        take: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        let (files, wanted) = (paths(files), keep == Keep::Known);
        let ask = |keys: &[&[u8]], found: &mut Vec<bool>| filter.contains_many(keys, found);
        match self.selector(self.notation)? {
            Some(_) if self.rules.terminator != b'\n' => {
                Err(Error::usage("records of delimited text end in a newline, not in NUL"))
            }
            Some(selector) => self.job().copy_records(files, &selector, wanted, ask, take),
            None => self.job().copy_lines(files, wanted, ask, take),
        }
    }

    /// Hands over the lines whose numbers are in a set, in memory or in a file, or all others. A line
    /// without a number is never handed over: it is empty, or malformed and skipped.
    ///
    /// O(bytes) time, and a question to the set for each number. All numbers of a chunk are asked
    /// together.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, the set is damaged, or a line is no number.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::lines::{Keep, LineTools};
    /// use bitsort::set::{IntegerSet, SetFile};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let (ids, set) = (folder.path().join("ids"), folder.path().join("known.bits"));
    /// std::fs::write(&ids, "40\n7\n40\n")?;
    /// IntegerSet::from_iter([3, 40]).write(&set)?;
    ///
    /// let (set, mut known) = (SetFile::open(&set)?, Vec::new());
    /// let take = |lines: &[u8]| Ok(known.extend_from_slice(lines));
    /// let answered = LineTools::new().filter_by_set([&ids], &set, Keep::Known, take)?;
    /// assert_eq!((answered.lines, answered.found), (3, 2));
    /// assert_eq!(known, b"40\n40\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter_by_set(
        &self,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
        set: &(impl AsSet + ?Sized),
        keep: Keep,
        take: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<Answered> {
        let answer = LineAnswer::Copy { wanted: keep == Keep::Known };
        Filter::new(self, set, answer)?.run(paths(files), take)
    }

    /// Hands over a line for each number: the number, a tab, and `true` if the set has it, else
    /// `false`.
    ///
    /// # Errors
    ///
    /// The errors of [`filter_by_set`](Self::filter_by_set).
    pub fn tell_by_set(
        &self,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
        set: &(impl AsSet + ?Sized),
        take: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<Answered> {
        Filter::new(self, set, LineAnswer::Tell)?.run(paths(files), take)
    }

    /// Hands over each line the first time that its key comes, exactly. Lines that do not fit in
    /// memory go to temporary files.
    ///
    /// O(bytes) time, and O(bytes) again for lines that do not fit.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or a temporary file cannot be written.
    pub fn distinct(
        &self,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
        take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (job, files) = (self.job_of_lines()?, paths(files));
        let distinct = Distinct { job, memory: self.memory_beside(&files), folder: &self.folder };
        distinct.run(files, take)
    }

    /// Hands over each line the first time that its key comes, in far less memory than
    /// [`distinct`](Self::distinct). It loses some lines: a filter takes a share of them, its rate,
    /// for known ones. `first` has the rate, the seed, and the number of keys to expect; without
    /// that number, it is estimated from the sizes of the files. If more keys come, further filters
    /// are made.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, if `first` has another size than by a rate, or if there is too
    /// little memory for the first filter or another one.
    pub fn distinct_by_filter<D: Plain>(
        &self,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
        first: bloom::Builder<D>,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (job, files) = (self.job_of_lines()?, paths(files));
        let guess = || -> Result<u64> {
            let counts = files.iter().map(|file| self.rules.estimated_lines(file));
            Ok(counts.sum::<Result<u64>>()?.max(FIRST_KEYS))
        };
        // Keys that a caller expects must have room; of those that are guessed, fewer may come.
        let (keys, least) = match first.expected_keys() {
            Some(keys) => {
                let spec = Growing::first_spec(&first)?;
                first.check_collisions(spec)?;
                (keys, spec.size_bytes())
            }
            None => (guess()?, 0),
        };
        let memory_bytes = self.memory_beside(&files).distinct_filter();
        if memory_bytes < least {
            let [least, room] = [least, memory_bytes].map(ByteSize::from_bytes);
            return Err(Error::usage(format!(
                "a filter for {keys} keys takes {least}, and the memory limit leaves {room} for it: allow more memory or a higher rate"
            )));
        }
        let mut seen = Growing::new(first.keys(keys), memory_bytes)?;
        let mut copied = Vec::new();
        job.each(files, |bytes| {
            copied.clear();
            self.rules.copy(bytes, true, &mut copied, |keys, new| seen.insert_each(keys, new))?;
            take(&copied)
        })
    }

    /// Hands over the keys that both files have, each once, in the order of the first one and with
    /// a terminator, exactly. Filters with this rate of false positives keep most other lines out
    /// of the search. Lines that do not fit in memory go to temporary files. The
    /// [`funnel`](Self::funnel) does not matter here.
    ///
    /// O(bytes) time: the smaller file is read twice, the larger one once.
    ///
    /// # Errors
    ///
    /// If `rate` is not between 0 and 1, both files are standard input, one cannot be read
    /// or changes meanwhile, or a temporary file cannot be written.
    pub fn common(
        &self,
        files: [impl Into<PathBuf>; 2],
        rate: f64,
        take: impl FnMut(&[u8]) -> Result<()> + Send,
    ) -> Result<()> {
        self.common_lines(files.map(Into::into), rate)?.run(take)
    }

    /// Prepares the search for the common lines of two files.
    pub(crate) fn common_lines(&self, files: [PathBuf; 2], rate: f64) -> Result<CommonLines<'_>> {
        let memory = self.memory_beside(&files);
        CommonLines::new(self.job_of_lines()?, memory, &self.folder, files, rate)
    }

    /// The number of keys. O(bytes).
    ///
    /// # Errors
    ///
    /// If a file cannot be read.
    pub fn count(&self, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Result<u64> {
        self.job_of_lines()?.count(paths(files))
    }

    /// Adds the keys of all lines to a filter. O(bytes).
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or the funnel does not take a key. The filter then has all keys
    /// before it, and maybe some behind it.
    pub fn insert_into(
        &self,
        filter: &mut AnyFilter,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Result<()> {
        let (job, files) = (self.job_of_lines()?, paths(files));
        match filter {
            AnyFilter::Standard(filter) => job.insert_into(filter, files),
            AnyFilter::Blocked(filter) => job.insert_into(filter, files),
            AnyFilter::Counting(filter) => job.each(files, |bytes| {
                job.rules.batches(bytes, |batch| {
                    batch.hashed(job.rules.funnel, |keys| filter.insert_many(keys)).map(drop)
                })
            }),
        }
    }

    /// Makes a filter of the keys of all lines. It counts the keys, calls `make` for an empty
    /// filter for so many keys, at least one, and adds the keys. It reads files twice, and copies
    /// streams to a temporary file for that.
    ///
    /// # Errors
    ///
    /// Those of `make`; if a file cannot be read or changes meanwhile, if the funnel does not take
    /// a key, or if a temporary file cannot be written.
    pub fn collect(
        &self,
        files: impl IntoIterator<Item = impl Into<PathBuf>>,
        make: impl FnOnce(u64) -> Result<AnyFilter>,
    ) -> Result<AnyFilter> {
        let (job, typed) = (self.job_of_lines()?, paths(files));
        let unchanged = Unchanged::of(&typed);
        let (files, _copies) = rereadable(typed.clone(), &self.folder, &job)?;
        let named = |error| named_as_typed(error, &files, &typed);
        // Without keys there is a filter too.
        let mut filter = make(job.count(files.clone()).map_err(named)?.max(1))?;
        self.insert_into(&mut filter, &files).map_err(named)?;
        unchanged.check()?;
        Ok(filter)
    }

    /// Memory for keys while `files` are read; less if some are compressed.
    pub(crate) fn memory_beside(&self, files: &[PathBuf]) -> Budget {
        if may_unpack(files) { self.memory.without_unpacking() } else { self.memory }
    }

    /// How lines are read within the limits.
    pub(crate) fn job(&self) -> LineJob<'_> {
        let share = self.memory.key_lines(self.threads);
        let chunks = ChunkJob { share, progress: &self.progress };
        LineJob { rules: self.rules, chunks }
    }

    /// The column of delimited text, if one was chosen, for numbers of this notation.
    pub(super) fn selector(&self, notation: Notation) -> Result<Option<Selector>> {
        let Some((column, delimiter)) = self.column.clone() else {
            return self.check_header().map(|()| None);
        };
        let terminator = b'\n';
        if let Some(fault) = column.fault(delimiter, terminator) {
            return Err(Error::usage(fault));
        }
        let (header, quoting) = (self.header, !self.no_quoting);
        Ok(Some(Selector { column, delimiter, terminator, notation, header, quoting }))
    }

    fn check_header(&self) -> Result<()> {
        match (self.header, self.no_quoting) {
            _ if self.column.is_some() => Ok(()),
            (true, _) => {
                Err(Error::usage("a header is a record of delimited text: choose a column"))
            }
            (_, true) => Err(Error::usage(NO_FIELDS)),
            (false, false) => Ok(()),
        }
    }

    fn job_of_lines(&self) -> Result<LineJob<'_>> {
        self.check_header()?;
        match self.column {
            None => Ok(self.job()),
            Some(_) => Err(Error::usage("only lines that are filtered have their keys in columns")),
        }
    }
}

/// Number of keys to expect from a stream of unknown length.
const FIRST_KEYS: u64 = 1 << 20;
