//! Sets in parts: what the tasks of a cluster do, each with a piece of the data.

use crate::error::{bytes_object, check_memory, collected, invalid, raise};
use crate::file::SetFile;
use crate::mutable::BitSet;
use crate::numbers::{Numbers, natural, number};
use crate::sort::Options;
use crate::source::{Source, all, operand};
use crate::work::{in_pieces, interruptible};
use bitsort::set::{self, Expression, Part};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The numbers of an array of numpy or Arrow, or of an Arrow stream, as a set, sorted by no more
/// than so many threads. Null is refused.
///
/// >>> import bitsort
/// >>> from array import array
/// >>> bitsort.gather(array("Q", [40, 3, 40]))
/// BitSet([3, 40])
#[pyfunction]
#[pyo3(signature = (data, threads=1))]
pub(crate) fn gather<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = number)] threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    if threads == 0 {
        return Err(invalid("at least 1 thread is needed"));
    }
    let numbers = Numbers::of(data)?;
    let found = in_pieces(py, numbers.len(), |progress| numbers.into_set(progress, Some(threads)))?;
    BitSet::wrap(py, found)
}

/// Divides a text file into ranges of about `size` bytes for the `split` of `open`: pairs of offset
/// and length. The list is empty if the file must be read whole, as compressed files, tables, sets
/// and binary formats are, or if an option names a column.
///
/// >>> import bitsort, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "ids.txt")
/// >>> with open(path, "w") as file:
/// ...     _ = file.write("40\n3\n" * 100)
/// >>> bitsort.splits(path, 300)
/// [(0, 300), (300, 200)]
#[pyfunction]
#[pyo3(signature = (path, size, **options))]
pub(crate) fn splits(
    path: PathBuf,
    #[pyo3(from_py_with = number)] size: u64,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<(u64, u64)>> {
    let options = Options::of(options)?;
    options.only_for_inputs()?;
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    check_memory((bytes / size.max(1)).saturating_mul(64))?;
    let found = options.apply()?.splits(path, size).map_err(raise)?;
    Ok(found.into_iter().map(|bytes| (bytes.start, bytes.end - bytes.start)).collect())
}

/// A set in the bytes of a `.bits` file or of a portable roaring bitmap, which are copied and not
/// decoded.
///
/// >>> import bitsort
/// >>> [(number, data)] = bitsort.pieces([3, 40])
/// >>> 40 in bitsort.open_bytes(data)
/// True
#[pyfunction]
pub(crate) fn open_bytes<'py>(
    py: Python<'py>,
    data: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, SetFile>> {
    let opened = match data.cast::<PyBytes>() {
        Ok(bytes) => set::SetFile::from_bytes(bytes.as_bytes()),
        Err(_) => set::SetFile::from_bytes(&PyBuffer::<u8>::get(data)?.to_vec(py)?),
    };
    SetFile::wrap(py, opened.map_err(raise)?)
}

/// A set in pieces, each the bytes of a `.bits` file, with the number of its window: a window
/// begins with one of `starts` and ends before the next one, and window 0 comes before them. A
/// window without values has no piece; one of more than `most_bytes` has several.
///
/// >>> import bitsort
/// >>> [number for number, data in bitsort.pieces([3, 40, 1 << 40], starts=[1 << 20, 1 << 30])]
/// [0, 2]
#[pyfunction]
#[pyo3(signature = (set, starts=vec![], most_bytes=8 << 20))]
#[expect(clippy::needless_pass_by_value, reason = "what PyO3 makes of an argument")]
pub(crate) fn pieces<'py>(
    py: Python<'py>,
    set: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = all_natural)] starts: Vec<u64>,
    #[pyo3(from_py_with = number)] most_bytes: usize,
) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
    let source = operand(set)?;
    source.check()?;
    let found = interruptible(py, |progress| set::pieces(&source, &starts, most_bytes, &progress))?;
    numbered(py, found)
}

fn all_natural(values: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    collected(values, |value| natural(&value))
}

/// Pieces with their numbers, as objects.
fn numbered(
    py: Python<'_>,
    pieces: Vec<(usize, Vec<u8>)>,
) -> PyResult<Vec<(usize, Bound<'_, PyBytes>)>> {
    let object = |(number, bytes): (usize, Vec<u8>)| Ok((number, bytes_object(py, &bytes)?));
    pieces.into_iter().map(object).collect()
}

/// A set in pieces, as `pieces` gives them, but each with the number of its bucket: numbers that
/// share all but 16 bits are in one bucket. A hash of these bits chooses it. So buckets of
/// different sets belong together, without windows. The set is copied in memory.
///
/// >>> import bitsort
/// >>> found = bitsort.hashed_pieces([3, 40, 1 << 40], 4)
/// >>> sum(bitsort.open_bytes(data).count() for bucket, data in found)
/// 3
#[pyfunction]
#[pyo3(signature = (set, buckets, most_bytes=8 << 20))]
pub(crate) fn hashed_pieces<'py>(
    py: Python<'py>,
    set: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = number)] buckets: usize,
    #[pyo3(from_py_with = number)] most_bytes: usize,
) -> PyResult<Vec<(usize, Bound<'py, PyBytes>)>> {
    let source = operand(set)?;
    source.check()?;
    check_memory((buckets as u64).saturating_mul(BUCKET_BYTES))?;
    let found =
        interruptible(py, |progress| set::hashed_pieces(&source, buckets, most_bytes, &progress))?;
    numbered(py, found)
}

/// About the bytes that a bucket takes before it has values.
const BUCKET_BYTES: u64 = 128;

/// The sets of an iterable.
pub(crate) fn operands(sets: &Bound<'_, PyAny>) -> PyResult<Vec<Source>> {
    let sets = collected(sets, |set| operand(&set))?;
    sets.iter().try_for_each(Source::check)?;
    Ok(sets)
}

/// The values of any of the sets, in a nameless temporary file: it takes little memory, however
/// many they are.
///
/// >>> import bitsort
/// >>> list(bitsort.union([[3, 40], [40, 41]]))
/// [3, 40, 41]
#[pyfunction]
pub(crate) fn union<'py>(
    py: Python<'py>,
    sets: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, SetFile>> {
    let sets = operands(sets)?;
    let found =
        interruptible(py, |progress| set::or(&all(&sets)).progress(progress).to_temporary_file())?;
    SetFile::wrap(py, found)
}

/// Number of values in any of the sets; the values are not kept.
///
/// >>> import bitsort
/// >>> bitsort.union_len([[3, 40], [40, 41]])
/// 3
#[pyfunction]
pub(crate) fn union_len(py: Python<'_>, sets: &Bound<'_, PyAny>) -> PyResult<u64> {
    let sets = operands(sets)?;
    interruptible(py, |progress| set::or(&all(&sets)).progress(progress).count())
}

/// Joins the sets by an operation, and writes the values from `first` to `last` as part `number` of
/// `folder`. `first` and `last + 1` are multiples of 65536, because the parts of a folder share no
/// such range.
/// Operations are "or", "and", "xor" and "andnot". The answer is the part's row of the manifest,
/// as JSON, or None if there are no values, and no file then. A part that is there is replaced in
/// one step: two tasks that write the same part do no harm.
#[pyfunction]
#[pyo3(signature = (folder, number, sets, *, operation="or", first=0, last=u64::MAX))]
pub(crate) fn write_part(
    py: Python<'_>,
    folder: PathBuf,
    #[pyo3(from_py_with = number)] number: usize,
    sets: &Bound<'_, PyAny>,
    operation: &str,
    #[pyo3(from_py_with = number)] first: u64,
    #[pyo3(from_py_with = number)] last: u64,
) -> PyResult<Option<String>> {
    let sets = operands(sets)?;
    let make = match operation {
        "or" => Expression::Or,
        "and" => Expression::And,
        "xor" => Expression::Xor,
        "andnot" => Expression::AndNot,
        other => return Err(invalid(format!("{other} is no operation: or, and, xor, andnot"))),
    };
    let operands = (0..sets.len()).map(|index| Expression::Name(index.to_string())).collect();
    let expression = match (first, last) {
        (0, u64::MAX) => make(operands),
        _ => Expression::And(vec![make(operands), Expression::Range(first, last)]),
    };
    let named = |name: &str| name.parse::<usize>().ok().and_then(|index| sets.get(index));
    let row = interruptible(py, |progress| {
        expression.eval(named)?.progress(progress).write_part(folder, number)
    })?;
    Ok(row.map(|row: Part| row.to_json()))
}

/// A folder that is to become a set: tasks write parts into its temporary `folder` with
/// `write_part`, and `commit` takes their rows, writes the manifest, and gives the folder its
/// name. Without a commit nothing is left.
///
/// >>> import bitsort, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "ids")
/// >>> with bitsort.FolderWriter(path) as writer:
/// ...     row = bitsort.write_part(writer.folder, 0, [[3, 40], [41]])
/// ...     writer.commit([row])
/// 3
/// >>> list(bitsort.open(path))
/// [3, 40, 41]
#[pyclass(frozen, module = "bitsort")]
pub(crate) struct FolderWriter {
    writer: Mutex<Option<set::FolderWriter>>,
}

impl FolderWriter {
    fn taken(&self) -> Option<set::FolderWriter> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl FolderWriter {
    #[new]
    fn new(path: PathBuf) -> PyResult<Self> {
        let writer = set::FolderWriter::create(path).map_err(raise)?;
        Ok(Self { writer: Mutex::new(Some(writer)) })
    }

    /// The temporary folder.
    #[getter]
    fn folder(&self) -> PyResult<PathBuf> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let writer =
            writer.as_ref().ok_or_else(|| invalid("the folder is complete or given up"))?;
        Ok(writer.folder().to_path_buf())
    }

    /// Writes the manifest with these rows, and gives the folder its name; returns the number of
    /// values. `None` stands for a part that `write_part` did not write.
    #[expect(clippy::needless_pass_by_value, reason = "what PyO3 makes of an argument")]
    fn commit(&self, py: Python<'_>, rows: Vec<Option<String>>) -> PyResult<u64> {
        let parts = rows.iter().flatten().map(|row| Part::from_json(row)).collect::<Result<_, _>>();
        let parts = parts.map_err(raise)?;
        let writer = self.taken().ok_or_else(|| invalid("the folder is complete or given up"))?;
        py.detach(|| writer.commit(parts)).map(|written| written.cardinality).map_err(raise)
    }

    /// Gives the folder up, unless it is complete.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.taken()));
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(&self, py: Python<'_>, exception: &Bound<'_, PyAny>) {
        let _ = exception; // it goes on
        self.close(py);
    }
}
