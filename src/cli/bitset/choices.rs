//! Names of formats, numbers and bindings as typed.

use crate::io::table::TableFormat;
use crate::number::Format;
use crate::set::SetFormat;
use crate::set::foreign::BitOrder;
use crate::set::keyed::OverlapBy;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Formats of a resulting set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatChoice {
    /// One number a line
    Text,
    /// A .bits file, dense, roaring or sparse, whichever is smaller
    Bits,
    /// A .bits file with a plain bitmap
    Dense,
    /// A .bits file for values that are far apart
    Sparse,
    /// A portable roaring file, of 64 bits if a value needs them
    Roaring,
    /// 4 bytes a value, least significant byte first
    U32le,
    /// 8 bytes a value, least significant byte first
    U64le,
    /// A Parquet file with a column `value`, in a build with the feature columnar
    #[cfg_attr(not(feature = "columnar"), value(hide = true))]
    Parquet,
    /// An Arrow file with a column `value`, in a build with the feature columnar
    #[cfg_attr(not(feature = "columnar"), value(hide = true))]
    Arrow,
}

impl From<FormatChoice> for SetFormat {
    fn from(choice: FormatChoice) -> Self {
        match choice {
            FormatChoice::Text => Self::Values(Format::Text),
            FormatChoice::Bits => Self::Bits,
            FormatChoice::Dense => Self::DenseBits,
            FormatChoice::Sparse => Self::SparseBits,
            FormatChoice::Roaring => Self::Roaring,
            FormatChoice::U32le => Self::Values(Format::U32Le),
            FormatChoice::U64le => Self::Values(Format::U64Le),
            FormatChoice::Parquet => Self::Table(TableFormat::Parquet),
            FormatChoice::Arrow => Self::Table(TableFormat::Arrow),
        }
    }
}

/// What `convert` reads where content says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ForeignChoice {
    /// A raw bitmap, the least significant bit of a byte first
    BitmapLsb,
    /// A raw bitmap, the most significant bit of a byte first
    BitmapMsb,
}

impl From<ForeignChoice> for BitOrder {
    fn from(choice: ForeignChoice) -> Self {
        match choice {
            ForeignChoice::BitmapLsb => Self::LeastFirst,
            ForeignChoice::BitmapMsb => Self::MostFirst,
        }
    }
}

/// What makes a pair of sets a better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OverlapChoice {
    /// Number of values in both
    Intersection,
    /// Values in both, as a share of those in either
    Jaccard,
    /// Values in both, against what independent sets would have; printed as a fifth column
    Lift,
}

impl From<OverlapChoice> for OverlapBy {
    fn from(choice: OverlapChoice) -> Self {
        match choice {
            OverlapChoice::Intersection => Self::Intersection,
            OverlapChoice::Jaccard => Self::Jaccard,
            OverlapChoice::Lift => Self::Lift,
        }
    }
}

/// The file may have any name. One without a name of its own is a file of sets by key.
pub(super) fn binding(text: &OsStr) -> Result<(String, PathBuf), &'static str> {
    let mut halves = text.as_bytes().splitn(2, |byte| *byte == b'=');
    let name = halves.next().and_then(|name| str::from_utf8(name).ok());
    match (name, halves.next()) {
        (Some(name), Some(path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), OsStr::from_bytes(path).into()))
        }
        (_, None) if text.as_bytes().ends_with(b".sets") => Ok((String::new(), text.into())),
        _ => Err("expected NAME=SET, or a .sets file"),
    }
}
