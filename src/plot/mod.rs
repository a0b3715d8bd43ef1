//! The occupancy of a universe as a map along a Hilbert curve.
//!
//! Neighbours in value are neighbours in the picture, as maps of the IPv4 space
//! are drawn: a range of values is a compact patch.
//!
//! Flow: counts a cell, in the order of the curve → [`Map`] → PNG or SVG.

mod colour;
mod layout;
mod png;
mod svg;

use std::io;

/// Column and row of the cell at `distance` along the curve of a square with
/// `2^order` cells a side.
fn cell_of(order: u32, distance: u64) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "a picture has far less than 2^255 cells")]
    fast_hilbert::h2xy(distance, order as u8)
}

/// What is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    /// The side has 2 to this power cells.
    pub(crate) order: u32,
    /// A cell stands for 2 to this power values.
    pub(crate) cell_bits: u32,
    /// Values in each cell, along the curve; `4^order` of them.
    pub(crate) counts: Vec<u64>,
    /// What is written above it.
    pub(crate) title: String,
    /// Whether values are written as IPv4 addresses.
    pub(crate) ipv4: bool,
}

impl Map {
    /// The picture as a PNG file.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded.
    pub(crate) fn to_png(&self) -> io::Result<Vec<u8>> {
        png::encode(self)
    }

    /// The picture as an SVG file.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded.
    pub(crate) fn to_svg(&self) -> io::Result<String> {
        svg::encode(self)
    }

    /// The share of a cell's values that are in the set.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn density(&self, cell: usize) -> f64 {
        self.counts[cell] as f64 / 2_f64.powi(self.cell_bits.cast_signed())
    }

    /// What is written below it.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn summary(&self) -> String {
        let bits = self.cell_bits + 2 * self.order;
        let count: u64 = self.counts.iter().sum();
        let share = count as f64 / 2_f64.powi(bits.cast_signed());
        format!("{count} values of a universe of 2^{bits}, density {share:.2e}")
    }

    /// The smallest density above none that a cell can have.
    fn least_density(&self) -> f64 {
        2_f64.powi(-self.cell_bits.cast_signed())
    }
}

/// An empty map, or a full one, for tests.
#[cfg(test)]
fn sample(order: u32, count: impl Fn(usize) -> u64) -> Map {
    let counts = (0..1 << (2 * order)).map(count).collect();
    Map { order, cell_bits: 8, counts, title: "a < b & \"c\"".into(), ipv4: false }
}
