//! `AbstractBitSet`: the questions that sets of every kind answer.

use crate::arrow::{export_stream, locked};
use crate::buffer::Array;
use crate::columns::BLOCK;
use crate::error::{bytes_object, check_memory, invalid, raise, wrong_type};
use crate::frozen::FrozenBitSet;
use crate::iterate::SetIterator;
use crate::mutable::BitSet;
use crate::numbers::{index, natural, natural_or_other, optional, range_set, shown, signed};
use crate::plot::Plot;
use crate::probe;
use crate::source::{Mapped, Operation, Source, is_set_like, operand, source_of};
use crate::work::{in_pieces, interrupted, interruptible};
use bitsort::Progress;
use bitsort::set::foreign::{ForeignFormat, encode};
use bitsort::set::{Expression, IntegerSet, SetFormat, SetView, Written, write_folder_with};
use pyo3::basic::CompareOp;
use pyo3::exceptions::{
    PyIndexError, PyKeyboardInterrupt, PyOverflowError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyCapsule, PySlice, PyTuple};
use pyo3::{IntoPyObjectExt, PyTraverseError, PyVisit};
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

/// The values, in memory or in a file.
pub(crate) enum Content {
    Memory(Mutex<Arc<IntegerSet>>),
    /// A file; none after it was closed.
    File(Mutex<Option<Arc<Mapped>>>),
}

/// The base class of `BitSet`, `FrozenBitSet` and `SetFile`, with all questions and operators. It
/// has no instances of its own.
///
/// Values are natural numbers below 2**64, in ascending order. Operators and methods take
/// sets of every kind; methods take ranges, arrays of numpy and Arrow, and any iterable of
/// integers as well.
///
/// >>> import bitsort
/// >>> isinstance(bitsort.BitSet(), bitsort.AbstractBitSet)
/// True
#[pyclass(subclass, frozen, module = "bitsort", weakref)]
pub(crate) struct AbstractBitSet {
    pub(crate) content: Content,
    hash: OnceLock<isize>,
}

impl AbstractBitSet {
    pub(crate) fn of(content: Content) -> Self {
        Self { content, hash: OnceLock::new() }
    }

    pub(crate) fn of_set(set: IntegerSet) -> Self {
        Self::of(Content::Memory(Mutex::new(Arc::new(set))))
    }

    /// Whether it is a file that was closed.
    fn is_closed(&self, py: Python<'_>) -> bool {
        match &self.content {
            Content::Memory(_) => false,
            Content::File(file) => {
                file.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).is_none()
            }
        }
    }

    /// The present state of the set.
    pub(crate) fn source(&self, py: Python<'_>) -> PyResult<Source> {
        match &self.content {
            Content::Memory(set) => {
                let set = set.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
                Ok(Source::Memory(Arc::clone(&set)))
            }
            Content::File(file) => {
                let file = file.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
                let mapped = file.as_ref().ok_or_else(|| invalid("the file is closed"))?;
                Ok(Source::File(Arc::clone(mapped)))
            }
        }
    }
}

/// A new set of the same kind as `like`: frozen or not.
pub(crate) fn wrapped<'py>(
    like: &Bound<'py, PyAny>,
    set: IntegerSet,
) -> PyResult<Bound<'py, PyAny>> {
    if like.is_instance_of::<FrozenBitSet>() {
        FrozenBitSet::wrap(like.py(), set)
    } else {
        BitSet::wrap(like.py(), set)
    }
}

/// First and last value of the half-open range from `start` to `stop`, unless it is empty.
pub(crate) fn span(
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
) -> PyResult<Option<(u64, u64)>> {
    let start = match natural_or_other(start)? {
        Ok(start) => start,
        Err("negative") => return Err(invalid(format!("{} is negative", shown(start)))),
        Err(_) => return Ok(None),
    };
    let last = match natural_or_other(stop)? {
        Ok(stop) => stop.checked_sub(1),
        Err("negative") => return Err(invalid(format!("{} is negative", shown(stop)))),
        Err(_) => Some(u64::MAX),
    };
    Ok(last.filter(|last| *last >= start).map(|last| (start, last)))
}

/// The same for a range whose values are added: it must end at 2^64 or before.
pub(crate) fn whole_span(
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
) -> PyResult<Option<(u64, u64)>> {
    let (start, stop) = (&index(start)?, &index(stop)?);
    let span = span(start, stop)?;
    if start.lt(stop)? && ends_late(stop)? {
        return Err(invalid(format!("{} is above 2^64, and values are below it", shown(stop))));
    }
    Ok(span)
}

/// Whether the end of a range is above 2^64.
fn ends_late(stop: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(signed(stop)?.is_some_and(|stop| stop > 1 << 64))
}

/// The values of a set from `first` to `last`.
pub(crate) fn between(
    py: Python<'_>,
    source: &Source,
    first: u64,
    last: u64,
) -> PyResult<IntegerSet> {
    source.check()?;
    let parts = vec![Expression::Name("set".to_owned()), Expression::Range(first, last)];
    crate::work::interruptible(py, |progress| {
        Expression::And(parts).eval(|_| Some(source))?.progress(progress).to_set()
    })
}

/// The formats that sets are written in.
pub(crate) fn set_format(name: &str) -> PyResult<SetFormat> {
    name.parse().map_err(|error| invalid(format!("{name} is no format of sets: {error}")))
}

/// The result of an operation between a set and others.
fn join_all<'py>(
    slf: &Bound<'py, AbstractBitSet>,
    others: &Bound<'py, PyTuple>,
    operation: Operation,
) -> PyResult<Bound<'py, PyAny>> {
    let mut sets = vec![slf.get().source(slf.py())?];
    for other in others {
        sets.push(operand(&other)?);
    }
    wrapped(slf, operation.compute(slf.py(), &sets)?)
}

/// Whether the error says that an object has a value that no set of ours can have.
fn tells_of_a_value(error: &PyErr, py: Python<'_>) -> bool {
    error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyOverflowError>(py)
}

/// The result of an operator; `NotImplemented` if the other operand is no set.
fn operator<'py>(
    slf: &Bound<'py, AbstractBitSet>,
    other: &Bound<'py, PyAny>,
    operation: Operation,
    swapped: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    if !is_set_like(other) {
        return Ok(py.NotImplemented().into_bound(py));
    }
    let mut sets = [slf.get().source(py)?, operand(other)?];
    if swapped {
        sets.reverse();
    }
    wrapped(slf, operation.compute(py, &sets)?)
}

fn count(
    slf: &Bound<'_, AbstractBitSet>,
    other: &Bound<'_, PyAny>,
    operation: Operation,
) -> PyResult<u64> {
    operation.count(slf.py(), &slf.get().source(slf.py())?, &operand(other)?)
}

/// The hash of the frozenset of the same values, which is equal to it.
fn hash_of(source: &Source, progress: &Progress) -> PyResult<isize> {
    /// Numbers are hashed modulo this prime, 2^61 − 1.
    const MODULUS: u64 = (1 << 61) - 1;
    const SHUFFLE: u64 = 0x055B_4DB3;
    /// Each value is hashed, so a set of more would take hours.
    const MOST: u64 = 1 << 44;
    if source.len() > MOST {
        return Err(invalid("a set of more than 2**44 values is not hashed"));
    }
    let mut hash = 1_927_868_237_u64.wrapping_mul(source.len().wrapping_add(1));
    source.each(|values| {
        for value in values {
            let one = value % MODULUS;
            hash ^= (one ^ (one << 16) ^ SHUFFLE).wrapping_mul(3_644_798_167);
        }
        interrupted(progress)
    })?;
    hash ^= (hash >> 11) ^ (hash >> 25);
    hash = hash.wrapping_mul(69_069).wrapping_add(907_133_923);
    #[expect(clippy::cast_possible_truncation, reason = "as C casts it")]
    let hash = hash.cast_signed() as isize;
    Ok(if hash == -1 { 590_923_713 } else { hash })
}

#[pymethods]
impl AbstractBitSet {
    /// Numpy would compute operators with one of its arrays value by value; so Python refuses them.
    #[classattr]
    const fn __array_ufunc__() -> Option<bool> {
        None
    }

    /// The same for pandas, which leaves an operator to the operand with the higher priority.
    #[classattr]
    const fn __pandas_priority__() -> u32 {
        10_000
    }

    /// The number of values.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let len = self.source(py)?.len();
        let too_many = || PyOverflowError::new_err("more values than len() can tell: use count()");
        usize::try_from(len).ok().filter(|len| isize::try_from(*len).is_ok()).ok_or_else(too_many)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(!self.source(py)?.is_empty())
    }

    fn __contains__(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let source = self.source(py)?;
        match natural_or_other(value)? {
            Ok(value) => source.ask(|view| view.contains(value)),
            Err(_) => Ok(false),
        }
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<SetIterator> {
        Ok(SetIterator::ascending(self.source(py)?, 0))
    }

    fn __reversed__(&self, py: Python<'_>) -> PyResult<SetIterator> {
        Ok(SetIterator::descending(self.source(py)?))
    }

    /// The value at an index, or a set of the values at the indices of a slice.
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let source = slf.get().source(py)?;
        if let Ok(slice) = index.cast::<PySlice>() {
            return wrapped(slf, sliced(py, &source, slice)?);
        }
        let no_index = || wrong_type("an index is an int or a slice");
        let index = signed(index)?.ok_or_else(no_index)?;
        let place = if index < 0 { index + i128::from(source.len()) } else { index };
        let found = match u64::try_from(place) {
            Ok(place) => source.ask(|view| view.select(place))?,
            Err(_) => None,
        };
        let none = || PyIndexError::new_err("the set has no such index");
        found.ok_or_else(none)?.into_bound_py_any(py)
    }

    fn __richcmp__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        op: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if !is_set_like(other) {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let ours = slf.get().source(py)?;
        let theirs = match (operand(other), op) {
            (Ok(theirs), _) => theirs,
            (Err(error), CompareOp::Eq | CompareOp::Ne)
                if source_of(other)?.is_none() && tells_of_a_value(&error, py) =>
            {
                return matches!(op, CompareOp::Ne).into_bound_py_any(py);
            }
            (Err(error), _) => return Err(error),
        };
        let (len, other_len) = (ours.len(), theirs.len());
        let within =
            |a: &Source, b: &Source| Ok::<_, PyErr>(Operation::AndNot.count(py, a, b)? == 0);
        let answer = match op {
            CompareOp::Eq => len == other_len && within(&ours, &theirs)?,
            CompareOp::Ne => len != other_len || !within(&ours, &theirs)?,
            CompareOp::Le => len <= other_len && within(&ours, &theirs)?,
            CompareOp::Lt => len < other_len && within(&ours, &theirs)?,
            CompareOp::Ge => len >= other_len && within(&theirs, &ours)?,
            CompareOp::Gt => len > other_len && within(&theirs, &ours)?,
        };
        answer.into_bound_py_any(py)
    }

    fn __hash__(slf: &Bound<'_, Self>) -> PyResult<isize> {
        if slf.is_instance_of::<BitSet>() {
            return Err(wrong_type("unhashable type: 'BitSet'; a FrozenBitSet has a hash"));
        }
        let this = slf.get();
        let source = this.source(slf.py())?;
        if let Some(hash) = this.hash.get() {
            return source.check().map(|()| *hash);
        }
        let hash = in_pieces(slf.py(), source.len(), |progress| hash_of(&source, progress))?;
        Ok(*this.hash.get_or_init(|| hash))
    }

    fn __and__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::And, false)
    }

    fn __or__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::Or, false)
    }

    fn __xor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::Xor, false)
    }

    fn __sub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::AndNot, false)
    }

    fn __rand__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::And, true)
    }

    fn __ror__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::Or, true)
    }

    fn __rxor__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::Xor, true)
    }

    fn __rsub__<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        operator(slf, other, Operation::AndNot, true)
    }

    /// Values in this set or in any of the others.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2]).union([3], range(10, 12))
    /// BitSet([1, 2, 3, 10, 11])
    #[pyo3(signature = (*others))]
    fn union<'py>(
        slf: &Bound<'py, Self>,
        others: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        join_all(slf, others, Operation::Or)
    }

    /// Values in this set and in all others.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2, 3]).intersection([2, 3], range(3))
    /// BitSet([2])
    #[pyo3(signature = (*others))]
    fn intersection<'py>(
        slf: &Bound<'py, Self>,
        others: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        join_all(slf, others, Operation::And)
    }

    /// Values of this set that are in none of the others.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2, 3]).difference([2], [5])
    /// BitSet([1, 3])
    #[pyo3(signature = (*others))]
    fn difference<'py>(
        slf: &Bound<'py, Self>,
        others: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        join_all(slf, others, Operation::AndNot)
    }

    /// Values in exactly one of the two sets.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2]).symmetric_difference([2, 3])
    /// BitSet([1, 3])
    fn symmetric_difference<'py>(
        slf: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let sets = [slf.get().source(slf.py())?, operand(other)?];
        wrapped(slf, Operation::Xor.compute(slf.py(), &sets)?)
    }

    /// Whether the sets have no value in common.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2]).isdisjoint([3])
    /// True
    fn isdisjoint(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(count(slf, other, Operation::And)? == 0)
    }

    /// Whether the sets have a value in common.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2]).intersect([2, 3])
    /// True
    fn intersect(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(count(slf, other, Operation::And)? > 0)
    }

    /// Whether all values of this set are in `other`.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2]).issubset(range(5))
    /// True
    fn issubset(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(count(slf, other, Operation::AndNot)? == 0)
    }

    /// Whether all values of `other` are in this set.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2]).issuperset([2])
    /// True
    fn issuperset(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        let (ours, theirs) = (slf.get().source(slf.py())?, operand(other)?);
        Ok(Operation::AndNot.count(slf.py(), &theirs, &ours)? == 0)
    }

    /// Number of values in both sets; the values are not computed.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2, 3]).and_len([2, 3, 4])
    /// 2
    fn and_len(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<u64> {
        count(slf, other, Operation::And)
    }

    /// Number of values in either set.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2, 3]).or_len([2, 3, 4])
    /// 4
    fn or_len(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<u64> {
        count(slf, other, Operation::Or)
    }

    /// Number of values in one of the two sets.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2, 3]).xor_len([2, 3, 4])
    /// 2
    fn xor_len(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<u64> {
        count(slf, other, Operation::Xor)
    }

    /// Number of values of this set that are not in `other`.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2, 3]).andnot_len([2, 3, 4])
    /// 1
    fn andnot_len(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<u64> {
        count(slf, other, Operation::AndNot)
    }

    /// As `and_len`; pyroaring's name.
    fn intersection_cardinality(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<u64> {
        count(slf, other, Operation::And)
    }

    /// As `or_len`; pyroaring's name.
    fn union_cardinality(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<u64> {
        count(slf, other, Operation::Or)
    }

    /// As `xor_len`; pyroaring's name.
    fn symmetric_difference_cardinality(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        count(slf, other, Operation::Xor)
    }

    /// As `andnot_len`; pyroaring's name.
    fn difference_cardinality(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<u64> {
        count(slf, other, Operation::AndNot)
    }

    /// The Jaccard index: the number of values in both sets, divided by the number in either; 1 for
    /// two empty sets.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([1, 2, 3]).jaccard([2, 3, 4])
    /// 0.5
    #[expect(clippy::cast_precision_loss, reason = "a proportion")]
    fn jaccard(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<f64> {
        let py = slf.py();
        let (ours, theirs) = (slf.get().source(py)?, operand(other)?);
        let both = Operation::And.count(py, &ours, &theirs)?;
        let either = u128::from(ours.len()) + u128::from(theirs.len()) - u128::from(both);
        Ok(if either == 0 { 1.0 } else { both as f64 / either as f64 })
    }

    /// As `jaccard`; pyroaring's name.
    fn jaccard_index(slf: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<f64> {
        Self::jaccard(slf, other)
    }

    /// Number of values, of any size.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).count()
    /// 2
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.source(py)?.len())
    }

    /// The smallest value; `ValueError` if there is none.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).min()
    /// 3
    fn min(&self, py: Python<'_>) -> PyResult<u64> {
        let empty = || PyValueError::new_err("an empty set has no smallest value");
        self.source(py)?.ask(SetView::min)?.ok_or_else(empty)
    }

    /// The largest value; `ValueError` if there is none.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).max()
    /// 40
    fn max(&self, py: Python<'_>) -> PyResult<u64> {
        let empty = || PyValueError::new_err("an empty set has no largest value");
        self.source(py)?.ask(SetView::max)?.ok_or_else(empty)
    }

    /// Number of values up to and including `value`.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).rank(39)
    /// 1
    fn rank(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (source, value) = (self.source(py)?, natural(value)?);
        source.ask(|view| view.rank(value))
    }

    /// The value that has `index` values before it; `IndexError` if there is none.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).select(1)
    /// 40
    fn select(&self, py: Python<'_>, index: &Bound<'_, PyAny>) -> PyResult<u64> {
        let source = self.source(py)?;
        let found = match natural_or_other(index)? {
            Ok(index) => source.ask(|view| view.select(index))?,
            Err(_) => None,
        };
        found.ok_or_else(|| PyIndexError::new_err("the set has no such index"))
    }

    /// The smallest value from `value` on, or None.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).next(4)
    /// 40
    fn next(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let (source, value) = (self.source(py)?, natural(value)?);
        source.ask(|view| view.next(value))
    }

    /// The largest value up to `value`, or None.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).previous(39)
    /// 3
    fn previous(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
        let (source, value) = (self.source(py)?, natural(value)?);
        source.ask(|view| view.previous(value))
    }

    /// The smallest value from `value` on; `ValueError` if there is none. pyroaring's name.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).next_set_bit(40)
    /// 40
    fn next_set_bit(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<u64> {
        let none = || PyValueError::new_err("no value follows");
        self.next(py, value)?.ok_or_else(none)
    }

    /// An iterator of the values from `value` on.
    ///
    /// >>> import bitsort
    /// >>> list(bitsort.BitSet([3, 40, 41]).iter_equal_or_larger(40))
    /// [40, 41]
    fn iter_equal_or_larger(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<SetIterator> {
        Ok(SetIterator::ascending(self.source(py)?, natural(value)?))
    }

    /// Which of `values` are in the set: a list for a list, an array of numpy for one of
    /// numpy or an Index of pandas, data of the same library for Arrow data, Polars and pandas
    /// (null where it is null; with the index of a Series), a memoryview for other buffers. Many at once are
    /// several times faster than one by one.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).contains_many([3, 4, 40])
    /// [True, False, True]
    fn contains_many<'py>(
        &self,
        py: Python<'py>,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        probe::contains_many(py, &self.source(py)?, values)
    }

    /// The values from `start` to before `stop`, as a set.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40, 41]).range(4, 41)
    /// BitSet([40])
    fn range<'py>(
        slf: &Bound<'py, Self>,
        start: &Bound<'py, PyAny>,
        stop: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let source = slf.get().source(slf.py())?;
        let found = match span(start, stop)? {
            Some((first, last)) => between(slf.py(), &source, first, last)?,
            None => IntegerSet::new(),
        };
        wrapped(slf, found)
    }

    /// Number of values from `start` to before `stop`.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40, 41]).range_len(4, 41)
    /// 1
    fn range_len(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        let source = self.source(py)?;
        match span(start, stop)? {
            Some((first, last)) => source.ask(|view| view.range_len(first..=last)),
            None => Ok(0),
        }
    }

    /// As `range_len`; pyroaring's name.
    fn range_cardinality(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<u64> {
        self.range_len(py, start, stop)
    }

    /// Whether all values from `start` to before `stop` are in the set.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet(range(3, 9)).contains_range(4, 8)
    /// True
    fn contains_range(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
        stop: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let source = self.source(py)?;
        let (start, stop) = (&index(start)?, &index(stop)?);
        let Some((first, last)) = span(start, stop)? else {
            return start.ge(stop);
        };
        let found = source.ask(|view| view.range_len(first..=last))?;
        let has_all = u128::from(found) == u128::from(last - first) + 1;
        Ok(has_all && !ends_late(stop)?)
    }

    /// A set with the values from `start` to before `stop` that are not in this one, and all other
    /// values of this one.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).flip(2, 5)
    /// BitSet([2, 4, 40])
    fn flip<'py>(
        slf: &Bound<'py, Self>,
        start: &Bound<'py, PyAny>,
        stop: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let source = slf.get().source(slf.py())?;
        let range = Source::from(range_set(slf.py(), whole_span(start, stop)?)?);
        wrapped(slf, Operation::Xor.compute(slf.py(), &[source, range])?)
    }

    /// A set of every value plus `offset`. Values that are then outside of 0 to 2**64 − 1 are
    /// dropped.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).shift(-5)
    /// BitSet([35])
    fn shift<'py>(
        slf: &Bound<'py, Self>,
        offset: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let source = slf.get().source(slf.py())?;
        let offset = signed(offset)?.ok_or_else(|| wrong_type("an offset is an int"))?;
        let shifted = in_pieces(slf.py(), source.len(), |progress| {
            let set = source.to_set(progress)?;
            interrupted(progress)?;
            Ok(set.add_offset(offset))
        });
        wrapped(slf, shifted?)
    }

    /// The values as an array of numpy, for `numpy.asarray` and functions such as `numpy.isin`. A
    /// type of integers that cannot hold the largest value is refused.
    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(false) {
            return Err(PyValueError::new_err("a set has no array of its values: copy=False"));
        }
        let values = py.import("numpy")?.call_method1("asarray", (self.values(py)?,))?;
        let Some(dtype) = dtype else { return Ok(values) };
        let typed = values.call_method1("astype", (dtype,))?;
        let kind = typed.getattr("dtype")?.getattr("kind")?.extract::<String>()?;
        if matches!(&*kind, "M" | "m") {
            return Err(wrong_type(format!("numbers are no times: {dtype}")));
        }
        let is_integer = matches!(&*kind, "i" | "u");
        if is_integer
            && values.len()? > 0
            && let last = values.len()? - 1
            && !values.get_item(last)?.eq(typed.get_item(last)?)?
        {
            let what = format!("{} is too large for {dtype}", values.get_item(last)?);
            return Err(PyOverflowError::new_err(what));
        }
        Ok(typed)
    }

    /// The values as one array, 8 bytes each, that numpy, Arrow and memoryview take without
    /// copying it. No Python number is made.
    ///
    /// >>> import bitsort
    /// >>> memoryview(bitsort.BitSet([3, 40]).values()).tolist()
    /// [3, 40]
    fn values(&self, py: Python<'_>) -> PyResult<Array> {
        let source = self.source(py)?;
        let values = in_pieces(py, source.len(), |progress| {
            let len = usize::try_from(source.len()).unwrap_or(usize::MAX);
            check_memory(source.len().saturating_mul(8))?;
            let mut all = Vec::new();
            all.try_reserve_exact(len).map_err(|_| pyo3::exceptions::PyMemoryError::new_err(()))?;
            source.each(|values| {
                all.extend_from_slice(values);
                interrupted(progress)
            })?;
            Ok(all)
        })?;
        Ok(Array::of_values(values))
    }

    /// The values as an `array.array` of type "Q"; pyroaring's name.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).to_array()
    /// array('Q', [3, 40])
    fn to_array<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let array = py.import("array")?.call_method1("array", ("Q",))?;
        let view = pyo3::types::PyMemoryView::from(Bound::new(py, self.values(py)?)?.as_any())?;
        array.call_method1("frombytes", (view.call_method1("cast", ("B",))?,))?;
        Ok(array)
    }

    /// The values as an Arrow stream, in pieces, so that a set of any size passes through
    /// little memory: for `pyarrow.chunked_array`, `polars.Series` and others. With `name`, a
    /// table with this column, as `pyarrow.table`, `polars.DataFrame` and DuckDB take it.
    #[pyo3(signature = (name=None))]
    fn to_arrow(slf: &Bound<'_, Self>, name: Option<String>) -> PyResult<ArrowValues> {
        slf.get().source(slf.py())?;
        Ok(ArrowValues { set: slf.clone().unbind(), name })
    }

    /// The Arrow stream of the values: a capsule.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // the protocol lets us give the type that there is
        stream(py, self.source(py)?, None)
    }

    /// Writes the set into a file, which appears whole or not at all; gives its bytes.
    ///
    /// Formats are "bits" (a `.bits` file, dense, sparse or roaring, whichever suits),
    /// "dense", "sparse", "runs", "roaring-bits", "roaring" (a bare roaring bitmap), "text", "u32le",
    /// "u32be", "u64le", "u64be", "parquet", "arrow", "spark-bitmap" (rows of Spark's
    /// `bitmap_construct_agg` in a Parquet file), text in other notations ("hex", "ipv4", "cidr",
    /// "text-ranges", "hex-ranges", "ipv4-ranges"), and those of `serialize` but "roaring32", which
    /// "roaring" writes where it can. Without a format, the name of the file decides: `.roaring`,
    /// `.txt`, `.parquet`, `.arrow`; all others become `.bits` files. With `parts`, the output is a
    /// folder of up to so many `.bits` files, with about the same number of values each. The checksums
    /// of a set in a file are compared first.
    ///
    /// >>> import bitsort, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "ids.txt")
    /// >>> bitsort.BitSet([3, 40]).write(path)
    /// 5
    #[pyo3(signature = (path, *, format=None, parts=None))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: Option<&str>,
        #[pyo3(from_py_with = optional)] parts: Option<usize>,
    ) -> PyResult<u64> {
        let source = self.source(py)?;
        if let Some(parts) = parts {
            let parts =
                NonZero::new(parts).ok_or_else(|| invalid("a folder has at least 1 part"))?;
            if format.is_some() {
                return Err(invalid("parts are .bits files: they have no other format"));
            }
            source.check()?;
            let written =
                interruptible(py, |progress| write_folder_with(&source, path, parts, &progress))?;
            return Ok(written.bytes);
        }
        write(py, &source, path, format).map(|written| written.bytes)
    }

    /// The set as bytes: "roaring" for a portable roaring bitmap of 64 bits, which pyroaring's
    /// `BitMap64`, CRoaring, Java and Go read; "roaring32" for one of 32 bits;
    /// "clickhouse-u32" or "clickhouse-u64" for a state of ClickHouse's `groupBitmap`; "doris"
    /// for a bitmap value of Apache Doris and StarRocks; "iceberg", "delta" or "delta-inline"
    /// for a deletion vector.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([7]).serialize("doris")
    /// b'\x01\x07\x00\x00\x00'
    #[pyo3(signature = (format="roaring"))]
    fn serialize<'py>(&self, py: Python<'py>, format: &str) -> PyResult<Bound<'py, PyBytes>> {
        let source = self.source(py)?;
        let bytes = in_pieces(py, source.len(), |progress| serialized(&source, format, progress))?;
        bytes_object(py, &bytes)
    }

    /// A map of the set, which a notebook shows: values that are near each other are near each
    /// other in the picture.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet(range(0, 10000, 3)).plot(6, title="ids")
    /// <bitsort.Plot of 64 × 64 cells, 4 values each>
    #[pyo3(signature = (order=None, *, ipv4=false, title=None))]
    fn plot(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = optional)] order: Option<u32>,
        ipv4: bool,
        title: Option<String>,
    ) -> PyResult<Plot> {
        Plot::of(py, &self.source(py)?, order, ipv4, title)
    }

    /// A copy that can be changed.
    ///
    /// >>> import bitsort
    /// >>> ids = bitsort.FrozenBitSet([3]).to_bitset()
    /// >>> ids.add(40)
    /// >>> ids
    /// BitSet([3, 40])
    fn to_bitset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let set = Operation::Or.compute(py, &[self.source(py)?])?;
        BitSet::wrap(py, set)
    }

    /// A copy that never changes and has a hash.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet([3, 40]).frozen()
    /// FrozenBitSet([3, 40])
    fn frozen<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let set = Operation::Or.compute(py, &[self.source(py)?])?;
        FrozenBitSet::wrap(py, set)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        const SHOWN: usize = 12;
        let name = slf.get_type().name()?;
        if slf.get().is_closed(slf.py()) {
            return Ok(format!("<{name}, closed>"));
        }
        let source = slf.get().source(slf.py())?;
        let len = source.len();
        if let Source::File(mapped) = &source {
            return Ok(format!("<{name} {}: {len} values>", mapped.path().display()));
        }
        let values: Vec<String> = source.batch(0, SHOWN)?.iter().map(ToString::to_string).collect();
        if len <= SHOWN as u64 {
            return Ok(format!("{name}([{}])", values.join(", ")));
        }
        let last = source.ask(SetView::max)?.unwrap_or(0);
        Ok(format!("<{name} of {len} values: {}, …, {last}>", values[..3].join(", ")))
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
        if slf.get().is_closed(slf.py()) {
            return Ok(escaped(slf.repr()?.to_str()?));
        }
        let source = slf.get().source(slf.py())?;
        let shown = |value: Option<u64>| value.map_or("–".to_owned(), |value| value.to_string());
        let mut rows = vec![
            ("values", source.len().to_string()),
            ("smallest", shown(source.ask(SetView::min)?)),
            ("largest", shown(source.ask(SetView::max)?)),
        ];
        if let Source::File(mapped) = &source {
            rows.push(("file", mapped.path().display().to_string()));
            rows.push(("bytes", mapped.set.file_bytes().to_string()));
        }
        let mut body = String::new();
        for (name, value) in rows {
            let value = escaped(&value);
            body.extend(["<tr><th>", name, "</th><td>", &value, "</td></tr>"]);
        }
        let name = slf.get_type().name()?;
        Ok(format!("<table><caption>{name}</caption><tbody>{body}</tbody></table>"))
    }
}

/// The values of a set at the indices of a slice.
fn sliced(py: Python<'_>, source: &Source, slice: &Bound<'_, PySlice>) -> PyResult<IntegerSet> {
    /// Values that are looked up between two looks at the progress.
    const PIECE: usize = 1 << 12;
    let len = isize::try_from(source.len())
        .map_err(|_| PyOverflowError::new_err("more values than slices can tell"))?;
    let indices = slice.indices(len)?;
    let count = indices.slicelength as u64;
    if count == 0 {
        return Ok(IntegerSet::new());
    }
    // A set is ascending, even if the indices descend.
    let last = indices.start + (indices.slicelength.cast_signed() - 1) * indices.step;
    let first = indices.start.min(last).cast_unsigned() as u64;
    let step = indices.step.unsigned_abs() as u64;
    let select = |index: u64| {
        let changed = || invalid("the file changed while it was read");
        source.ask(|view| view.select(index))?.ok_or_else(changed)
    };
    if step == 1 {
        return between(py, source, select(first)?, select(first + count - 1)?);
    }
    in_pieces(py, count, |progress| {
        /// More than a piece takes in the set.
        const ROOM: u64 = 1 << 24;
        let (mut set, mut values) = (IntegerSet::new(), Vec::new());
        for start in (0..count).step_by(PIECE) {
            interrupted(progress)?;
            check_memory(ROOM)?;
            values.clear();
            for index in start..count.min(start + PIECE as u64) {
                values.push(select(first + index * step)?);
            }
            set.extend(&values);
        }
        Ok(set)
    })
}

/// Writes a set.
pub(crate) fn write(
    py: Python<'_>,
    source: &Source,
    path: PathBuf,
    format: Option<&str>,
) -> PyResult<Written> {
    let format = match format {
        Some(name) => set_format(name)?,
        None => SetFormat::of_name(&path).unwrap_or(SetFormat::Bits),
    };
    source.check()?;
    crate::work::interruptible(py, |progress| {
        bitsort::set::or(&[source]).progress(progress).write_as(path, format)
    })
}

/// A format of other systems that sets are serialized in, or that shows where bytes are from.
pub(crate) fn bytes_format(name: &str) -> PyResult<ForeignFormat> {
    name.parse().map_err(|error| {
        invalid(format!("{name} is no format of bytes: {error}, roaring, roaring32"))
    })
}

fn serialized(source: &Source, format: &str, progress: &Arc<Progress>) -> PyResult<Vec<u8>> {
    let set = match source {
        Source::Memory(set) => Arc::clone(set),
        Source::File(file) => {
            file.set.verify_bytes(progress).map_err(raise)?;
            Arc::new(source.to_set(progress)?)
        }
    };
    // The bytes, and a bucket of them, while they grow.
    check_memory(set.memory_bytes().saturating_mul(3))?;
    match format {
        "roaring" => set.to_roaring_bytes_with(progress).map_err(raise),
        "roaring32" => {
            if let Some(value) = set.max().filter(|max| *max > u32::MAX.into()) {
                let format = "a roaring bitmap of 32 bits";
                return Err(raise(bitsort::Error::ValueTooLarge { value, format }));
            }
            // A bitmap of 64 bits has its first bitmap of 32 bits behind the number of buckets and
            // the first key.
            let bytes = set.to_roaring_bytes_with(progress).map_err(raise)?;
            Ok(bytes.get(12..).map_or_else(|| vec![58, 48, 0, 0, 0, 0, 0, 0], <[u8]>::to_vec))
        }
        other => encode(&set, bytes_format(other)?).map_err(raise),
    }
}

/// The values of a set, for libraries that read Arrow data.
#[pyclass(frozen, module = "bitsort")]
pub(crate) struct ArrowValues {
    set: Py<AbstractBitSet>,
    name: Option<String>,
}

#[pymethods]
impl ArrowValues {
    /// The Arrow stream: a capsule.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // the protocol lets us give the type that there is
        stream(py, self.set.get().source(py)?, self.name.as_deref())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let len = self.set.get().source(py)?.len();
        Ok(format!("<bitsort.ArrowValues of {len} values>"))
    }

    // The set may be of a subclass, with an attribute that leads back here.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.set)
    }
}

/// The text of the exception of a signal. An error of a stream is a text only, so a Ctrl-C comes again
/// once the interpreter goes on: its handler runs twice. Exceptions of other signals stay texts.
fn again(py: Python<'_>, error: &PyErr) -> String {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        // Without this, the caller still gets the error of the stream.
        let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
    }
    error.to_string()
}

fn stream<'py>(
    py: Python<'py>,
    source: Source,
    name: Option<&str>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let mut from = Some(0);
    let caller = thread::current().id();
    let next = move || {
        let Some(start) = from else { return Ok(None) };
        // Only the thread that takes the values checks for signals. Another thread must not: the
        // taking thread may wait for it and hold the interpreter's lock.
        if thread::current().id() == caller {
            locked(|py| py.check_signals().map_err(|error| again(py, &error)))?;
        }
        let values = source.batch(start, BLOCK).map_err(|error| error.to_string())?;
        from = values.last().and_then(|last| last.checked_add(1));
        Ok((!values.is_empty()).then_some(values))
    };
    export_stream(py, name, Box::new(next))
}
