//! `sort`: files and arrays, within a memory limit.

use crate::buffer::{Array, Kind};
use crate::columns::sorted;
use crate::error::{invalid, raise, wrong_type};
use crate::in_memory;
use crate::numbers::{Numbers, natural, number};
use crate::probe::Asker;
use crate::sets::set_format;
use crate::work::watched;
use bitsort::number::{Column as Field, Notation};
use bitsort::set::SetFormat;
use bitsort::sort::{ArraySort, InvalidLines, Sort, Strategy};
use bitsort::{ByteSize, Format, Progress};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The options of a sort.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Options {
    memory: Option<ByteSize>,
    threads: Option<usize>,
    folders: Vec<PathBuf>,
    spill: Option<bool>,
    unique: bool,
    reverse: bool,
    count: bool,
    repeated: bool,
    merge: bool,
    header: bool,
    quoting: Option<bool>,
    zero_terminated: bool,
    invalid: Option<InvalidLines>,
    rejects: Option<PathBuf>,
    strategy: Option<Strategy>,
    column: Option<Field>,
    delimiter: Option<u8>,
    from: Option<Format>,
    to: Option<String>,
    pub(crate) callback: Option<Py<PyAny>>,
}

/// The names of options, for messages.
const NAMES: &str = "mem, threads, tmp, spill, unique, reverse, count, repeated, merge, header, \
                     zero_terminated, invalid, rejects, strategy, column, delimiter, quoting, \
                     from_format, \
                     format, progress";

pub(crate) fn memory_of(value: &Bound<'_, PyAny>) -> PyResult<ByteSize> {
    match value.extract::<&str>() {
        Ok(text) => text.parse().map_err(invalid),
        Err(_) => natural(value).map(ByteSize::from_bytes),
    }
}

fn paths(value: &Bound<'_, PyAny>) -> PyResult<Vec<PathBuf>> {
    match value.extract() {
        Ok(path) => Ok(vec![path]),
        Err(error) if value.is_instance_of::<PyBytes>() => Err(error),
        Err(_) => value.extract(),
    }
}

fn format(value: &Bound<'_, PyAny>) -> PyResult<Format> {
    value.extract::<&str>()?.parse().map_err(invalid)
}

fn strategy(value: &Bound<'_, PyAny>) -> PyResult<Strategy> {
    let name: &str = value.extract()?;
    name.parse().map_err(|error| invalid(format!("{name} is no strategy: {error}")))
}

pub(crate) fn field(value: &Bound<'_, PyAny>) -> PyResult<Field> {
    if value.is_instance_of::<PyString>() {
        return value.extract().map(Field::Name);
    }
    match number(value)? {
        0 => Err(invalid("columns are counted from 1")),
        number => Ok(Field::Number(number)),
    }
}

pub(crate) fn delimiter(value: &Bound<'_, PyAny>) -> PyResult<u8> {
    match value.extract::<&str>()?.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(invalid("a delimiter is one byte")),
    }
}

fn invalid_lines(value: &Bound<'_, PyAny>) -> PyResult<InvalidLines> {
    match value.extract::<&str>()? {
        "fail" => Ok(InvalidLines::Fail),
        "skip" => Ok(InvalidLines::Skip),
        other => Err(invalid(format!("expected fail or skip, not {other}"))),
    }
}

impl Options {
    /// The options by their names; None stands for the default.
    pub(crate) fn of(named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut options = Self::default();
        for (name, value) in named.into_iter().flatten() {
            let name: String = name.extract()?;
            if !value.is_none() {
                options.set(&name, &value).map_err(|error| {
                    let py = value.py();
                    let what = || format!("{name}: {}", error.value(py));
                    match error.get_type(py) {
                        kind if kind.is(py.get_type::<PyTypeError>()) => wrong_type(what()),
                        kind if kind.is(py.get_type::<PyValueError>()) => invalid(what()),
                        _ => error,
                    }
                })?;
            }
        }
        if options.rejects.is_some() && options.invalid == Some(InvalidLines::Fail) {
            let what = "rejects goes on after a malformed line, and invalid=\"fail\" ends there: choose one";
            return Err(invalid(what));
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "mem" => self.memory = Some(memory_of(value)?),
            "threads" => self.threads = Some(number(value)?),
            "tmp" => self.folders = paths(value)?,
            "spill" => self.spill = Some(value.extract()?),
            "unique" => self.unique = value.extract()?,
            "reverse" => self.reverse = value.extract()?,
            "count" => self.count = value.extract()?,
            "repeated" => self.repeated = value.extract()?,
            "merge" => self.merge = value.extract()?,
            "header" => self.header = value.extract()?,
            "zero_terminated" => self.zero_terminated = value.extract()?,
            "invalid" => self.invalid = Some(invalid_lines(value)?),
            "rejects" => self.rejects = Some(value.extract()?),
            "strategy" => self.strategy = Some(strategy(value)?),
            "column" => self.column = Some(field(value)?),
            "delimiter" => self.delimiter = Some(delimiter(value)?),
            "quoting" => self.quoting = Some(value.extract()?),
            "from_format" => self.from = Some(format(value)?),
            "format" => self.to = Some(value.extract()?),
            "progress" => self.callback = Some(value.clone().unbind()),
            _ => return Err(wrong_type(format!("there is no option {name}; there are {NAMES}"))),
        }
        Ok(())
    }

    /// Refuses options for the form of an output.
    pub(crate) fn only_for_inputs(&self) -> PyResult<()> {
        if self.to.is_some() || self.count || self.repeated || self.reverse {
            return Err(invalid("a set has no format, count, repeated or reverse"));
        }
        Ok(())
    }

    /// Refuses options for files: numbers in memory have no format, and without an output there are
    /// no lines.
    fn check_numbers(&self, has_output: bool) -> PyResult<()> {
        if self.from.is_some() {
            return Err(invalid("from_format is for files"));
        }
        if self.column.is_some() || self.header {
            let what = "column and header are for files; for a table in memory, column is the name of a column";
            return Err(invalid(what));
        }
        if self.zero_terminated && !has_output {
            return Err(invalid("zero_terminated is for lines of files"));
        }
        Ok(())
    }

    /// Whether lines of the inputs may stand for ranges.
    fn takes_ranges(&self) -> bool {
        self.from.and_then(Format::notation).is_some_and(Notation::takes_ranges)
    }

    /// The format of an output file: the chosen one, or that of its name. Text is written in the
    /// notation in which it was read.
    fn format_of(&self, output: &Path) -> PyResult<SetFormat> {
        if let Some(name) = &self.to {
            return set_format(name);
        }
        let notation = self.from.and_then(Format::notation).unwrap_or_default();
        Ok(match SetFormat::of_name(output) {
            Some(SetFormat::Values(_)) | None => SetFormat::Values(Format::text_in(notation)),
            Some(format) => format,
        })
    }

    /// Whether these options allow an array to be sorted in memory, without the sort for files.
    fn is_for_memory(&self) -> bool {
        let Self { memory: None, spill: None, strategy: None, column: None, .. } = self else {
            return false;
        };
        let for_files = self.merge || !self.folders.is_empty();
        let for_lines = self.header || self.delimiter.is_some() || self.quoting.is_some();
        !for_lines && !for_files && !self.repeated && self.invalid_lines() == InvalidLines::Fail
    }

    /// What happens to malformed lines.
    fn invalid_lines(&self) -> InvalidLines {
        match &self.rejects {
            Some(path) => InvalidLines::Reject(path.clone()),
            None => self.invalid.clone().unwrap_or_default(),
        }
    }

    fn in_memory(&self, progress: &Arc<Progress>) -> ArraySort {
        let sort = ArraySort::new().distinct(self.unique).reverse(self.reverse);
        let sort = sort.progress(Arc::clone(progress));
        match self.threads {
            Some(threads) => sort.threads(threads),
            None => sort,
        }
    }

    /// A sort with these options, without inputs.
    pub(crate) fn apply(self) -> PyResult<Sort> {
        let mut sort = Sort::new()
            .distinct(self.unique)
            .reverse(self.reverse)
            .counted(self.count)
            .repeated(self.repeated)
            .merge(self.merge)
            .header(self.header)
            .no_quoting(self.quoting == Some(false))
            .zero_terminated(self.zero_terminated)
            .invalid(self.invalid_lines())
            .no_spill(self.spill == Some(false));
        if let Some(memory) = self.memory {
            sort = sort.memory(memory);
        }
        if let Some(threads) = self.threads {
            sort = sort.threads(threads);
        }
        if let Some(strategy) = self.strategy {
            sort = sort.strategy(strategy);
        }
        if let Some(from) = self.from {
            sort = sort.from_format(from);
        }
        match (self.column, self.delimiter) {
            (Some(column), delimiter) => sort = sort.column(column, delimiter.unwrap_or(b',')),
            (None, Some(_)) => return Err(invalid("a delimiter takes a column")),
            (None, None) => {}
        }
        Ok(self.folders.into_iter().fold(sort, Sort::temporary_folder))
    }
}

/// The source of a sort.
enum Input {
    Files(Vec<PathBuf>),
    Numbers(Numbers),
}

fn is_path(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_bytes = value.is_instance_of::<PyBytes>();
    Ok(value.is_instance_of::<PyString>() || !is_bytes && value.hasattr("__fspath__")?)
}

/// The input that an object is. A table of Arrow data takes the column of the options.
fn input(source: &Bound<'_, PyAny>, options: &mut Options) -> PyResult<Input> {
    if is_path(source)? {
        return Ok(Input::Files(vec![source.extract()?]));
    }
    if (source.is_instance_of::<PyList>() || source.is_instance_of::<PyTuple>())
        && source.len()? > 0
        && is_path(&source.get_item(0)?)?
    {
        return Ok(Input::Files(source.extract()?));
    }
    if let Some(Field::Name(name)) = &options.column
        && let Some(numbers) = Numbers::of_arrow(source, Some(name), &Progress::default())?
    {
        options.column = None;
        return Ok(Input::Numbers(numbers));
    }
    Numbers::of(source).map(Input::Numbers)
}

/// The type of the values of an array, and of the resulting array.
pub(crate) fn kind_of(numbers: &Numbers) -> Kind {
    let Numbers::Columns(columns) = numbers else { return Kind::U64 };
    match columns.first() {
        Some(first) if columns.iter().all(|column| column.kind() == first.kind()) => first.kind(),
        _ => Kind::U64,
    }
}

/// Sorts natural numbers, within a memory limit.
///
/// `source` is a file, a list of files, or an array of numpy or Arrow, a set, a range, an
/// iterable of integers. With an output file, a `Report` tells about the run. Without one, the result
/// has the kind of the source: an array of numpy or Arrow with its type, a Series of pandas, or else a
/// list; for files an `Array`. With `count` for an array, two come back: each value once, and how often
/// it occurs. To sort an array takes memory for the result and up to a quarter of that beside it, unless
/// `mem` or an option for files sends it through the sort of files.
///
/// The name of the output says its format unless `format` does: `.bits` and `.roaring` are
/// sets, `.parquet` and `.arrow` tables, others text; `.gz`, `.zst`, `.bz2`, `.xz` behind it
/// pack it.
///
/// `from_format` says how numbers of files are written: "text" (decimal), "hex", "ipv4", "cidr"
/// (addresses, blocks such as 10.0.0.0/8, and ranges), "text-ranges", "hex-ranges", "ipv4-ranges"
/// (a line may be FIRST-LAST), "u32le", "u32be", "u64le", "u64be". `format` takes these too: "cidr"
/// writes the fewest blocks, and ranges are never taken apart. Without it, text is written as it was
/// read. Ranges have each value once: they take `unique`.
///
/// Options: `mem` (bytes, or text such as "2G": a limit for the whole process), `threads`,
/// `tmp` (folders of temporary files), `spill` (False: none are written), `unique`, `reverse`,
/// `count`, `repeated`, `merge`, `header`, `zero_terminated`, `invalid` ("fail" or "skip"),
/// `rejects` (a file for malformed lines), `strategy`, `column` (a number from 1, or a name; of a
/// table in memory a name), `delimiter`, `quoting` (False: a `"` is like any
/// other byte), `from_format`, `format`, and `progress`, which is called
/// with a phase, the units done and all units, at the start, some times a second, and when all is
/// done. Its exception ends the run, as Ctrl-C does, and nothing is left behind; only that of the
/// last call comes when the output is there.
///
/// >>> import bitsort
/// >>> bitsort.sort([40, 3, 40], unique=True)
/// [3, 40]
#[pyfunction]
#[pyo3(signature = (source, output=None, **options))]
pub(crate) fn sort<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    output: Option<PathBuf>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut options = Options::of(options)?;
    let callback = options.callback.as_ref().map(|call| call.bind(py).clone());
    let input = input(source, &mut options)?;
    if let Input::Numbers(_) = &input {
        options.check_numbers(output.is_some())?;
    }
    let progress = Arc::new(Progress::default());
    let watch = Arc::clone(&progress);
    if let Some(output) = output {
        let format = options.format_of(&output)?;
        let sort = options.apply()?.progress(watch);
        let report = watched(py, &progress, callback.as_ref(), move || {
            with_input(sort, input, |sort| into_file(sort, &output, format))
        })?;
        return Ok(Bound::new(py, Report::of(&report))?.into_any());
    }
    if options.to.is_some() {
        return Err(invalid("format takes an output file"));
    }
    if options.takes_ranges() {
        return Err(invalid("ranges may have any number of values: open gives a set of them"));
    }
    let (asker, kind, most) = match input {
        Input::Numbers(numbers) if options.is_for_memory() => {
            let asker = Asker::of(source)?;
            let sort = options.in_memory(&progress);
            let (values, counts) =
                in_memory::sort(py, numbers, &sort, options.count, &progress, callback.as_ref())?;
            let values = for_caller(py, values, Some(&asker))?;
            let Some(counts) = counts else { return Ok(values) };
            let counts = for_caller(py, counts, Some(&asker))?;
            return Ok(PyTuple::new(py, [values, counts])?.into_any());
        }
        Input::Numbers(ref numbers) => (Some(Asker::of(source)?), kind_of(numbers), numbers.len()),
        Input::Files(_) => (None, Kind::U64, 0),
    };
    if options.count {
        let what = "count takes an output file, or an array and no options but reverse, threads";
        return Err(invalid(format!("{what} and progress")));
    }
    let sort = options.apply()?.progress(watch);
    let array =
        watched(py, &progress, callback.as_ref(), move || into_array(sort, input, kind, most))?;
    for_caller(py, array, asker.as_ref())
}

/// Adds the input to `sort`, and does `job`. If the input has a value that is refused, that is why the
/// job failed.
fn with_input<T>(
    sort: Sort,
    input: Input,
    job: impl FnOnce(Sort) -> bitsort::Result<T>,
) -> PyResult<T> {
    match input {
        Input::Files(files) => job(files.into_iter().fold(sort, Sort::file)).map_err(raise),
        Input::Numbers(numbers) => sorted(numbers.into_columns()?, sort, job),
    }
}

type Outcome = bitsort::Result<bitsort::sort::Report>;

fn into_file(sort: Sort, output: &Path, format: SetFormat) -> Outcome {
    match format {
        SetFormat::Values(values) => sort.to_format(values).to_file(output),
        SetFormat::Table(table) => sort.to_table(table).to_file(output),
        set => sort.to_set(output, set).map(|(_, report)| report),
    }
}

/// The sorted values in memory, at most so many.
fn into_array(sort: Sort, input: Input, kind: Kind, most: u64) -> PyResult<Array> {
    let wide = kind.bytes() == 8;
    let format = if wide { Format::U64Le } else { Format::U32Le };
    let mut words = Words::default();
    let bytes = most.saturating_mul(if wide { 8 } else { 4 });
    let no_memory = |_| pyo3::exceptions::PyMemoryError::new_err("no memory for the sorted array");
    words.full.try_reserve_exact(usize::try_from(bytes / 8).unwrap_or(0)).map_err(no_memory)?;
    let job = |sort: Sort| sort.to_format(format).to_writer(&mut words);
    let report = with_input(sort, input, job)?;
    let len = usize::try_from(report.written).map_err(invalid)?;
    let words = words.finish();
    Ok(match kind.bytes() {
        1 | 2 => Array::new(kind, len, narrowed(&words, len, kind.bytes())),
        _ => Array::new(kind, len, words),
    })
}

/// Values of 4 bytes in `words` as values of 1 or 2 bytes.
pub(crate) fn narrowed(words: &[u64], len: usize, bytes: usize) -> Vec<u64> {
    let values = words.iter().flat_map(|word| [*word & 0xFFFF_FFFF, word >> 32]).take(len);
    let mut narrow = Words::default();
    for value in values {
        narrow.push(&value.to_le_bytes()[..bytes]);
    }
    narrow.finish()
}

/// Bytes in words of memory.
#[derive(Default)]
struct Words {
    full: Vec<u64>,
    /// Bytes that do not fill a word yet.
    rest: [u8; 8],
    filled: usize,
}

impl Words {
    fn push(&mut self, mut bytes: &[u8]) {
        if self.filled > 0 {
            let (head, tail) = bytes.split_at(bytes.len().min(8 - self.filled));
            self.rest[self.filled..self.filled + head.len()].copy_from_slice(head);
            self.filled += head.len();
            bytes = tail;
            if self.filled < 8 {
                return;
            }
            self.full.push(u64::from_le_bytes(self.rest));
            self.filled = 0;
        }
        let (words, rest) = bytes.as_chunks::<8>();
        self.full.extend(words.iter().map(|word| u64::from_le_bytes(*word)));
        self.rest[..rest.len()].copy_from_slice(rest);
        self.filled = rest.len();
    }

    fn finish(mut self) -> Vec<u64> {
        if self.filled > 0 {
            self.rest[self.filled..].fill(0);
            self.full.push(u64::from_le_bytes(self.rest));
        }
        self.full
    }
}

impl Write for Words {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let full = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        self.full.try_reserve(bytes.len() / 8 + 1).map_err(full)?;
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The array in the form that the caller uses.
fn for_caller<'py>(
    py: Python<'py>,
    array: Array,
    asker: Option<&Asker>,
) -> PyResult<Bound<'py, PyAny>> {
    let array = Bound::new(py, array)?.into_any();
    match asker {
        Some(Asker::Numpy) => py.import("numpy")?.call_method1("asarray", (array,)),
        Some(Asker::Arrow(library)) => match library.as_str() {
            "pyarrow" => py.import("pyarrow")?.call_method1("array", (array,)),
            "polars" => py.import("polars")?.call_method1("Series", (array,)),
            "pandas" => {
                let values = py.import("numpy")?.call_method1("asarray", (array,))?;
                py.import("pandas")?.call_method1("Series", (values,))
            }
            _ => Ok(array),
        },
        Some(Asker::Other | Asker::Descending) => array.call_method0("tolist"),
        Some(Asker::Buffer) | None => Ok(array),
    }
}

/// The plan of a run of `sort`, and why it is chosen. Only samples are read.
///
/// >>> import bitsort
/// >>> "strategy" in bitsort.explain(range(1000))
/// True
#[pyfunction]
#[pyo3(signature = (source, **options))]
pub(crate) fn explain(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<String> {
    let mut options = Options::of(options)?;
    let input = input(source, &mut options)?;
    if let Input::Numbers(_) = &input {
        options.check_numbers(true)?;
    }
    options.to.as_deref().map(set_format).transpose()?;
    let sort = options.apply()?;
    py.detach(|| with_input(sort, input, Sort::explain).map(|explanation| explanation.to_string()))
}

/// The report of a run.
///
/// `lines = values + rejected + blank + headers`, and `values = written + dropped`.
#[pyclass(frozen, get_all, module = "bitsort")]
pub(crate) struct Report {
    /// Lines of all inputs; in binary formats and arrays, values.
    lines: u64,
    /// Values among them.
    values: u64,
    /// Lines of the output; in binary formats, values.
    written: u64,
    /// Values that were not written, because an equal one was, or because they occur once.
    dropped: u64,
    /// Malformed lines.
    rejected: u64,
    /// Blank lines.
    blank: u64,
    /// Header lines that were skipped.
    headers: u64,
    /// How it was sorted: "in-memory", "dense", "spill" or "multi-pass"; None for a merge that reads
    /// its inputs side by side.
    strategy: Option<&'static str>,
    /// Times that the input was read.
    passes: u64,
    /// Bytes of input that were read, counted in each pass.
    read_bytes: u64,
    /// Bytes of output.
    written_bytes: u64,
    /// Bytes of temporary files.
    spilled_bytes: u64,
    /// Largest resident memory of the process so far.
    peak_resident_bytes: Option<u64>,
    /// The memory limit.
    memory_limit_bytes: u64,
    /// Threads used.
    threads: usize,
    /// Seconds of each phase.
    seconds: BTreeMap<&'static str, f64>,
}

impl Report {
    fn of(report: &bitsort::sort::Report) -> Self {
        let seconds = [
            ("survey", report.survey_time),
            ("load", report.load_time),
            ("emit", report.emit_time),
        ];
        Self {
            lines: report.lines,
            values: report.values,
            written: report.written,
            dropped: report.dropped,
            rejected: report.rejected,
            blank: report.blank,
            headers: report.headers,
            strategy: report.strategy.map(Strategy::name),
            passes: report.passes,
            read_bytes: report.read_bytes,
            written_bytes: report.written_bytes,
            spilled_bytes: report.spilled_bytes,
            peak_resident_bytes: report.peak_resident_bytes,
            memory_limit_bytes: report.memory_limit_bytes,
            threads: report.threads,
            seconds: seconds.map(|(phase, time)| (phase, time.as_secs_f64())).into(),
        }
    }
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        format!(
            "<bitsort.Report: {} lines, {} written, {} dropped, {} rejected>",
            self.lines, self.written, self.dropped, self.rejected
        )
    }
}
