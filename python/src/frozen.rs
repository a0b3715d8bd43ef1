//! `FrozenBitSet`: a set that never changes.

use crate::mutable::{deserialized, from_arrow, from_ranges, made};
use crate::sets::AbstractBitSet;
use bitsort::set::IntegerSet;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};

/// A set of natural numbers that never changes. Its hash is that of the `frozenset` of its
/// values, to which it is equal.
///
/// >>> import bitsort
/// >>> {bitsort.FrozenBitSet([3, 40]): "a"}[frozenset([3, 40])]
/// 'a'
#[pyclass(extends = AbstractBitSet, frozen, subclass, module = "bitsort")]
pub(crate) struct FrozenBitSet;

impl FrozenBitSet {
    pub(crate) fn wrap(py: Python<'_>, set: IntegerSet) -> PyResult<Bound<'_, PyAny>> {
        Ok(Bound::new(py, Self::with(set))?.into_any())
    }

    fn with(set: IntegerSet) -> PyClassInitializer<Self> {
        PyClassInitializer::from(AbstractBitSet::of_set(set)).add_subclass(Self)
    }
}

#[pymethods]
impl FrozenBitSet {
    #[new]
    #[pyo3(signature = (values=None, /))]
    fn new(
        py: Python<'_>,
        values: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        made(py, values).map(Self::with)
    }

    /// The set of the values of half-open ranges: pairs of a start and a stop.
    ///
    /// >>> import bitsort
    /// >>> bitsort.FrozenBitSet.from_ranges([(3, 5), (40, 41)])
    /// FrozenBitSet([3, 4, 40])
    #[classmethod]
    fn from_ranges<'py>(
        cls: &Bound<'py, PyType>,
        ranges: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, Self::wrap(cls.py(), from_ranges(ranges)?)?)
    }

    /// The set of the values of Arrow data; see `BitSet.from_arrow`.
    #[classmethod]
    #[pyo3(signature = (data, column=None))]
    fn from_arrow<'py>(
        cls: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
        column: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, Self::wrap(cls.py(), from_arrow(data, column)?)?)
    }

    /// The set in bytes; see `BitSet.deserialize`.
    #[classmethod]
    #[pyo3(signature = (data, format="roaring"))]
    fn deserialize<'py>(
        cls: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
        format: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, Self::wrap(cls.py(), deserialized(data, format)?)?)
    }

    /// The set itself: it does not change.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.FrozenBitSet([3, 40])
    /// >>> ids.copy() is ids
    /// True
    fn copy(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, memo: &Bound<'_, PyAny>) -> Py<Self> {
        let _ = memo; // a set has no other objects in it
        slf
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        reduced(slf.as_super())
    }
}

/// A set as an instance of a class, which may be a subclass that Python defines.
pub(crate) fn of_class<'py>(
    class: &Bound<'py, PyType>,
    set: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if set.get_type().is(class) { Ok(set) } else { class.call1((set,)) }
}

/// How pickle restores the set.
pub(crate) fn reduced<'py>(
    set: &Bound<'py, AbstractBitSet>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
    let bytes = set.call_method0("serialize")?.cast_into::<PyBytes>()?;
    Ok((set.get_type().getattr("deserialize")?, PyTuple::new(set.py(), [bytes])?))
}
