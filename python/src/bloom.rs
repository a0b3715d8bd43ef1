//! `Bloom`: filters in memory and in files.

use crate::arrow::{Imported, Texts, import};
use crate::buffer::{Column, Refused, each_block, null_rows};
use crate::columns::BLOCK;
use crate::error::{at_index, bytes_object, check_memory, invalid, push, raise, wrong_type};
use crate::numbers::{
    Numbers, column_of_pandas, natural_or_other, number, optional, refuse_masked, shown, signed,
};
use crate::probe::{Answers, Asker};
use crate::source::{folder_of, source_of};
use crate::work::{check, in_pieces, interrupted};
use bitsort::Progress;
use bitsort::bloom::{
    AnyFilter, Design, Filter, FilterFile, FilterKind, Key, Memory, Mismatch, Opened, dcso, guava,
    spark,
};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyRange, PyString, PyTuple};
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

/// A key of Python.
enum PyKey {
    Number(u64),
    Signed(i64),
    Bytes(Vec<u8>),
}

impl Key for PyKey {
    fn with_bytes<R>(&self, visit: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Self::Number(number) => number.with_bytes(visit),
            Self::Signed(number) => number.with_bytes(visit),
            Self::Bytes(bytes) => bytes.with_bytes(visit),
        }
    }
}

/// The key of an object: an int has that of its 8 bytes, text that of its UTF-8.
fn key(object: &Bound<'_, PyAny>) -> PyResult<PyKey> {
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(PyKey::Bytes(text.to_cow()?.as_bytes().to_vec()));
    }
    if object.is_instance_of::<PyBytes>() || object.is_instance_of::<PyByteArray>() {
        return Ok(PyKey::Bytes(object.extract()?));
    }
    let number = natural_or_other(object).map_err(|error| {
        let kind = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        if error.is_instance_of::<pyo3::exceptions::PyTypeError>(object.py()) {
            return wrong_type(format!("a key is a str, bytes or an int, not {kind}"));
        }
        error
    })?;
    let what = match number {
        Ok(number) => return Ok(PyKey::Number(number)),
        Err(what) => what,
    };
    match signed(object)? {
        Some(number) if number < 0 => match number.try_into() {
            Ok(number) => Ok(PyKey::Signed(number)),
            Err(_) => Err(invalid(format!("{} is below -2^63", shown(object)))),
        },
        _ => Err(invalid(format!("{} is {what}", shown(object)))),
    }
}

/// Many keys, in any kind of memory.
enum Keys {
    Texts(Vec<Texts>),
    Numbers(Numbers),
    Objects(Vec<PyKey>),
}

impl Keys {
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source_of(object)?.is_some() || object.is_instance_of::<PyRange>() {
            return Numbers::of(object).map(Self::Numbers);
        }
        refuse_masked(object)?;
        match import(object, None, &Progress::default())? {
            Some(Imported::Texts(texts)) => return Ok(Self::Texts(texts)),
            Some(Imported::Numbers(columns)) => {
                return Ok(Self::Numbers(Numbers::Columns(columns)));
            }
            Some(Imported::Nulls(len)) => return Numbers::of_nulls(len).map(Self::Numbers),
            None => {}
        }
        let is_key = object.is_instance_of::<PyString>()
            || object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>();
        if is_key {
            return Err(wrong_type("one key is no collection of keys: use add, or a list"));
        }
        if let Ok(Some(column)) = Column::of_buffer(object) {
            return Ok(Self::Numbers(Numbers::Columns(vec![column])));
        }
        if let Some(column) = column_of_pandas(object)? {
            return Ok(Self::Numbers(Numbers::Columns(vec![column])));
        }
        let mut keys = Vec::new();
        for (index, object) in object.try_iter()?.enumerate() {
            let object = object?;
            if index % BLOCK == 0 {
                check(object.py(), &Progress::default())?; // an iterator of C does not do it
            }
            let key = key(&object).map_err(|error| at_index(object.py(), index, error))?;
            push(&mut keys, key)?;
        }
        Ok(Self::Objects(keys))
    }

    fn len(&self) -> usize {
        match self {
            Self::Texts(texts) => texts.iter().map(Texts::len).sum(),
            Self::Numbers(numbers) => usize::try_from(numbers.len()).unwrap_or(usize::MAX),
            Self::Objects(keys) => keys.len(),
        }
    }

    /// Calls `visit` with the keys, a block at a time; with any key for a null.
    fn each(&self, visit: &mut impl Visit) -> PyResult<()> {
        match self {
            Self::Objects(keys) => keys.chunks(BLOCK).try_for_each(|keys| visit.keys(keys)),
            Self::Numbers(Numbers::Columns(columns)) => {
                each_block(columns, BLOCK, true, |values| visit.keys(values))
            }
            Self::Numbers(numbers) => numbers.each(|values| visit.keys(values)),
            Self::Texts(texts) => {
                for part in texts {
                    for from in (0..part.len()).step_by(BLOCK) {
                        let rows = from..part.len().min(from + BLOCK);
                        let keys: Vec<&[u8]> = rows.map(|row| part.get(row)).collect();
                        visit.keys(&keys)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Which keys are null; none if no key is.
    fn nulls(&self) -> Option<Vec<bool>> {
        match self {
            Self::Numbers(Numbers::Columns(columns)) => null_rows(columns),
            Self::Texts(texts) => {
                let rows =
                    texts.iter().flat_map(|part| (0..part.len()).map(|row| part.is_null(row)));
                let nulls: Vec<bool> = rows.collect();
                nulls.contains(&true).then_some(nulls)
            }
            _ => None,
        }
    }
}

/// Work on keys of any type.
trait Visit {
    fn keys<K: Key>(&mut self, keys: &[K]) -> PyResult<()>;
}

struct Adding<'f> {
    filter: &'f mut AnyFilter,
    progress: &'f Progress,
    new: u64,
}

impl Visit for Adding<'_> {
    fn keys<K: Key>(&mut self, keys: &[K]) -> PyResult<()> {
        interrupted(self.progress)?;
        self.new += self.filter.insert_many(keys);
        Ok(())
    }
}

struct Asking<'f> {
    filter: &'f State,
    progress: &'f Progress,
    found: Vec<bool>,
}

impl Visit for Asking<'_> {
    fn keys<K: Key>(&mut self, keys: &[K]) -> PyResult<()> {
        interrupted(self.progress)?;
        let mut found = Vec::new();
        match self.filter {
            State::Memory(file) => file.filter.contains_many(keys, &mut found),
            State::Opened(file, ..) => file.filter.contains_many(keys, &mut found),
        }
        self.found.extend(found);
        Ok(())
    }
}

/// The filter, in memory or in a file.
enum State {
    Memory(FilterFile<Memory>),
    /// A file that was opened, its name, and where it was opened, as [`folder_of`] says.
    Opened(FilterFile<Opened>, PathBuf, PathBuf),
}

/// Evaluates an expression with the filter inside.
macro_rules! with {
    ($state:expr, $filter:ident => $body:expr) => {
        match $state {
            State::Memory(FilterFile { filter: $filter, .. }) => $body,
            State::Opened(FilterFile { filter: $filter, .. }, ..) => $body,
        }
    };
}

/// A Bloom filter: "no" is certain, "yes" is wrong at a known rate.
///
/// A key is a str (its UTF-8 bytes), bytes, or an int (its 8 bytes). So 5 is the same key in a list
/// and in an array of any width. A negative int has the bytes of a long of Java. Arrays must not have
/// negative numbers. The size
/// of a filter follows from a number of keys and a rate of false positives, or from a number of bits
/// for each key, or from bits and hashes. Designs are "standard", "blocked" (one cache line a key)
/// and "counting" (keys can be removed).
///
/// >>> import bitsort
/// >>> seen = bitsort.Bloom(1000, 0.01)
/// >>> seen.add("fox")
/// True
/// >>> "fox" in seen, "dog" in seen, seen.contains_many(["fox", "dog"])
/// (True, False, [True, False])
#[pyclass(frozen, module = "bitsort", weakref)]
pub(crate) struct Bloom {
    state: RwLock<State>,
}

/// The size of a filter, as a caller describes it.
#[derive(Default)]
struct Wish {
    keys: Option<u64>,
    rate: Option<f64>,
    bits: Option<u64>,
    bits_per_key: Option<f64>,
    hashes: Option<u32>,
    counter_bits: Option<u32>,
    seed: u64,
}

impl Wish {
    fn build<D: Design>(&self) -> PyResult<Filter<D>> {
        let mut builder = Filter::<D>::builder().seed(self.seed);
        if let Some(keys) = self.keys {
            builder = builder.keys(keys);
        }
        if let Some(rate) = self.rate {
            builder = builder.rate(rate);
        }
        if let Some(bits) = self.bits {
            builder = builder.bits(bits);
        }
        if let Some(bits) = self.bits_per_key {
            builder = builder.bits_per_key(bits);
        }
        if let Some(hashes) = self.hashes {
            builder = builder.hashes(hashes);
        }
        if let Some(bits) = self.counter_bits {
            builder = builder.counter_bits(bits);
        }
        builder.build().map_err(|error| raise(error.into()))
    }
}

fn kind_of(name: &str) -> PyResult<FilterKind> {
    let found = FilterKind::ALL.into_iter().find(|kind| kind.name() == name);
    found.ok_or_else(|| invalid(format!("{name} is no kind of filter files")))
}

fn spark_seed(seed: &Bound<'_, PyAny>) -> PyResult<i32> {
    let number = signed(seed)?.ok_or_else(|| wrong_type("a seed is an int"))?;
    i32::try_from(number).map_err(|_| invalid(format!("a seed of Spark has 32 bits, not {number}")))
}

impl Bloom {
    fn with(state: State) -> Self {
        Self { state: RwLock::new(state) }
    }

    fn of(filter: AnyFilter, kind: FilterKind) -> Self {
        Self::with(State::Memory(FilterFile::new(filter, kind)))
    }

    /// Reads the filter without the interpreter's lock; another thread may change the filter
    /// meanwhile. Fails if its file was cut.
    fn look<T: Send>(&self, py: Python<'_>, look: impl FnOnce(&State) -> T + Send) -> PyResult<T> {
        py.detach(|| self.seen(look))
    }

    /// The same for what becomes another file: the checksums of the file are compared first.
    fn look_whole<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&State) -> T + Send,
    ) -> PyResult<T> {
        let seen = self.look(py, |state| {
            if let State::Opened(file, path, _) = state {
                file.filter.verify(path)?;
            }
            Ok(look(state))
        })?;
        seen.map_err(raise)
    }

    fn seen<T>(&self, look: impl FnOnce(&State) -> T) -> PyResult<T> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let seen = look(&state);
        if let State::Opened(file, path, _) = &*state {
            file.filter.intact(path).map_err(raise)?;
        }
        Ok(seen)
    }

    /// Changes the filter, which takes about the time of so many `keys`.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        keys: usize,
        change: impl FnOnce(&mut AnyFilter, &Progress) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        in_pieces(py, keys as u64, |progress| {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            match &mut *state {
                State::Memory(file) => change(&mut file.filter, progress),
                State::Opened(..) => {
                    Err(invalid("a filter that was opened does not change: use Bloom.load"))
                }
            }
        })
    }

    /// Joins another filter to this one.
    fn join(
        slf: &Bound<'_, Self>,
        other: &Bound<'_, Self>,
        join: impl FnOnce(&mut AnyFilter, &AnyFilter) -> Result<(), Mismatch> + Send,
    ) -> PyResult<()> {
        // Copy it: two filters that are joined to each other at the same time would wait forever.
        let copy =
            other.get().look_whole(slf.py(), |state| with!(state, filter => filter.to_memory()))?;
        let copy = copy.map_err(|error| raise(error.into()))?;
        slf.get().change(slf.py(), 0, |filter, _| join(filter, &copy).map_err(invalid))
    }
}

#[pymethods]
impl Bloom {
    #[new]
    #[pyo3(signature = (
        keys=None, rate=None, *, design="standard", bits=None, bits_per_key=None, hashes=None,
        counter_bits=None, seed=0
    ))]
    #[expect(clippy::too_many_arguments, reason = "each has a name where it is called")]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = optional)] keys: Option<u64>,
        rate: Option<f64>,
        design: &str,
        #[pyo3(from_py_with = optional)] bits: Option<u64>,
        bits_per_key: Option<f64>,
        #[pyo3(from_py_with = optional)] hashes: Option<u32>,
        #[pyo3(from_py_with = optional)] counter_bits: Option<u32>,
        #[pyo3(from_py_with = number)] seed: u64,
    ) -> PyResult<Self> {
        let wish = Wish { keys, rate, bits, bits_per_key, hashes, counter_bits, seed };
        let filter = py.detach(|| {
            Ok(match design {
                "standard" => AnyFilter::Standard(wish.build()?),
                "blocked" => AnyFilter::Blocked(wish.build()?),
                "counting" => AnyFilter::Counting(wish.build()?),
                other => return Err(invalid(format!("{other} is no design of filters"))),
            })
        })?;
        Ok(Self::of(filter, FilterKind::Bloom))
    }

    /// The filter of Guava's `BloomFilter.create`; with `mitz_32`, with its older hash function.
    ///
    /// >>> import bitsort
    /// >>> bitsort.Bloom.guava(1000, 0.01)
    /// <bitsort.Bloom, standard: 0 keys in 1216 bytes>
    #[staticmethod]
    #[pyo3(signature = (keys, rate=guava::DEFAULT_RATE, *, mitz_32=false))]
    fn guava(#[pyo3(from_py_with = number)] keys: u64, rate: f64, mitz_32: bool) -> PyResult<Self> {
        let options = guava::Options { mitz_32, ..guava::Options::default() };
        let filter = guava::filter(keys, rate, options).map_err(|error| raise(error.into()))?;
        Ok(Self::of(AnyFilter::Standard(filter), FilterKind::Guava))
    }

    /// The filter of DCSO's `bloom create`.
    ///
    /// >>> import bitsort
    /// >>> bitsort.Bloom.dcso(1000, 0.01).info()["kind"]
    /// 'dcso'
    #[staticmethod]
    fn dcso(#[pyo3(from_py_with = number)] keys: u64, rate: f64) -> PyResult<Self> {
        let filter = dcso::filter(keys, rate).map_err(|error| raise(error.into()))?;
        Ok(Self::of(AnyFilter::Standard(filter), FilterKind::Dcso))
    }

    /// The filter of Spark's `BloomFilter.create`, from Spark 4.1 on.
    ///
    /// >>> import bitsort
    /// >>> bitsort.Bloom.spark(1000, 0.01).info()["kind"]
    /// 'spark'
    #[staticmethod]
    #[pyo3(signature = (keys, rate=spark::DEFAULT_RATE, *, seed=0))]
    fn spark(
        #[pyo3(from_py_with = number)] keys: u64,
        rate: f64,
        #[pyo3(from_py_with = spark_seed)] seed: i32,
    ) -> PyResult<Self> {
        let filter = spark::filter(keys, rate, seed).map_err(|error| raise(error.into()))?;
        Ok(Self::of(AnyFilter::Standard(filter), FilterKind::Spark))
    }

    /// Opens a filter file for questions. It maps a `.bloom` file, and reads a file of Guava, of
    /// DCSO's `bloom` or of Spark. The content shows the kind.
    ///
    /// >>> import bitsort, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "seen.bloom")
    /// >>> bitsort.Bloom(1000, 0.01).save(path)
    /// >>> "fox" in bitsort.Bloom.open(path)
    /// False
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let folder = folder_of(&path)?;
        py.detach(|| FilterFile::open(&path))
            .map(|file| Self::with(State::Opened(file, path, folder)))
            .map_err(raise)
    }

    /// Reads a filter file of any kind into memory, where the filter can be changed.
    ///
    /// >>> import bitsort, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "seen.bloom")
    /// >>> bitsort.Bloom(1000, 0.01).save(path)
    /// >>> seen = bitsort.Bloom.load(path)
    /// >>> seen.add("fox")
    /// True
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| FilterFile::load(path))
            .map(|file| Self::with(State::Memory(file)))
            .map_err(raise)
    }

    /// Writes the filter as a file of this kind, whole or not at all: "bloom", "guava", "dcso" or
    /// "spark". The default is the kind of its own file.
    ///
    /// >>> import bitsort, tempfile, os
    /// >>> path = os.path.join(tempfile.mkdtemp(), "seen.bloom")
    /// >>> bitsort.Bloom(1000, 0.01).save(path)
    /// >>> os.path.getsize(path) > 1000
    /// True
    #[pyo3(signature = (path, *, kind=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, kind: Option<&str>) -> PyResult<()> {
        let kind = kind.map(kind_of).transpose()?;
        self.look_whole(py, |state| match state {
            State::Memory(file) => file.save(path, kind.unwrap_or(file.kind())),
            State::Opened(file, ..) => file.save(path, kind.unwrap_or(file.kind())),
        })?
        .map_err(raise)
    }

    /// The bytes of a file of this kind, as `save` writes it.
    ///
    /// >>> import bitsort
    /// >>> seen = bitsort.Bloom(1000, 0.01)
    /// >>> seen.add("fox")
    /// True
    /// >>> "fox" in bitsort.Bloom.deserialize(seen.serialize())
    /// True
    #[pyo3(signature = (kind=None))]
    fn serialize<'py>(&self, py: Python<'py>, kind: Option<&str>) -> PyResult<Bound<'py, PyBytes>> {
        let kind = kind.map(kind_of).transpose()?;
        let bytes = self.look_whole(py, |state| match state {
            State::Memory(file) => file.to_bytes(kind.unwrap_or(file.kind())),
            State::Opened(file, ..) => file.to_bytes(kind.unwrap_or(file.kind())),
        })?;
        bytes_object(py, &bytes.map_err(raise)?)
    }

    /// The filter in the bytes of a file of any kind. `kind` is the kind of file that `save` then
    /// writes by default, if it is another one.
    ///
    /// >>> import bitsort
    /// >>> bitsort.Bloom.deserialize(bitsort.Bloom.spark(1000).serialize()).info()["kind"]
    /// 'spark'
    #[staticmethod]
    #[pyo3(signature = (data, kind=None))]
    fn deserialize(data: &Bound<'_, PyAny>, kind: Option<&str>) -> PyResult<Self> {
        let kind = kind.map(kind_of).transpose()?;
        let bytes = PyBuffer::<u8>::get(data)?.to_vec(data.py())?;
        let read = data.py().detach(|| FilterFile::from_bytes(&bytes)).map_err(raise)?;
        Ok(match kind.filter(|kind| *kind != read.kind()) {
            Some(kind) => Self::of(read.filter, kind),
            None => Self::with(State::Memory(read)),
        })
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        self.copy(py)
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.copy(memo.py()) // nothing in a filter refers to other objects
    }

    /// Pickle keeps the name of an opened file, and the bytes of other filters. Files of Guava and
    /// Spark lack facts that a `.bloom` file has; a file of DCSO has more.
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (py, class) = (slf.py(), slf.get_type());
        let found = slf.get().look(py, |state| match state {
            State::Memory(file) => Ok(file.kind()),
            State::Opened(_, path, folder) => Err(folder.join(path)),
        })?;
        match found {
            Err(path) => Ok((class.getattr("open")?, (path,).into_pyobject(py)?)),
            Ok(kind) => {
                let file = if kind == FilterKind::Dcso { kind } else { FilterKind::Bloom };
                let bytes = slf.get().serialize(py, Some(file.name()))?;
                Ok((class.getattr("deserialize")?, (bytes, kind.name()).into_pyobject(py)?))
            }
        }
    }

    /// Adds a key; returns whether it is new.
    ///
    /// >>> import bitsort
    /// >>> seen = bitsort.Bloom(1000, 0.01)
    /// >>> seen.add("fox"), seen.add("fox")
    /// (True, False)
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self::key(key)?;
        self.change(py, 1, |filter, _| Ok(filter.insert(&key)))
    }

    /// Adds many keys: a numpy array, Arrow numbers or texts, a set, or any iterable of str, bytes
    /// and int; a null is refused. Returns how many were new.
    ///
    /// >>> import bitsort
    /// >>> bitsort.Bloom(1000, 0.01).add_many(["fox", "dog", "fox"])
    /// 2
    fn add_many(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<u64> {
        let keys = Keys::of(keys)?;
        if let Some(row) = keys.nulls().and_then(|nulls| nulls.iter().position(|null| *null)) {
            return Err(Refused::Null(row).into());
        }
        self.change(py, keys.len(), |filter, progress| {
            // All are looked at before the filter changes: a negative number is refused.
            if let Keys::Numbers(Numbers::Columns(columns)) = &keys
                && columns.iter().any(Column::is_signed)
            {
                each_block(columns, BLOCK, true, |_| interrupted(progress))?;
            }
            let mut adding = Adding { filter, progress, new: 0 };
            keys.each(&mut adding)?;
            Ok(adding.new)
        })
    }

    /// Does the same as `add_many` without returning a number; `set` has this name.
    ///
    /// >>> import bitsort
    /// >>> seen = bitsort.Bloom(1000, 0.01)
    /// >>> seen.update(["fox", "dog"])
    /// >>> "dog" in seen
    /// True
    fn update(&self, py: Python<'_>, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        self.add_many(py, keys).map(drop)
    }

    /// Removes a key from a counting filter; returns whether it was there.
    ///
    /// >>> import bitsort
    /// >>> seen = bitsort.Bloom(1000, 0.01, design="counting")
    /// >>> seen.add("fox"), seen.remove("fox"), "fox" in seen
    /// (True, True, False)
    fn remove(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self::key(key)?;
        self.change(py, 1, |filter, _| match filter {
            AnyFilter::Counting(filter) => Ok(filter.remove(&key)),
            other => Err(invalid(format!("keys of a {} filter are never removed", other.design()))),
        })
    }

    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self::key(key)?;
        self.look(py, |state| with!(state, filter => filter.contains(&key)))
    }

    /// Which of `keys` may be in the filter; see `add_many` for keys, and
    /// `AbstractBitSet.contains_many` for answers.
    ///
    /// >>> import bitsort
    /// >>> seen = bitsort.Bloom(1000, 0.01)
    /// >>> seen.update(["fox", "dog"])
    /// >>> seen.contains_many(["fox", "cat"])
    /// [True, False]
    fn contains_many<'py>(
        &self,
        py: Python<'py>,
        keys: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (asker, given) = (Asker::of(keys)?, keys);
        let keys = Keys::of(&asker.with_nulls(keys)?)?;
        let len = keys.len();
        check_memory(len as u64)?;
        let mut found = in_pieces(py, len as u64, |progress| {
            self.seen(|filter| {
                let mut asking = Asking { filter, progress, found: Vec::with_capacity(len) };
                keys.each(&mut asking).map(|()| asking.found)
            })?
        })?;
        let nulls = keys.nulls();
        if let Some(nulls) = &nulls {
            found.iter_mut().zip(nulls).for_each(|(found, null)| *found &= !null);
        }
        asker.tell(given, Answers::of(asker.form(), &found)?, nulls)
    }

    /// Adds all keys of another filter of the same size, hash function and seed.
    ///
    /// >>> import bitsort
    /// >>> seen, others = bitsort.Bloom(1000, 0.01), bitsort.Bloom(1000, 0.01)
    /// >>> others.update(["dog"])
    /// >>> seen.merge(others)
    /// >>> "dog" in seen
    /// True
    fn merge(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        Self::join(slf, other, AnyFilter::union_assign)
    }

    /// Keeps the keys that the other filter has too, and maybe some others.
    ///
    /// >>> import bitsort
    /// >>> seen, others = bitsort.Bloom(1000, 0.01), bitsort.Bloom(1000, 0.01)
    /// >>> seen.update(["fox", "dog"])
    /// >>> others.update(["dog"])
    /// >>> seen.intersect(others)
    /// >>> "dog" in seen, "fox" in seen
    /// (True, False)
    fn intersect(slf: &Bound<'_, Self>, other: &Bound<'_, Self>) -> PyResult<()> {
        Self::join(slf, other, AnyFilter::intersection_assign)
    }

    /// A copy that can be changed.
    ///
    /// >>> import bitsort
    /// >>> seen = bitsort.Bloom(1000, 0.01)
    /// >>> copy = seen.copy()
    /// >>> copy.add("fox"), "fox" in seen
    /// (True, False)
    fn copy(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = self.look_whole(py, |state| with!(state, filter => filter.to_memory()))?;
        let kind = self.look(py, |state| match state {
            State::Memory(file) => file.kind(),
            State::Opened(file, ..) => file.kind(),
        })?;
        copy.map(|filter| Self::of(filter, kind)).map_err(|error| raise(error.into()))
    }

    /// Facts: design, kind, cells, cell_bits, hashes, hash, seed, bytes, keys, fill,
    /// estimated_keys, expected_rate, and the keys and the rate it was made for.
    ///
    /// >>> import bitsort
    /// >>> facts = bitsort.Bloom(1000, 0.01).info()
    /// >>> facts["design"], facts["hashes"], facts["for_keys"]
    /// ('standard', 7, 1000)
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let facts = PyDict::new(py);
        let (design, spec, goal, bytes, keys, full, estimated, rate) = self.look(py, |state| {
            with!(state, filter => (
                filter.design(), filter.spec(), filter.goal(), filter.size_bytes(),
                filter.key_count(), filter.fill_ratio(), filter.estimated_keys(),
                filter.expected_rate()
            ))
        })?;
        let kind = self.look(py, |state| match state {
            State::Memory(file) => file.kind(),
            State::Opened(file, ..) => file.kind(),
        })?;
        facts.set_item("design", design)?;
        facts.set_item("kind", kind.name())?;
        facts.set_item("cells", spec.cells())?;
        facts.set_item("cell_bits", spec.cell_bits())?;
        facts.set_item("hashes", spec.hashes())?;
        facts.set_item("hash", spec.scheme().name())?;
        facts.set_item("seed", spec.scheme().seed())?;
        facts.set_item("bytes", bytes)?;
        facts.set_item("keys", keys)?;
        facts.set_item("fill", full)?;
        facts.set_item("estimated_keys", estimated)?;
        facts.set_item("expected_rate", rate)?;
        facts.set_item("for_keys", goal.map(|goal| goal.keys))?;
        facts.set_item("for_rate", goal.map(|goal| goal.rate))?;
        Ok(facts)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (design, bytes, keys) = self.look(py, |state| {
            with!(state, filter => (filter.design(), filter.size_bytes(), filter.key_count()))
        })?;
        Ok(format!("<bitsort.Bloom, {design}: {keys} keys in {bytes} bytes>"))
    }
}
