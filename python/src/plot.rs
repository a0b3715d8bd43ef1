//! Maps of sets, for notebooks.

use crate::error::{bytes_object, raise};
use crate::source::Source;
use bitsort::plot::Map;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;

/// A map of a set along a Hilbert curve: values that are near each other are near each other in the
/// picture. A notebook shows it.
///
/// >>> import bitsort
/// >>> bitsort.BitSet(range(0, 10000, 3)).plot(order=6)
/// <bitsort.Plot of 64 × 64 cells, 4 values each>
#[pyclass(frozen, module = "bitsort")]
pub(crate) struct Plot {
    map: Map,
}

impl Plot {
    pub(crate) fn of(
        py: Python<'_>,
        source: &Source,
        order: Option<u32>,
        ipv4: bool,
        title: Option<String>,
    ) -> PyResult<Self> {
        source.check()?;
        let draw = if ipv4 { Map::of_ipv4 } else { Map::of };
        let mut map = py.detach(|| draw(source, order)).map_err(raise)?;
        if let Some(title) = title {
            map.title = title;
        }
        Ok(Self { map })
    }
}

#[pymethods]
impl Plot {
    /// The picture as the bytes of a PNG file.
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.map.to_png())?;
        bytes_object(py, &bytes)
    }

    /// The picture as SVG.
    ///
    /// >>> import bitsort
    /// >>> bitsort.BitSet(range(100)).plot(order=4).svg().startswith("<svg")
    /// True
    fn svg(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.map.to_svg())?)
    }

    /// Writes the picture into a file, which appears whole or not at all: SVG if its name ends in
    /// `.svg`, else PNG.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.map.write(path)).map_err(raise)
    }

    fn _repr_png_<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.png(py)
    }

    fn __repr__(&self) -> String {
        let side = 1_u64 << self.map.order;
        let values = 1_u128 << self.map.cell_bits;
        format!("<bitsort.Plot of {side} × {side} cells, {values} values each>")
    }
}
