//! The builder of a run.

use super::array::ReadNumbers;
use super::check::{self, Disorder};
use super::finish::batch::{Taker, Typed};
use super::finish::emit::{Selection, Target};
use super::iterate::SortedValues;
use super::plan::budget::Beside;
use super::plan::explain::Explanation;
use super::plan::strategy::Strategy;
use super::plan::tuning::Tuning;
use super::rejects::{self, InvalidLines, Rejects};
use super::report::Report;
use super::values::{ArrayInput, SetInput};
use super::{merge, ranges, run};
use crate::error::{Error, Result};
use crate::io::read::{Input, RowNumbers, splits};
use crate::io::table::TableFormat;
use crate::io::write::{Encoding, Sink, Writer};
use crate::number::{Column, Format, Notation};
use crate::progress::Progress;
use crate::set::file::ValueSink;
use crate::set::{AsSet, SetFile, SetFormat, TableSink};
use crate::size::ByteSize;
use std::fmt;
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sorts natural numbers of files, readers, iterators and sets.
///
/// Add inputs, set options, and call one of [`to_file`](Self::to_file),
/// [`to_writer`](Self::to_writer) and [`into_values`](Self::into_values), which run the sort.
/// Duplicates are kept unless [`distinct`](Self::distinct) is called.
///
/// # Examples
///
/// ```
/// use bitsort::sort::Sort;
///
/// let mut sorted = Vec::new();
/// let report = Sort::new()
///     .reader("ids", &b"40\n35\n\n7\n35\n"[..])
///     .distinct(true)
///     .to_writer(&mut sorted)?;
/// assert_eq!(sorted, b"7\n35\n40\n");
/// assert_eq!((report.lines, report.blank, report.dropped), (5, 1, 1));
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[must_use = "nothing is sorted before an output is given"]
pub struct Sort {
    pub(super) inputs: Vec<Input>,
    pub(super) memory: Option<ByteSize>,
    /// The shares of memory of those that take the output or feed the sort.
    pub(super) beside: Beside,
    pub(crate) threads: Option<usize>,
    pub(super) folders: Vec<PathBuf>,
    pub(super) no_spill: bool,
    pub(super) selection: Selection,
    pub(super) zero_terminated: bool,
    pub(super) from: Format,
    pub(super) to: Format,
    pub(super) table: Option<TableFormat>,
    /// The rate of false positives of the filters in the table.
    pub(super) table_filter: Option<f64>,
    pub(super) column: Option<(Column, u8)>,
    /// The column of keys, and the maker of numbers from keys and values.
    pub(super) keys: Option<(Column, Arc<dyn RowNumbers>)>,
    pub(super) header: bool,
    pub(super) no_quoting: bool,
    pub(super) invalid: InvalidLines,
    pub(super) merge: bool,
    pub(super) strategy: Option<Strategy>,
    pub(super) tuning: Tuning,
    pub(crate) progress: Arc<Progress>,
}

impl fmt::Debug for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sort")
            .field("inputs", &self.inputs.len())
            .field("memory", &self.memory)
            .field("threads", &self.threads)
            .field("strategy", &self.strategy)
            .finish_non_exhaustive()
    }
}

impl Sort {
    /// A run without inputs, within the limits of the machine.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file.
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.inputs.push(Input::Path(path.into()));
        self
    }

    /// Adds the lines of a plain text file that begin in a range of its bytes: a split. Splits that
    /// follow each other together have every line once, so that several machines can share a file.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::sort::Sort;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ids.txt");
    /// std::fs::write(&path, "40\n7\n100\n")?;
    /// let (first, second) = (Sort::new().split(&path, 0..5), Sort::new().split(&path, 5..10));
    /// assert_eq!(first.into_set()?.0, [7, 40].into());
    /// assert_eq!(second.into_set()?.0, [100].into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn split(mut self, path: impl Into<PathBuf>, bytes: Range<u64>) -> Self {
        self.inputs.push(Input::Split(path.into(), bytes));
        self
    }

    /// Divides a file into ranges of about `bytes` bytes for [`split`](Self::split). Gives none if
    /// the file can only be read as a whole: compressed files, tables, binary formats, sets, and any
    /// file if a column is wanted, the first line is a header, or lines end in NUL.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn splits(&self, path: impl AsRef<Path>, bytes: u64) -> Result<Vec<Range<u64>>> {
        let is_whole = self.column.is_some() || self.header || self.zero_terminated;
        if is_whole || SetFile::open_if_set(path.as_ref())?.is_some() {
            return Ok(Vec::new());
        }
        splits(path.as_ref(), bytes, self.open_options())
    }

    /// Adds standard input, which messages call `-`.
    pub fn stdin(mut self) -> Self {
        self.inputs.push(Input::Stdin);
        self
    }

    /// Adds a reader. Messages call it `name`.
    pub fn reader(mut self, name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        self.inputs.push(Input::Reader(name.into(), Box::new(reader)));
        self
    }

    /// Adds a stream that may be compressed; its content tells.
    pub(crate) fn stream(mut self, name: String, reader: impl Read + Send + 'static) -> Self {
        self.inputs.push(Input::Stream(name, Box::new(reader)));
        self
    }

    /// Adds the values of an iterator.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::sort::Sort;
    /// let sorted: Result<Vec<u64>, _> = Sort::new().values([3, 1, 2]).into_values()?.collect();
    /// assert_eq!(sorted?, [1, 2, 3]);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn values<I>(mut self, values: I) -> Self
    where
        I: IntoIterator<Item = u64>,
        I::IntoIter: Send + 'static,
    {
        self.inputs.push(Input::Values(Box::new(values.into_iter())));
        self
    }

    /// Adds the values of a set in memory, or of one in a file: threads decode parts of it and sort
    /// them. A set can be read again, so every strategy works. Callers that want to keep their set
    /// pass an [`Arc`] of it.
    ///
    /// The set's own memory and the mapped pages of its file are not counted towards the
    /// [memory limit](Self::memory).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::sort::Sort;
    /// use bitsort::set::IntegerSet;
    /// use std::sync::Arc;
    ///
    /// let known = Arc::new(IntegerSet::from([3, 40]));
    /// let sort = Sort::new().set(Arc::clone(&known)).values([7, 3]).repeated(true);
    /// let again: Result<Vec<u64>, _> = sort.into_values()?.collect();
    /// assert_eq!(again?, [3]);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    ///
    /// A set of ranges of more than 2^44 values is refused when the sort begins: each value would be
    /// sorted. The functions of [`set`](crate::set) keep ranges.
    pub fn set(mut self, set: impl AsSet + Send + Sync + 'static) -> Self {
        self.inputs.push(Input::Pieces(Arc::new(SetInput(set))));
        self
    }

    /// Adds the numbers of an array, which messages call `name`: threads read parts of it. It can be
    /// read again, so every strategy works. Its own memory is not counted towards the
    /// [memory limit](Self::memory). To sort an array in place of a file,
    /// [`ArraySort`](super::ArraySort) takes less time.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::sort::Sort;
    /// use std::sync::Arc;
    ///
    /// let ids: Arc<[u64]> = [40, 3, 40].into();
    /// let (set, report) = Sort::new().array("ids", Arc::new(ids)).into_set()?;
    /// assert!(set == [3, 40].into() && report.dropped == 1);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn array(
        mut self,
        name: impl Into<String>,
        numbers: Arc<dyn ReadNumbers<u64> + Send>,
    ) -> Self {
        self.inputs.push(Input::Pieces(Arc::new(ArrayInput { name: name.into(), numbers })));
        self
    }

    /// Keeps the peak resident memory of the process below this limit of at least 64 MiB. The
    /// default is half of what is available, within the control group's limit.
    pub fn memory(mut self, limit: ByteSize) -> Self {
        self.memory = Some(limit);
        self
    }

    /// Uses up to this many threads, and at most one for each 8 MiB of the memory limit. The run fails
    /// with none, or with more than 256. The default is one a processor.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Adds a folder for temporary files; the default is `TMPDIR` or `/tmp`. The run fails with more
    /// than 255.
    pub fn temporary_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folders.push(folder.into());
        self
    }

    /// Writes no temporary files. If the values do not fit in memory, the input is read several
    /// times.
    pub fn no_spill(mut self, no_spill: bool) -> Self {
        self.no_spill = no_spill;
        self
    }

    /// Writes each value once.
    pub fn distinct(mut self, distinct: bool) -> Self {
        self.selection.distinct = distinct;
        self
    }

    /// Writes each value once, with its multiplicity before it, as `uniq -c` does.
    pub fn counted(mut self, counted: bool) -> Self {
        self.selection.counted = counted;
        self
    }

    /// Writes only values that occur more than once, each once.
    pub fn repeated(mut self, repeated: bool) -> Self {
        self.selection.repeated = repeated;
        self
    }

    /// Writes the largest value first.
    pub fn reverse(mut self, reverse: bool) -> Self {
        self.selection.reverse = reverse;
        self
    }

    /// Ends lines with NUL instead of newline, in inputs and output.
    pub fn zero_terminated(mut self, zero_terminated: bool) -> Self {
        self.zero_terminated = zero_terminated;
        self
    }

    /// The format of all files and readers.
    pub fn from_format(mut self, format: Format) -> Self {
        self.from = format;
        self
    }

    /// How numbers are written, in inputs and output that are text. If lines stand for ranges,
    /// values are [distinct](Self::distinct) and ascend. An output of ranges, or a set, gets the
    /// ranges without taking them apart into numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::number::Notation;
    /// use bitsort::sort::Sort;
    ///
    /// let mut blocks = Vec::new();
    /// let list = &b"10.0.0.128/25\n10.0.0.0 - 10.0.0.127\n192.168.0.1\n"[..];
    /// let sort = Sort::new().reader("list", list).notation(Notation::CIDR).distinct(true);
    /// let report = sort.to_writer(&mut blocks)?;
    /// assert_eq!(blocks, b"10.0.0.0/24\n192.168.0.1\n");
    /// assert_eq!((report.lines, report.written, report.dropped), (3, 2, 1));
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn notation(mut self, notation: Notation) -> Self {
        for format in [&mut self.from, &mut self.to] {
            if format.is_text() {
                *format = Format::text_in(notation);
            }
        }
        self
    }

    /// The format of the output.
    pub fn to_format(mut self, format: Format) -> Self {
        self.to = format;
        self
    }

    /// Writes a table instead, with a column of unsigned 64-bit integers that is named after the
    /// column of the input, if that was chosen by its name, or `value`; and with a second one,
    /// `count`, if values are [counted](Self::counted). Needs the feature `columnar`.
    pub fn to_table(mut self, format: TableFormat) -> Self {
        self.table = Some(format);
        self
    }

    /// Gives each row group of a [table](Self::to_table) in Parquet a Bloom filter of its values,
    /// with this rate of false positives, so that readers can skip row groups without the values
    /// that they look for. The run fails if it writes anything else, or if the rate is not between
    /// 0 and 1.
    pub fn table_filter(mut self, rate: f64) -> Self {
        self.table_filter = Some(rate);
        self
    }

    /// Takes the values from one column of delimited text, quoted as in RFC 4180, or of Parquet or
    /// Arrow files. A table with only one column of integers needs no such choice. A column named
    /// by its header skips the first record of each input. A record of more than 1 MiB is malformed.
    pub fn column(mut self, column: Column, delimiter: u8) -> Self {
        self.column = Some((column, delimiter));
        self
    }

    /// Sorts numbers that stand for rows of a value and a key. The key is in this column.
    pub(crate) fn keys(mut self, column: Column, numbers: Arc<dyn RowNumbers>) -> Self {
        self.keys = Some((column, numbers));
        self
    }

    /// Takes a `"` in delimited text like any other byte. This is for files that do not quote as RFC
    /// 4180 says, such as tab-separated exports of databases, and logs: else a field that begins
    /// with a `"` goes on to the next one, also over line ends. The run fails without a
    /// [`column`](Self::column).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::number::Column;
    /// use bitsort::sort::Sort;
    ///
    /// let rows = "1\t\"open\n2\tx\n3\ty\"\n".as_bytes();
    /// let sort = Sort::new().reader("rows", rows).column(Column::Number(1), b'\t');
    /// let (set, _) = sort.no_quoting(true).into_set()?;
    /// assert_eq!(set.iter().collect::<Vec<_>>(), [1, 2, 3]);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    pub fn no_quoting(mut self, no_quoting: bool) -> Self {
        self.no_quoting = no_quoting;
        self
    }

    /// Skips the first line of each input.
    pub fn header(mut self, header: bool) -> Self {
        self.header = header;
        self
    }

    /// What happens to malformed lines.
    pub fn invalid(mut self, invalid: InvalidLines) -> Self {
        self.invalid = invalid;
        self
    }

    /// Merges the inputs. Each must be sorted already, in the order of the output; the run fails if
    /// one is not.
    pub fn merge(mut self, merge: bool) -> Self {
        self.merge = merge;
        self
    }

    /// Uses this strategy instead of the planner's choice.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = Some(strategy);
        self
    }

    /// Overrides sizes that the plan otherwise derives from the memory limit.
    #[cfg(feature = "_testing")]
    #[doc(hidden)]
    pub fn tuning(mut self, tuning: Tuning) -> Self {
        self.tuning = tuning;
        self
    }

    /// Counts progress there. The run ends when that is cancelled.
    pub fn progress(mut self, progress: Arc<Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Sorts into a file, which appears whole or not at all and may be one of the inputs. A device
    /// or pipe is written directly. If the name ends in `.gz`, `.zst`, `.bz2` or `.xz`, the file is
    /// compressed in this format.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`] lists. A file that was at `path` is untouched then.
    pub fn to_file(self, path: impl AsRef<Path>) -> Result<Report> {
        if let Some(format) = self.run_format()? {
            return self.to_set(path, format).map(|(_, report)| report);
        }
        let spool = self.spool();
        let writer = Writer::open(path.as_ref(), self.encoding(), &spool)?;
        self.write(writer, spool.pack_bytes)
    }

    /// Sorts into a writer, which gets nothing before all input is read. A [merge](Self::merge) may
    /// have written before it meets a malformed line, or a value that is out of order.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`] lists.
    pub fn to_writer<W: Write + Send>(self, writer: W) -> Result<Report> {
        if let Some(format) = self.run_format()? {
            return self.into_set_stream(writer, format).map(|(_, report)| report);
        }
        let spool = self.spool();
        let writer = Writer::stream(writer, self.encoding(), &spool)?;
        self.write(writer, spool.pack_bytes)
    }

    /// If lines stand for ranges, the format in which a set writes its runs as lines; else none.
    fn run_format(&self) -> Result<Option<SetFormat>> {
        if !self.has_ranges() || self.table.is_some() {
            return Ok(None);
        }
        self.check_ranges()?;
        Ok(Some(SetFormat::Values(self.to)))
    }

    fn encoding(&self) -> Encoding {
        if self.table.is_some() { Encoding::Table } else { Encoding::Lines }
    }

    /// Reserves `pack_bytes` of the memory if the output is packed, or is a table, which packs its
    /// pages.
    pub(super) fn set_packing_aside(&mut self, packs: bool, is_table: bool, pack_bytes: u64) {
        if packs || is_table {
            self.beside.packing = pack_bytes;
        }
    }

    /// Sorts into `writer`. A packer or an encoder of a table may take `pack_bytes`.
    fn write(mut self, mut writer: Writer<'_>, pack_bytes: u64) -> Result<Report> {
        let name = writer.path().to_path_buf();
        self.set_packing_aside(writer.packs(), self.table.is_some(), pack_bytes);
        let (report, rejects) = if let Some(format) = self.table {
            self.tabulate(format, &mut writer, &name, pack_bytes)?
        } else if let Some(file) = writer.file() {
            self.run(Target::Bytes(Sink::File(file), name))?
        } else {
            self.run(Target::Bytes(Sink::Stream(&mut writer), name))?
        };
        let (rejected, whole) = (rejects.finish()?, writer.finish()?);
        rejected.show()?;
        let written_bytes = whole.show()?;
        Ok(Report { written_bytes, ..report })
    }

    fn tabulate(
        self,
        format: TableFormat,
        writer: &mut Writer<'_>,
        name: &Path,
        pack_bytes: u64,
    ) -> Result<(Report, Rejects)> {
        let column = self.column_name();
        let counted = self.selection.counted;
        self.check_filter()?;
        let rate = self.table_filter;
        let mut sink = TableSink::new(format, writer, &column, counted, pack_bytes, rate, name)?;
        let done = self.hand_to(Typed::Values, name, &mut sink)?;
        sink.finish()?;
        Ok(done)
    }

    /// Sorts into a sink of values. The sink writes the file `name`, or `-`.
    pub(super) fn hand_to(
        self,
        typed: Typed,
        name: &Path,
        sink: &mut dyn ValueSink,
    ) -> Result<(Report, Rejects)> {
        if self.takes_ranges() {
            return ranges::run(self, name, sink);
        }
        let mut taker = Taker::new(sink);
        let mut take = |batch: &_| taker.take(batch);
        let done = self.run(Target::Values(typed, &mut take, name.to_path_buf()))?;
        taker.end()?;
        Ok(done)
    }

    /// Sorts in another thread, and gives the values in order.
    ///
    /// # Errors
    ///
    /// If the output would not be plain values, because of [`counted`](Self::counted). A failure
    /// during the run is the last item of the iterator.
    pub fn into_values(self) -> Result<SortedValues> {
        if self.selection.counted {
            return Err(Error::usage("counts are no values: use to_writer or to_file"));
        }
        SortedValues::start(self)
    }

    /// The plan of the run with its reasons, for an output that is not known yet. It only reads a
    /// sample. A packed output, a table and a set take a share of the memory as well:
    /// [`explain_to_file`](Self::explain_to_file) and [`explain_to_set`](Self::explain_to_set) plan
    /// for those.
    ///
    /// # Errors
    ///
    /// Those of a run: inputs that cannot be opened, limits that no plan fits.
    pub fn explain(mut self) -> Result<Explanation> {
        self.settle(false)?;
        if self.takes_ranges() {
            return Err(Error::usage("ranges are gathered as they come: there is nothing to plan"));
        }
        run::explain(self)
    }

    /// The plan of [`to_file`](Self::to_file) with this path.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::sort::Sort;
    /// let plan = Sort::new().values([7, 3]).explain_to_file("ids.txt")?;
    /// println!("{} and {} bytes of temporary files", plan.strategy(), plan.temporary_bytes());
    /// assert_eq!(plan.passes(), 1);
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`explain`](Self::explain).
    pub fn explain_to_file(mut self, path: impl AsRef<Path>) -> Result<Explanation> {
        let pack_bytes = self.spool().pack_bytes;
        self.set_packing_aside(Writer::will_pack(path.as_ref()), self.table.is_some(), pack_bytes);
        self.explain()
    }

    /// Looks for the first value that is out of order. With [`distinct`](Self::distinct), equal
    /// neighbours are out of order too.
    ///
    /// # Errors
    ///
    /// Anything that [`Error`] lists, except the disorder itself.
    pub fn check(mut self) -> Result<Option<Disorder>> {
        if self.has_ranges() {
            return Err(Error::usage("ranges have no order to check"));
        }
        self.settle(false)?;
        check::check(self)
    }

    fn run(mut self, target: Target<'_>) -> Result<(Report, Rejects)> {
        self.settle(target.typed().is_some())?;
        rejects::check_destination(&self, target.name())?;
        if self.merge { merge::run(self, target) } else { run::run(self, target) }
    }
}
