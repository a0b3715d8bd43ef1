//! Sets of other systems: their files, and the rows of Spark's bitmaps.

use crate::columns::BLOCK;
use crate::error::{bytes_object, invalid, raise, wrong_type};
use crate::mutable::BitSet;
use crate::numbers::{optional, signed};
use crate::sets::write;
use crate::source::{Mapped, Source, folder_of, operand};
use crate::work::{check, in_pieces, interruptible};
use bitsort::Progress;
use bitsort::set::IntegerSet;
use bitsort::set::foreign::{Foreign, Origin, Reading, spark};
use bitsort::sort::Sort;
use bitsort::{Format, TableFormat};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The set in a file of another system; none if `open` reads it.
fn read_foreign(
    path: &Path,
    from_format: Option<&str>,
    reading: Reading,
) -> PyResult<Option<IntegerSet>> {
    /// Memory for reading a table.
    const TABLE_BYTES: u64 = 256 << 20;
    let from = match from_format {
        None => None,
        Some("roaring32") => Some(Origin::Roaring),
        Some(name) => Some(name.parse().map_err(|error| {
            let others = name.parse::<Format>().err().map(|error| format!("; of numbers: {error}"));
            let others = others.unwrap_or_default();
            invalid(format!("{name} is no format of bytes: {error}, roaring32{others}"))
        })?),
    };
    let reading = Reading { from, ..reading };
    let is_file = path.is_file(); // and no folder, pipe, or set of a `.sets` file
    if !is_file && from_format.is_none() {
        return Ok(None);
    }
    let name = path.display().to_string();
    let found = Foreign::of_file(path).map_err(raise)?;
    reading.check(found, &name).map_err(raise)?;
    let is_rows = || spark::is_table(path).map_err(raise);
    if from == Some(Origin::SparkBitmap)
        || from_format.is_none() && found == Foreign::Table(TableFormat::Parquet) && is_rows()?
    {
        return spark::read_table(path, TABLE_BYTES).map(Some).map_err(raise);
    }
    if from_format.is_none() && is_for_open(found) {
        return Ok(None);
    }
    let cannot =
        |source| raise(bitsort::Error::Io { action: "read", path: path.to_path_buf(), source });
    let bytes = fs::read(path).map_err(cannot)?;
    let decoded = reading.decode(&bytes, &name).map_err(raise)?;
    decoded.to_set().map(Some).map_err(raise)
}

fn is_for_open(found: Foreign) -> bool {
    matches!(
        found,
        Foreign::Bits
            | Foreign::Sets
            | Foreign::Roaring
            | Foreign::Treemap
            | Foreign::Table(_)
            | Foreign::Text
            | Foreign::Unknown
    )
}

/// Writes the set in the file at `source` in another format; returns the size of the output in
/// bytes. `source` may be any file that `open` opens, or one of another system: ClickHouse, Doris
/// and StarRocks, Delta Lake, Iceberg, Spark's `bitmap_construct_agg`. For formats of the output
/// see `AbstractBitSet.write`, and `AbstractBitSet.serialize`.
///
/// The bytes show which system wrote them. `from_format` says it if they do not: a format of
/// `serialize`, "spark-bitmap", or "bitmap-lsb" or "bitmap-msb" for a raw bitmap, the least or
/// the most significant bit of a byte first, whose first bit stands for `base`, a multiple of
/// 65536; or how numbers are written, as in `sort`: "cidr", "u32le", …. An empty file may be one
/// that was cut: with "text" it is an empty set. `width` is the number of bytes of ClickHouse's
/// integers, and `vector` the number, from 1, of a deletion vector in a file of several.
///
/// >>> import bitsort, tempfile, os
/// >>> folder = tempfile.mkdtemp()
/// >>> cell, ids = os.path.join(folder, "cell"), os.path.join(folder, "ids.txt")
/// >>> with open(cell, "wb") as file:
/// ...     _ = file.write(bitsort.BitSet([7, 40]).serialize("doris"))
/// >>> bitsort.convert(cell, ids)
/// 5
/// >>> open(ids).read()
/// '7\n40\n'
#[pyfunction]
#[pyo3(signature = (
    source, output, *, format=None, from_format=None, base=None, width=None, vector=None
))]
#[expect(clippy::too_many_arguments, reason = "Python's named arguments")]
#[expect(clippy::needless_pass_by_value, reason = "what PyO3 makes of an argument")]
pub(crate) fn convert(
    py: Python<'_>,
    source: PathBuf,
    output: PathBuf,
    format: Option<&str>,
    from_format: Option<&str>,
    #[pyo3(from_py_with = optional)] base: Option<u64>,
    #[pyo3(from_py_with = optional)] width: Option<usize>,
    #[pyo3(from_py_with = optional)] vector: Option<usize>,
) -> PyResult<u64> {
    let reading = Reading { from: None, base, vector, width };
    let numbers = from_format.and_then(|name| name.parse::<Format>().ok());
    let foreign = if numbers.is_none() {
        py.detach(|| read_foreign(&source, from_format, reading))?
    } else {
        let name = source.display().to_string();
        reading.check(Foreign::Text, &name).map_err(raise)?;
        None
    };
    let set = if let Some(set) = foreign {
        Source::from(set)
    } else {
        let sort = Sort::new().from_format(numbers.unwrap_or_default());
        let open = |progress| sort.progress(progress).open_as_set(&source);
        let (opened, _) = interruptible(py, open)?;
        let mapped = Mapped::new(opened, folder_of(&source)?);
        if mapped.set.is_named() {
            // Else damage would get checksums that are right.
            interruptible(py, |progress| mapped.set.verify_with(&progress))?;
        }
        Source::File(Arc::new(mapped))
    };
    write(py, &set, output, format).map(|written| written.bytes)
}

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
    let set = in_pieces(py, source.len(), |progress| source.to_set(progress))?;
    let mut found = Vec::new();
    for row in spark::rows(set.view()) {
        py.check_signals()?;
        let (bucket, bitmap) = row.map_err(raise)?;
        found.push((bucket, bytes_object(py, &bitmap[..])?));
    }
    Ok(found)
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
    let rows = rows.try_iter()?.enumerate().map_while(|(index, row)| {
        // An iterator of C does not do it.
        let checked = if index % BLOCK == 0 { check(py, &Progress::default()) } else { Ok(()) };
        let row = row.and_then(|row| checked.map(|()| row));
        let pair = row.and_then(|row| row.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>());
        let pair = pair.and_then(|(bucket, bitmap)| {
            let bitmap =
                bitmap.extract::<Vec<u8>>().map_err(|_| wrong_type("a bitmap is bytes"))?;
            let number = signed(&bucket)?.ok_or_else(|| wrong_type("a bucket is an int"))?;
            let bucket = i64::try_from(number).map_err(|_| invalid(format!("no bucket {number}")));
            Ok((bucket?, bitmap))
        });
        pair.map_err(|error| failed = Some(error)).ok()
    });
    let set = spark::from_rows(rows);
    match failed {
        Some(error) => Err(error),
        None => BitSet::wrap(py, set.map_err(invalid)?),
    }
}
