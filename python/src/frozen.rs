//! `FrozenBitSet`: a set that never changes.

use crate::mutable::{deserialized, from_arrow, from_ranges, made};
use crate::sets::AbstractBitSet;
use bitsort::set::IntegerSet;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};
use std::sync::Arc;

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

    /// The set itself: it does not change. Of a subclass, whose attributes may change, a set of this
    /// class.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.FrozenBitSet([3, 40])
    /// >>> ids.copy() is ids
    /// True
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        if slf.get_type().is(slf.py().get_type::<Self>()) {
            return Ok(slf.clone().into_any());
        }
        let set = slf.as_super().get().source(slf.py())?.to_set(&Arc::default())?;
        copy_of(&slf.get_type(), Self::wrap(slf.py(), set)?)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let copy = Self::copy(slf)?;
        if !copy.is(slf) {
            copy_attributes(&copy, state(slf)?)?;
        }
        Ok(copy)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copy = Self::copy(slf)?;
        if !copy.is(slf) {
            copy_deeply(slf, &copy, memo)?;
        }
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
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

/// The same for a copy. The constructor of a subclass, which may take other arguments, is not called.
pub(crate) fn copy_of<'py>(
    class: &Bound<'py, PyType>,
    set: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let base = set.get_type();
    if base.is(class) { Ok(set) } else { base.call_method1("__new__", (class, set)) }
}

/// The attributes of an instance of a subclass, as pickle has them: those of its `__dict__`, or a
/// pair of these and those of its `__slots__`.
pub(crate) fn state<'py>(set: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let state = set.call_method0("__getstate__")?;
    Ok((!state.is_none()).then_some(state))
}

/// Gives a copy of an instance of a subclass the attributes in `state`.
pub(crate) fn copy_attributes(
    copy: &Bound<'_, PyAny>,
    state: Option<Bound<'_, PyAny>>,
) -> PyResult<()> {
    let Some(state) = state else { return Ok(()) };
    if let Some(own) = copy.getattr_opt("__setstate__")? {
        return own.call1((state,)).map(drop);
    }
    let (attributes, slots) = match state.extract() {
        Ok((attributes, slots)) => (attributes, Some(slots)),
        Err(_) => (state, None),
    };
    if !attributes.is_none() {
        copy.getattr("__dict__")?.call_method1("update", (attributes,))?;
    }
    for (name, value) in slots.iter().flat_map(|slots: &Bound<'_, PyDict>| slots.iter()) {
        copy.setattr(name.cast_into::<PyString>()?, value)?;
    }
    Ok(())
}

/// Gives a deep copy of an instance of a subclass copies of its attributes. If an attribute leads back
/// to the instance, its copy leads back to `copy`.
pub(crate) fn copy_deeply<'py>(
    set: &Bound<'py, PyAny>,
    copy: &Bound<'py, PyAny>,
    memo: &Bound<'py, PyAny>,
) -> PyResult<()> {
    memo.set_item(set.as_ptr().addr(), copy)?;
    let Some(state) = state(set)? else { return Ok(()) };
    let deepcopy = set.py().import("copy")?.getattr("deepcopy")?;
    copy_attributes(copy, Some(deepcopy.call1((state, memo))?))
}

/// How pickle restores the set, and the attributes of an instance of a subclass.
pub(crate) fn reduced<'py>(set: &Bound<'py, AbstractBitSet>) -> PyResult<Bound<'py, PyTuple>> {
    let bytes = set.call_method0("serialize")?.cast_into::<PyBytes>()?;
    let bytes = PyTuple::new(set.py(), [bytes])?.into_any();
    let restore = set.get_type().getattr("deserialize")?;
    PyTuple::new(set.py(), [restore, bytes].into_iter().chain(state(set)?).collect::<Vec<_>>())
}
