//! `BitSet`: a set in memory that can change.

use crate::columns::BLOCK;
use crate::error::{at_index, invalid, push, raise, wrong_type};
use crate::frozen::{copy_attributes, copy_deeply, copy_of, of_class, reduced, state};
use crate::numbers::{Numbers, insert_range, natural, natural_or_other, range_set};
use crate::sets::{AbstractBitSet, Content, bytes_format, span, whole_span};
use crate::source::{Operation, Source, is_set_like, operand, set_of, source_of};
use crate::work::{check, in_pieces};
use bitsort::Progress;
use bitsort::set::IntegerSet;
use bitsort::set::foreign::decode_as;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyList, PyTuple, PyType};
use std::sync::{Arc, Mutex, PoisonError};

/// A set of natural numbers below 2**64, in memory, with the interface of `set` and that of
/// pyroaring's `BitMap64`.
///
/// It is made of any iterable of integers, of a range, of an array of numpy or Arrow, or of
/// another set. An iterator goes over the values as they were when it was made.
///
/// >>> import bitsort
/// >>> ids = bitsort.BitSet([40, 3])
/// >>> ids |= range(100, 103)
/// Traceback (most recent call last):
/// TypeError: unsupported operand type(s) for |=: 'bitsort.BitSet' and 'range'
/// >>> ids.update(range(100, 103))
/// >>> ids
/// BitSet([3, 40, 100, 101, 102])
#[pyclass(extends = AbstractBitSet, frozen, subclass, module = "bitsort")]
pub(crate) struct BitSet;

impl BitSet {
    pub(crate) fn wrap(py: Python<'_>, set: IntegerSet) -> PyResult<Bound<'_, PyAny>> {
        Ok(Bound::new(py, Self::with(set))?.into_any())
    }

    fn with(set: IntegerSet) -> PyClassInitializer<Self> {
        PyClassInitializer::from(AbstractBitSet::of_set(set)).add_subclass(Self)
    }
}

/// The set of a constructor's argument.
pub(crate) fn made(py: Python<'_>, values: Option<&Bound<'_, PyAny>>) -> PyResult<IntegerSet> {
    let Some(values) = values else { return Ok(IntegerSet::new()) };
    match source_of(values)? {
        Some(Source::Memory(set)) => Ok(IntegerSet::clone(&set)),
        Some(source) => Operation::Or.compute(py, &[source]),
        None => set_of(py, Numbers::of(values)?),
    }
}

/// The two items of a tuple, of a list or of a row of an array; none of anything else.
fn pair<'py>(
    range: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let row;
    let items = if range.hasattr("tolist")? {
        row = range.call_method0("tolist")?;
        &row
    } else {
        range
    };
    if let Ok(list) = items.cast::<PyList>() {
        return Ok(list.to_tuple().extract().ok());
    }
    Ok(items.cast::<PyTuple>().ok().and_then(|tuple| tuple.extract().ok()))
}

pub(crate) fn from_ranges(ranges: &Bound<'_, PyAny>) -> PyResult<IntegerSet> {
    let (mut spans, mut values) = (Vec::new(), 0_u64);
    for (index, range) in ranges.try_iter()?.enumerate() {
        if index % BLOCK == 0 {
            check(ranges.py(), &Progress::default())?; // an iterator of C does not do it
        }
        let (start, stop) = pair(&range?)?.ok_or_else(|| {
            wrong_type(format!("index {index}: a range is a pair of a start and a stop"))
        })?;
        let span =
            whole_span(&start, &stop).map_err(|error| at_index(ranges.py(), index, error))?;
        if let Some((first, last)) = span {
            push(&mut spans, (first, last))?;
            values = values.saturating_add(last - first);
        }
    }
    in_pieces(ranges.py(), values, |progress| {
        let mut set = IntegerSet::new();
        for (first, last) in spans {
            insert_range(&mut set, first, last, progress)?;
        }
        Ok(set)
    })
}

pub(crate) fn from_arrow(data: &Bound<'_, PyAny>, column: Option<&str>) -> PyResult<IntegerSet> {
    if let Some(numbers) = Numbers::of_arrow(data, column, &Progress::default())? {
        return set_of(data.py(), numbers);
    }
    let kind = data.get_type().name()?;
    Err(wrong_type(format!("{kind} has neither __arrow_c_stream__ nor __arrow_c_array__")))
}

pub(crate) fn deserialized(data: &Bound<'_, PyAny>, format: &str) -> PyResult<IntegerSet> {
    let of_others = match format {
        "roaring" | "roaring32" => None,
        other => Some(bytes_format(other)?),
    };
    let bytes = PyBuffer::<u8>::get(data)?.to_vec(data.py())?;
    data.py().detach(|| match of_others {
        None => IntegerSet::from_roaring_bytes(&bytes).map_err(invalid),
        Some(format) => {
            let decoded = decode_as(&bytes, format, "the bytes").map_err(raise)?;
            decoded.to_set().map_err(raise)
        }
    })
}

/// The lock of the values.
fn values<'s>(slf: &'s Bound<'_, BitSet>) -> PyResult<&'s Mutex<Arc<IntegerSet>>> {
    match &slf.as_super().get().content {
        Content::Memory(set) => Ok(set),
        Content::File(_) => Err(wrong_type("a set in a file does not change")),
    }
}

/// Makes a small change. Code that still uses the old set keeps it unchanged.
fn change<T>(slf: &Bound<'_, BitSet>, change: impl FnOnce(&mut IntegerSet) -> T) -> PyResult<T> {
    let set = values(slf)?;
    let mut set = set.lock_py_attached(slf.py()).unwrap_or_else(PoisonError::into_inner);
    Ok(change(Arc::make_mut(&mut set)))
}

/// Makes a large change, without the interpreter's lock.
fn change_detached<T: Send>(
    slf: &Bound<'_, BitSet>,
    change: impl FnOnce(&mut IntegerSet) -> T + Send,
) -> PyResult<T> {
    let set = values(slf)?;
    Ok(slf.py().detach(|| {
        let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
        change(Arc::make_mut(&mut set))
    }))
}

/// Changes the set by all others, once or not at all.
fn assign(slf: &Bound<'_, BitSet>, others: &[Source], operation: Operation) -> PyResult<()> {
    others.iter().try_for_each(Source::check)?;
    let in_memory: Option<Vec<_>> = others
        .iter()
        .map(|other| match other {
            Source::Memory(set) => Some(set),
            Source::File(_) => None,
        })
        .collect();
    if let Some(others) = in_memory {
        let change =
            |set: &mut IntegerSet| others.iter().for_each(|other| operation.assign(set, other));
        return change_detached(slf, change);
    }
    // Other threads may change the set while the result is computed. Then it is computed again.
    for _ in 0..2 {
        let ours = slf.as_super().get().source(slf.py())?;
        let sets: Vec<_> = std::iter::once(&ours).chain(others).cloned().collect();
        if replace(slf, &ours, operation.compute(slf.py(), &sets)?)? {
            return Ok(());
        }
    }
    let join = if operation == Operation::And { operation } else { Operation::Or };
    let other = join.compute(slf.py(), others)?;
    change_detached(slf, |set| operation.assign(set, &other))
}

/// Replaces the values, unless they are no longer `old`; gives whether it did.
fn replace(slf: &Bound<'_, BitSet>, old: &Source, new: IntegerSet) -> PyResult<bool> {
    let set = values(slf)?;
    let mut set = set.lock_py_attached(slf.py()).unwrap_or_else(PoisonError::into_inner);
    let is_old = matches!(old, Source::Memory(old) if Arc::ptr_eq(old, &set));
    if is_old {
        *set = Arc::new(new);
    }
    Ok(is_old)
}

fn assign_all(
    slf: &Bound<'_, BitSet>,
    others: &Bound<'_, PyTuple>,
    operation: Operation,
) -> PyResult<()> {
    // Convert all of them before the set changes.
    let others = others.iter().map(|other| operand(&other)).collect::<PyResult<Vec<_>>>()?;
    assign(slf, &others, operation)
}

/// An assigning operator, which only takes sets.
fn assign_set(
    slf: &Bound<'_, BitSet>,
    other: &Bound<'_, PyAny>,
    operation: Operation,
) -> PyResult<()> {
    if !is_set_like(other) {
        let kind = other.get_type().name()?;
        let sign = match operation {
            Operation::And => "&=",
            Operation::Or => "|=",
            Operation::Xor => "^=",
            Operation::AndNot => "-=",
        };
        return Err(wrong_type(format!(
            "unsupported operand type(s) for {sign}: 'bitsort.BitSet' and '{kind}'"
        )));
    }
    assign(slf, &[operand(other)?], operation)
}

#[pymethods]
impl BitSet {
    #[classattr]
    const __hash__: Option<bool> = None;

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
    /// >>> len(bitsort.BitSet.from_ranges([(100, 200), (10**12, 10**12 + 10**6)]))
    /// 1000100
    #[classmethod]
    fn from_ranges<'py>(
        cls: &Bound<'py, PyType>,
        ranges: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, Self::wrap(cls.py(), from_ranges(ranges)?)?)
    }

    /// The set of the values of Arrow data: an array, a chunked array or a stream of
    /// integers, or a table and the name of its column, of any library with the Arrow
    /// PyCapsule interface (pyarrow, Polars, pandas, DuckDB, nanoarrow). Nothing is copied
    /// before it is sorted. A null or a negative value is refused with its index.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet.from_arrow(bitsort.BitSet([3, 40]).values())
    /// BitSet([3, 40])
    #[classmethod]
    #[pyo3(signature = (data, column=None))]
    fn from_arrow<'py>(
        cls: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
        column: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, Self::wrap(cls.py(), from_arrow(data, column)?)?)
    }

    /// The set in bytes: "roaring" or "roaring32" for a portable roaring bitmap of 64 or 32
    /// bits, which are told apart by their content.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet.deserialize(bitsort.BitSet([3, 40]).serialize())
    /// BitSet([3, 40])
    #[classmethod]
    #[pyo3(signature = (data, format="roaring"))]
    fn deserialize<'py>(
        cls: &Bound<'py, PyType>,
        data: &Bound<'py, PyAny>,
        format: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, Self::wrap(cls.py(), deserialized(data, format)?)?)
    }

    /// Adds a value.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3])
    /// >>> ids.add(40)
    /// >>> ids
    /// BitSet([3, 40])
    fn add(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = natural(value)?;
        change(slf, |set| {
            set.insert(value);
        })
    }

    /// Adds a value; `KeyError` if it was there.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3]).add_checked(3)
    /// Traceback (most recent call last):
    /// KeyError: 3
    fn add_checked(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = natural(value)?;
        if change(slf, |set| set.insert(value))? { Ok(()) } else { Err(PyKeyError::new_err(value)) }
    }

    /// Removes a value if it is in the set.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3, 40])
    /// >>> ids.discard(40), ids.discard(41)
    /// (None, None)
    /// >>> ids
    /// BitSet([3])
    fn discard(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match natural_or_other(value)? {
            Ok(value) => change(slf, |set| {
                set.remove(value);
            }),
            Err(_) => Ok(()),
        }
    }

    /// Removes a value; `KeyError` if it is not in the set.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3]).remove(40)
    /// Traceback (most recent call last):
    /// KeyError: 40
    fn remove(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let found = match natural_or_other(value)? {
            Ok(value) => change(slf, |set| set.remove(value))?,
            Err(_) => false,
        };
        if found { Ok(()) } else { Err(PyKeyError::new_err(value.clone().unbind())) }
    }

    /// Removes the smallest value and returns it; `KeyError` if the set is empty.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).pop()
    /// 3
    fn pop(slf: &Bound<'_, Self>) -> PyResult<u64> {
        let popped = change(slf, |set| {
            let value = set.min()?;
            set.remove(value);
            Some(value)
        })?;
        popped.ok_or_else(|| PyKeyError::new_err("pop from an empty set"))
    }

    /// Removes all values.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3, 40])
    /// >>> ids.clear()
    /// >>> ids
    /// BitSet([])
    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        let set = values(slf)?;
        let mut set = set.lock_py_attached(slf.py()).unwrap_or_else(PoisonError::into_inner);
        *set = Arc::default();
        Ok(())
    }

    /// A copy of the set.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3])
    /// >>> copy = ids.copy()
    /// >>> copy.add(40)
    /// >>> ids
    /// BitSet([3])
    fn copy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let source = slf.as_super().get().source(slf.py())?;
        copy_of(&slf.get_type(), Self::wrap(slf.py(), source.to_set(&Arc::default())?)?)
    }

    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let copy = Self::copy(slf)?;
        copy_attributes(&copy, state(slf)?)?;
        Ok(copy)
    }

    fn __deepcopy__<'py>(
        slf: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let copy = Self::copy(slf)?;
        copy_deeply(slf, &copy, memo)?;
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        reduced(slf.as_super())
    }

    /// Adds the values of all others: sets, ranges, arrays, iterables.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3])
    /// >>> ids.update([40], range(7, 9))
    /// >>> ids
    /// BitSet([3, 7, 8, 40])
    #[pyo3(signature = (*others))]
    fn update(slf: &Bound<'_, Self>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        assign_all(slf, others, Operation::Or)
    }

    /// Keeps only the values that all others have.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3, 40])
    /// >>> ids.intersection_update(range(10, 50))
    /// >>> ids
    /// BitSet([40])
    #[pyo3(signature = (*others))]
    fn intersection_update(slf: &Bound<'_, Self>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        assign_all(slf, others, Operation::And)
    }

    /// Removes the values of all others.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3, 40])
    /// >>> ids.difference_update([3], [5])
    /// >>> ids
    /// BitSet([40])
    #[pyo3(signature = (*others))]
    fn difference_update(slf: &Bound<'_, Self>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        assign_all(slf, others, Operation::AndNot)
    }

    /// Keeps the values that are in exactly one of the two.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3, 40])
    /// >>> ids.symmetric_difference_update([3, 5])
    /// >>> ids
    /// BitSet([5, 40])
    fn symmetric_difference_update(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        assign(slf, &[operand(other)?], Operation::Xor)
    }

    fn __iand__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign_set(slf, other, Operation::And)
    }

    fn __ior__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign_set(slf, other, Operation::Or)
    }

    fn __ixor__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign_set(slf, other, Operation::Xor)
    }

    fn __isub__(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        assign_set(slf, other, Operation::AndNot)
    }

    /// Replaces all values by those of `other`.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3, 40])
    /// >>> ids.overwrite([5])
    /// >>> ids
    /// BitSet([5])
    fn overwrite(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<()> {
        let new = made(slf.py(), Some(other))?;
        change(slf, |set| *set = new)
    }

    /// Adds the values from `start` to before `stop`.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet()
    /// >>> ids.add_range(10, 10**9)
    /// >>> len(ids)
    /// 999999990
    fn add_range(
        slf: &Bound<'_, Self>,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        /// A longer range is made first, because Ctrl-C may end that.
        const LONG: u64 = 1 << 34;
        let Some((first, last)) = whole_span(start, stop)? else { return Ok(()) };
        if last - first < LONG {
            return change_detached(slf, |set| set.insert_range(first..=last));
        }
        let range = range_set(slf.py(), Some((first, last)))?;
        change_detached(slf, |set| *set |= &range)
    }

    /// Removes the values from `start` to before `stop`.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet(range(10))
    /// >>> ids.remove_range(2, 8)
    /// >>> ids
    /// BitSet([0, 1, 8, 9])
    fn remove_range(
        slf: &Bound<'_, Self>,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let Some((first, last)) = span(start, stop)? else { return Ok(()) };
        change_detached(slf, |set| set.remove_range(first..=last))
    }

    /// From `start` to before `stop`, removes the values that are in the set and adds the others.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.BitSet([3, 40])
    /// >>> ids.flip_inplace(2, 5)
    /// >>> ids
    /// BitSet([2, 4, 40])
    fn flip_inplace(
        slf: &Bound<'_, Self>,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let range = range_set(slf.py(), whole_span(start, stop)?)?;
        change_detached(slf, |set| *set ^= &range)
    }

    /// Brings the set into its smallest form; returns whether it changed.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).optimize()
    /// False
    fn optimize(slf: &Bound<'_, Self>) -> PyResult<bool> {
        change_detached(slf, IntegerSet::optimize)
    }

    /// The same as `optimize`; pyroaring's name.
    fn run_optimize(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Self::optimize(slf)
    }
}
