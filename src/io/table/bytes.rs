//! Reads the bytes of a table file. It limits how many bytes a reader may ask for at once.

use super::columns::invalid;
use super::thrift::Struct;
use super::too_large;
use crate::kernel::in_usize;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, Length};
use integer_encoding::VarInt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A file that several threads read at places of their own.
#[derive(Debug, Clone)]
pub(super) struct FileBytes {
    pub(super) file: Arc<File>,
    pub(super) len: u64,
    /// Most bytes of one read.
    pub(super) limit_bytes: u64,
}

/// What may be wrong if a header cannot be read.
const NO_HEADER: &str =
    "a page has no header of the usual form: the file is damaged, or the column is encrypted";

impl FileBytes {
    /// A file that can be read at any place.
    pub(super) fn of(file: File, limit_bytes: u64) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), len, limit_bytes })
    }

    /// The bytes at `start`.
    pub(super) fn at(&self, start: u64, bytes: u64) -> io::Result<Vec<u8>> {
        self.up_to(self.limit_bytes, start, bytes)
    }

    fn up_to(&self, limit_bytes: u64, start: u64, bytes: u64) -> io::Result<Vec<u8>> {
        if start.checked_add(bytes).is_none_or(|end| end > self.len) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file is cut off"));
        }
        if bytes > limit_bytes {
            return Err(too_large("a piece of it", bytes, limit_bytes));
        }
        let mut buffer = vec![0; in_usize(bytes)];
        self.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer)
    }
}

/// The bytes of a column of Parquet, page by page.
#[derive(Debug)]
pub(super) struct ColumnBytes {
    pub(super) file: Arc<FileBytes>,
    pub(super) page: Arc<ThisPage>,
}

/// Facts about the last page that was read, and the limit for the next one.
#[derive(Debug, Default)]
pub(super) struct ThisPage {
    /// Rows of the last page of data.
    rows: AtomicUsize,
    /// How many of its texts may be decoded together.
    together: AtomicUsize,
    /// Most bytes of the next page.
    next_bytes: AtomicU64,
}

impl ThisPage {
    pub(super) fn rows(&self) -> usize {
        self.rows.load(Ordering::Relaxed)
    }

    pub(super) fn together(&self) -> usize {
        self.together.load(Ordering::Relaxed)
    }

    pub(super) fn set(&self, rows: usize, together: usize) {
        self.rows.store(rows, Ordering::Relaxed);
        self.together.store(together, Ordering::Relaxed);
    }

    pub(super) fn next_bytes(&self) -> u64 {
        self.next_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn limit_next(&self, bytes: u64) {
        self.next_bytes.store(bytes, Ordering::Relaxed);
    }
}

impl Length for ColumnBytes {
    fn len(&self) -> u64 {
        self.file.len
    }
}

impl ChunkReader for ColumnBytes {
    type T = io::Cursor<Vec<u8>>;

    /// Reads the header of a page. Refuses a page that does not fit, before the reader allocates
    /// memory for it.
    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        // A header takes some 30 bytes, with statistics a few hundred.
        let (mut bytes, limit_bytes) = (512, self.page.next_bytes());
        loop {
            let left = self.file.len.saturating_sub(start);
            let head = self.file.up_to(limit_bytes.max(512), start, bytes.min(left))?;
            let what = match Struct::of(&head) {
                Struct::Whole(_) => match unpacked_bytes(&head) {
                    Some(unpacked) if unpacked > limit_bytes => {
                        return Err(too_large("a page", unpacked, limit_bytes).into());
                    }
                    Some(_) => return Ok(io::Cursor::new(head)),
                    None => NO_HEADER,
                },
                Struct::CutOff if bytes < left => {
                    bytes *= 8;
                    continue;
                }
                Struct::CutOff => "the file is cut off in the header of a page",
                Struct::Unknown => NO_HEADER,
            };
            return Err(invalid(what).into());
        }
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<::bytes::Bytes, ParquetError> {
        Ok(self.file.up_to(self.page.next_bytes(), start, length as u64)?.into())
    }
}

/// Bytes of the unpacked page, as its header says in the second field. The header is in Thrift's
/// compact protocol: each field has a byte with its type and the distance to the number of the
/// field before, then a zigzag number.
fn unpacked_bytes(header: &[u8]) -> Option<u64> {
    const NEXT_FIELD_I32: u8 = 0x15;
    let mut rest = header;
    let mut field = || {
        let (number, len) = u64::decode_var(rest.strip_prefix(&[NEXT_FIELD_I32])?)?;
        rest = rest.get(1 + len..)?;
        Some(number)
    };
    let (_kind, unpacked) = (field()?, field()?);
    Some(unpacked >> 1)
}
