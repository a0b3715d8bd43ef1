//! The functions `eval`, `at_least`, `convert` and `verify`.

use crate::error::{invalid, raise};
use crate::mutable::BitSet;
use crate::sets::write;
use crate::source::{Mapped, Source, all, operand};
use crate::work::interruptible;
use bitsort::set::{Expression, at_least as among};
use bitsort::sort::Sort;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The set of an expression over named sets.
///
/// Operators are those of Python: `-`, `&`, `^`, `|`, the tightest first, and parentheses. A range
/// is written `10..20` and includes both ends.
///
/// >>> import bitsort
/// >>> bitsort.eval("(a | b) - 2..3", a=[1, 2, 3], b=[3, 4])
/// BitSet([1, 4])
#[pyfunction]
#[pyo3(signature = (expression, /, **sets))]
pub(crate) fn eval<'py>(
    py: Python<'py>,
    expression: &str,
    sets: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let expression: Expression = expression.parse().map_err(invalid)?;
    let mut named = HashMap::new();
    for (name, set) in sets.into_iter().flatten() {
        let source = operand(&set)?;
        source.check()?;
        named.insert(name.extract::<String>()?, source);
    }
    let found = interruptible(py, |progress| {
        expression.eval(|name| named.get(name))?.progress(progress).to_set()
    })?;
    BitSet::wrap(py, found)
}

/// The values that are in at least `least` of the sets, which is 1 or more.
///
/// >>> import bitsort
/// >>> bitsort.at_least(2, [[1, 2, 3], [2, 3, 4], [3, 4, 5]])
/// BitSet([2, 3, 4])
#[pyfunction]
pub(crate) fn at_least<'py>(
    py: Python<'py>,
    least: usize,
    sets: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if least == 0 {
        return Err(invalid("at least 0 sets have every value: least is 1 or more"));
    }
    let sets = sets.try_iter()?.map(|set| operand(&set?)).collect::<PyResult<Vec<_>>>()?;
    sets.iter().try_for_each(Source::check)?;
    let found =
        interruptible(py, |progress| among(least, &all(&sets)).progress(progress).to_set())?;
    BitSet::wrap(py, found)
}

/// Writes the set in the file at `source` in another format; returns the size of the output in
/// bytes. `source` may be any file that `open` opens. For formats see `AbstractBitSet.write`.
#[pyfunction]
#[pyo3(signature = (source, output, *, format=None))]
#[expect(clippy::needless_pass_by_value, reason = "what PyO3 makes of an argument")]
pub(crate) fn convert(
    py: Python<'_>,
    source: PathBuf,
    output: PathBuf,
    format: Option<&str>,
) -> PyResult<u64> {
    let (opened, _) =
        interruptible(py, |progress| Sort::new().progress(progress).open_as_set(&source))?;
    let set = Source::File(Arc::new(Mapped::new(opened)));
    write(py, &set, output, format).map(|written| written.bytes)
}

/// Reads and checks the whole file of a set or of a Bloom filter; `bitsort.Error` names the first
/// damage.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what PyO3 makes of an argument")]
pub(crate) fn verify(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    let is_filter = bitsort::bloom::FilterKind::of(&path).is_ok();
    py.detach(|| {
        if is_filter {
            bitsort::bloom::FilterFile::load(&path).map(drop)
        } else {
            bitsort::set::SetFile::open(&path)?.verify()
        }
    })
    .map_err(raise)
}
