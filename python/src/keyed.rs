//! Sets by key: files of many sets, and what the tasks of a cluster do with them.

use crate::arrow::{Imported, Texts, import};
use crate::buffer::Refused;
use crate::columns::{BLOCK, Columns};
use crate::error::{bytes_object, collected, invalid, push, raise, wrong_type};
use crate::keyed_file::bytes_of;
use crate::numbers::{Numbers, descends, number, optional};
use crate::sort::{delimiter, field, memory_of};
use crate::work::{check, interruptible, watched};
use bitsort::Progress;
use bitsort::lines::Group;
use bitsort::number::Notation;
use bitsort::set::keyed::{self, KeyedSets};
use bitsort::sort::ReadNumbers;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyString};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Keys of text or bytes.
enum Keys {
    Texts(Vec<Texts>),
    Objects(std::vec::IntoIter<Vec<u8>>),
}

impl Keys {
    /// The keys of a column or of an iterable, until the progress is cancelled.
    fn of(object: &Bound<'_, PyAny>, progress: &Progress) -> PyResult<Self> {
        match import(object, None, progress)? {
            Some(Imported::Texts(texts)) => return Ok(Self::Texts(texts)),
            Some(Imported::Nulls(0)) => return Ok(Self::Texts(Vec::new())),
            Some(Imported::Nulls(_)) => return Err(Refused::Null(0).into()),
            Some(Imported::Numbers(_)) => {
                return Err(wrong_type("keys are text or bytes: cast numbers to text"));
            }
            None => {}
        }
        if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
            return Err(wrong_type("one key is no collection of keys: use a list"));
        }
        let mut keys = Vec::new();
        for key in object.try_iter()? {
            if keys.len() % BLOCK == 0 {
                check(object.py(), progress)?;
            }
            push(&mut keys, bytes_of(&key?)?.to_vec())?;
        }
        Ok(Self::Objects(keys.into_iter()))
    }

    fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.iter().map(Texts::len).sum(),
            Self::Objects(keys) => keys.len(),
        }
    }
}

/// Rows of a batch that are unpacked together: the batch itself may have any number.
const TOGETHER: usize = 1 << 12;

/// The rows of a batch, which are taken from it one by one.
struct Batch {
    keys: Keys,
    /// The array of texts that has the next key, the row of that key, and the rows of arrays before.
    text: (usize, usize, usize),
    ids: Columns,
    /// Ids that are unpacked, and the index of the first one that is not.
    unpacked: std::vec::IntoIter<u64>,
    next: usize,
}

impl Batch {
    fn of(keys: Keys, ids: Columns) -> Self {
        Self { keys, text: (0, 0, 0), ids, unpacked: Vec::new().into_iter(), next: 0 }
    }

    fn row(&mut self) -> PyResult<Option<(Vec<u8>, u64)>> {
        let Some(key) = self.key()? else { return Ok(None) };
        if self.unpacked.len() == 0 {
            let mut ids = vec![0; TOGETHER.min(self.ids.len() - self.next)];
            self.ids.told(ReadNumbers::<u64>::read(&self.ids, self.next, &mut ids))?;
            self.next += ids.len();
            self.unpacked = ids.into_iter();
        }
        Ok(self.unpacked.next().map(|id| (key, id)))
    }

    fn key(&mut self) -> PyResult<Option<Vec<u8>>> {
        let texts = match &mut self.keys {
            Keys::Objects(keys) => return Ok(keys.next()),
            Keys::Texts(texts) => texts,
        };
        let (array, row, before) = &mut self.text;
        while let Some(text) = texts.get(*array) {
            if *row < text.len() {
                if text.is_null(*row) {
                    return Err(Refused::Null(*before + *row).into());
                }
                *row += 1;
                return Ok(Some(text.get(*row - 1).to_vec()));
            }
            (*array, *row, *before) = (*array + 1, 0, *before + text.len());
        }
        Ok(None)
    }
}

/// The rows of batches of Python, which are taken from it one by one.
struct Rows {
    batches: Py<PyIterator>,
    progress: Arc<Progress>,
    batch: Option<Batch>,
    /// Why they ended early.
    failed: Arc<Mutex<Option<PyErr>>>,
}

impl Rows {
    /// Takes the next batch; gives whether there was one.
    fn advance(&mut self) -> PyResult<bool> {
        self.batch = None;
        self.batch = Python::attach(|py| {
            let Some(batch) = self.batches.bind(py).clone().next() else { return Ok(None) };
            let (keys, ids): (Bound<'_, PyAny>, Bound<'_, PyAny>) = batch?.extract()?;
            let (keys, mut numbers) =
                (Keys::of(&keys, &self.progress)?, Numbers::watched(&ids, &self.progress)?);
            let count = keys.len();
            let check_ids = |ids: u64| {
                let what = || invalid(format!("there are {count} keys, and {ids} ids"));
                if count as u64 == ids { Ok(()) } else { Err(what()) }
            };
            check_ids(numbers.len())?; // they may be far more than there is memory for
            let descend = descends(&ids)?;
            py.detach(|| {
                if descend {
                    let mut values = numbers.into_values()?;
                    values.reverse();
                    numbers = Numbers::Values(values);
                }
                let ids = Columns::of(numbers.into_columns()?);
                check_ids(ids.len() as u64)?;
                Ok::<_, PyErr>(Some(Batch::of(keys, ids)))
            })
        })?;
        Ok(self.batch.is_some())
    }

    fn row(&mut self) -> PyResult<Option<(Vec<u8>, u64)>> {
        loop {
            if let Some(batch) = &mut self.batch
                && let Some(row) = batch.row()?
            {
                return Ok(Some(row));
            }
            if !self.advance()? {
                return Ok(None);
            }
        }
    }
}

impl Iterator for Rows {
    type Item = bitsort::Result<(Vec<u8>, u64)>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.row().map_err(|error| {
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            bitsort::Error::Interrupted
        });
        row.transpose()
    }
}

/// Groups rows of a key and an id, and writes a `.sets` file: a set of the ids of each key. Gives
/// the number of sets, and of the values of all of them. The file is that of `bitset group`, and
/// appears whole or not at all.
///
/// `batches` are pairs of keys and ids: Arrow columns of text or bytes, or lists of str and bytes;
/// and arrays of integers, or anything else that has integers. They are taken one at a time, in
/// another thread, and rows stay within `mem`, a limit for the whole process.
///
/// >>> import bitsort, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "tags.sets")
/// >>> bitsort.group([(["sport", "tokyo", "sport"], [7, 7, 35])], path)
/// (2, 3)
/// >>> list(bitsort.open(path + ":sport"))
/// [7, 35]
#[pyfunction]
#[pyo3(signature = (batches, output, *, mem=None, threads=None))]
pub(crate) fn group(
    py: Python<'_>,
    batches: &Bound<'_, PyAny>,
    output: PathBuf,
    mem: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = optional)] threads: Option<usize>,
) -> PyResult<(u64, u64)> {
    let (failed, progress) = (Arc::default(), Arc::new(Progress::default()));
    let rows = Rows {
        batches: batches.try_iter()?.unbind(),
        progress: Arc::clone(&progress),
        batch: None,
        failed: Arc::clone(&failed),
    };
    let group = Group::new().progress(Arc::clone(&progress)).try_pairs(rows);
    let group = limited(group, mem, threads)?;
    watched(py, &progress, None, move || {
        let grouped = group.to_file(output);
        match failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => grouped.map(|report| (report.sets, report.values)).map_err(raise),
        }
    })
}

/// Groups the rows of files, as `bitset group` does: Parquet and Arrow files, and delimited text.
/// Gives the number of sets, of the values of all of them, and of rows that lack a key or an id,
/// which are dropped.
///
/// `key` and `column` are names, or numbers from 1; `separator` is the byte between the fields of
/// text, and `quoting` says whether fields may be in quotes. `from_format` says how ids are written in text: "text", "hex", "ipv4"; or "cidr",
/// "text-ranges", "hex-ranges", "ipv4-ranges", if a row may have a block or a range of ids. The file
/// appears whole or not at all.
///
/// >>> import bitsort, tempfile, os
/// >>> folder = tempfile.mkdtemp()
/// >>> rows, path = os.path.join(folder, "rows.csv"), os.path.join(folder, "tags.sets")
/// >>> with open(rows, "w") as file:
/// ...     _ = file.write("tag,id\nsport,7\ntokyo,7\nsport,35\n")
/// >>> bitsort.group_files([rows], path, key="tag", column="id")
/// (2, 3, 0)
#[pyfunction]
#[pyo3(signature = (
    files, output, *, key, column, separator=None, quoting=true, from_format=None, mem=None,
    threads=None
))]
#[expect(clippy::too_many_arguments, reason = "Python's named arguments")]
pub(crate) fn group_files(
    py: Python<'_>,
    files: &Bound<'_, PyAny>,
    output: PathBuf,
    key: &Bound<'_, PyAny>,
    column: &Bound<'_, PyAny>,
    separator: Option<&Bound<'_, PyAny>>,
    quoting: bool,
    from_format: Option<&str>,
    mem: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = optional)] threads: Option<usize>,
) -> PyResult<(u64, u64, u64)> {
    let separator = separator.map_or(Ok(b','), delimiter)?;
    let notation = from_format.map_or(Ok(Notation::DECIMAL), str::parse).map_err(invalid)?;
    let progress = Arc::new(Progress::default());
    let group = limited(Group::new().progress(Arc::clone(&progress)), mem, threads)?;
    let group = group.columns(field(key)?, field(column)?, separator).no_quoting(!quoting);
    let group = group.notation(notation);
    let files = each_file(files, |file| file.extract::<PathBuf>())?;
    let group = files.into_iter().fold(group, Group::file);
    watched(py, &progress, None, move || {
        let report = group.to_file(output).map_err(raise)?;
        Ok((report.sets, report.values, report.blank))
    })
}

/// What `of` makes of the files of a list or another iterable.
fn each_file<'py, T>(
    files: &Bound<'py, PyAny>,
    of: impl Fn(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    if files.is_instance_of::<PyString>() || files.is_instance_of::<PyBytes>() {
        return Err(wrong_type("files: a list of files, not one name"));
    }
    collected(files, of)
}

/// Sets the limits of a run.
fn limited(
    mut group: Group,
    mem: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Group> {
    if let Some(mem) = mem {
        group = group.memory(memory_of(mem)?);
    }
    Ok(if let Some(threads) = threads { group.threads(threads) } else { group })
}

/// Cuts a `.sets` file into pieces: pairs of a bucket, from 0 to before `buckets`, and the bytes of
/// a `.sets` file. The bucket of a key follows from its bytes alone. A piece has about `most_bytes`
/// or fewer, and a larger set is in several of them. `keyed_union` of all of them is the file again.
///
/// >>> import bitsort, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "tags.sets")
/// >>> bitsort.group([(["sport", "tokyo"], [7, 8])], path)
/// (2, 2)
/// >>> [bucket for bucket, data in bitsort.keyed_pieces(path, 1)]
/// [0]
#[pyfunction]
#[pyo3(signature = (path, buckets, most_bytes=8 << 20))]
pub(crate) fn keyed_pieces(
    py: Python<'_>,
    path: PathBuf,
    #[pyo3(from_py_with = number)] buckets: usize,
    #[pyo3(from_py_with = number)] most_bytes: usize,
) -> PyResult<KeyedPieces> {
    let found = py.detach(|| keyed::pieces(&KeyedSets::open(path)?, buckets, most_bytes));
    let progress = Arc::new(Progress::default());
    let pieces = found.map_err(raise)?.progress(Arc::clone(&progress));
    Ok(KeyedPieces { pieces: Mutex::new(pieces), progress })
}

/// What `keyed_pieces` gives.
#[pyclass(frozen, module = "bitsort")]
pub(crate) struct KeyedPieces {
    pieces: Mutex<keyed::Pieces>,
    progress: Arc<Progress>,
}

#[pymethods]
impl KeyedPieces {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<(usize, Bound<'py, PyBytes>)>> {
        let next = || self.pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let found = watched(py, &self.progress, None, || next().transpose().map_err(raise))?;
        found.map(|(bucket, bytes)| Ok((bucket, bytes_object(py, &bytes)?))).transpose()
    }
}

/// Joins `.sets` files, which are paths or the bytes of files, into one: it has every key of one of
/// them, and under it all values that one of them has there. Gives the number of sets and of
/// values. The file appears whole or not at all.
///
/// >>> import bitsort, tempfile, os
/// >>> folder = tempfile.mkdtemp()
/// >>> monday, both = os.path.join(folder, "monday.sets"), os.path.join(folder, "both.sets")
/// >>> bitsort.group([(["sport", "chess"], [7, 1])], monday)
/// (2, 2)
/// >>> bitsort.keyed_union([monday, monday], both)
/// (2, 2)
#[pyfunction]
pub(crate) fn keyed_union(
    py: Python<'_>,
    files: &Bound<'_, PyAny>,
    output: PathBuf,
) -> PyResult<(u64, u64)> {
    let open = |file: Bound<'_, PyAny>| {
        match file.cast::<PyBytes>() {
            Ok(bytes) => KeyedSets::from_bytes(bytes.as_bytes()),
            Err(_) => KeyedSets::open(file.extract::<PathBuf>()?),
        }
        .map_err(raise)
    };
    let sets = each_file(files, open)?;
    let joined = interruptible(py, |progress| keyed::union_with(&sets, output, &progress))?;
    Ok((joined.sets, joined.values))
}
