//! Takes natural numbers from any Python object: sets, ranges, arrays, iterables.

use crate::arrow::{Imported, import};
use crate::buffer::{Array, Column, Kind, Refused, each_block};
use crate::columns::{BLOCK, sorted};
use crate::error::{check_memory, invalid, push, wrong_type};
use crate::source::{Source, source_of};
use crate::work::{check, interrupted};
use bitsort::Progress;
use bitsort::set::IntegerSet;
use bitsort::sort::Sort;
use pyo3::exceptions::{PyNotImplementedError, PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyRange, PyString, PyType};
use std::sync::Arc;

/// More values are sorted by the library, in several threads.
const MANY: usize = 1 << 18;

/// Numbers in any kind of memory.
pub(crate) enum Numbers {
    Set(Source),
    /// The first value, the last value and the step of a range that is not empty.
    Range(u64, u64, u64),
    Columns(Vec<Column>),
    Values(Vec<u64>),
}

/// A natural number below 2^64.
pub(crate) fn natural(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    natural_or_other(value)?.map_err(|what| invalid(format!("{} is {what}", shown(value))))
}

/// The same; or the reason why an integer is no natural number below 2^64.
pub(crate) fn natural_or_other(value: &Bound<'_, PyAny>) -> PyResult<Result<u64, &'static str>> {
    if let Some(value) = plain(value)? {
        return Ok(Ok(value));
    }
    let Some(index) = integer(value)? else {
        let kind = value.get_type().name()?;
        return Err(wrong_type(format!("a natural number is an int, not {kind}")));
    };
    Ok(Err(if index.lt(0)? { "negative" } else { "not below 2^64" }))
}

/// The number that an object is; none if it is something else, or out of range. What the object
/// itself raises, such as a Ctrl-C, is not ours to change.
fn plain(value: &Bound<'_, PyAny>) -> PyResult<Option<u64>> {
    let py = value.py();
    match value.extract() {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if error.is_instance_of::<PyTypeError>(py)
                || error.is_instance_of::<PyOverflowError>(py) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// An int, or the int that an object stands for; the object itself if it is none.
pub(crate) fn index<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    Ok(integer(value)?.unwrap_or_else(|| value.clone()))
}

/// How an object stands in a message. Python refuses to write ints of thousands of digits.
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    value.str().map_or_else(|_| "an int of very many digits".into(), |text| text.to_string())
}

/// The int that an object is or stands for; none for other objects.
fn integer<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyInt>() {
        return Ok(Some(value.clone()));
    }
    if !value.hasattr("__index__")? {
        return Ok(None);
    }
    let index = value.call_method0("__index__")?;
    if index.is_instance_of::<PyInt>() {
        return Ok(Some(index));
    }
    Err(wrong_type(format!("__index__ returned non-int (type {})", index.get_type().name()?)))
}

/// An int of any sign. Those beyond 128 bits become the nearest number of 128 bits.
pub(crate) fn signed(value: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    let Some(index) = integer(value)? else { return Ok(None) };
    match index.extract() {
        Ok(number) => Ok(Some(number)),
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
            Ok(Some(if index.lt(0)? { i128::MIN } else { i128::MAX }))
        }
        Err(error) => Err(error),
    }
}

/// An argument that is a natural number of a type. One that is negative or too large is a
/// `ValueError`; PyO3 itself would raise an `OverflowError`.
pub(crate) fn number<T: TryFrom<u64>>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let number = natural(value)?;
    T::try_from(number).map_err(|_| invalid(format!("{number} is too large")))
}

/// The same for an argument that may be None.
pub(crate) fn optional<T: TryFrom<u64>>(value: &Bound<'_, PyAny>) -> PyResult<Option<T>> {
    if value.is_none() { Ok(None) } else { number(value).map(Some) }
}

/// The number of an item of an iterable; errors have its index.
fn item(value: &Bound<'_, PyAny>, index: usize) -> PyResult<u64> {
    if let Some(value) = plain(value)? {
        return Ok(value);
    }
    if value.is_none() {
        return Err(Refused::Null(index).into());
    }
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyString>() {
        let shown = value.repr()?;
        return Err(wrong_type(format!("index {index}: {shown} is no natural number")));
    }
    let what = match natural_or_other(value) {
        Ok(Ok(value)) => return Ok(value),
        Ok(Err(what)) => what,
        // What the object itself raises is not ours to change.
        Err(error) if !error.is_instance_of::<PyTypeError>(value.py()) => return Err(error),
        Err(_) => {
            let kind = value.get_type().name()?;
            return Err(wrong_type(format!("index {index}: {kind} is no natural number")));
        }
    };
    Err(invalid(format!("index {index}: {} is {what}", shown(value))))
}

/// Whether an object is a range whose numbers descend. [`Numbers`] has them ascending.
pub(crate) fn descends(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.is_instance_of::<PyRange>() && object.getattr("step")?.lt(0)?)
}

fn range(range: &Bound<'_, PyRange>) -> PyResult<Numbers> {
    let whole = range.as_any();
    // Not `len`, nor an index from the end: Python refuses them for more than 2^63 numbers.
    if !whole.is_truthy()? {
        return Ok(Numbers::Values(Vec::new()));
    }
    let (mut first, mut step) = (whole.getattr("start")?, whole.getattr("step")?);
    // By name: the launcher of the programs has no functions for arithmetic.
    let distance = whole.getattr("stop")?.call_method1("__sub__", (&first,))?;
    let toward = if step.lt(0)? { 1 } else { -1 };
    let steps = distance.call_method1("__add__", (toward,))?;
    let steps = steps.call_method1("__floordiv__", (&step,))?;
    let mut last = steps.call_method1("__mul__", (&step,))?.call_method1("__add__", (&first,))?;
    if step.lt(0)? {
        (first, last, step) = (last, first, step.neg()?);
    }
    let (first, last) = (natural(&first)?, natural(&last)?);
    // The step of one number may be above all numbers.
    let step = if first == last { 1 } else { natural(&step)? };
    Ok(Numbers::Range(first, last, step))
}

/// Which values of an array of pandas are null; none if no value is.
pub(crate) fn nulls_of_pandas<'py>(
    array: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(is_null) = array.getattr_opt("isna")? else { return Ok(None) };
    let nulls = match is_null.call0() {
        // A MultiIndex: its items are tuples.
        Err(error) if error.is_instance_of::<PyNotImplementedError>(array.py()) => return Ok(None),
        nulls => nulls?,
    };
    Ok(nulls.call_method0("any")?.is_truthy()?.then_some(nulls))
}

/// Refuses a masked array of numpy: its buffer has what the mask hides, too.
pub(crate) fn refuse_masked(object: &Bound<'_, PyAny>) -> PyResult<()> {
    // By name, because numpy need not be there. Subclasses hide values too.
    for class in object.get_type().mro() {
        if class.cast_into::<PyType>()?.name()? == "MaskedArray" {
            return Err(wrong_type("a masked array: give array.compressed() or array.filled(…)"));
        }
    }
    Ok(())
}

/// Refuses an array of pandas with a null, which pandas would give to numpy as a float.
fn refuse_nulls_of_pandas(array: &Bound<'_, PyAny>) -> PyResult<()> {
    match nulls_of_pandas(array)? {
        Some(nulls) => Err(Refused::Null(nulls.call_method0("argmax")?.extract()?).into()),
        None => Ok(()),
    }
}

/// Whether an object makes an array of numpy and is none, as an Index of pandas.
fn has_array(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(object.hasattr("__array__")? && !object.hasattr("__array_interface__")?)
}

/// The integers of an array or an Index of pandas; none if it has others, or nulls.
pub(crate) fn column_of_pandas(object: &Bound<'_, PyAny>) -> PyResult<Option<Column>> {
    let Some(dtype) = object.getattr_opt("dtype")? else { return Ok(None) };
    let kind: Option<String> = dtype.getattr_opt("kind")?.and_then(|kind| kind.extract().ok());
    let is_integer = matches!(kind.as_deref(), Some("i" | "u"));
    if !is_integer || !has_array(object)? || nulls_of_pandas(object)?.is_some() {
        return Ok(None);
    }
    let array = object.call_method0("__array__")?;
    Ok(Column::of_buffer(&array).ok().flatten())
}

impl Numbers {
    /// The numbers of an object: a set of ours, a range, an object with the Arrow or the buffer
    /// protocol, or any iterable of integers.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::watched(object, &Progress::default())
    }

    /// The same, until the progress is cancelled.
    pub(crate) fn watched(object: &Bound<'_, PyAny>, progress: &Progress) -> PyResult<Self> {
        if let Some(source) = source_of(object)? {
            return Ok(Self::Set(source));
        }
        if let Ok(whole) = object.cast::<PyRange>() {
            return range(whole);
        }
        refuse_masked(object)?;
        if let Some(numbers) = Self::of_arrow(object, None, progress)? {
            return Ok(numbers);
        }
        if let Some(column) = Column::of_buffer(object)? {
            return Ok(Self::Columns(vec![column]));
        }
        if has_array(object)? {
            refuse_nulls_of_pandas(object)?;
            let array = object.call_method0("__array__")?;
            if let Some(column) = Column::of_buffer(&array)? {
                return Ok(Self::Columns(vec![column]));
            }
        }
        let mut values = Vec::new();
        for (index, value) in object.try_iter()?.enumerate() {
            if index % BLOCK == 0 {
                check(object.py(), progress)?; // an iterator of C does not do it
            }
            push(&mut values, item(&value?, index)?)?;
        }
        Ok(Self::Values(values))
    }

    /// The numbers of Arrow data, for a table those of a column; none for other objects. A stream ends
    /// when the progress is cancelled.
    pub(crate) fn of_arrow(
        object: &Bound<'_, PyAny>,
        column: Option<&str>,
        progress: &Progress,
    ) -> PyResult<Option<Self>> {
        match import(object, column, progress)? {
            Some(Imported::Numbers(columns)) => Ok(Some(Self::Columns(columns))),
            Some(Imported::Nulls(len)) => Self::of_nulls(len).map(Some),
            Some(Imported::Texts(_)) => Err(wrong_type("index 0: a text is no natural number")),
            None => Ok(None),
        }
    }

    /// So many nulls, which are refused where numbers are wanted.
    pub(crate) fn of_nulls(len: usize) -> PyResult<Self> {
        Column::of_nulls(Kind::U64, len).map(|column| Self::Columns(vec![column]))
    }

    /// Number of numbers, with duplicates.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Set(source) => source.len(),
            Self::Range(first, last, step) => ((last - first) / step).saturating_add(1),
            Self::Columns(columns) => columns.iter().map(|column| column.len() as u64).sum(),
            Self::Values(values) => values.len() as u64,
        }
    }

    /// Calls `visit` with the numbers, a block at a time.
    pub(crate) fn each(&self, mut visit: impl FnMut(&[u64]) -> PyResult<()>) -> PyResult<()> {
        match self {
            Self::Set(source) => source.each(visit),
            &Self::Range(first, last, step) => {
                let mut next = Some(first);
                while let Some(start) = next {
                    let rest = (0..BLOCK as u64).map_while(|index| {
                        let value = step.checked_mul(index)?.checked_add(start)?;
                        (value <= last).then_some(value)
                    });
                    let block: Vec<u64> = rest.collect();
                    visit(&block)?;
                    next = block.last().and_then(|end| end.checked_add(step));
                    next = next.filter(|next| *next <= last);
                }
                Ok(())
            }
            Self::Columns(columns) => each_block(columns, BLOCK, false, visit),
            Self::Values(values) => values.chunks(BLOCK).try_for_each(visit),
        }
    }

    /// The numbers as columns. Those of arrays are not copied.
    pub(crate) fn into_columns(self) -> PyResult<Vec<Column>> {
        match self {
            Self::Columns(columns) => Ok(columns),
            other => Ok(vec![Array::of_values(other.into_values()?).column()]),
        }
    }

    /// All numbers.
    pub(crate) fn into_values(self) -> PyResult<Vec<u64>> {
        if let Self::Values(values) = self {
            return Ok(values);
        }
        check_memory(self.len().saturating_mul(8))?;
        let mut values = Vec::new();
        self.each(|block| {
            values.extend_from_slice(block);
            Ok(())
        })?;
        Ok(values)
    }

    /// The numbers as a set. Many of them are sorted in `threads` threads, or in as many as
    /// there are processors.
    pub(crate) fn into_set(
        self,
        progress: &Arc<Progress>,
        threads: Option<usize>,
    ) -> PyResult<IntegerSet> {
        match self {
            Self::Set(source) => source.to_set(progress),
            Self::Range(first, last, 1) => {
                let mut set = IntegerSet::new();
                insert_range(&mut set, first, last, progress)?;
                Ok(set)
            }
            Self::Columns(columns) if columns.iter().map(Column::len).sum::<usize>() > MANY => {
                let mut sort = Sort::new().progress(Arc::clone(progress));
                if let Some(threads) = threads {
                    sort = sort.threads(threads);
                }
                sorted(columns, sort, Sort::into_set).map(|(set, _)| set)
            }
            other => {
                if let Self::Range(first, last, step) = other {
                    check_memory(range_bytes(first, last, step))?;
                }
                let mut set = IntegerSet::new();
                let mut ascend = true;
                let mut last = None;
                other.each(|values| {
                    ascend = ascend && values.is_sorted() && last <= values.first().copied();
                    last = values.last().copied().or(last);
                    set.extend(values);
                    interrupted(progress)
                })?;
                if !ascend {
                    set.optimize();
                }
                Ok(set)
            }
        }
    }
}

/// At least the bytes of a set of every `step`-th value.
fn range_bytes(first: u64, last: u64, step: u64) -> u64 {
    let values = (last - first) / step;
    let containers = values.min((last - first) >> 16);
    let bodies = values.saturating_mul(2).min(containers.saturating_mul(8192));
    bodies.saturating_add(containers.saturating_mul(10))
}

/// Adds the values from `first` to `last`, until the progress is cancelled. Refuses ranges whose
/// containers would fill the memory: 40 bytes for each 2^16 values.
pub(crate) fn insert_range(
    set: &mut IntegerSet,
    first: u64,
    last: u64,
    progress: &Progress,
) -> PyResult<()> {
    const MOST: u64 = 1 << 28;
    /// Values that are added between two looks at the progress.
    const PIECE: u64 = 1 << 34;
    if (last - first) >> 16 > MOST {
        return Err(invalid("a set in memory holds ranges of at most 2**44 values"));
    }
    check_memory(((last - first) >> 16) * 40)?;
    let mut start = first;
    loop {
        let end = last.min(start.saturating_add(PIECE - 1));
        set.insert_range(start..=end);
        interrupted(progress)?;
        if end == last {
            return Ok(());
        }
        start = end + 1;
    }
}

/// The set of the values of a range, as `span` gives it. Ctrl-C cancels it.
pub(crate) fn range_set(py: Python<'_>, range: Option<(u64, u64)>) -> PyResult<IntegerSet> {
    let Some((first, last)) = range else { return Ok(IntegerSet::new()) };
    crate::work::in_pieces(py, last - first, |progress| {
        let mut set = IntegerSet::new();
        insert_range(&mut set, first, last, progress)?;
        Ok(set)
    })
}
