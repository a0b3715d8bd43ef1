//! Many values asked for at once, and answers of the same kind.

use crate::arrow::export_answers;
use crate::buffer::{Array, Column, Rows, blocks};
use crate::error::raise;
use crate::numbers::Numbers;
use crate::source::{Source, source_of};
use crate::work::{FEW, in_threads, watched};
use bitsort::Progress;
use bitsort::set::AsSet;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyMemoryView, PyRange, PyTuple};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;

/// Most values that a thread asks a set for at once. A set answers many values several times faster.
const BLOCK: usize = 1 << 24;
/// Most values that all threads ask for at once. Each value takes up to 17 bytes while they do.
const MOST: usize = 1 << 25;
/// Fewer values are not worth a thread of their own.
const LEAST: usize = 1 << 18;
const MAX_THREADS: usize = 16;

/// The library that gave the questions, and gets the answers.
pub(crate) enum Asker {
    Numpy,
    /// The module that reads Arrow data.
    Arrow(String),
    Buffer,
    Other,
}

impl Asker {
    pub(crate) fn of(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        if source_of(values)?.is_some() || values.is_instance_of::<PyRange>() {
            return Ok(Self::Other);
        }
        let module: String = values.get_type().getattr("__module__")?.extract()?;
        let library = module.split('.').next().unwrap_or_default().to_owned();
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

    /// Answers for whoever asked.
    pub(crate) fn tell<'py>(
        &self,
        py: Python<'py>,
        answers: Vec<bool>,
        questions: &[Column],
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Self::Other = self {
            return Ok(PyList::new(py, answers)?.into_any());
        }
        let array = Bound::new(py, Array::of_answers(&answers))?.into_any();
        match self {
            Self::Numpy => py.import("numpy")?.call_method1("asarray", (array,)),
            Self::Arrow(library) => {
                let answers = ArrowAnswers {
                    array: array.cast_into()?.unbind(),
                    questions: questions.to_vec(),
                };
                let answers = Bound::new(py, answers)?;
                match library.as_str() {
                    "pyarrow" => py.import("pyarrow")?.call_method1("array", (answers,)),
                    "polars" => py.import("polars")?.call_method1("Series", (answers,)),
                    "pandas" => {
                        let bits =
                            py.import("numpy")?.call_method1("asarray", (&answers.get().array,))?;
                        py.import("pandas")?.call_method1("Series", (bits,))
                    }
                    _ => Ok(answers.into_any()),
                }
            }
            _ => Ok(PyMemoryView::from(&array)?.into_any()),
        }
    }
}

/// Answers to Arrow data of a library that is not known: truth values, null where the question
/// was, for whatever reads Arrow arrays.
#[pyclass(frozen, module = "bitsort")]
pub(crate) struct ArrowAnswers {
    array: Py<Array>,
    questions: Vec<Column>,
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
        export_answers(py, self.array.get(), &self.questions)
    }

    fn __len__(&self) -> usize {
        self.array.get().count()
    }
}

/// Which of `values` are in the set.
pub(crate) fn contains_many<'py>(
    py: Python<'py>,
    source: &Source,
    values: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let asker = Asker::of(values)?;
    let numbers = Numbers::of(values)?;
    let progress = Arc::new(Progress::default());
    let ask = || answers(source, &numbers, &progress, matches!(asker, Asker::Arrow(_)));
    let found =
        if numbers.len() > FEW { watched(py, &progress, None, ask)? } else { py.detach(ask)? };
    let columns = match &numbers {
        Numbers::Columns(columns) => &columns[..],
        _ => &[],
    };
    asker.tell(py, found, columns)
}

/// Questions that lie together, and the room for their answers.
struct Block<'a> {
    of: Values<'a>,
    answers: &'a mut [bool],
}

/// Where the values of a block lie.
enum Values<'a> {
    Listed(&'a [u64]),
    Rows(Rows<'a>),
}

fn answers(
    source: &Source,
    numbers: &Numbers,
    progress: &Progress,
    null_is_allowed: bool,
) -> PyResult<Vec<bool>> {
    let len = usize::try_from(numbers.len()).unwrap_or(usize::MAX);
    let mut found = vec![false; len];
    let threads = available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
    let block = BLOCK.min(MOST / threads).min(len.div_ceil(threads)).max(LEAST);
    let ask = |values: &[u64], answers: &mut [bool]| {
        source.check()?;
        crate::numbers::interrupted(progress)?;
        let set = source.as_set();
        let asked = set.view().contains_many(values, answers);
        source.after(asked.map_err(|damage| raise(set.damaged(damage))))
    };
    let mut rest = &mut found[..];
    let mut take = |count: usize| rest.split_off_mut(..count).unwrap_or_default();
    let mut questions = Vec::new();
    match numbers {
        Numbers::Columns(columns) => questions.extend(blocks(columns, block).map(|rows| {
            let answers = take(rows.count);
            Block { of: Values::Rows(rows), answers }
        })),
        Numbers::Values(values) => questions.extend(values.chunks(block).map(|values| {
            let answers = take(values.len());
            Block { of: Values::Listed(values), answers }
        })),
        other => other.each(|values| ask(values, take(values.len())))?,
    }
    let threads = threads.min(questions.len());
    in_threads(threads, questions, Vec::new, |values, Block { of, answers }| match of {
        Values::Listed(values) => ask(values, answers),
        Values::Rows(rows) => {
            rows.copy(null_is_allowed, values)?;
            ask(values, answers)
        }
    })?;
    if let (Numbers::Columns(columns), true) = (numbers, null_is_allowed) {
        let rows = columns.iter().flat_map(|part| (0..part.len()).map(|row| part.is_null(row)));
        if columns.iter().any(Column::has_nulls) {
            found.iter_mut().zip(rows).for_each(|(found, is_null)| *found &= !is_null);
        }
    }
    Ok(found)
}
