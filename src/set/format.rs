//! The formats in which sets are written, and their names. This is the only list of all
//! of them; the programs and the Python package use it.

use super::foreign::ForeignFormat;
use crate::io::table::TableFormat;
use crate::io::write::Encoding;
use crate::number::{Format, Notation};
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// The format of a set that is written.
///
/// # Examples
///
/// ```
/// use bitsort::set::SetFormat;
///
/// assert_eq!("sparse".parse(), Ok(SetFormat::SparseBits));
/// assert_eq!(SetFormat::of_name("ids.roaring"), Some(SetFormat::Roaring));
/// assert_eq!(SetFormat::of_name("ids.bits.gz"), Some(SetFormat::Bits));
/// assert!(SetFormat::ALL.iter().all(|format| format.name().parse() == Ok(*format)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SetFormat {
    /// A `.bits` file, dense or roaring, whichever is smaller; or sparse, if that takes less than
    /// four fifths of the smaller one; or runs, if the set comes from ranges, they take so much
    /// less, and there are ranges that end above 2^32 or have very many values.
    Bits,
    /// A `.bits` file with a plain bitmap.
    DenseBits,
    /// A `.bits` file with a roaring bitmap.
    RoaringBits,
    /// A `.bits` file with a sparse set: at most log₂(range / number of values) + 2.3 bits per
    /// value.
    SparseBits,
    /// A `.bits` file that lists runs: 24 bytes each, however long they are.
    RunBits,
    /// A bare roaring bitmap in the portable format, of 64 bits if a value
    /// needs them.
    Roaring,
    /// The values, as `bitsort` writes them.
    Values(Format),
    /// A table with one column of unsigned 64-bit integers.
    Table(TableFormat),
    /// Bytes of another system.
    Foreign(ForeignFormat),
    /// A Parquet file with the rows of [`foreign::spark`](super::foreign::spark).
    SparkBitmap,
}

impl SetFormat {
    /// Every format but [values](Self::Values) in other notations than decimal, in the order in which
    /// help texts list them.
    pub const ALL: [Self; 20] = [
        Self::Values(Format::Text),
        Self::Bits,
        Self::DenseBits,
        Self::SparseBits,
        Self::RunBits,
        Self::RoaringBits,
        Self::Roaring,
        Self::Values(Format::U32Le),
        Self::Values(Format::U32Be),
        Self::Values(Format::U64Le),
        Self::Values(Format::U64Be),
        Self::Table(TableFormat::Parquet),
        Self::Table(TableFormat::Arrow),
        Self::Foreign(ForeignFormat::ClickHouse32),
        Self::Foreign(ForeignFormat::ClickHouse64),
        Self::Foreign(ForeignFormat::Doris),
        Self::Foreign(ForeignFormat::Iceberg),
        Self::Foreign(ForeignFormat::Delta),
        Self::Foreign(ForeignFormat::DeltaInline),
        Self::SparkBitmap,
    ];

    /// The name used on the command line, in Python, and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bits => "bits",
            Self::DenseBits => "dense",
            Self::RoaringBits => "roaring-bits",
            Self::SparseBits => "sparse",
            Self::RunBits => "runs",
            Self::Roaring => "roaring",
            Self::Values(format) => format.name(),
            Self::Table(format) => format.name(),
            Self::Foreign(format) => format.name(),
            Self::SparkBitmap => "spark-bitmap",
        }
    }

    /// What the format is, in a line of a help text.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::Bits => "A .bits file, dense, roaring, sparse or of runs, whichever suits",
            Self::DenseBits => "A .bits file with a plain bitmap",
            Self::RoaringBits => "A .bits file with a roaring bitmap",
            Self::SparseBits => "A .bits file for values that are far apart",
            Self::RunBits => "A .bits file for long ranges",
            Self::Roaring => "A portable roaring file, of 64 bits if a value needs them",
            Self::Values(Format::U32Le) => "4 bytes a value, least significant byte first",
            Self::Values(Format::U32Be) => "4 bytes a value, most significant byte first",
            Self::Values(Format::U64Le) => "8 bytes a value, least significant byte first",
            Self::Values(Format::U64Be) => "8 bytes a value, most significant byte first",
            Self::Values(Format::Text | Format::Noted(_)) => "One number a line",
            Self::Table(TableFormat::Parquet) => "A Parquet file with one column of integers",
            Self::Table(TableFormat::Arrow) => "An Arrow file with one column of integers",
            Self::Foreign(format) => format.about(),
            Self::SparkBitmap => "Rows of Spark's bitmap_construct_agg, in a Parquet file",
        }
    }

    /// Whether it is a `.bits` file of one representation.
    pub(super) const fn is_one_representation(self) -> bool {
        matches!(self, Self::DenseBits | Self::RoaringBits | Self::SparseBits | Self::RunBits)
    }

    /// Whether this build writes it: tables need the feature `columnar`.
    #[must_use]
    pub const fn is_built_in(self) -> bool {
        cfg!(feature = "columnar") || !matches!(self, Self::Table(_) | Self::SparkBitmap)
    }

    /// The format that a file of this name should have, if the name tells it: a `.bits` file for
    /// `.bits`, roaring for `.roaring`, text for `.txt` and names of compressed files, a table as
    /// [`TableFormat::of_name`] says.
    #[must_use]
    pub fn of_name(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref();
        if let Some(table) = TableFormat::of_name(path) {
            return Some(Self::Table(table));
        }
        let suffix = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
        match suffix.as_deref()? {
            "txt" | "csv" | "tsv" => Some(Self::Values(Format::Text)),
            "bits" => Some(Self::Bits),
            // Lines are compressed. The writer refuses to compress a set or a table.
            "gz" | "zst" | "bz2" | "xz" => {
                let inner = Self::of_name(path.with_extension(""));
                Some(inner.unwrap_or(Self::Values(Format::Text)))
            }
            "roaring" => Some(Self::Roaring),
            _ => None,
        }
    }

    /// The kind of output for the writer.
    pub(super) fn encoding(self) -> Encoding {
        match self {
            Self::Values(_) => Encoding::Lines,
            Self::Table(_) | Self::SparkBitmap => Encoding::Table,
            _ => Encoding::Set,
        }
    }
}

impl fmt::Display for SetFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text is not the name of a [`SetFormat`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected one of {}, {}",
    SetFormat::ALL.map(SetFormat::name).join(", "),
    Notation::ALL[1..].iter().map(|notation| notation.name()).collect::<Vec<_>>().join(", ")
)]
pub struct ParseSetFormatError;

impl FromStr for SetFormat {
    type Err = ParseSetFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = Self::ALL.into_iter().find(|format| format.name() == text);
        let values = || text.parse().map(Self::Values).map_err(|_| ParseSetFormatError);
        named.map_or_else(values, Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_format_and_the_list_is_told() {
        let noted = Notation::ALL.map(|notation| SetFormat::Values(Format::text_in(notation)));
        for format in SetFormat::ALL.into_iter().chain(noted) {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(ParseSetFormatError.to_string().contains(format.name()));
            assert!(!format.about().is_empty());
        }
        assert_eq!("bit".parse::<SetFormat>(), Err(ParseSetFormatError));
    }

    #[test]
    fn names_of_files_tell_formats() {
        for (name, expected) in [
            ("x.TXT", Some(SetFormat::Values(Format::Text))),
            ("x.gz", Some(SetFormat::Values(Format::Text))),
            ("x.csv", Some(SetFormat::Values(Format::Text))),
            ("x.roaring", Some(SetFormat::Roaring)),
            ("x.feather", Some(SetFormat::Table(TableFormat::Arrow))),
            ("x.bits", Some(SetFormat::Bits)),
            ("roaring", None),
        ] {
            assert_eq!(SetFormat::of_name(name), expected, "{name}");
        }
    }
}
