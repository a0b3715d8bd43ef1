//! The Arrow C data interface, written by hand: takes and gives arrays and streams of any library.
//! It does not copy those that it takes. This file and `buffer` have the only unsafe code.
//!
//! # Why the unsafe code is sound
//! - Structures of others are moved out of their capsules, as the interface has it: their
//!   `release` is set to null there, so that only our copy releases them, once, when it is
//!   dropped.
//! - A producer promises that the buffers have the bytes that its lengths and offsets say;
//!   that cannot be checked. What can be is: numbers of buffers and children, null pointers,
//!   signs of lengths.
//! - What goes out owns its memory through `private_data` until the consumer releases it.
//!
//! # Source
//!
//! <https://arrow.apache.org/docs/format/CDataInterface.html>,
//! <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>

use crate::buffer::{Array, Column, Kind, Validity};
use crate::error::{FLOATS, TRUTHS, check_memory, invalid, push, wrong_type};
use crate::work::check;
use bitsort::Progress;
use pyo3::exceptions::{
    PyImportError, PyKeyboardInterrupt, PyNotImplementedError, PyOverflowError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct Chunk {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Chunk,
    dictionary: *mut Chunk,
    release: Option<unsafe extern "C" fn(*mut Chunk)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Chunk) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

macro_rules! released {
    ($($structure:ty),*) => { $(
        // SAFETY: the interface lets structures move between threads.
        unsafe impl Send for $structure {}

        impl Drop for $structure {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it is not released yet, and nobody uses it any more.
                    unsafe { release(self) };
                }
            }
        }

        impl $structure {
            /// The structure in a capsule of this name, which has it no more.
            fn take(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<Self> {
                let capsule = capsule.cast::<PyCapsule>()?;
                let place = capsule.pointer_checked(Some(name))?.cast::<Self>().as_ptr();
                // SAFETY: the name says that such a structure lies there.
                let taken = unsafe { place.read() };
                // SAFETY: as above; nobody else looks at it while we hold the capsule.
                unsafe { (&raw mut (*place).release).write(None) };
                if taken.release.is_none() {
                    return Err(invalid("the Arrow data was taken before"));
                }
                Ok(taken)
            }
        }
    )* };
}

released!(Schema, Chunk, Stream);

// SAFETY: a chunk is only read once it is here.
unsafe impl Sync for Chunk {}

const EMPTY_SCHEMA: Schema = Schema {
    format: ptr::null(),
    name: ptr::null(),
    metadata: ptr::null(),
    flags: 0,
    n_children: 0,
    children: ptr::null_mut(),
    dictionary: ptr::null_mut(),
    release: None,
    private_data: ptr::null_mut(),
};

const EMPTY_CHUNK: Chunk = Chunk {
    length: 0,
    null_count: 0,
    offset: 0,
    n_buffers: 0,
    n_children: 0,
    buffers: ptr::null_mut(),
    children: ptr::null_mut(),
    dictionary: ptr::null_mut(),
    release: None,
    private_data: ptr::null_mut(),
};

/// An item of a C array, aligned or not.
///
/// # Safety
///
/// `array` must have an item `index`.
unsafe fn item<T: Copy>(array: *const T, index: usize) -> T {
    // SAFETY: the caller says that it is there.
    let place = unsafe { array.add(index) };
    // SAFETY: as above.
    unsafe { place.read_unaligned() }
}

/// The columns that came through the interface.
pub(crate) enum Imported {
    Numbers(Vec<Column>),
    Texts(Vec<Texts>),
    /// So many nulls, of no type.
    Nulls(usize),
}

/// How an array stores texts or bytes.
#[derive(Clone, Copy)]
enum Layout {
    /// Offsets of 32 bits.
    Short,
    /// Offsets of 64 bits.
    Long,
    /// Views of 16 bytes.
    View,
    /// Items of so many bytes each.
    Fixed(usize),
}

/// The type of a column's rows.
#[derive(Clone, Copy)]
enum Content {
    Numbers(Kind),
    Texts(Layout),
    /// Numbers of texts in a dictionary.
    Coded(Kind, Layout),
    /// Only nulls.
    Nulls,
}

/// An array of texts, or of bytes.
pub(crate) struct Texts {
    layout: Layout,
    len: usize,
    offset: usize,
    validity: Option<Validity>,
    buffers: *const *const u8,
    /// The rows, if they are numbers of these texts.
    codes: Option<Vec<u32>>,
    _owner: Arc<dyn Any + Send + Sync>,
}

/// The code of a row that is null.
const NULL: u32 = u32::MAX;

// SAFETY: the memory is kept by `_owner`, and only read.
unsafe impl Send for Texts {}
// SAFETY: as above.
unsafe impl Sync for Texts {}

impl Texts {
    pub(crate) fn len(&self) -> usize {
        self.codes.as_ref().map_or(self.len, Vec::len)
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        let Some(codes) = &self.codes else { return self.has_null(row) };
        let code = codes.get(row);
        code.is_some_and(|&code| code == NULL || self.has_null(code as usize))
    }

    fn has_null(&self, index: usize) -> bool {
        // SAFETY: the producer has a bit for each text.
        index < self.len && self.validity.is_some_and(|validity| !unsafe { validity.has(index) })
    }

    fn buffer(&self, number: usize) -> *const u8 {
        // SAFETY: `texts_of` looked at the number of buffers, and at those that views name.
        unsafe { item(self.buffers, number) }
    }

    /// The bytes of a row; empty for a null.
    pub(crate) fn get(&self, row: usize) -> &[u8] {
        assert!(row < self.len(), "rows that are not there");
        if self.is_null(row) {
            return &[];
        }
        let row = self.codes.as_ref().map_or(row, |codes| codes[row] as usize);
        assert!(row < self.len, "texts that are not there");
        let index = self.offset + row;
        let (start, len) = match self.layout {
            Layout::Short => {
                let [from, to] = self.ends::<i32>(index).map(i64::from);
                (self.part(2, from), to - from)
            }
            Layout::Long => {
                let [from, to] = self.ends::<i64>(index);
                (self.part(2, from), to - from)
            }
            Layout::Fixed(bytes) => {
                let from = index.saturating_mul(bytes);
                (self.part(1, i64::try_from(from).unwrap_or(0)), i64::try_from(bytes).unwrap_or(0))
            }
            Layout::View => {
                let (view, [len, _, number, from]) = self.view(row);
                let start = if len <= 12 {
                    // SAFETY: a short text lies in the view itself.
                    unsafe { view.add(4) }
                } else {
                    self.part(2 + usize::try_from(number).unwrap_or(0), from.into())
                };
                (start, i64::from(len))
            }
        };
        let len = usize::try_from(len).unwrap_or(0);
        if len == 0 {
            return &[]; // the pointer may be null then
        }
        // SAFETY: the producer says that the bytes are there; Arrow arrays do not change.
        unsafe { std::slice::from_raw_parts(start, len) }
    }

    /// The view of a row: a length, four bytes of the text, a buffer and an offset.
    fn view(&self, row: usize) -> (*const u8, [i32; 4]) {
        assert!(row < self.len, "rows that are not there");
        // SAFETY: there is a view of 16 bytes for each row.
        let view = unsafe { self.buffer(1).add(16 * (self.offset + row)) };
        let words: *const [i32; 4] = view.cast();
        // SAFETY: as above.
        (view, unsafe { item(words, 0) })
    }

    /// Where a row begins and ends.
    fn ends<T: Copy>(&self, row: usize) -> [T; 2] {
        let offsets: *const T = self.buffer(1).cast();
        // SAFETY: there is an offset for each row, and one behind the last row.
        [row, row + 1].map(|index| unsafe { item(offsets, index) })
    }

    fn part(&self, number: usize, from: i64) -> *const u8 {
        self.buffer(number).wrapping_offset(isize::try_from(from).unwrap_or(0))
    }
}

/// A chunk, and the wanted array in it.
struct Field {
    content: Content,
    /// The child of a struct.
    child: Option<usize>,
}

/// Whether an object is a column of pandas.
fn is_column_of_pandas(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(is_of("pandas", object)? && object.hasattr("dtype")?)
}

/// Whether the class of an object comes from a package.
fn is_of(package: &str, object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module: String = object.get_type().getattr("__module__")?.extract()?;
    Ok(module.split('.').next() == Some(package))
}

/// Whether PyArrow may say with this exception that it has no type for the values.
fn is_refusal(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyNotImplementedError>(py)
        || error.is_instance_of::<PyValueError>(py)
        || error.is_instance_of::<PyOverflowError>(py)
}

/// Whether a column or a table of polars has Python objects. As Arrow data they are addresses.
fn has_objects(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !is_of("polars", object)? || !object.hasattr("__arrow_c_stream__")? {
        return Ok(false);
    }
    let is_object = |kind: &Bound<'_, PyAny>| Ok(kind.str()?.to_str()? == "Object");
    if let Some(kind) = object.getattr_opt("dtype")? {
        return is_object(&kind);
    }
    match object.getattr_opt("dtypes")? {
        Some(kinds) => kinds.try_iter()?.try_fold(false, |any, kind| Ok(any || is_object(&kind?)?)),
        None => Ok(false),
    }
}

/// The columns of an object with the Arrow capsule interface; none for other objects. For a table,
/// the column of this name, or the only one. A stream ends when the progress is cancelled.
pub(crate) fn import(
    object: &Bound<'_, PyAny>,
    column: Option<&str>,
    progress: &Progress,
) -> PyResult<Option<Imported>> {
    let has_objects = has_objects(object)?;
    if has_objects && object.hasattr("dtype")? {
        return Ok(None);
    }
    let (field, chunks) = if object.hasattr("__arrow_c_stream__")? {
        let capsule = match object.call_method0("__arrow_c_stream__") {
            // pandas exports its columns by way of PyArrow, which need not be there, has no type for
            // some of them, and takes Python objects for values of the first one's type.
            Err(error) if error.is_instance_of::<PyImportError>(object.py()) => return Ok(None),
            Err(error) if is_refusal(object.py(), &error) && is_column_of_pandas(object)? => {
                return Ok(None);
            }
            capsule => capsule?,
        };
        let stream = Stream::take(&capsule, c"arrow_array_stream")?;
        object.py().detach(move || drain(stream, column, progress))?
    } else if object.hasattr("__arrow_c_array__")? {
        let pair = object.call_method0("__arrow_c_array__")?;
        let (schema, chunk): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let schema = Schema::take(&schema, c"arrow_schema")?;
        (field_of(&schema, column)?, vec![Chunk::take(&chunk, c"arrow_array")?])
    } else {
        return Ok(None);
    };
    if has_objects && matches!(field.content, Content::Texts(Layout::Fixed(_))) {
        return Err(wrong_type("a column of Python objects: cast it to a type of polars"));
    }
    let (mut numbers, mut texts, mut nulls) = (Vec::new(), Vec::new(), 0);
    for chunk in chunks {
        match field.content {
            Content::Numbers(kind) => numbers.push(column_of(chunk, field.child, kind)?),
            Content::Texts(layout) => texts.push(texts_of(chunk, field.child, layout)?),
            Content::Coded(kind, layout) => {
                texts.push(coded_texts_of(chunk, field.child, kind, layout)?);
            }
            Content::Nulls => nulls += count(chunk.length)?,
        }
    }
    Ok(Some(match field.content {
        Content::Texts(_) | Content::Coded(..) => Imported::Texts(texts),
        Content::Numbers(kind) if numbers.is_empty() => {
            Imported::Numbers(vec![Column::of_nulls(kind, 0)?]) // of no rows: it keeps the type
        }
        Content::Numbers(_) => Imported::Numbers(numbers),
        Content::Nulls => Imported::Nulls(nulls),
    }))
}

/// All chunks of a stream, which may be one without an end.
fn drain(
    mut stream: Stream,
    column: Option<&str>,
    progress: &Progress,
) -> PyResult<(Field, Vec<Chunk>)> {
    /// Between looks at signals. Each look may wait for other threads of Python.
    const PAUSE: Duration = Duration::from_millis(100);
    let (Some(get_schema), Some(get_next)) = (stream.get_schema, stream.get_next) else {
        return Err(invalid("the Arrow stream has no functions"));
    };
    let mut schema = EMPTY_SCHEMA;
    // SAFETY: the stream is not released, and the schema is there to be filled.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    if code != 0 {
        return Err(stream_error(&mut stream, code));
    }
    let field = field_of(&schema, column)?;
    let (mut chunks, mut looked) = (Vec::new(), Instant::now());
    loop {
        if looked.elapsed() > PAUSE {
            Python::attach(|py| check(py, progress))?;
            looked = Instant::now();
        }
        let mut chunk = EMPTY_CHUNK;
        // SAFETY: as above.
        let code = unsafe { get_next(&raw mut stream, &raw mut chunk) };
        if code != 0 {
            return Err(stream_error(&mut stream, code));
        }
        if chunk.release.is_none() {
            return Ok((field, chunks));
        }
        push(&mut chunks, chunk)?;
    }
}

fn stream_error(stream: &mut Stream, code: c_int) -> PyErr {
    let text = stream.get_last_error.and_then(|last| {
        // SAFETY: the stream is not released.
        let text = unsafe { last(stream) };
        // SAFETY: if it is not null, it is a text that lives until the next call.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    let text = text.unwrap_or_else(|| format!("error {code}"));
    if text.trim_end().ends_with("KeyboardInterrupt") {
        return PyKeyboardInterrupt::new_err(()); // of a generator of Python: the interface has only a text
    }
    PyRuntimeError::new_err(format!("the Arrow stream broke off: {text}"))
}

fn text_of<'s>(text: *const c_char) -> &'s str {
    if text.is_null() {
        return "";
    }
    // SAFETY: formats and names are texts that end with NUL, and live as long as the schema,
    // which the callers hold.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap_or("")
}

fn count(number: i64) -> PyResult<usize> {
    usize::try_from(number).map_err(|_| invalid("the Arrow data has a negative length"))
}

/// The field that a caller means: the data itself, or a column of a table.
fn field_of(schema: &Schema, column: Option<&str>) -> PyResult<Field> {
    if text_of(schema.format) != "+s" {
        return match column {
            Some(column) => Err(invalid(format!("{column}: the data has no columns"))),
            None => Ok(Field { content: content_of(schema)?, child: None }),
        };
    }
    let children: Vec<&Schema> = (0..count(schema.n_children)?)
        .map(|child| {
            // SAFETY: there are so many children.
            let child = unsafe { item(schema.children, child) };
            // SAFETY: each is a schema that lives as long as its parent.
            unsafe { &*child }
        })
        .collect();
    let names = || children.iter().map(|child| text_of(child.name)).collect::<Vec<_>>().join(", ");
    let child = match column {
        Some(column) => {
            let is_meant = |at: &usize| text_of(children[*at].name) == column;
            let mut found = (0..children.len()).filter(is_meant);
            let first = found.next();
            if found.next().is_some() {
                return Err(invalid(format!("the table has several columns named {column}")));
            }
            first
        }
        None if children.len() == 1 => Some(0),
        None => {
            // A column that pandas makes of an index without a name, as a DataFrame has after a filter.
            let is_index = |name: &str| name.starts_with("__index_level_") && name.ends_with("__");
            let mut found = (0..children.len()).filter(|&at| !is_index(text_of(children[at].name)));
            let (Some(only), None) = (found.next(), found.next()) else {
                let count = children.len();
                return Err(invalid(format!("the table has {count} columns: {}", names())));
            };
            Some(only)
        }
    };
    let child = child.ok_or_else(|| {
        invalid(format!("the table has no column {}: {}", column.unwrap_or_default(), names()))
    })?;
    Ok(Field { content: content_of(children[child])?, child: Some(child) })
}

fn content_of(schema: &Schema) -> PyResult<Content> {
    let content = content_of_format(text_of(schema.format))?;
    if let (Content::Numbers(_), Some(name)) = (&content, extension_of(schema)) {
        let what = "are no integers: cast it to its storage, if that is meant";
        return Err(wrong_type(format!("Arrow data of type {name} {what}")));
    }
    if schema.dictionary.is_null() {
        return Ok(content);
    }
    // SAFETY: if it is not null, it is a schema that lives as long as this one.
    let values = unsafe { &*schema.dictionary };
    match (content, content_of(values)?) {
        (Content::Numbers(kind), Content::Texts(layout)) => Ok(Content::Coded(kind, layout)),
        _ => Err(wrong_type("dictionary-encoded Arrow data: cast it to its values first")),
    }
}

/// The name of a type that gives other data a meaning, such as periods of time as integers.
fn extension_of(schema: &Schema) -> Option<String> {
    let mut at = schema.metadata.cast::<u8>();
    if at.is_null() {
        return None;
    }
    let mut take = |bytes: usize| {
        // SAFETY: the caller takes what the format says: the number of pairs, and then each key and
        // each value behind its length. The metadata lives as long as the schema.
        let taken = unsafe { std::slice::from_raw_parts(at, bytes) };
        // SAFETY: these bytes are there.
        at = unsafe { at.add(bytes) };
        taken
    };
    let length = |bytes: &[u8]| bytes.try_into().map_or(0, i32::from_ne_bytes);
    for _ in 0..length(take(4)) {
        let key_bytes = usize::try_from(length(take(4))).ok()?;
        let key = take(key_bytes);
        let value_bytes = usize::try_from(length(take(4))).ok()?;
        let value = take(value_bytes);
        if key == b"ARROW:extension:name" {
            return Some(String::from_utf8_lossy(value).into_owned());
        }
    }
    None
}

fn content_of_format(format: &str) -> PyResult<Content> {
    Ok(match format {
        "C" => Content::Numbers(Kind::U8),
        "S" => Content::Numbers(Kind::U16),
        "I" => Content::Numbers(Kind::U32),
        "L" => Content::Numbers(Kind::U64),
        "c" => Content::Numbers(Kind::I8),
        "s" => Content::Numbers(Kind::I16),
        "i" => Content::Numbers(Kind::I32),
        "l" => Content::Numbers(Kind::I64),
        "u" | "z" => Content::Texts(Layout::Short),
        "U" | "Z" => Content::Texts(Layout::Long),
        "vu" | "vz" => Content::Texts(Layout::View),
        "n" => Content::Nulls,
        "e" | "f" | "g" => return Err(wrong_type(FLOATS)),
        "b" => return Err(wrong_type(TRUTHS)),
        other => match other.strip_prefix("w:").and_then(|bytes| bytes.parse().ok()) {
            Some(bytes) => Content::Texts(Layout::Fixed(bytes)),
            None => {
                return Err(wrong_type(format!("Arrow data of type {other} are no integers")));
            }
        },
    })
}

/// The wanted array: its length, its first row and its buffers.
struct Part {
    len: usize,
    offset: usize,
    validity: Option<Validity>,
    buffers: *const *const u8,
    n_buffers: usize,
    /// The values of a dictionary; null without one.
    dictionary: *const Chunk,
}

fn part_of(chunk: &Chunk, child: Option<usize>) -> PyResult<Part> {
    let (mut len, mut offset, mut array) = (count(chunk.length)?, count(chunk.offset)?, chunk);
    if let Some(child) = child {
        if has_nulls(chunk)? {
            return Err(invalid("the table has rows that are null"));
        }
        if child >= count(chunk.n_children)? {
            return Err(invalid("the Arrow table has fewer columns than its schema"));
        }
        // SAFETY: there are more children.
        let child = unsafe { item(chunk.children, child) };
        // SAFETY: each is an array that lives as long as its parent.
        array = unsafe { &*child };
        offset += count(array.offset)?;
        len = len.min(count(array.length)?);
    }
    let n_buffers = count(array.n_buffers)?;
    if array.buffers.is_null() || n_buffers < 2 {
        return Err(invalid("the Arrow data has no buffers"));
    }
    let buffers = array.buffers.cast_const().cast::<*const u8>();
    // SAFETY: there is more than one buffer.
    let bits = unsafe { *buffers };
    let validity =
        (array.null_count != 0 && !bits.is_null()).then_some(Validity { bits, first: offset });
    Ok(Part { len, offset, validity, buffers, n_buffers, dictionary: array.dictionary })
}

fn has_nulls(chunk: &Chunk) -> PyResult<bool> {
    if chunk.null_count == 0 || chunk.buffers.is_null() || chunk.n_buffers < 1 {
        return Ok(false);
    }
    // SAFETY: there is a buffer.
    let bits = unsafe { *chunk.buffers }.cast::<u8>();
    let validity = Validity { bits, first: count(chunk.offset)? };
    // SAFETY: if there are bits, there is one for each row.
    Ok(!bits.is_null() && (0..count(chunk.length)?).any(|row| !unsafe { validity.has(row) }))
}

fn column_of(chunk: Chunk, child: Option<usize>, kind: Kind) -> PyResult<Column> {
    let Part { len, offset, validity, buffers, .. } = part_of(&chunk, child)?;
    // SAFETY: `part_of` looked whether there are two buffers.
    let values = unsafe { item(buffers, 1) };
    if values.is_null() && len > 0 {
        return Err(invalid("the Arrow data has no values"));
    }
    let start = values.wrapping_add(offset * kind.bytes());
    // SAFETY: the producer has so many values, and the chunk keeps them.
    Ok(unsafe { Column::new(kind, start, len, validity, Arc::new(chunk)) })
}

fn texts_of(chunk: Chunk, child: Option<usize>, layout: Layout) -> PyResult<Texts> {
    let part = part_of(&chunk, child)?;
    part.into_texts(layout, Arc::new(chunk))
}

/// The texts of a dictionary, and which of them each row is.
fn coded_texts_of(
    chunk: Chunk,
    child: Option<usize>,
    kind: Kind,
    layout: Layout,
) -> PyResult<Texts> {
    const SOME: usize = 1 << 12;
    let Part { dictionary, .. } = part_of(&chunk, child)?;
    // SAFETY: if it is not null, it is an array that lives as long as the chunk.
    let Some(dictionary) = (unsafe { dictionary.as_ref() }) else {
        return Err(invalid("the Arrow data has no dictionary"));
    };
    let values = part_of(dictionary, None)?;
    let numbers = column_of(chunk, child, kind)?;
    check_memory((numbers.len() as u64).saturating_mul(4))?;
    let mut codes = Vec::with_capacity(numbers.len());
    let mut some = Vec::with_capacity(SOME);
    for from in (0..numbers.len()).step_by(SOME) {
        some.clear();
        numbers.copy(from, SOME, true, &mut some)?;
        for (row, &code) in (from..).zip(&some) {
            let known = u32::try_from(code).ok().filter(|_| code < values.len as u64);
            codes.push(match known {
                _ if numbers.is_null(row) => NULL,
                Some(code) if code < NULL => code,
                _ => {
                    return Err(invalid(format!("index {row}: the dictionary has no text {code}")));
                }
            });
        }
    }
    Ok(Texts { codes: Some(codes), ..values.into_texts(layout, numbers.owner())? })
}

impl Part {
    /// The texts of the array, which `owner` keeps.
    fn into_texts(self, layout: Layout, owner: Arc<dyn Any + Send + Sync>) -> PyResult<Texts> {
        let Part { len, offset, validity, buffers, n_buffers, .. } = self;
        let needed = if matches!(layout, Layout::Short | Layout::Long) { 3 } else { 2 };
        if n_buffers < needed {
            return Err(invalid("the Arrow data has too few buffers"));
        }
        let texts = Texts { layout, len, offset, validity, buffers, codes: None, _owner: owner };
        if matches!(layout, Layout::View) {
            // Behind the buffers of texts there is one with their sizes.
            for row in (0..len).filter(|row| !texts.is_null(*row)) {
                let [bytes, _, number, from] = texts.view(row).1;
                let parts = i32::try_from(n_buffers.saturating_sub(3)).unwrap_or(i32::MAX);
                if bytes < 0 || bytes > 12 && (from < 0 || !(0..parts).contains(&number)) {
                    return Err(invalid(format!("index {row}: the text lies in no buffer")));
                }
            }
        }
        Ok(texts)
    }
}

/// Memory that a structure of ours keeps until it is released.
struct Kept<T> {
    children: Vec<*mut T>,
    buffers: Vec<*const c_void>,
    name: CString,
    _owner: Option<Arc<dyn Any + Send + Sync>>,
}

macro_rules! release {
    ($name:ident, $structure:ty) => {
        /// # Safety
        ///
        /// As the interface has it: `place` is a structure of ours that is not released.
        unsafe extern "C" fn $name(place: *mut $structure) {
            // SAFETY: the caller says so.
            let structure = unsafe { &mut *place };
            // SAFETY: `private_data` is from `Box::into_raw`, and is taken once.
            let kept = unsafe { Box::from_raw(structure.private_data.cast::<Kept<$structure>>()) };
            for &child in &kept.children {
                // SAFETY: children are from `Box::into_raw`; those that were moved out have
                // no `release`, and dropping them does nothing.
                drop(unsafe { Box::from_raw(child) });
            }
            structure.release = None;
        }
    };
}

release!(release_schema, Schema);
release!(release_chunk, Chunk);

fn schema(format: &'static CStr, name: &CStr, children: Vec<Schema>) -> Schema {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut kept = Box::new(Kept::<Schema> {
        children,
        buffers: Vec::new(),
        name: name.to_owned(),
        _owner: None,
    });
    Schema {
        format: format.as_ptr(),
        name: kept.name.as_ptr(),
        n_children: i64::try_from(kept.children.len()).unwrap_or(0),
        children: kept.children.as_mut_ptr(),
        release: Some(release_schema),
        private_data: Box::into_raw(kept).cast(),
        ..EMPTY_SCHEMA
    }
}

fn chunk(
    len: usize,
    buffers: Vec<*const c_void>,
    children: Vec<Chunk>,
    owner: Option<Arc<dyn Any + Send + Sync>>,
) -> Chunk {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let mut kept =
        Box::new(Kept::<Chunk> { children, buffers, name: CString::default(), _owner: owner });
    Chunk {
        length: i64::try_from(len).unwrap_or(0),
        n_buffers: i64::try_from(kept.buffers.len()).unwrap_or(0),
        buffers: kept.buffers.as_mut_ptr(),
        n_children: i64::try_from(kept.children.len()).unwrap_or(0),
        children: kept.children.as_mut_ptr(),
        release: Some(release_chunk),
        private_data: Box::into_raw(kept).cast(),
        ..EMPTY_CHUNK
    }
}

const fn arrow_format(kind: Kind) -> &'static CStr {
    match kind {
        Kind::U8 => c"C",
        Kind::U16 => c"S",
        Kind::U32 => c"I",
        Kind::U64 => c"L",
        Kind::I8 => c"c",
        Kind::I16 => c"s",
        Kind::I32 => c"i",
        Kind::I64 => c"l",
        Kind::Bool => c"b",
    }
}

/// An array of ours: a pair of capsules.
pub(crate) fn export_array<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyTuple>> {
    let chunk = if array.kind() == Kind::Bool {
        bits_chunk(&array.column())?
    } else {
        let owner: Arc<dyn Any + Send + Sync> = array.memory().clone();
        let start = array.memory().start().cast_const().cast();
        chunk(array.count(), vec![ptr::null(), start], Vec::new(), Some(owner))
    };
    pair(py, arrow_format(array.kind()), chunk)
}

/// The first `len` of these bits, one an answer, as an Arrow array; null where `nulls` are true.
pub(crate) fn export_answers<'py>(
    py: Python<'py>,
    bits: Arc<Vec<u64>>,
    len: usize,
    nulls: Option<&[bool]>,
) -> PyResult<Bound<'py, PyTuple>> {
    assert!(len <= bits.len() * 64, "fewer answers than said");
    assert!(nulls.is_none_or(|nulls| nulls.len() == len), "questions and answers differ in number");
    let valid = nulls.map(|nulls| packed(nulls).map(|nulls| !nulls).collect::<Vec<u8>>());
    let nulls = nulls.map_or(0, |nulls| nulls.iter().filter(|null| **null).count());
    let owner = Arc::new((valid, bits));
    let valid = owner.0.as_ref().map_or(ptr::null(), |valid| valid.as_ptr().cast());
    let buffers = vec![valid, owner.1.as_ptr().cast()];
    let mut chunk = chunk(len, buffers, Vec::new(), Some(owner));
    chunk.null_count = i64::try_from(nulls).unwrap_or(0);
    pair(py, c"b", chunk)
}

fn pair<'py>(
    py: Python<'py>,
    format: &'static CStr,
    chunk: Chunk,
) -> PyResult<Bound<'py, PyTuple>> {
    let schema = schema(format, c"", Vec::new());
    let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
    let chunk = PyCapsule::new_with_value(py, chunk, c"arrow_array")?;
    PyTuple::new(py, [schema.into_any(), chunk.into_any()])
}

/// Truth values that are packed together: they stay in the first-level cache. A multiple of 8.
const BLOCK: usize = 1 << 11;

/// Truth values as bits.
fn bits_chunk(answers: &Column) -> PyResult<Chunk> {
    let len = answers.len();
    let mut bits: Vec<u8> = Vec::with_capacity(len.div_ceil(8));
    let (mut values, mut truths) = (Vec::with_capacity(BLOCK), Vec::with_capacity(BLOCK));
    for from in (0..len).step_by(BLOCK) {
        values.clear();
        answers.copy(from, BLOCK, true, &mut values)?;
        truths.clear();
        truths.extend(values.iter().map(|value| *value != 0));
        bits.extend(packed(&truths));
    }
    let owner = Arc::new(bits);
    let buffers = vec![ptr::null(), owner.as_ptr().cast()];
    Ok(chunk(len, buffers, Vec::new(), Some(owner)))
}

/// A bit for each truth value, the lowest bit of a byte first.
pub(crate) fn packed(truths: &[bool]) -> impl Iterator<Item = u8> {
    truths.chunks(8).map(|eight| {
        let mut bytes = [0; 8];
        bytes[..eight.len()].copy_from_slice(bytemuck::cast_slice(eight));
        // Byte k, 0 or 1, is moved to bit 56 + k; no two products meet at a bit.
        (u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
    })
}

/// Gives the next values, none at the end, or the text of an error.
pub(crate) type NextValues = Box<dyn FnMut() -> Result<Option<Vec<u64>>, String> + Send>;

struct Values {
    next: NextValues,
    /// The name of the column of a table.
    name: Option<CString>,
    error: CString,
}

/// Runs `job` with the interpreter's lock.
///
/// A program in C that takes a stream may have given up the lock behind the back of PyO3, which counts
/// only what it does itself: `attach` would take it for held if this thread called us from Python.
pub(crate) fn locked<T>(job: impl FnOnce(Python<'_>) -> T) -> T {
    // SAFETY: the interpreter runs, because this thread made the stream in it.
    let state = unsafe { ffi::PyGILState_Ensure() };
    let result = Python::attach(job);
    // SAFETY: this thread got the state from the call above, and calls are nested.
    unsafe { ffi::PyGILState_Release(state) };
    result
}

/// A stream of unsigned 64-bit values, in one column of this name or as they are.
pub(crate) fn export_stream<'py>(
    py: Python<'py>,
    name: Option<&str>,
    next: NextValues,
) -> PyResult<Bound<'py, PyCapsule>> {
    let name = name.map(CString::new).transpose().map_err(invalid)?;
    let values = Box::new(Values { next, name, error: CString::default() });
    let stream = Stream {
        get_schema: Some(stream_schema),
        get_next: Some(stream_next),
        get_last_error: Some(stream_last_error),
        release: Some(stream_release),
        private_data: Box::into_raw(values).cast(),
    };
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

/// # Safety
///
/// As the interface has it: `stream` is one of ours that is not released, and nobody else
/// uses it meanwhile.
unsafe fn values_of<'s>(stream: *mut Stream) -> &'s mut Values {
    // SAFETY: the caller says that it is ours.
    let private = unsafe { (*stream).private_data };
    // SAFETY: `export_stream` put it there.
    unsafe { &mut *private.cast::<Values>() }
}

/// # Safety
///
/// As [`values_of`]; `out` is there to be filled.
unsafe extern "C" fn stream_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: as the caller says.
    let values = unsafe { values_of(stream) };
    let filled = match &values.name {
        None => schema(c"L", c"", Vec::new()),
        Some(name) => schema(c"+s", c"", vec![schema(c"L", name, Vec::new())]),
    };
    // SAFETY: as the caller says.
    unsafe { out.write(filled) };
    0
}

/// # Safety
///
/// As [`stream_schema`].
unsafe extern "C" fn stream_next(stream: *mut Stream, out: *mut Chunk) -> c_int {
    /// `EIO` everywhere.
    const FAILED: c_int = 5;
    // SAFETY: as the caller says.
    let values = unsafe { values_of(stream) };
    let filled = match (values.next)() {
        Ok(None) => EMPTY_CHUNK,
        Ok(Some(batch)) => {
            let (len, owner) = (batch.len(), Arc::new(batch));
            let buffers = vec![ptr::null(), owner.as_ptr().cast()];
            let column = chunk(len, buffers, Vec::new(), Some(owner));
            if values.name.is_some() {
                chunk(len, vec![ptr::null()], vec![column], None)
            } else {
                column
            }
        }
        Err(text) => {
            values.error = CString::new(text).unwrap_or_default();
            return FAILED;
        }
    };
    // SAFETY: as the caller says.
    unsafe { out.write(filled) };
    0
}

/// # Safety
///
/// As [`values_of`].
unsafe extern "C" fn stream_last_error(stream: *mut Stream) -> *const c_char {
    // SAFETY: as the caller says.
    unsafe { values_of(stream) }.error.as_ptr()
}

/// # Safety
///
/// As [`values_of`].
unsafe extern "C" fn stream_release(stream: *mut Stream) {
    // SAFETY: as the caller says.
    let structure = unsafe { &mut *stream };
    // SAFETY: `export_stream` put it there, and it is taken once.
    drop(unsafe { Box::from_raw(structure.private_data.cast::<Values>()) });
    structure.release = None;
}
