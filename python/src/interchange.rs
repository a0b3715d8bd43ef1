//! Rows of Spark's bitmaps.

use crate::error::{invalid, raise};
use crate::mutable::BitSet;
use crate::source::operand;
use bitsort::set::foreign::spark;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The rows of a set as Spark's `bitmap_construct_agg` makes them: a list of buckets and
/// bitmaps of 4096 bytes. Spark has numbers below 2**63.
///
/// >>> import bitsort
/// >>> [(bucket, len(bitmap)) for bucket, bitmap in bitsort.spark_rows([0, 1, 32769])]
/// [(0, 4096), (1, 4096), (2, 4096)]
#[pyfunction]
pub(crate) fn spark_rows<'py>(
    py: Python<'py>,
    set: &Bound<'py, PyAny>,
) -> PyResult<Vec<(i64, Bound<'py, PyBytes>)>> {
    let source = operand(set)?;
    source.check()?;
    let set = source.to_set(&std::sync::Arc::default())?;
    let rows = spark::rows(set.view());
    rows.map(|row| row.map(|(bucket, bitmap)| (bucket, PyBytes::new(py, &bitmap[..]))))
        .collect::<Result<_, _>>()
        .map_err(raise)
}

/// The set of such rows: pairs of a bucket and bytes, in any order. `ValueError` if a bit
/// stands for a number below 0 or from 2**63 on.
///
/// >>> import bitsort
/// >>> bitsort.from_spark_rows([(1, b"\x05"), (0, b"\x01")])
/// BitSet([0, 1, 3])
#[pyfunction]
pub(crate) fn from_spark_rows<'py>(
    py: Python<'py>,
    rows: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut failed = None;
    let rows = rows.try_iter()?.map_while(|row| {
        let pair = row.and_then(|row| row.extract::<(i64, Vec<u8>)>());
        pair.map_err(|error| failed = Some(error)).ok()
    });
    let set = spark::from_rows(rows);
    match failed {
        Some(error) => Err(error),
        None => BitSet::wrap(py, set.map_err(invalid)?),
    }
}
