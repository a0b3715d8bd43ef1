//! Memory shared with Python: integers of other objects, read in place; and arrays of ours, which
//! others read through the buffer protocol. This file and `arrow` have the only unsafe code.
//!
//! # Why the unsafe code is sound
//! - A [`Column`] keeps the owner of its memory alive, and the owner keeps the memory where
//!   it is: an exported buffer is not moved, nor is an Arrow array before its release.
//! - Other threads may change the memory of a buffer meanwhile. Values are therefore copied
//!   out one by one before anything is decided by them, through pointers, never through
//!   references; a value that changes meanwhile is one that the caller could have given.
//! - An [`Array`] owns its memory, never moves it, and never makes references into it
//!   after it was made: whoever has a buffer of it may write to it.

use crate::error::{FLOATS, TRUTHS, check_memory, invalid, wrong_type};
use crate::numbers::signed;
use crate::source::{Mapped, Source};
use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::exceptions::{PyBufferError, PyIndexError};
use pyo3::ffi;
use pyo3::prelude::*;
use std::any::Any;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// The type of integers in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    Bool,
}

impl Kind {
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::I64 => 8,
        }
    }

    /// The format of module `struct`.
    const fn format(self) -> &'static CStr {
        match self {
            Self::U8 => c"B",
            Self::U16 => c"H",
            Self::U32 => c"I",
            Self::U64 => c"Q",
            Self::I8 => c"b",
            Self::I16 => c"h",
            Self::I32 => c"i",
            Self::I64 => c"q",
            Self::Bool => c"?",
        }
    }

    /// The name of numpy's type.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::Bool => "bool",
        }
    }
}

/// A bit for each row: whether it has a value.
#[derive(Clone, Copy)]
pub(crate) struct Validity {
    pub(crate) bits: *const u8,
    /// The bit of the first row.
    pub(crate) first: usize,
}

impl Validity {
    /// # Safety
    ///
    /// There must be a bit for `row`.
    pub(crate) unsafe fn has(self, row: usize) -> bool {
        let bit = self.first + row;
        // SAFETY: the caller says that there is such a bit.
        let byte = unsafe { self.bits.add(bit / 8) };
        // SAFETY: as above.
        unsafe { *byte >> (bit % 8) & 1 == 1 }
    }
}

/// Integers in the memory of another object.
#[derive(Clone)]
pub(crate) struct Column {
    kind: Kind,
    start: *const u8,
    len: usize,
    /// Bytes from one value to the next.
    stride: isize,
    validity: Option<Validity>,
    owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the memory behind the pointers is kept by `owner`, and only read.
unsafe impl Send for Column {}
// SAFETY: as above.
unsafe impl Sync for Column {}

/// A value that is no natural number, or a missing one, with its index.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Refused {
    Negative(usize, i64),
    Null(usize),
}

impl Refused {
    pub(crate) fn later(self, by: usize) -> Self {
        match self {
            Self::Negative(index, value) => Self::Negative(index + by, value),
            Self::Null(index) => Self::Null(index + by),
        }
    }
}

impl From<Refused> for PyErr {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Negative(index, value) => {
                invalid(format!("index {index}: {value} is negative"))
            }
            Refused::Null(index) => invalid(format!("index {index}: the value is null")),
        }
    }
}

/// A number of one of several types.
trait Integer: Copy {
    /// The value; negative ones are at least 2^63.
    fn widen(self) -> u64;
}

macro_rules! integer {
    ($($type:ty as $wide:ty),*) => { $(
        impl Integer for $type {
            fn widen(self) -> u64 {
                #[allow(clippy::cast_sign_loss, reason = "looked at where types have a sign")]
                { <$wide>::from(self) as u64 }
            }
        }
    )* };
}

integer!(u8 as u64, u16 as u64, u32 as u64, u64 as u64);
integer!(i8 as i64, i16 as i64, i32 as i64, i64 as i64);

impl Column {
    /// Integers that lie one after the other.
    ///
    /// # Safety
    ///
    /// `owner` must keep `len` integers at `start`, and a bit for each of them in `validity`,
    /// until it is dropped.
    pub(crate) unsafe fn new(
        kind: Kind,
        start: *const u8,
        len: usize,
        validity: Option<Validity>,
        owner: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let stride = kind.bytes().cast_signed();
        Self { kind, start, len, stride, validity, owner }
    }

    /// A column of `len` nulls.
    pub(crate) fn of_nulls(kind: Kind, len: usize) -> PyResult<Self> {
        let words = len.div_ceil(64) + 1;
        check_memory((words as u64).saturating_mul(8))?;
        let zeros = Arc::new(vec![0_u64; words]);
        let start: *const u8 = zeros.as_ptr().cast();
        let validity = Some(Validity { bits: start, first: 0 });
        // Each row has the same word: no row has a value.
        Ok(Self { kind, start, len, stride: 0, validity, owner: zeros })
    }

    /// The integers of an object with the buffer protocol; none for other objects.
    pub(crate) fn of_buffer(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        // SAFETY: it is a live object.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        let Ok(buffer) = PyUntypedBuffer::get(object) else {
            return Ok(None); // objects or times: an iteration over them gives a better error
        };
        let format = buffer.format().to_owned();
        // Numpy's type of an empty list is float.
        let is_empty = format.as_c_str() == c"d" && buffer.item_count() == 0;
        if format.to_bytes().ends_with(b"O") || is_empty && buffer.dimensions() == 1 {
            return Ok(None);
        }
        let kind = kind_of(&format, buffer.item_size())?;
        if buffer.dimensions() != 1 {
            let dimensions = buffer.dimensions();
            return Err(invalid(format!(
                "the array has {dimensions} dimensions, not one: its ravel() has one"
            )));
        }
        if buffer.suboffsets().is_some() {
            return Err(wrong_type("the values lie behind pointers"));
        }
        let stride = buffer.strides().first().copied().unwrap_or(kind.bytes().cast_signed());
        let (start, len) = (buffer.buf_ptr().cast::<u8>().cast_const(), buffer.item_count());
        let owner = Arc::new(buffer);
        Ok(Some(Self { kind, start, len, stride, validity: None, owner }))
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// What keeps the memory.
    pub(crate) fn owner(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::clone(&self.owner)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether a row has no value.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        // SAFETY: `new` says that there is a bit for each row.
        row < self.len && self.validity.is_some_and(|validity| !unsafe { validity.has(row) })
    }

    fn has_nulls(&self) -> bool {
        self.validity.is_some() && (0..self.len).any(|row| self.is_null(row))
    }

    /// Whether its type has negative numbers, which are refused.
    pub(crate) fn is_signed(&self) -> bool {
        matches!(self.kind, Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64)
    }

    /// Appends up to `most` values from row `from` on; of a null a 0, if that `is_allowed`.
    pub(crate) fn copy(
        &self,
        from: usize,
        most: usize,
        null_is_allowed: bool,
        values: &mut Vec<u64>,
    ) -> Result<(), Refused> {
        let count = most.min(self.len.saturating_sub(from));
        let begin = values.len();
        match self.kind {
            Kind::U8 | Kind::Bool => self.widen::<u8>(from, count, values),
            Kind::U16 => self.widen::<u16>(from, count, values),
            Kind::U32 => self.widen::<u32>(from, count, values),
            Kind::U64 => self.widen::<u64>(from, count, values),
            Kind::I8 => self.widen::<i8>(from, count, values),
            Kind::I16 => self.widen::<i16>(from, count, values),
            Kind::I32 => self.widen::<i32>(from, count, values),
            Kind::I64 => self.widen::<i64>(from, count, values),
        }
        let copied = &mut values[begin..];
        if self.validity.is_some() {
            for (row, value) in copied.iter_mut().enumerate() {
                if self.is_null(from + row) {
                    *value = 0; // the bytes of a null have no meaning
                    if !null_is_allowed {
                        return Err(Refused::Null(from + row));
                    }
                }
            }
        }
        let all = copied.iter().fold(0, |all, value| all | value);
        if self.is_signed() && all.cast_signed() < 0 {
            let negative = copied.iter().position(|value| value.cast_signed() < 0).unwrap_or(0);
            return Err(Refused::Negative(from + negative, copied[negative].cast_signed()));
        }
        Ok(())
    }

    /// Whether the values are one after the other, `bytes` each, and none is null.
    pub(crate) fn is_plain(&self, bytes: usize) -> bool {
        let is_number = self.kind != Kind::Bool && self.kind.bytes() == bytes;
        is_number && self.stride == bytes.cast_signed() && self.validity.is_none()
    }

    /// Copies the values of a plain column from row `from` on as bytes into `out`, which has
    /// whole values.
    pub(crate) fn copy_bytes(&self, from: usize, out: &mut [u8]) -> Result<(), Refused> {
        let bytes = self.kind.bytes();
        assert!(self.is_plain(bytes), "a column of other values");
        assert!(from + out.len().div_ceil(bytes) <= self.len, "rows that are not there");
        // SAFETY: the row is there.
        let start = unsafe { self.start.add(from * bytes) };
        // SAFETY: so are the rows from it on, one after the other; nobody else has `out`.
        unsafe { start.copy_to_nonoverlapping(out.as_mut_ptr(), out.len()) };
        let negative = match self.kind {
            Kind::I32 => first_negative(out.as_chunks().0.iter().map(|v| i32::from_ne_bytes(*v))),
            Kind::I64 => first_negative(out.as_chunks().0.iter().map(|v| i64::from_ne_bytes(*v))),
            _ => None,
        };
        match negative {
            Some((row, value)) => Err(Refused::Negative(from + row, value)),
            None => Ok(()),
        }
    }

    fn widen<T: Integer>(&self, from: usize, count: usize, values: &mut Vec<u64>) {
        assert!(from + count <= self.len, "rows that are not there");
        if self.stride == size_of::<T>().cast_signed() {
            // The same with a step that the compiler knows, four times as fast.
            // SAFETY: the row is there, or just behind the last one.
            let first = unsafe { self.start.cast::<T>().add(from) };
            values.extend((0..count).map(|row| {
                // SAFETY: the row is there.
                let place = unsafe { first.add(row) };
                // SAFETY: `of_buffer` and `new` say that a T lies there.
                unsafe { place.read_unaligned() }.widen()
            }));
            return;
        }
        values.extend((from..from + count).map(|row| {
            // SAFETY: the row is there, so that its place does not leave the memory.
            let place = unsafe { self.start.offset(row.cast_signed() * self.stride) };
            // SAFETY: `of_buffer` and `new` say that a T lies there.
            unsafe { place.cast::<T>().read_unaligned() }.widen()
        }));
    }
}

/// The first negative number, and its index.
fn first_negative<T: Into<i64> + Copy>(
    mut values: impl Iterator<Item = T> + Clone,
) -> Option<(usize, i64)> {
    let all = values.clone().fold(0, |all, value| all | value.into());
    if all >= 0 {
        return None; // the usual case, without a branch for each value
    }
    let row = values.clone().position(|value| value.into() < 0)?;
    Some((row, values.nth(row)?.into()))
}

/// The type of a buffer's items.
fn kind_of(format: &CStr, item_bytes: usize) -> PyResult<Kind> {
    let text = format.to_string_lossy();
    if item_bytes > 1 && (text.starts_with('>') || text.starts_with('!')) {
        let what = "have the other byte order: numpy's array.astype(array.dtype.newbyteorder(\"=\")) swaps them";
        return Err(wrong_type(format!("values of format {text} {what}")));
    }
    let kind = match (ElementType::from_format(format), item_bytes) {
        (ElementType::UnsignedInteger { .. }, 1) => Kind::U8,
        (ElementType::UnsignedInteger { .. }, 2) => Kind::U16,
        (ElementType::UnsignedInteger { .. }, 4) => Kind::U32,
        (ElementType::UnsignedInteger { .. }, 8) => Kind::U64,
        (ElementType::SignedInteger { .. }, 1) => Kind::I8,
        (ElementType::SignedInteger { .. }, 2) => Kind::I16,
        (ElementType::SignedInteger { .. }, 4) => Kind::I32,
        (ElementType::SignedInteger { .. }, 8) => Kind::I64,
        (ElementType::Float { .. }, _) => {
            return Err(wrong_type(FLOATS));
        }
        (ElementType::Bool, _) => {
            return Err(wrong_type(TRUTHS));
        }
        _ => return Err(wrong_type(format!("values of format {text} are no integers"))),
    };
    Ok(kind)
}

/// Rows of a column that lie together.
struct Rows<'a> {
    column: &'a Column,
    from: usize,
    /// How many there are.
    count: usize,
    /// Rows of the columns before this one.
    before: usize,
}

impl Rows<'_> {
    /// Appends the values of these rows; of a null a 0, if that `is_allowed`.
    fn copy(&self, null_is_allowed: bool, values: &mut Vec<u64>) -> Result<(), Refused> {
        let copied = self.column.copy(self.from, self.count, null_is_allowed, values);
        copied.map_err(|refused| refused.later(self.before))
    }

    /// Which of these rows are null.
    fn nulls(&self) -> impl Iterator<Item = bool> {
        (self.from..self.from + self.count).map(|row| self.column.is_null(row))
    }
}

/// Rows that are read together.
pub(crate) struct Block<'a>(Vec<Rows<'a>>);

impl Block<'_> {
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|rows| rows.count).sum()
    }

    /// Replaces `values` with the values of the rows; of a null it takes a 0, if that
    /// `is_allowed`.
    pub(crate) fn copy(&self, null_is_allowed: bool, values: &mut Vec<u64>) -> Result<(), Refused> {
        values.clear();
        self.0.iter().try_for_each(|rows| rows.copy(null_is_allowed, values))
    }

    /// Which of the rows are null; none if that cannot be.
    pub(crate) fn nulls(&self) -> Option<impl Iterator<Item = bool>> {
        let may_be_null = self.0.iter().any(|rows| rows.column.validity.is_some());
        may_be_null.then(|| self.0.iter().flat_map(Rows::nulls))
    }
}

/// The rows of columns, one column after the other, `most` at a time; the last block has the rest.
pub(crate) fn blocks(columns: &[Column], most: usize) -> Vec<Block<'_>> {
    let (mut blocks, mut block) = (Vec::new(), Vec::new());
    let (mut before, mut room) = (0, most);
    for column in columns {
        let mut from = 0;
        while from < column.len() {
            let count = room.min(column.len() - from);
            block.push(Rows { column, from, count, before });
            from += count;
            room -= count;
            if room == 0 {
                blocks.push(Block(std::mem::take(&mut block)));
                room = most;
            }
        }
        before += column.len();
    }
    if !block.is_empty() {
        blocks.push(Block(block));
    }
    blocks
}

/// Which rows of columns are null, one column after the other; none if no row is.
pub(crate) fn null_rows(columns: &[Column]) -> Option<Vec<bool>> {
    columns.iter().any(Column::has_nulls).then(|| {
        columns.iter().flat_map(|part| (0..part.len()).map(|row| part.is_null(row))).collect()
    })
}

/// Calls `visit` with the values of columns, one column after the other, a block at a time.
pub(crate) fn each_block(
    columns: &[Column],
    block: usize,
    null_is_allowed: bool,
    mut visit: impl FnMut(&[u64]) -> PyResult<()>,
) -> PyResult<()> {
    let mut values = Vec::with_capacity(block);
    for rows in blocks(columns, block) {
        rows.copy(null_is_allowed, &mut values)?;
        visit(&values)?;
    }
    Ok(())
}

/// Numbers in memory, one after the other. It has the buffer protocol and the Arrow one, so
/// that `numpy.asarray`, `memoryview`, `pyarrow.array` and others take it without copying.
///
/// >>> import bitsort
/// >>> values = bitsort.BitSet([3, 40]).values()
/// >>> len(values), values[1], values.tolist()
/// (2, 40, [3, 40])
/// >>> memoryview(values).format
/// 'Q'
#[pyclass(frozen, module = "bitsort", weakref)]
pub(crate) struct Array {
    kind: Kind,
    memory: Arc<Memory>,
    len: isize,
    stride: isize,
}

/// Memory on the heap.
pub(crate) struct Memory {
    start: NonNull<u64>,
    /// Words.
    len: usize,
    capacity: usize,
}

// SAFETY: it is memory; who writes to it says so himself by a buffer.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    fn of(words: Vec<u64>) -> Self {
        let mut words = std::mem::ManuallyDrop::new(words);
        let (len, capacity) = (words.len(), words.capacity());
        let start = NonNull::new(words.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Self { start, len, capacity }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr().cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: these are the parts of a vector that was not dropped.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), self.len, self.capacity) });
    }
}

impl Array {
    /// An array of these values.
    pub(crate) fn of_values(values: Vec<u64>) -> Self {
        Self::new(Kind::U64, values.len(), values)
    }

    /// The first `len` values of this kind in `words`.
    pub(crate) fn new(kind: Kind, len: usize, words: Vec<u64>) -> Self {
        assert!(len * kind.bytes() <= words.len() * 8, "fewer values than said");
        let stride = kind.bytes().cast_signed();
        Self { kind, memory: Arc::new(Memory::of(words)), len: len.cast_signed(), stride }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn count(&self) -> usize {
        self.len.cast_unsigned()
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// The array as a column.
    pub(crate) fn column(&self) -> Column {
        let owner: Arc<dyn Any + Send + Sync> = self.memory.clone();
        // SAFETY: the memory has so many values, and is the owner.
        unsafe { Column::new(self.kind, self.memory.start(), self.count(), None, owner) }
    }

    fn at(&self, index: usize) -> u64 {
        let mut value = Vec::with_capacity(1);
        let copied = self.column().copy(index, 1, true, &mut value);
        match (copied, value.first()) {
            (Ok(()), Some(value)) => *value,
            _ => 0, // somebody wrote a negative number into the array
        }
    }
}

#[pymethods]
impl Array {
    fn __len__(&self) -> usize {
        self.count()
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let index = signed(index)?.ok_or_else(|| wrong_type("an index is an int"))?;
        let place = if index < 0 { index + self.len as i128 } else { index };
        let place = usize::try_from(place).ok().filter(|&place| place < self.count());
        let none = || PyIndexError::new_err("the array has no such index");
        let value = self.at(place.ok_or_else(none)?);
        if self.kind == Kind::Bool {
            return Ok(pyo3::types::PyBool::new(py, value != 0).to_owned().into_any());
        }
        Ok(value.into_pyobject(py)?.into_any())
    }

    fn __iter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, pyo3::types::PyIterator>> {
        pyo3::types::PyMemoryView::from(slf.as_any())?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<bitsort.Array of {} {}>", self.len, self.kind.name())
    }

    /// The name of the type of the values, as numpy has it: "uint64", "bool", …
    #[getter]
    fn dtype(&self) -> &'static str {
        self.kind.name()
    }

    /// A list of Python numbers.
    fn tolist<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        pyo3::types::PyMemoryView::from(slf.as_any())?.call_method0("tolist")
    }

    /// The Arrow array: a pair of capsules.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        slf: &Bound<'py, Self>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, pyo3::types::PyTuple>> {
        let _ = requested_schema; // the protocol lets us give the type that there is
        crate::arrow::export_array(slf.py(), slf.get())
    }

    /// # Safety
    ///
    /// As Python calls it: `view` is there to be filled.
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 has it")]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let array = slf.get();
        let words = (array.memory.start(), array.kind, false);
        // SAFETY: Python gives a view to fill; array, length and stride live as long as `slf`.
        unsafe { fill_view(slf.as_any(), words, [&array.len, &array.stride], view, flags) }
    }
}

/// Fills a view of integers that `owner` keeps: where they are, of which kind, and whether they
/// are only read; their number and stride lie in the owner, too.
///
/// # Safety
///
/// As Python calls `__getbuffer__`: `view` is there to be filled, unless it is null. The owner
/// keeps the integers, their number and the stride where they are, and leaves them as they are.
unsafe fn fill_view(
    owner: &Bound<'_, PyAny>,
    (start, kind, only_read): (*mut u8, Kind, bool),
    [len, stride]: [&isize; 2],
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> PyResult<()> {
    if view.is_null() {
        return Err(PyBufferError::new_err("no view to fill"));
    }
    let asked = |flag: c_int| flags & flag == flag;
    if only_read && asked(ffi::PyBUF_WRITABLE) {
        return Err(PyBufferError::new_err("the words of a file are only read"));
    }
    let format = if asked(ffi::PyBUF_FORMAT) { kind.format().as_ptr() } else { std::ptr::null() };
    let place = |of: &isize, flag| {
        if asked(flag) { std::ptr::from_ref(of).cast_mut() } else { std::ptr::null_mut() }
    };
    let filled = ffi::Py_buffer {
        buf: start.cast::<c_void>(),
        len: len * stride,
        readonly: c_int::from(only_read),
        itemsize: *stride,
        format: format.cast_mut(),
        ndim: 1,
        shape: place(len, ffi::PyBUF_ND),
        strides: place(stride, ffi::PyBUF_STRIDES),
        suboffsets: std::ptr::null_mut(),
        internal: std::ptr::null_mut(),
        obj: owner.clone().into_ptr(),
    };
    // SAFETY: the caller says so, and nobody else has it yet.
    unsafe { view.write(filled) };
    Ok(())
}

/// The words of a plain bitmap in a mapped file: read-only numbers of 64 bits for `memoryview` and
/// `numpy.asarray`. The file stays mapped as long as the words are in use. If the file is cut
/// meanwhile, lost words are 0; `check` finds that out.
///
/// >>> import bitsort
/// >>> _ = bitsort.BitSet(range(1000)).write("dense.bits", format="dense")
/// >>> words = bitsort.open("dense.bits").words()
/// >>> words.first, hex(memoryview(words)[0])
/// (0, '0xffffffffffffffff')
#[pyclass(frozen, module = "bitsort", weakref)]
pub(crate) struct MappedWords {
    file: Arc<Mapped>,
    /// The value that the first bit stands for.
    #[pyo3(get)]
    first: u64,
    len: isize,
    stride: isize,
}

impl MappedWords {
    /// The words of a file; none if the set has another representation.
    pub(crate) fn of(file: Arc<Mapped>) -> Option<Self> {
        let (first, words) = file.set.words()?;
        let len = words.len().cast_signed();
        Some(Self { file, first, len, stride: 8 })
    }
}

#[pymethods]
impl MappedWords {
    fn __len__(&self) -> usize {
        self.len.cast_unsigned()
    }

    /// Raises `bitsort.Error` or `OSError` if the file was cut since it was opened. Results from
    /// the words may then be wrong.
    fn check(&self) -> PyResult<()> {
        let source = Source::File(Arc::clone(&self.file));
        source.after(source.check())
    }

    /// # Safety
    ///
    /// As Python calls it: `view` is there to be filled.
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 has it")]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        let Some((_, words)) = this.file.set.words() else {
            return Err(PyBufferError::new_err("the file is no plain bitmap"));
        };
        let start = words.as_ptr().cast::<u8>().cast_mut(); // `fill_view` makes it read-only
        // SAFETY: Python gives a view to fill; the map and the rest live as long as `slf`.
        unsafe {
            fill_view(
                slf.as_any(),
                (start, Kind::U64, true),
                [&this.len, &this.stride],
                view,
                flags,
            )
        }
    }
}
