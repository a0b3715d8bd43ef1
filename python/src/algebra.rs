//! The functions `eval`, `at_least` and `verify`.

use crate::error::invalid;
use crate::mutable::BitSet;
use crate::numbers::number;
use crate::parts::operands;
use crate::source::{all, operand};
use crate::work::interruptible;
use bitsort::bloom::FilterKind;
use bitsort::set::foreign::Foreign;
use bitsort::set::keyed::KeyedSets;
use bitsort::set::{Expression, at_least as among};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;
use std::path::PathBuf;

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
    #[pyo3(from_py_with = number)] least: usize,
    sets: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if least == 0 {
        return Err(invalid("least is 1 or more: at least 0 sets have every value"));
    }
    let sets = operands(sets)?;
    let found =
        interruptible(py, |progress| among(least, &all(&sets)).progress(progress).to_set())?;
    BitSet::wrap(py, found)
}

/// Reads and checks the whole file of a set, of sets by key or of a Bloom filter; `bitsort.Error`
/// names the first damage.
///
/// >>> import bitsort, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "ids.bits")
/// >>> size = bitsort.BitSet([3, 40]).write(path)
/// >>> bitsort.verify(path)
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "what PyO3 makes of an argument")]
pub(crate) fn verify(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    let is_filter = FilterKind::of(&path).is_ok();
    // Who opens the set says why it cannot be read.
    let has_keys = matches!(Foreign::of_file(&path), Ok(Foreign::Sets));
    interruptible(py, |progress| {
        if is_filter {
            bitsort::bloom::FilterFile::load(&path).map(drop)
        } else if has_keys {
            KeyedSets::open(&path)?.verify_with(&progress)
        } else {
            bitsort::set::SetFile::open(&path)?.verify_with(&progress)
        }
    })
}
