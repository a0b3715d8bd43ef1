//! The builder of a file of sets.

use super::aside::Workshop;
use super::bodies::{Bodies, List, Lists, SplitSink};
use super::numbering::Numbering;
use crate::error::{Error, Result};
use crate::io::read::RowNumbers;
use crate::kernel::sys::{Machine, map_file, peak_resident_bytes};
use crate::lines::records::PartOptions;
use crate::number::{Column, Notation};
use crate::progress::Progress;
use crate::set::file::Spool;
use crate::set::keyed::{KeyRun, WrittenSets, merge, write_sets};
use crate::size::ByteSize;
use crate::sort::plan::budget::Budget;
use crate::sort::{InvalidLines, Report, Sort};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

/// Groups rows of a key and a number: a set of the numbers of each key, all in one file.
///
/// Rows come from delimited text, from Parquet or Arrow files, or as pairs from the caller. They
/// are read once and stay within the [memory limit](Self::memory): rows that do not fit go to
/// temporary files. A row that occurs again counts once.
///
/// # Examples
///
/// ```
/// use bitsort::lines::Group;
/// use bitsort::number::Column;
/// use bitsort::set::keyed::KeyedSets;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("tags.sets");
/// let rows = &b"tag,user\nsport,7\ntokyo,7\nsport,35\nsport,7\n"[..];
/// let name = |name: &str| Column::Name(name.into());
/// let group = Group::new().reader("events", rows).columns(name("tag"), name("user"), b',');
/// let report = group.to_file(&path)?;
/// assert_eq!((report.rows, report.sets, report.values), (4, 2, 3));
/// assert_eq!(KeyedSets::open(&path)?.get("sport")?.unwrap().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is read before an output is given"]
pub struct Group {
    /// It has the inputs and the limits, and sorts the numbers of the rows.
    sort: Sort,
    key: Column,
    ids: Column,
    delimiter: u8,
    has_files: bool,
    pairs: Option<Pairs>,
    /// Bits of the numbers of rows, if these have ranges.
    range_bits: u32,
    pub(super) tuning: Tuning,
}

/// Most bits of numbers in ranges; the others are for keys.
const MOST_RANGE_BITS: u32 = 44;

type Pairs = Box<dyn Iterator<Item = Result<(Vec<u8>, u64)>> + Send>;

/// Sizes that follow from the sample and the memory limit if they are not set. Tests set them so
/// that small inputs take every way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tuning {
    pub(super) id_bits: Option<u32>,
    pub(super) keys_bytes: Option<u64>,
    pub(super) room_bytes: Option<u64>,
}

/// Counts of a run.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct GroupReport {
    /// Rows of a key and a number.
    pub rows: u64,
    /// Blank rows; in tables, rows without a key or a number.
    pub blank: u64,
    /// Malformed rows.
    pub rejected: u64,
    /// Header lines that were skipped.
    pub headers: u64,
    /// Number of sets, one for each key.
    pub sets: u64,
    /// Values of all sets. All other rows were repetitions.
    pub values: u64,
    /// Rows that did not fit in 64 bits or in memory, and went through temporary files.
    pub aside: u64,
    /// Bytes of the file.
    pub written_bytes: u64,
    /// Largest resident memory of the process so far, in bytes, if known.
    pub peak_resident_bytes: Option<u64>,
}

impl Default for Group {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("sort", &self.sort).finish_non_exhaustive()
    }
}

impl Group {
    /// No rows, and the limits of the machine. Keys are in the first column of text, numbers in the
    /// second, with commas between.
    pub fn new() -> Self {
        Self {
            sort: Sort::new(),
            key: Column::Number(1),
            ids: Column::Number(2),
            delimiter: b',',
            has_files: false,
            pairs: None,
            range_bits: MOST_RANGE_BITS,
            tuning: Tuning::default(),
        }
    }

    /// No rows, and the limits of a sort without inputs.
    #[cfg(feature = "cli")]
    pub(crate) fn within(sort: Sort) -> Self {
        Self { sort, ..Self::new() }
    }

    /// Adds a file, which may be compressed.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.sort = self.sort.file(path);
        self.has_files = true;
        self
    }

    /// Adds standard input.
    pub fn stdin(mut self) -> Self {
        self.sort = self.sort.stdin();
        self.has_files = true;
        self
    }

    /// Adds a reader. Messages call it `name`.
    pub fn reader(mut self, name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        self.sort = self.sort.reader(name, reader);
        self.has_files = true;
        self
    }

    /// Takes the rows of an iterator. The builder must then have no files.
    pub fn pairs<K: AsRef<[u8]>, I: IntoIterator<Item = (K, u64)>>(self, pairs: I) -> Self
    where
        I::IntoIter: Send + 'static,
    {
        self.try_pairs(pairs.into_iter().map(|(key, id)| Ok((key.as_ref().to_vec(), id))))
    }

    /// Takes the rows of an iterator that may fail. Its first error ends the run.
    pub fn try_pairs<K, I>(mut self, pairs: I) -> Self
    where
        K: AsRef<[u8]>,
        I: IntoIterator<Item = Result<(K, u64)>>,
        I::IntoIter: Send + 'static,
    {
        // A batch may end at the end of the pairs, and the next one asks again.
        let pairs = pairs.into_iter().fuse();
        let pairs = pairs.map(|pair| pair.map(|(key, id)| (key.as_ref().to_vec(), id)));
        self.pairs = Some(match self.pairs.take() {
            Some(before) => Box::new(before.chain(pairs)),
            None => Box::new(pairs),
        });
        self
    }

    /// The columns of the keys and of the numbers, and the byte between the fields of text, quoted
    /// as in RFC 4180. If one of them is named by its header, the first record of each input is
    /// skipped.
    pub fn columns(mut self, key: Column, numbers: Column, delimiter: u8) -> Self {
        (self.key, self.ids, self.delimiter) = (key, numbers, delimiter);
        self
    }

    /// Takes a `"` in text like any other byte: see [`Sort::no_quoting`].
    pub fn no_quoting(mut self, no_quoting: bool) -> Self {
        self.sort = self.sort.no_quoting(no_quoting);
        self
    }

    /// Skips the first line of each input.
    pub fn header(mut self, header: bool) -> Self {
        self.sort = self.sort.header(header);
        self
    }

    /// How numbers are written. If the notation has blocks or ranges, rows may have them; the keys
    /// of these rows must fit in a sixteenth of the memory limit. Ranges of other numbers than
    /// addresses end below 2^44, and at most 3 · 2^18 keys have ranges then.
    pub fn notation(mut self, notation: Notation) -> Self {
        let bits = u64::BITS - notation.max_value().leading_zeros();
        self.range_bits = bits.min(MOST_RANGE_BITS);
        self.sort = self.sort.notation(notation);
        self
    }

    /// What happens to malformed rows.
    pub fn invalid(mut self, invalid: InvalidLines) -> Self {
        self.sort = self.sort.invalid(invalid);
        self
    }

    /// Keeps the peak resident memory of the process below this; see [`Sort::memory`].
    pub fn memory(mut self, limit: ByteSize) -> Self {
        self.sort = self.sort.memory(limit);
        self
    }

    /// Uses this many threads; see [`Sort::threads`].
    pub fn threads(mut self, threads: usize) -> Self {
        self.sort = self.sort.threads(threads);
        self
    }

    /// Adds a folder for temporary files; see [`Sort::temporary_folder`].
    pub fn temporary_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.sort = self.sort.temporary_folder(folder);
        self
    }

    /// Counts progress there. The run ends when that is cancelled.
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.sort = self.sort.progress(progress);
        self
    }

    /// Builds the file, which appears whole or not at all. The same rows in any order make the
    /// same file.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`] lists. A file that was at `path` is untouched then.
    pub fn to_file(self, path: impl AsRef<Path>) -> Result<GroupReport> {
        let path = path.as_ref();
        if self.pairs.is_some() && self.has_files {
            return Err(Error::usage("rows come from files or from the caller, not from both"));
        }
        let spool = Spool { folder: self.sort.folder(), ..Spool::default() };
        let mut read = (Report::default(), 0);
        let written = write_sets(path, &spool, |writer, encoder| {
            let [file, scratch] = [spool.file()?, spool.file()?];
            let mut bodies = Bodies::new(&file, &scratch, &spool);
            let progress = Arc::clone(&self.sort.progress);
            let lists;
            (lists, read) = self.gather(path, &spool, &mut bodies)?;
            bodies.flush()?;
            drop(bodies);
            // Sets of one key are read from the map and joined.
            let map = if lists.len() > 1 { Some(map_file(&file)) } else { None };
            let map = map.transpose().map_err(Error::io("map a file in", &spool.folder))?;
            let run = |list: List| {
                list.read(&file, map.as_ref()).map(|run| Box::new(run) as Box<dyn KeyRun>)
            };
            let mut runs = lists.into_iter().map(run).collect::<Result<Vec<_>>>()?;
            merge(&mut runs, writer, encoder, &progress)
        })?;
        let (report, aside) = read;
        Ok(report_of(&report, aside, written))
    }

    /// Makes the sets. Gives lists of them, the report on the rows that were read, and how many
    /// rows were kept aside.
    fn gather(
        self,
        path: &Path,
        spool: &Spool,
        bodies: &mut Bodies<'_>,
    ) -> Result<(Vec<List>, (Report, u64))> {
        let budget = self.sort.budget();
        let buffer_bytes = budget.rows_aside();
        let (keys_bytes, room_bytes) = self.rooms(budget);
        let aside = PartOptions::within(buffer_bytes, &spool.folder);
        // Nobody takes a sample of ranges.
        let of_ranges = self.sort.takes_ranges().then_some(self.range_bits);
        let id_bits = self.tuning.id_bits.or(of_ranges);
        let numbering = Arc::new(Numbering::new(keys_bytes, aside, id_bits, of_ranges.is_some()));
        let memory = ByteSize::from_bytes(budget.bytes());
        let progress = Arc::clone(&self.sort.progress);
        let threads = self.sort.threads.unwrap_or_else(|| Machine::detect().threads);
        let is_typed = self.pairs.is_some();
        let sort = self.sort_of(&numbering);
        let mut sink = SplitSink::new(bodies, &numbering);
        let sorted = sort.into_sink(path, keys_bytes + buffer_bytes, &mut sink);
        let stored = sink.finish();
        let numbering = Arc::into_inner(numbering)
            .ok_or_else(|| Error::Accounting { what: "keys are still in use".into() })?;
        let (dictionaries, aside, kept) = numbering.into_parts()?;
        let (mut report, stored) = (sorted?, stored?);
        if is_typed {
            report.values += kept; // rows of files were counted when they were read
        }
        let mut lists = Vec::new();
        for (dictionary, stored) in dictionaries.into_iter().zip(stored) {
            if dictionary.len() > 0 {
                lists.push(List::of(&dictionary, &stored, spool)?);
            }
        }
        let mut workshop = Workshop {
            bodies,
            lists: Lists::new(room_bytes / 4),
            spool,
            path,
            memory,
            room_bytes,
            buffer_bytes,
            threads,
            progress: &progress,
        };
        if let Some(aside) = aside {
            workshop.parts(aside, 0)?;
        }
        lists.extend(workshop.lists.into_one(spool)?);
        Ok((lists, (report, kept)))
    }

    /// Memory for keys while rows are read, and for rows and keys afterwards.
    fn rooms(&self, budget: Budget) -> (u64, u64) {
        let Tuning { keys_bytes, room_bytes, .. } = self.tuning;
        (keys_bytes.unwrap_or(budget.keys()), room_bytes.unwrap_or(budget.grouping()))
    }

    /// A sort of the numbers of the rows.
    fn sort_of(self, numbering: &Arc<Numbering>) -> Sort {
        let numbering = Arc::clone(numbering);
        match self.pairs {
            Some(pairs) => {
                let progress = Arc::clone(&self.sort.progress);
                self.sort.notation(Notation::DECIMAL).values(Numbers {
                    pairs,
                    numbering,
                    progress,
                    ready: Vec::new().into_iter(),
                    buffer: vec![],
                })
            }
            None => self.sort.column(self.ids, self.delimiter).keys(self.key, numbering),
        }
    }
}

fn report_of(report: &Report, aside: u64, written: WrittenSets) -> GroupReport {
    GroupReport {
        rows: report.values,
        blank: report.blank,
        rejected: report.rejected,
        headers: report.headers,
        sets: written.sets,
        values: written.values,
        aside,
        written_bytes: written.bytes,
        peak_resident_bytes: peak_resident_bytes(),
    }
}

/// The numbers of the rows of an iterator.
struct Numbers {
    pairs: Pairs,
    numbering: Arc<Numbering>,
    progress: Arc<Progress>,
    ready: vec::IntoIter<u64>,
    buffer: Vec<(Vec<u8>, u64)>,
}

impl Iterator for Numbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        /// Pairs that are numbered together, and bytes of their keys. The first batch is the sample.
        const BATCH: usize = 1 << 12;
        const BATCH_BYTES: usize = 1 << 20;
        loop {
            if let Some(number) = self.ready.next() {
                return Some(number);
            }
            self.buffer.clear();
            let mut bytes = 0;
            for pair in self.pairs.by_ref() {
                match pair {
                    Ok(pair) => {
                        bytes += pair.0.len();
                        self.buffer.push(pair);
                    }
                    Err(error) => {
                        self.numbering.fail(error);
                        return None;
                    }
                }
                if self.buffer.len() == BATCH || bytes >= BATCH_BYTES {
                    break;
                }
            }
            // All rows of a batch may be set aside, so the sort would not see that it is cancelled.
            let ends = self.buffer.is_empty() || self.progress.is_cancelled();
            if ends || self.numbering.check().is_err() {
                return None;
            }
            let rows: Vec<(&[u8], u64)> =
                self.buffer.iter().map(|(key, id)| (&key[..], *id)).collect();
            let mut numbers = Vec::with_capacity(rows.len());
            if !self.numbering.is_settled() {
                self.numbering.number(&rows, &mut numbers);
                self.numbering.settle();
                numbers.clear();
            }
            self.numbering.number(&rows, &mut numbers);
            self.ready = numbers.into_iter();
        }
    }
}
