//! `open_sets`: many sets in one file, each under a key.

use crate::error::{bytes_object, raise, wrong_type};
use crate::file::SetFile;
use crate::source::folder_of;
use crate::work::interruptible;
use bitsort::set::keyed;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyString};
use std::path::PathBuf;

/// The sets of a mapped `.sets` file, each under a key of any bytes. Nothing is loaded; a binary
/// search finds a set. `open_sets` returns one. If a key is text, it stands for its UTF-8 bytes.
/// The sets are of type `SetFile`.
#[pyclass(frozen, module = "bitsort", mapping)]
pub(crate) struct KeyedSets {
    sets: keyed::KeyedSets,
    /// Where the file was opened, as [`folder_of`] says.
    folder: PathBuf,
}

/// Opens a `.sets` file, as `bitset group` writes it.
///
/// >>> import bitsort, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "tags.sets")
/// >>> bitsort.group([(["sport", "tokyo"], [7, 8])], path)
/// (2, 2)
/// >>> sets = bitsort.open_sets(path)
/// >>> list(sets["sport"]), sets.keys(), sets.get("chess")
/// ([7], [b'sport', b'tokyo'], None)
#[pyfunction]
pub(crate) fn open_sets(py: Python<'_>, path: PathBuf) -> PyResult<KeyedSets> {
    let folder = folder_of(&path)?;
    let sets = py.detach(|| keyed::KeyedSets::open(path)).map_err(raise)?;
    Ok(KeyedSets { sets, folder })
}

/// The bytes of a key.
pub(crate) fn bytes_of<'k>(key: &'k Bound<'_, PyAny>) -> PyResult<&'k [u8]> {
    match key.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.as_bytes()),
        Err(_) => match key.cast::<PyBytes>() {
            Ok(bytes) => Ok(bytes.as_bytes()),
            Err(_) => Err(wrong_type("keys are str or bytes")),
        },
    }
}

impl KeyedSets {
    /// The result of `find` for a key; none if there is no such key.
    fn found<T>(
        &self,
        key: &Bound<'_, PyAny>,
        of: impl FnOnce(usize) -> bitsort::Result<T>,
    ) -> PyResult<Option<T>> {
        let index = self.sets.find(bytes_of(key)?).map_err(raise)?;
        index.map(of).transpose().map_err(raise)
    }

    fn wrap<'py>(
        &self,
        py: Python<'py>,
        set: bitsort::set::SetFile,
    ) -> PyResult<Bound<'py, SetFile>> {
        SetFile::wrap_in(py, set, self.folder.clone())
    }
}

fn missing(key: &Bound<'_, PyAny>) -> PyErr {
    PyKeyError::new_err(key.clone().unbind())
}

#[pymethods]
impl KeyedSets {
    /// The name of the file.
    #[getter]
    fn path(&self) -> PathBuf {
        self.sets.path().to_path_buf()
    }

    /// Bytes of the file.
    #[getter]
    fn file_bytes(&self) -> u64 {
        self.sets.file_bytes()
    }

    /// Number of sets.
    fn __len__(&self) -> usize {
        self.sets.len()
    }

    /// Whether there is such a key.
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.found(key, |_| Ok(()))?.is_some())
    }

    /// The set of a key.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, SetFile>> {
        let set = self.found(key, |index| self.sets.set(index))?;
        self.wrap(key.py(), set.ok_or_else(|| missing(key))?)
    }

    /// The keys, ascending, as bytes.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys(py)?.try_iter()
    }

    /// The keys, ascending, as bytes.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let keys = self.sets.iter().map(|about| bytes_object(py, about.map_err(raise)?.key));
        let keys = keys.collect::<PyResult<Vec<_>>>()?;
        self.sets.intact().map_err(raise)?;
        PyList::new(py, keys)
    }

    /// The set of a key, or `default` if there is no such key.
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.found(key, |index| self.sets.set(index))? {
            Some(set) => Ok(Some(self.wrap(key.py(), set)?.into_any())),
            None => Ok(default),
        }
    }

    /// The sets, in the order of their keys: a view.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("_collections_abc")?.call_method1("ValuesView", (slf,))
    }

    /// Pairs of a key and its set, in the order of the keys: a view.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("_collections_abc")?.call_method1("ItemsView", (slf,))
    }

    /// Whether another mapping has the same keys, as bytes, and equal sets.
    fn __eq__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        // By name: the launcher of the programs has no functions for these.
        let builtins = py.import("builtins")?;
        let mapping = py.import("collections.abc")?.getattr("Mapping")?;
        if !builtins.call_method1("isinstance", (other, mapping))?.is_truthy()? {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let ours = builtins.call_method1("dict", (slf,))?;
        ours.call_method1("__eq__", (builtins.call_method1("dict", (other,))?,))
    }

    /// Number of values of a key's set, as the file says; it does not read the set.
    fn cardinality(&self, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        self.found(key, |index| self.sets.cardinality(index))?.ok_or_else(|| missing(key))
    }

    /// Reads and checks the whole file: its checksums and every set. `bitsort.Error` names the
    /// first damage.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        interruptible(py, |progress| self.sets.verify_with(&progress))
    }

    /// The same sets: their file is not opened again.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo; // nothing in it refers to other objects
        slf
    }

    /// Pickle keeps the name of the file.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (PathBuf,))> {
        let path = self.folder.join(self.sets.path());
        Ok((py.import("bitsort")?.getattr("open_sets")?, (path,)))
    }

    fn __repr__(&self) -> String {
        format!("<bitsort.KeyedSets: {} sets in {}>", self.sets.len(), self.sets.path().display())
    }
}
