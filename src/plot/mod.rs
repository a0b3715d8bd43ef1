//! The occupancy of a universe as a map along a Hilbert curve.
//!
//! Neighbours in value are neighbours in the picture, as maps of the IPv4 space
//! are drawn: a range of values is a compact patch.
//!
//! Flow: set → counts of cells, in the order of the curve → [`Map`] → PNG or SVG. Read
//! `count.rs` first.
//!
//! ```
//! use bitsort::plot::Map;
//! use bitsort::set::{IntegerSet, SetFile};
//!
//! # let folder = tempfile::tempdir()?;
//! # let (ids, picture) = (folder.path().join("ids.bits"), folder.path().join("ids.png"));
//! IntegerSet::from_iter((0..10_000).step_by(3)).write(&ids)?;
//! let map = Map::of(&SetFile::open(&ids)?, Some(6))?;
//! assert_eq!((map.counts.len(), map.cell_bits), (4096, 2));
//! map.write(&picture)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod colour;
mod count;
mod layout;
mod png;
mod svg;

use crate::error::{Error, Result};
use crate::io::write::{Encoding, Spool, Writer};
use std::io::{self, Write};
use std::path::Path;

/// Column and row of the cell at `distance` along the curve of a square with
/// `2^order` cells a side.
fn cell_of(order: u32, distance: u64) -> (u32, u32) {
    #[expect(clippy::cast_possible_truncation, reason = "an order is at most 10")]
    fast_hilbert::h2xy(distance, order as u8)
}

/// The largest order: a cell is then one pixel.
pub const MAX_ORDER: u32 = 10;

/// The data of the picture.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Map {
    /// The side has 2 to this power cells.
    pub order: u32,
    /// A cell stands for 2 to this power values.
    pub cell_bits: u32,
    /// Values in each cell, along the curve; `4^order` of them.
    pub counts: Vec<u64>,
    /// The text above the map.
    pub title: String,
    /// Whether values are written as IPv4 addresses.
    pub ipv4: bool,
}

impl Map {
    /// The picture as a PNG file.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded.
    pub fn to_png(&self) -> io::Result<Vec<u8>> {
        png::encode(self)
    }

    /// The picture as an SVG file.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded.
    pub fn to_svg(&self) -> io::Result<String> {
        svg::encode(self)
    }

    /// Writes the picture into a file, which appears whole or not at all: SVG if its name ends in
    /// `.svg`, else PNG.
    ///
    /// # Errors
    ///
    /// If it cannot be encoded or written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let is_svg = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("svg"));
        let encoded = if is_svg { self.to_svg().map(String::into_bytes) } else { self.to_png() };
        let bytes = encoded.map_err(Error::io("draw", path))?;
        let mut writer = Writer::open(path, Encoding::Picture, &Spool::default())?;
        writer.write_all(&bytes).map_err(Error::io("write", path))?;
        writer.commit().map(drop)
    }

    /// The share of a cell's values that are in the set.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn density(&self, cell: usize) -> f64 {
        self.counts[cell] as f64 / 2_f64.powi(self.cell_bits.cast_signed())
    }

    /// The text below the map.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn summary(&self) -> String {
        let bits = self.cell_bits + 2 * self.order;
        let count: u64 = self.counts.iter().sum();
        let share = count as f64 / 2_f64.powi(bits.cast_signed());
        format!("{count} values of a universe of 2^{bits}, density {share:.2e}")
    }

    /// The smallest density of a cell with a value.
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
