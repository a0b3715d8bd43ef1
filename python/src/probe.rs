//! Many values asked for at once, and answers of the same kind.

use crate::arrow::{export_answers, packed};
use crate::buffer::{Array, Block, Kind, blocks, null_rows};
use crate::error::{check_memory, raise};
use crate::numbers::{Numbers, descends, nulls_of_pandas};
use crate::source::{Source, source_of};
use crate::work::{FEW, in_threads, watched};
use bitsort::Progress;
use bitsort::set::{AsSet, Prober, SetView};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMemoryView, PyRange, PyTuple};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Most values that a thread asks a set for at once. A set answers many values several times faster.
const BLOCK: usize = 1 << 24;
/// Most values that all threads ask for at once. Each value takes up to 18 bytes while they do.
const MOST: usize = 1 << 25;
/// Fewer values are not worth a thread of their own, nor memory that is kept for the next ones.
const LEAST: usize = 1 << 18;
const MAX_THREADS: usize = 16;

/// The library that gave the questions, and gets the answers.
pub(crate) enum Asker {
    Numpy,
    /// The module that reads Arrow data.
    Arrow(String),
    Buffer,
    Other,
    /// A range that descends: its numbers are taken from the smallest to the largest.
    Descending,
}

/// The library of an object: the one that has its class, or a class above it; the name of its own
/// module for others.
fn library_of(values: &Bound<'_, PyAny>) -> PyResult<String> {
    let mut libraries = Vec::new();
    for class in values.get_type().mro() {
        let module: String = class.getattr("__module__")?.extract()?;
        libraries.push(module.split('.').next().unwrap_or_default().to_owned());
    }
    let known = ["numpy", "pyarrow", "polars", "pandas"];
    let found = libraries.iter().find(|library| known.contains(&library.as_str()));
    Ok(found.or(libraries.first()).cloned().unwrap_or_default())
}

impl Asker {
    pub(crate) fn of(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        if descends(values)? {
            return Ok(Self::Descending);
        }
        if source_of(values)?.is_some() || values.is_instance_of::<PyRange>() {
            return Ok(Self::Other);
        }
        if values.is_instance_of::<Array>() {
            return Ok(Self::Buffer);
        }
        let library = library_of(values)?;
        Ok(match library.as_str() {
            "numpy" => Self::Numpy,
            "pyarrow" | "polars" | "pandas" => Self::Arrow(library),
            _ if values.hasattr("__arrow_c_stream__")?
                || values.hasattr("__arrow_c_array__")? =>
            {
                Self::Arrow(library)
            }
            _ if values.is_instance_of::<PyList>() || values.is_instance_of::<PyTuple>() => {
                Self::Other
            }
            _ if PyMemoryView::from(values).is_ok() => Self::Buffer,
            _ => Self::Other,
        })
    }

    /// How it gets the answers.
    pub(crate) fn form(&self) -> Form {
        match self {
            Self::Arrow(library) if library != "pandas" => Form::Bits,
            _ => Form::Bytes,
        }
    }

    /// Answers to what `values` asked, null where `nulls` are true.
    pub(crate) fn tell<'py>(
        &self,
        values: &Bound<'py, PyAny>,
        answers: Answers,
        nulls: Option<Vec<bool>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = values.py();
        let Answers { form, words, len } = answers;
        if form == Form::Bits {
            let answers = ArrowAnswers { bits: Arc::new(words), len, nulls };
            let answers = Bound::new(py, answers)?.into_any();
            return match self {
                Self::Arrow(library) if library == "pyarrow" => {
                    py.import("pyarrow")?.call_method1("array", (answers,))
                }
                Self::Arrow(library) if library == "polars" => {
                    py.import("polars")?.call_method1("Series", (answers,))
                }
                _ => Ok(answers),
            };
        }
        if let Self::Other | Self::Descending = self {
            let answers = bytemuck::cast_slice(&words)[..len].iter().map(|byte: &u8| *byte != 0);
            return Ok(match self {
                Self::Descending => PyList::new(py, answers.rev()),
                _ => PyList::new(py, answers),
            }?
            .into_any());
        }
        let array = Bound::new(py, Array::new(Kind::Bool, len, words))?.into_any();
        if let Self::Buffer = self {
            return Ok(PyMemoryView::from(&array)?.into_any());
        }
        let array = py.import("numpy")?.call_method1("asarray", (array,))?;
        match self {
            Self::Arrow(_) => pandas(values, &array, nulls.is_some()),
            _ => Ok(array),
        }
    }
}

/// Answers to what `values` of pandas asked; null where it is null. Those to a Series have its index.
/// Those to an Index or an array have none, which would name other rows.
fn pandas<'py>(
    values: &Bound<'py, PyAny>,
    answers: &Bound<'py, PyAny>,
    has_nulls: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let pandas = values.py().import("pandas")?;
    let index = match values.getattr_opt("index")? {
        Some(index) if values.is_instance(&pandas.getattr("Series")?)? => Some(index),
        _ => None,
    };
    if index.is_none() && !has_nulls {
        return Ok(answers.clone());
    }
    let has_index = index.is_some();
    let series = pandas.call_method1("Series", (answers, index))?;
    if !has_nulls {
        return Ok(series);
    }
    // By place: an index may have any labels. A table of one column has nulls in two dimensions.
    let nulls =
        values.py().import("numpy")?.call_method1("ravel", (values.call_method0("isna")?,))?;
    let series = series.call_method1("astype", ("boolean",))?.call_method1("mask", (nulls,))?;
    if has_index { Ok(series) } else { series.getattr("array") }
}

/// How answers lie in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A byte each, 0 or 1.
    Bytes,
    /// A bit each, the lowest bit of a byte first, as Arrow has them.
    Bits,
}

/// Answers in memory.
pub(crate) struct Answers {
    form: Form,
    words: Vec<u64>,
    len: usize,
}

impl Answers {
    /// So many answers, all no.
    fn new(form: Form, len: usize) -> PyResult<Self> {
        let words = form.bytes(len).div_ceil(8);
        check_memory((words as u64).saturating_mul(8))?;
        Ok(Self { form, words: vec![0; words], len })
    }

    pub(crate) fn of(form: Form, answers: &[bool]) -> PyResult<Self> {
        let mut all = Self::new(form, answers.len())?;
        form.put(answers, all.bytes_mut());
        Ok(all)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.form.bytes(self.len)]
    }
}

impl Form {
    /// Bytes of so many answers.
    fn bytes(self, answers: usize) -> usize {
        match self {
            Self::Bytes => answers,
            Self::Bits => answers.div_ceil(8),
        }
    }

    /// Writes answers into `to`, which has the bytes of so many.
    fn put(self, answers: &[bool], to: &mut [u8]) {
        match self {
            Self::Bytes => to.copy_from_slice(bytemuck::cast_slice(answers)),
            Self::Bits => to.iter_mut().zip(packed(answers)).for_each(|(to, byte)| *to = byte),
        }
    }
}

/// Answers to Arrow data of a library that is not known: truth values, null where the question
/// was, for whatever reads Arrow arrays.
#[pyclass(frozen, module = "bitsort")]
pub(crate) struct ArrowAnswers {
    bits: Arc<Vec<u64>>,
    len: usize,
    nulls: Option<Vec<bool>>,
}

#[pymethods]
impl ArrowAnswers {
    /// The Arrow array: a pair of capsules.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let _ = requested_schema; // the protocol lets us give the type that there is
        export_answers(py, Arc::clone(&self.bits), self.len, self.nulls.as_deref())
    }

    fn __len__(&self) -> usize {
        self.len
    }
}

impl Asker {
    /// The values with their nulls. What pandas has without a stream of Arrow becomes a Series, or
    /// from version 2.2 to 3 a table, whose nulls Arrow has, if there are nulls.
    pub(crate) fn with_nulls<'py>(
        &self,
        values: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        const STREAM: &str = "__arrow_c_stream__";
        let is_of_pandas = matches!(self, Self::Arrow(library) if library == "pandas");
        if !is_of_pandas || values.hasattr(STREAM)? || nulls_of_pandas(values)?.is_none() {
            return Ok(values.clone());
        }
        let pandas = values.py().import("pandas")?;
        let series = pandas.call_method1("Series", (values,))?;
        if series.hasattr(STREAM)? {
            return Ok(series);
        }
        // Without its index, which would be a second column.
        let series = pandas.call_method1("Series", (series.getattr("array")?,))?;
        let frame = series.call_method1("to_frame", ("values",))?;
        Ok(if frame.hasattr(STREAM)? { frame } else { values.clone() })
    }
}

/// Which of `values` are in the set.
pub(crate) fn contains_many<'py>(
    py: Python<'py>,
    source: &Source,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let asker = Asker::of(values)?;
    let numbers = Numbers::of(&asker.with_nulls(values)?)?;
    let progress = Arc::new(Progress::default());
    let ask = || answers(source, &numbers, &progress, &asker);
    let found =
        if numbers.len() > FEW { watched(py, &progress, None, ask)? } else { py.detach(ask)? };
    let nulls = match &numbers {
        Numbers::Columns(columns) => null_rows(columns),
        _ => None,
    };
    asker.tell(values, found, nulls)
}

/// Questions that are asked together.
enum Questions<'a> {
    Listed(&'a [u64]),
    Rows(Block<'a>),
}

/// What a thread needs for each of its blocks.
#[derive(Default)]
struct Scratch<'s> {
    values: Vec<u64>,
    answers: Vec<bool>,
    prober: Option<Prober<'s>>,
}

/// A set that is asked, until the progress is cancelled.
struct Asking<'s> {
    source: &'s Source,
    view: SetView<'s>,
    progress: &'s Progress,
}

impl<'s> Asking<'s> {
    /// For about `count` values in all, in several threads.
    fn prober(&self, count: usize, threads: usize) -> PyResult<Prober<'s>> {
        let set = self.source.as_set();
        let prober = Prober::for_many(self.view, count, threads);
        self.source.after(prober.map_err(|damage| raise(set.damaged(damage))))
    }

    fn ask(
        &self,
        values: &[u64],
        answers: &mut Vec<bool>,
        prober: &mut Option<Prober<'s>>,
    ) -> PyResult<()> {
        self.source.check()?;
        crate::work::interrupted(self.progress)?;
        answers.resize(values.len(), false);
        let asked = match prober {
            _ if values.len() < LEAST => self.view.contains_many(values, answers),
            Some(prober) => prober.contains_many(values, answers),
            None => Prober::new(self.view)
                .and_then(|new| prober.insert(new).contains_many(values, answers)),
        };
        let set = self.source.as_set();
        self.source.after(asked.map_err(|damage| raise(set.damaged(damage))))
    }
}

fn answers(
    source: &Source,
    numbers: &Numbers,
    progress: &Progress,
    asker: &Asker,
) -> PyResult<Answers> {
    let len = usize::try_from(numbers.len()).unwrap_or(usize::MAX);
    let form = asker.form();
    let mut found = Answers::new(form, len)?;
    let threads = available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let asking = Asking { source, view: source.as_set().view(), progress };
    let prober = if len < LEAST { None } else { Some(asking.prober(len, threads)?) };
    let best = prober.as_ref().map_or(BLOCK, |prober| prober.best_batch().min(BLOCK));
    let block = best.min(MOST / threads).min(len.div_ceil(threads)).max(LEAST);
    let block = block.next_multiple_of(8); // so that no two blocks share a byte
    let mut rest = found.bytes_mut();
    let mut take = |count: usize| rest.split_off_mut(..form.bytes(count)).unwrap_or_default();
    let mut questions = Vec::new();
    match numbers {
        Numbers::Columns(columns) => {
            for rows in blocks(columns, block) {
                let to = take(rows.len());
                questions.push((Questions::Rows(rows), to));
            }
        }
        Numbers::Values(values) => questions.extend(
            values.chunks(block).map(|values| (Questions::Listed(values), take(values.len()))),
        ),
        other => {
            let mut answers = Vec::new();
            other.each(|values| {
                asking.ask(values, &mut answers, &mut None)?;
                form.put(&answers, take(values.len()));
                Ok(())
            })?;
        }
    }
    let threads = threads.min(questions.len());
    let scratch = || Scratch { prober: prober.clone(), ..Scratch::default() };
    in_threads(threads, questions, scratch, |scratch, (questions, to)| {
        let Scratch { values, answers, prober } = scratch;
        match questions {
            Questions::Listed(values) => asking.ask(values, answers, prober)?,
            Questions::Rows(rows) => {
                let null_is_allowed = matches!(asker, Asker::Arrow(_));
                rows.copy(null_is_allowed, values)?;
                asking.ask(values, answers, prober)?;
                if let Some(nulls) = rows.nulls() {
                    answers.iter_mut().zip(nulls).for_each(|(answer, null)| *answer &= !null);
                }
            }
        }
        form.put(answers, to);
        Ok(())
    })?;
    Ok(found)
}
