//! Names of formats as typed.

/// Formats of a resulting set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum FormatChoice {
    /// One number a line
    Text,
    /// A .bits file, dense or roaring, whichever is smaller
    Bits,
    /// A .bits file with a plain bitmap
    Dense,
    /// A portable roaring file, of 64 bits if a value needs them
    Roaring,
    /// 4 bytes a value, least significant byte first
    U32le,
    /// 8 bytes a value, least significant byte first
    U64le,
    #[cfg_attr(not(feature = "columnar"), value(hide = true))]
    /// A Parquet file with a column `value`, in a build with the feature columnar
    Parquet,
    #[cfg_attr(not(feature = "columnar"), value(hide = true))]
    /// An Arrow file with a column `value`, in a build with the feature columnar
    Arrow,
}

/// What `convert` reads where content says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ForeignChoice {
    /// A raw bitmap, the least significant bit of a byte first
    BitmapLsb,
    /// A raw bitmap, the most significant bit of a byte first
    BitmapMsb,
}
