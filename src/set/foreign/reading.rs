//! Reads bytes with what the caller knows about them.

use super::{
    BitOrder, Decoded, Foreign, ForeignFormat, Part, decode_as, decode_click_house, decode_found,
    decode_part, decode_portable, parts, raw_bitmap,
};
use crate::error::{Error, Result};
use crate::number::named;
use crate::set::SetFormat;

/// The kind of bytes that do not show it themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// A portable roaring bitmap, of 32 or 64 bits. It shows itself, but one that is cut may look
    /// like another format.
    Roaring,
    /// A bitmap without a head.
    Raw(BitOrder),
    /// A table of Spark, with any names of columns.
    SparkBitmap,
    /// Bytes of a format with a name.
    Bytes(ForeignFormat),
}

impl Origin {
    /// All of them, in the order in which help texts list them.
    pub const ALL: [Self; 10] = [
        Self::Roaring,
        Self::Raw(BitOrder::LeastFirst),
        Self::Raw(BitOrder::MostFirst),
        Self::SparkBitmap,
        Self::Bytes(ForeignFormat::ClickHouse32),
        Self::Bytes(ForeignFormat::ClickHouse64),
        Self::Bytes(ForeignFormat::Doris),
        Self::Bytes(ForeignFormat::Iceberg),
        Self::Bytes(ForeignFormat::Delta),
        Self::Bytes(ForeignFormat::DeltaInline),
    ];

    /// The name used on the command line, in Python, and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Roaring => SetFormat::Roaring.name(),
            Self::Raw(BitOrder::LeastFirst) => "bitmap-lsb",
            Self::Raw(BitOrder::MostFirst) => "bitmap-msb",
            Self::SparkBitmap => SetFormat::SparkBitmap.name(),
            Self::Bytes(format) => format.name(),
        }
    }

    /// What it is, in a line of a help text.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Roaring => "A portable roaring bitmap, of 32 or 64 bits",
            Self::Raw(BitOrder::LeastFirst) => {
                "A raw bitmap, the least significant bit of a byte first"
            }
            Self::Raw(BitOrder::MostFirst) => {
                "A raw bitmap, the most significant bit of a byte first"
            }
            Self::SparkBitmap => SetFormat::SparkBitmap.about(),
            Self::Bytes(format) => format.about(),
        }
    }
}

named!(Origin, ParseOriginError);

/// What bytes do not say about themselves.
///
/// # Examples
///
/// ```
/// use bitsort::set::foreign::{BitOrder, Origin, Reading};
///
/// let reading = Reading {
///     from: Some(Origin::Raw(BitOrder::LeastFirst)),
///     base: Some(1 << 16),
///     ..Reading::default()
/// };
/// assert_eq!(reading.decode(&[0b101], "flags")?.to_set()?, [65_536, 65_538].into());
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Their kind, if they do not show it.
    pub from: Option<Origin>,
    /// The value of the first bit of a raw bitmap, a multiple of 2^16; 0 by default.
    pub base: Option<u64>,
    /// The number, from 1, of a deletion vector in a file of several.
    pub vector: Option<usize>,
    /// The bytes of an integer in a state of `ClickHouse`; see [`decode_click_house`].
    pub width: Option<usize>,
}

impl Reading {
    /// Refuses what bytes that look like `found` do not have. `name` is for messages.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`], which names the bytes that have a base, a width or several vectors.
    pub fn check(&self, found: Foreign, name: &str) -> Result<()> {
        let is_click_house = match self.from {
            Some(Origin::Bytes(ForeignFormat::ClickHouse32 | ForeignFormat::ClickHouse64)) => true,
            Some(_) => false,
            None => matches!(found, Foreign::ClickHouse | Foreign::ClickHouseSmall),
        };
        let has_vectors = self.is_puffin(found)
            || found == Foreign::DeltaFile
                && matches!(self.from, None | Some(Origin::Bytes(ForeignFormat::Delta)));
        let wrong = match self {
            Self { vector: Some(_), .. } if !has_vectors => {
                "the number of a vector is for files of several deletion vectors"
            }
            Self { base: Some(_), .. } if !matches!(self.from, Some(Origin::Raw(_))) => {
                "a base is for raw bitmaps: bitmap-lsb, bitmap-msb"
            }
            Self { width: Some(_), .. } if !is_click_house => "a width is for states of ClickHouse",
            Self {
                width: Some(8), from: Some(Origin::Bytes(ForeignFormat::ClickHouse32)), ..
            } => "integers of clickhouse-u32 have at most 4 bytes",
            Self {
                width: Some(1..8),
                from: Some(Origin::Bytes(ForeignFormat::ClickHouse64)),
                ..
            } => "integers of clickhouse-u64 have 8 bytes",
            _ => return Ok(()),
        };
        let found = match (self.from, found) {
            (Some(_), Foreign::Unknown) => "read as another kind".to_owned(),
            _ => found.to_string(),
        };
        Err(Error::usage(format!("{wrong}; {name}: {found}")))
    }

    /// Whether the bytes are read as a Puffin file, which holds vectors of Iceberg.
    fn is_puffin(&self, found: Foreign) -> bool {
        found == Foreign::Puffin
            && matches!(self.from, None | Some(Origin::Bytes(ForeignFormat::Iceberg)))
    }

    /// Reads the bytes: as the caller says, or as [`decode`](super::decode) does. Of a Puffin file with several
    /// vectors, which belong to different data files, one must be chosen.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check), [`decode`](super::decode) and [`decode_as`]; and for [`Origin::SparkBitmap`], which
    /// [`spark::read_table`](super::spark::read_table) reads.
    pub fn decode<'b>(&self, bytes: &'b [u8], name: &str) -> Result<Decoded<'b>> {
        let found = Foreign::of(bytes);
        self.check(found, name)?;
        if let Some(width) = self.width {
            return decode_click_house(bytes, width, name);
        }
        match self.from {
            _ if self.vector.is_some() || self.is_puffin(found) => {
                decode_part(bytes, &self.part(parts(bytes, name)?, name)?, name)
            }
            Some(Origin::Bytes(format)) => decode_as(bytes, format, name),
            Some(Origin::Roaring) => decode_portable(bytes, name),
            Some(Origin::Raw(order)) => raw_bitmap(bytes, order, self.base.unwrap_or(0))
                .map_err(|error| Error::usage(format!("{name}: {error}"))),
            Some(Origin::SparkBitmap) => {
                Err(Error::usage(format!("{name} is read as a table, not as bytes")))
            }
            None => decode_found(bytes, found, name),
        }
    }

    /// The wanted one of several vectors, or the only one.
    fn part(&self, mut parts: Vec<Part>, name: &str) -> Result<Part> {
        let count = parts.len();
        let wanted = match self.vector {
            Some(number) => number,
            None if count == 1 => 1,
            None if count == 0 => {
                let found = "Puffin file without deletion vectors".to_owned();
                return Err(Error::NotConvertible { input: name.to_owned(), found });
            }
            None => {
                let what = "deletion vectors, and no number says which one is meant";
                return Err(Error::usage(format!("{name} has {count} {what}{}", list(&parts))));
            }
        };
        let Some(index) = wanted.checked_sub(1).filter(|&index| index < count) else {
            let what = format!("no vector {wanted}: {name} has {count}{}", list(&parts));
            return Err(Error::usage(what));
        };
        Ok(parts.swap_remove(index))
    }
}

/// The data files of vectors, one on each line.
fn list(parts: &[Part]) -> String {
    /// Vectors that a message lists.
    const LISTED: usize = 20;
    let line = |(index, part): (usize, &Part)| {
        let file = part.data_file.as_ref()?;
        Some(format!("\n  {}: {}", index + 1, file.escape_debug()))
    };
    let mut lines: String = parts.iter().enumerate().take(LISTED).filter_map(line).collect();
    if parts.len() > LISTED && !lines.is_empty() {
        lines.push_str("\n  …");
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_origin() {
        for origin in Origin::ALL {
            assert_eq!(origin.name().parse(), Ok(origin));
            assert!(!origin.about().is_empty());
        }
        for format in ForeignFormat::ALL {
            assert_eq!(format.name().parse(), Ok(Origin::Bytes(format)));
        }
        assert_eq!("parquet".parse::<Origin>(), Err(ParseOriginError));
    }
}
