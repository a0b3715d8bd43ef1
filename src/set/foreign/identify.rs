//! Identifies the format of bytes, as far as they show it.

use super::{click_house, deletion, doris};
use crate::error::Result;
use crate::io::read::map;
use crate::io::roaring::has_no_controls;
use crate::io::table::TableFormat;
use crate::set::file::SetKind;
use crate::set::view::{RoaringView, check_buckets};
use byteorder::{BigEndian, ReadBytesExt};
use std::fmt;
use std::path::Path;

/// The content of bytes.
///
/// # Examples
///
/// ```
/// use bitsort::set::foreign::{Foreign, decode};
///
/// // A deletion vector: its magic number, then a 64-bit roaring bitmap of one bucket:
/// // cookie, one container, key 0 with 2 values, its offset, 35 and 40.
/// let mut bytes = vec![0xD1, 0xD3, 0x39, 0x64, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// bytes.extend([58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 35, 0, 40, 0]);
/// assert_eq!(Foreign::of(&bytes), Foreign::DeletionVector);
///
/// let set = decode(&bytes, "deleted.bin")?;
/// assert_eq!(set.view().iter().collect::<Result<Vec<_>, _>>(), Ok(vec![35, 40]));
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A `.bits` file.
    Bits,
    /// Sets by key in a `.sets` file.
    Sets,
    /// A portable roaring bitmap of 32 bits.
    Roaring,
    /// A portable roaring bitmap of 64 bits.
    Treemap,
    /// A deletion vector without its length and its checksum.
    DeletionVector,
    /// A deletion vector of Iceberg: with its length and its checksum.
    Iceberg,
    /// A file of deletion vectors of Delta Lake.
    DeltaFile,
    /// A deletion vector of Delta Lake as text.
    DeltaInline,
    /// A Puffin file of Iceberg.
    Puffin,
    /// A `groupBitmap` state of `ClickHouse` with a small set.
    ClickHouseSmall,
    /// A `groupBitmap` state of `ClickHouse` with a bitmap.
    ClickHouse,
    /// `BitmapValue` of Doris or `StarRocks`, and the kind that its first byte says.
    Doris(&'static str),
    /// `Roaring64NavigableMap` as Java serializes it.
    JavaNavigableMap,
    /// A table. It may have numbers, or rows of [`spark`](super::spark).
    Table(TableFormat),
    /// Text in UTF-8, without control characters.
    Text,
    /// No bytes.
    Empty,
    /// Anything else. A raw bitmap has no mark.
    Unknown,
}

impl Foreign {
    /// The content of these bytes, as far as they show it; damaged bytes of a kind count as that
    /// kind. O(containers) for a 64-bit bitmap, else O(1).
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        match SetKind::of(bytes) {
            Some(SetKind::Bits) => return Self::Bits,
            Some(SetKind::Keyed) => return Self::Sets,
            Some(SetKind::Roaring) => return Self::Roaring,
            Some(SetKind::Treemap) if check_buckets(bytes).is_ok() => return Self::Treemap,
            Some(SetKind::Treemap | SetKind::Folder) | None => {}
        }
        let magic_at = |at: usize| bytes.get(at..).is_some_and(|b| b.starts_with(&deletion::MAGIC));
        if magic_at(0) {
            return Self::DeletionVector;
        }
        if magic_at(4) {
            return Self::Iceberg;
        }
        if bytes[0] == deletion::FILE_VERSION && magic_at(5) {
            return Self::DeltaFile;
        }
        if bytes.trim_ascii_start().starts_with(deletion::MAGIC_TEXT) {
            return Self::DeltaInline;
        }
        if bytes.starts_with(b"PFA1") {
            return Self::Puffin;
        }
        if let Some(format) = TableFormat::of_content(bytes) {
            return Self::Table(format);
        }
        if is_navigable_map(bytes) {
            return Self::JavaNavigableMap;
        }
        if click_house::is_small(bytes) {
            return Self::ClickHouseSmall;
        }
        if click_house::is_bitmap(bytes) {
            return Self::ClickHouse;
        }
        if let Some(kind) = doris::kind(bytes) {
            return Self::Doris(kind);
        }
        if is_text(&bytes[..bytes.len().min(4096)]) { Self::Text } else { Self::Unknown }
    }

    /// The content of a file, as [`of`](Self::of) tells it from the bytes.
    ///
    /// # Errors
    ///
    /// If the file cannot be mapped.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self> {
        map(path.as_ref()).map(|bytes| Self::of(&bytes))
    }
}

/// Whether a file that begins with these bytes is text. A character may be cut at their end.
fn is_text(head: &[u8]) -> bool {
    let is_utf_8 = match str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && error.valid_up_to() > 0,
    };
    is_utf_8 && has_no_controls(head)
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bits => ".bits file",
            Self::Sets => "sets by key, .sets file",
            Self::Roaring => "portable roaring bitmap, 32 bits",
            Self::Treemap => "portable roaring bitmap, 64 bits",
            Self::DeletionVector => {
                "deletion vector (Delta Lake, Iceberg), without its length and its checksum"
            }
            Self::Iceberg => "deletion vector (Iceberg)",
            Self::DeltaFile => "file of deletion vectors (Delta Lake)",
            Self::DeltaInline => "deletion vector (Delta Lake), inline, as text",
            Self::Puffin => "Puffin file (Iceberg)",
            Self::ClickHouseSmall => "groupBitmap state of ClickHouse, small set",
            Self::ClickHouse => "groupBitmap state of ClickHouse, bitmap",
            Self::Doris(what) => {
                return write!(f, "bitmap of Apache Doris or StarRocks, {what}");
            }
            Self::JavaNavigableMap => {
                "Roaring64NavigableMap as Java serializes it; in Java, SERIALIZATION_MODE_PORTABLE writes what others read"
            }
            Self::Table(format) => return write!(f, "{format} file"),
            Self::Text => "text",
            Self::Empty => "empty",
            Self::Unknown => "not recognized; a raw bitmap has no mark",
        })
    }
}

fn is_navigable_map(bytes: &[u8]) -> bool {
    let head = || -> Option<bool> {
        let mut rest = bytes;
        let signed = rest.read_u8().ok()?;
        let count = rest.read_u32::<BigEndian>().ok()? as usize;
        let cookie = RoaringView::new(rest.get(4..).unwrap_or_default()).is_ok();
        Some(signed <= 1 && count <= rest.len() / 12 && count > 0 && cookie)
    };
    head() == Some(true)
}
