//! `open` and `SetFile`: sets in files.

use crate::buffer::MappedWords;
use crate::error::{bytes_object, invalid, raise};
use crate::numbers::natural;
use crate::sets::{AbstractBitSet, Content};
use crate::sort::Options;
use crate::source::{Mapped, Source, folder_of};
use crate::work::{interrupted, interruptible, watched};
use bitsort::Progress;
use bitsort::set::{SetKind, or};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A set in a mapped file. A question reads only what it needs; nothing is loaded. `open` returns
/// one. It has all questions and operators of `FrozenBitSet`.
///
/// It works in a `with` statement. After it is closed, questions raise `ValueError`.
#[pyclass(extends = AbstractBitSet, frozen, module = "bitsort")]
pub(crate) struct SetFile {
    blank: AtomicU64,
    rejected: AtomicU64,
}

/// How many lines had no number: blank and rejected ones.
type Others = (u64, u64);

impl SetFile {
    pub(crate) fn wrap(py: Python<'_>, set: bitsort::set::SetFile) -> PyResult<Bound<'_, Self>> {
        let folder = folder_of(set.path())?;
        Self::wrap_in(py, set, folder)
    }

    /// A set of a file that was opened in this [folder](folder_of).
    pub(crate) fn wrap_in(
        py: Python<'_>,
        set: bitsort::set::SetFile,
        folder: PathBuf,
    ) -> PyResult<Bound<'_, Self>> {
        Self::of_mapped(py, Arc::new(Mapped::new(set, folder)), (0, 0))
    }

    fn others(&self) -> Others {
        (self.blank.load(Ordering::Relaxed), self.rejected.load(Ordering::Relaxed))
    }

    fn of_mapped(
        py: Python<'_>,
        mapped: Arc<Mapped>,
        (blank, rejected): Others,
    ) -> PyResult<Bound<'_, Self>> {
        let content = Content::File(Mutex::new(Some(mapped)));
        let base = PyClassInitializer::from(AbstractBitSet::of(content));
        Bound::new(py, base.add_subclass(Self { blank: blank.into(), rejected: rejected.into() }))
    }

    fn mapped(slf: &Bound<'_, Self>) -> PyResult<Arc<Mapped>> {
        match slf.as_super().get().source(slf.py())? {
            Source::File(mapped) => Ok(mapped),
            Source::Memory(_) => Err(invalid("the set is in memory")),
        }
    }
}

/// Opens a set in a file. It maps a `.bits` file, a folder of `.bits` files with its manifest, or a
/// portable roaring bitmap. It sorts numbers in text, binary formats, Parquet or Arrow files into a
/// nameless temporary file, within a memory limit; the options of `sort` apply to them. So a block
/// list of addresses is opened with `from_format="cidr"`.
///
/// With `split`, a pair of an offset and a length in bytes, only the lines of a text file that
/// begin there are taken; see `splits`.
///
/// >>> import bitsort, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "ids.txt")
/// >>> with open(path, "w") as file:
/// ...     _ = file.write("40\n3\n40\n")
/// >>> list(bitsort.open(path))
/// [3, 40]
#[pyfunction]
#[pyo3(signature = (path, *, split=None, **options))]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: PathBuf,
    split: Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, SetFile>> {
    let options = Options::of(options)?;
    options.only_for_inputs()?;
    let split =
        split.map(|(offset, length)| Ok::<_, PyErr>((natural(&offset)?, natural(&length)?)));
    let split = split.transpose()?;
    let progress = Arc::new(Progress::default());
    let callback = options.callback.as_ref().map(|call| call.bind(py).clone());
    let sort = options.apply()?.progress(Arc::clone(&progress));
    let watch = Arc::clone(&progress);
    let (set, report) = watched(py, &progress, callback.as_ref(), move || {
        let opened = match split {
            Some((offset, length)) => {
                sort.split(&path, offset..offset.saturating_add(length)).into_set_file()
            }
            None => sort.open_as_set(&path),
        };
        let opened = opened.map_err(raise)?;
        interrupted(&watch)?;
        Ok(opened)
    })?;
    let folder = folder_of(set.path())?;
    let others = (report.blank, report.rejected);
    SetFile::of_mapped(py, Arc::new(Mapped::new(set, folder)), others)
}

/// What makes the set again: a function, its argument, and then the numbers of other lines.
type Pickled<'py> = (Bound<'py, PyAny>, (Bound<'py, PyAny>,), Option<Others>);

#[pymethods]
impl SetFile {
    /// The name of the file. Of a set of a `.sets` file it ends in `:KEY`, without what pathlib leaves
    /// out of names, such as the last slash of a key.
    #[getter]
    fn path(slf: &Bound<'_, Self>) -> PyResult<PathBuf> {
        Ok(Self::mapped(slf)?.path().to_path_buf())
    }

    /// Bytes of the file.
    #[getter]
    fn file_bytes(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Ok(Self::mapped(slf)?.set.file_bytes())
    }

    /// Blank lines, and rows without a number, of the file that `open` read numbers from; 0 if it
    /// was a set.
    #[getter]
    fn blank(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Self::mapped(slf).map(|_| slf.get().others().0)
    }

    /// Malformed lines that `open` left out, with `invalid="skip"` or `rejects`.
    #[getter]
    fn rejected(slf: &Bound<'_, Self>) -> PyResult<u64> {
        Self::mapped(slf).map(|_| slf.get().others().1)
    }

    /// The kind of the file: "bits", "roaring" (32 bits), "treemap" (roaring, 64 bits), "sets" for
    /// a set of a `.sets` file, or "folder" for a folder of `.bits` files.
    #[getter]
    fn kind(slf: &Bound<'_, Self>) -> PyResult<&'static str> {
        Ok(match Self::mapped(slf)?.set.kind() {
            SetKind::Bits => "bits",
            SetKind::Roaring => "roaring",
            SetKind::Treemap => "treemap",
            SetKind::Folder => "folder",
            SetKind::Keyed => "sets",
            _ => "other",
        })
    }

    /// How the values are represented, by the names of `bitset info`: "dense", "roaring",
    /// "roaring64" (64-bit values), "sparse" or "runs"; "parts" for a folder, whose parts may differ.
    #[getter]
    fn representation(slf: &Bound<'_, Self>) -> PyResult<&'static str> {
        Ok(Self::mapped(slf)?.set.representation().name())
    }

    /// The words of a plain bitmap, without copying; None if the set has another representation.
    /// Bit `i` of word `w` is the value `words.first + 64 * w + i`.
    ///
    /// >>> import bitsort, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "ids.bits")
    /// >>> size = bitsort.BitSet([3, 40]).write(path, format="dense")
    /// >>> words = bitsort.open(path).words()
    /// >>> words.first, bin(memoryview(words)[0])
    /// (0, '0b10000000000000000000000000000000000001000')
    fn words(slf: &Bound<'_, Self>) -> PyResult<Option<MappedWords>> {
        let mapped = Self::mapped(slf)?;
        Source::File(Arc::clone(&mapped)).check()?;
        Ok(MappedWords::of(mapped))
    }

    /// Reads and checks the whole file: its checksums and the order of its values. `bitsort.Error`
    /// names the first damage.
    fn verify(slf: &Bound<'_, Self>) -> PyResult<()> {
        let mapped = Self::mapped(slf)?;
        Source::File(Arc::clone(&mapped)).check()?;
        interruptible(slf.py(), |progress| mapped.set.verify_with(&progress))
    }

    /// Closes the file. Existing iterators go on.
    fn close(slf: &Bound<'_, Self>) {
        if let Content::File(file) = &slf.as_super().get().content {
            let mut file = file.lock_py_attached(slf.py()).unwrap_or_else(PoisonError::into_inner);
            *file = None;
        }
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*exception))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyAny>) {
        let _ = exception; // exceptions pass through
        Self::close(slf);
    }

    /// The same set: its file is not opened again. Closing one of the two leaves the other open.
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Self::__copy__(slf)
    }

    /// As [`copy`](Self::copy).
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        Self::of_mapped(slf.py(), Self::mapped(slf)?, slf.get().others())
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        let _ = memo; // nothing in a set refers to other objects
        Self::__copy__(slf)
    }

    /// Pickle keeps the name of a named file, and the bytes of other sets.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let py = slf.py();
        let (mapped, package) = (Self::mapped(slf)?, py.import("bitsort")?);
        Source::File(Arc::clone(&mapped)).check()?;
        if mapped.set.is_named() {
            let path = mapped.whole_path().into_bound_py_any(py)?;
            return Ok((package.getattr("open")?, (path,), None));
        }
        let source = Source::File(mapped);
        let bytes = interruptible(py, |progress| or(&[&source]).progress(progress).to_bytes())?;
        let others = Some(slf.get().others()).filter(|&others| others != (0, 0));
        Ok((package.getattr("open_bytes")?, (bytes_object(py, &bytes)?.into_any(),), others))
    }

    /// For pickle: the numbers of other lines of a set that is opened from its bytes.
    fn __setstate__(&self, others: Others) {
        let (blank, rejected) = others;
        self.blank.store(blank, Ordering::Relaxed);
        self.rejected.store(rejected, Ordering::Relaxed);
    }
}
