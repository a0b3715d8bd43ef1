//! Tables of columns: one column of a Parquet or Arrow file, in or out. It has integers, or texts
//! that are numbers in some notation.
//!
//! A file is read in pieces (row groups of Parquet, record batches of Arrow),
//! each by one thread, and a piece in batches of rows, so that memory does not
//! grow with the file. Of Parquet, only the pages of the wanted columns are read: of one, or of keys
//! and numbers.
//!
//! To add a format: its name and first bytes in [`TableFormat`], its reader beside `parquet.rs`, an
//! arm for it in `reader.rs`, and one in `writer.rs` if it is written.
//!
//! Sources: <https://parquet.apache.org/docs/file-format/> and
//! <https://arrow.apache.org/docs/format/Columnar.html>.

#[cfg(feature = "columnar")]
mod arrow;
#[cfg(feature = "columnar")]
mod bitmaps;
#[cfg(feature = "columnar")]
mod bytes;
#[cfg(feature = "columnar")]
mod columns;
#[cfg(feature = "columnar")]
mod filters;
#[cfg(not(feature = "columnar"))]
mod left_out;
#[cfg(feature = "columnar")]
mod pages;
#[cfg(feature = "columnar")]
mod parquet;
#[cfg(feature = "columnar")]
mod reader;
mod rows;
#[cfg(feature = "columnar")]
mod thrift;
#[cfg(feature = "columnar")]
mod writer;

#[cfg(feature = "columnar")]
pub(crate) use bitmaps::{BitmapTable, BitmapWriter};
#[cfg(feature = "columnar")]
pub(crate) use filters::ColumnFilters;
#[cfg(not(feature = "columnar"))]
pub(crate) use left_out::{BitmapTable, BitmapWriter, ColumnFilters, Piece, Table, TableWriter};
#[cfg(feature = "columnar")]
pub(crate) use reader::{Piece, Table};
pub(crate) use rows::{GapContent, Keys, Rows};
#[cfg(feature = "columnar")]
pub(crate) use writer::TableWriter;

use crate::error::UnreadTable;
use crate::io::roaring::has_no_controls;
use std::fmt;
use std::path::Path;

/// A format of files that hold columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TableFormat {
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, also known as Feather 2; as a stream it is read, not written.
    Arrow,
}

impl TableFormat {
    /// Both of them, in the order in which programs list them.
    pub const ALL: [Self; 2] = [Self::Parquet, Self::Arrow];

    /// The name used on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// The name used in messages.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
        }
    }

    /// The format that a file of this name should have: `.parquet`, or `.arrow`
    /// or `.feather`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::TableFormat;
    ///
    /// assert_eq!(TableFormat::of_name("ids.parquet"), Some(TableFormat::Parquet));
    /// assert_eq!(TableFormat::of_name("IDS.ARROW"), Some(TableFormat::Arrow));
    /// assert_eq!(TableFormat::of_name("parquet"), None);
    /// ```
    #[must_use]
    pub fn of_name(path: impl AsRef<Path>) -> Option<Self> {
        match path.as_ref().extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" => Some(Self::Arrow),
            _ => None,
        }
    }

    /// The format of a file that begins with these bytes, which no text does.
    pub(crate) fn of_binary(bytes: &[u8]) -> Option<Self> {
        match bytes {
            // The first field of a page or of the metadata follows, an integer.
            [b'P', b'A', b'R', b'1', 0x15, ..] => Some(Self::Parquet),
            // A file; a stream: the length of its first message, and where the root of that is.
            [b'A', b'R', b'R', b'O', b'W', b'1', 0, 0, ..]
            | [0xFF, 0xFF, 0xFF, 0xFF, _, _, _, 0, 1..0x80, 0, 0, 0, ..] => Some(Self::Arrow),
            _ => None,
        }
    }

    /// Whether a stream that begins with these bytes is or may become such a file.
    pub(crate) fn may_begin(bytes: &[u8]) -> bool {
        let may_be_stream = bytes.len() < 12 && bytes.iter().take(4).all(|&byte| byte == 0xFF);
        Self::of_binary(bytes).is_some() || b"ARROW1\0\0".starts_with(bytes) || may_be_stream
    }

    /// The format of a file that begins with these bytes.
    pub(crate) fn of_content(bytes: &[u8]) -> Option<Self> {
        match bytes {
            // The first field of delimited text.
            [b'P', b'A', b'R', b'1', rest @ ..]
            | [b'A', b'R', b'R', b'O', b'W', b'1', rest @ ..]
                if goes_on_as_text(rest) =>
            {
                None
            }
            [b'P', b'A', b'R', b'1', ..] => Some(Self::Parquet),
            // A file; a stream, whose first message is less than 16 MiB.
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xFF, 0xFF, 0xFF, 0xFF, _, _, _, 0, ..] => {
                Some(Self::Arrow)
            }
            _ => None,
        }
    }
}

/// The format of a table that begins with these bytes, which no text does, and is not read.
pub(crate) fn unread_table(bytes: &[u8]) -> Option<UnreadTable> {
    match bytes {
        // Its first part has a length below 2 MiB, or is of the usual form.
        [b'P', b'A', b'R', b'E', 0x15, ..] | [b'P', b'A', b'R', b'E', _, _, 0..0x20, 0, ..] => {
            Some(UnreadTable::EncryptedParquet)
        }
        [b'F', b'E', b'A', b'1', 0, 0, 0, 0, ..] => Some(UnreadTable::Feather1),
        _ => None,
    }
}

/// Whether text has these bytes behind the mark. In a table a control character follows soon.
fn goes_on_as_text(rest: &[u8]) -> bool {
    let is_blank = rest.first().is_none_or(|&byte| byte == b' ');
    !is_blank && has_no_controls(&rest[..rest.len().min(4)])
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

/// The error for a part of a table that needs more memory than there is.
pub(super) fn too_large(what: &str, bytes: u64, limit_bytes: u64) -> std::io::Error {
    let what = format!("{what} takes {bytes} bytes, and {limit_bytes} are there for it");
    std::io::Error::new(std::io::ErrorKind::OutOfMemory, what)
}

/// Takes the texts of rows, one by one; none is null.
#[cfg(feature = "columnar")]
type TakeText<'t> = &'t mut dyn FnMut(Option<&[u8]>) -> std::io::Result<()>;

/// Bytes of a value in counts of bytes that were read: a table has no bytes of its own for a value.
pub(crate) const VALUE_BYTES: u64 = 8;

/// How tables are read.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(feature = "columnar"), expect(dead_code, reason = "nothing is read"))]
pub(crate) struct TableOptions<'a> {
    /// The wanted column; none if the file has only one column of integers, or none of them and one
    /// of text.
    pub(crate) column: Option<&'a crate::number::Column>,
    /// How numbers in a column of text are written.
    pub(crate) notation: crate::number::Notation,
    /// The column of keys, if keys are wanted: strings, bytes or integers.
    pub(crate) keys: Option<&'a crate::number::Column>,
    /// Memory for reading.
    pub(crate) memory_bytes: u64,
    /// Most pieces that are read at the same time.
    pub(crate) threads: u64,
}

/// How the memory for a table is shared.
#[cfg(feature = "columnar")]
#[derive(Debug, Clone, Copy)]
struct Share {
    /// Pieces that may be read at the same time, at least one.
    threads: u64,
    /// What one of them may take.
    piece_bytes: u64,
}

#[cfg(feature = "columnar")]
impl TableOptions<'_> {
    /// Writers of Parquet end a page or a dictionary when it has a MiB, or soon after.
    const USUAL_PAGE_BYTES: u64 = 5 << 18;
    /// The memory of a column of a piece, in pages: a page, the same unpacked, and a dictionary.
    const FACTOR: u64 = 3;

    /// As many threads as fit, if a piece takes about `piece_bytes`.
    fn share(self, piece_bytes: u64) -> Share {
        let threads = self.threads.min(self.memory_bytes / piece_bytes.max(1)).max(1);
        Share { threads, piece_bytes: self.memory_bytes / threads }
    }

    fn columns(self) -> u64 {
        1 + u64::from(self.keys.is_some())
    }

    /// Most bytes of a page of a column of integers, or of a record batch.
    fn page_bytes(self, share: Share) -> u64 {
        share.piece_bytes / (Self::FACTOR * self.columns())
    }

    /// The share if a page of a column of integers, or a record batch, has so many bytes.
    fn share_of_pages(self, page_bytes: u64) -> Share {
        self.share((Self::FACTOR * self.columns()).saturating_mul(page_bytes))
    }
}
