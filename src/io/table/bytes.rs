//! Reads the bytes of a table file. It limits how many bytes a reader may ask for at once.

use super::too_large;
use crate::kernel::in_usize;
use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{ChunkReader, Length};
use integer_encoding::VarInt;
use std::fs::File;
use std::io::{self, BufReader, Read};
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

/// What is known of the page that was read last, and of the next one.
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
    type T = PageHead;

    fn get_read(&self, start: u64) -> Result<PageHead, ParquetError> {
        let cursor = Cursor { file: Arc::clone(&self.file.file), at: start };
        // A header takes some 30 bytes, with statistics a few hundred.
        let bytes = BufReader::with_capacity(512, cursor);
        Ok(PageHead { bytes, is_checked: false, limit_bytes: self.page.next_bytes() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<::bytes::Bytes, ParquetError> {
        Ok(self.file.up_to(self.page.next_bytes(), start, length as u64)?.into())
    }
}

#[derive(Debug)]
struct Cursor {
    file: Arc<File>,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads the header of a page. Refuses a page that does not fit, before the reader allocates memory
/// for it.
#[derive(Debug)]
pub(super) struct PageHead {
    bytes: BufReader<Cursor>,
    is_checked: bool,
    limit_bytes: u64,
}

impl Read for PageHead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.is_checked, true) {
            use std::io::BufRead;
            let header = self.bytes.fill_buf()?;
            match unpacked_bytes(header) {
                Some(bytes) if bytes > self.limit_bytes => {
                    return Err(too_large("a page", bytes, self.limit_bytes));
                }
                None if !header.is_empty() => {
                    let what = "a page has no header of the usual form";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
                _ => {}
            }
        }
        self.bytes.read(buffer)
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
