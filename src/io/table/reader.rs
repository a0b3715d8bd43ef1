//! An open table of either format, and its pieces.

use super::arrow::{ArrowTable, BatchColumn};
use super::bytes::FileBytes;
use super::columns::{Stored, Which, invalid};
use super::parquet::{ParquetColumn, ParquetTable};
use super::rows::LONG_KEY;
use super::{Keys, Rows, Share, TableFormat, TableOptions, TakeText, too_large};
use crate::error::{Error, Result};
use crate::kernel::in_usize;
use crate::number::Notation;
use std::fs::File;
use std::io;

/// Rows that are read together.
const BATCH_ROWS: usize = 1 << 14;

/// One column of numbers in a file, and perhaps one of keys.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    content: Content,
    /// How numbers in a column of text are written.
    notation: Notation,
    has_keys: bool,
    share: Share,
    /// Rows of each piece.
    rows: Vec<u64>,
}

#[derive(Debug)]
enum Content {
    Parquet(ParquetTable),
    Arrow(ArrowTable),
}

/// A piece that is being read.
pub(crate) struct Piece {
    name: String,
    numbers: ColumnPiece,
    /// How the numbers are written, if they are texts.
    notation: Option<Notation>,
    keys: Option<ColumnPiece>,
    /// Most bytes of the keys of a batch.
    limit_bytes: u64,
    rows_left: u64,
}

/// A column of a piece.
enum ColumnPiece {
    Parquet(Box<ParquetColumn>),
    Arrow(BatchColumn),
}

impl Table {
    /// The open file.
    pub(crate) fn file(&self) -> &File {
        match &self.content {
            Content::Parquet(table) => table.file(),
            Content::Arrow(table) => table.file(),
        }
    }

    /// Opens a file that can be read at any place.
    ///
    /// # Errors
    ///
    /// If it is damaged, does not have the column, or takes too much memory.
    pub(crate) fn open(
        file: File,
        name: &str,
        format: TableFormat,
        options: TableOptions<'_>,
    ) -> Result<Self> {
        let (notation, has_keys) = (options.notation, options.keys.is_some());
        let usual = options.share_of_pages(TableOptions::USUAL_PAGE_BYTES);
        let file =
            FileBytes::of(file, options.page_bytes(usual)).map_err(Error::io("read", name))?;
        let opened = match format {
            TableFormat::Parquet => ParquetTable::open(file, options)
                .map(|opened| (Content::Parquet(opened.table), opened.rows, opened.share)),
            TableFormat::Arrow => ArrowTable::open(file, options)
                .map(|opened| (Content::Arrow(opened.table), opened.rows, opened.share)),
        };
        let name = name.to_owned();
        match opened {
            Ok((content, rows, share)) => {
                if rows.iter().try_fold(0_u64, |sum, &rows| sum.checked_add(rows)).is_none() {
                    let source = invalid("it says that it has 2^64 rows or more");
                    return Err(Error::io("read", name)(source));
                }
                Ok(Self { name, content, notation, has_keys, share, rows })
            }
            Err(refused) => Err(refused.of(&name)),
        }
    }

    /// Number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.rows.len()
    }

    /// Threads that may read it at the same time, each a piece.
    pub(crate) fn threads(&self) -> usize {
        in_usize(self.share.threads)
    }

    /// About the bytes that it takes in memory as long as it is open.
    pub(crate) fn held_bytes(&self) -> u64 {
        let rows = (self.rows.capacity() * size_of::<u64>()) as u64;
        match &self.content {
            Content::Parquet(_) => rows,
            Content::Arrow(table) => rows.saturating_add(table.held_bytes()),
        }
    }

    /// About the bytes of its metadata, of which each thread has a copy while it reads the table.
    pub(crate) fn metadata_bytes(&self) -> u64 {
        match &self.content {
            Content::Parquet(table) => table.metadata_bytes(),
            Content::Arrow(_) => 0,
        }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows.iter().sum()
    }

    /// Number of rows of a piece.
    pub(crate) fn piece_rows(&self, piece: usize) -> u64 {
        self.rows.get(piece).copied().unwrap_or(0)
    }

    /// The smallest and the largest value, if the file says them. The file may be wrong.
    pub(crate) fn bounds(&self) -> Option<(u64, u64)> {
        match &self.content {
            Content::Parquet(table) => table.bounds(),
            Content::Arrow(_) => None,
        }
    }

    /// Begins to read a piece.
    ///
    /// # Errors
    ///
    /// If the file is damaged, or the piece takes too much memory.
    pub(crate) fn piece(&self, piece: usize) -> Result<Piece> {
        self.begin(piece).map_err(Error::io("read", &self.name))
    }

    fn begin(&self, piece: usize) -> io::Result<Piece> {
        let stored = match &self.content {
            Content::Parquet(table) => table.stored(),
            Content::Arrow(table) => table.stored(),
        };
        Ok(Piece {
            name: self.name.clone(),
            numbers: self.column(Which::Numbers, piece)?,
            notation: match stored {
                Stored::Integers => None,
                Stored::Decimals => Some(Notation::DECIMAL),
                Stored::Texts => Some(self.notation),
            },
            keys: self.has_keys.then(|| self.column(Which::Keys, piece)).transpose()?,
            limit_bytes: (self.share.piece_bytes / 6).max((BATCH_ROWS * LONG_KEY) as u64),
            rows_left: self.piece_rows(piece),
        })
    }

    fn column(&self, which: Which, piece: usize) -> io::Result<ColumnPiece> {
        match &self.content {
            Content::Parquet(table) => {
                table.column(which, piece).map(Box::new).map(ColumnPiece::Parquet)
            }
            Content::Arrow(table) => {
                table.column(which, piece, self.piece_rows(piece)).map(ColumnPiece::Arrow)
            }
        }
    }
}

impl ColumnPiece {
    /// Appends the next rows, or fewer at the end.
    fn numbers(&mut self, count: usize, rows: &mut Rows) -> io::Result<()> {
        match self {
            Self::Parquet(column) => column.numbers(count, rows),
            Self::Arrow(column) => column.numbers(count, rows),
        }
    }

    /// Hands over the texts or keys of the next rows, or of fewer at the end.
    fn texts(&mut self, count: usize, take: TakeText<'_>) -> io::Result<()> {
        match self {
            Self::Parquet(column) => column.texts(count, take),
            Self::Arrow(column) => column.texts(count, take),
        }
    }
}

impl Piece {
    /// Replaces `rows` with the next ones; false if there are none left.
    ///
    /// # Errors
    ///
    /// If the file is damaged, or has a page that takes too much memory.
    pub(crate) fn next(&mut self, rows: &mut Rows) -> Result<bool> {
        rows.clear();
        let count = in_usize(self.rows_left).min(BATCH_ROWS);
        if count == 0 {
            return Ok(false);
        }
        let read = self.next_numbers(count, rows).and_then(|()| self.next_keys(count, rows));
        read.map_err(Error::io("read", &self.name))?;
        self.rows_left -= count as u64;
        Ok(true)
    }

    /// Reads the numbers of the next rows.
    fn next_numbers(&mut self, count: usize, rows: &mut Rows) -> io::Result<()> {
        match self.notation {
            None => self.numbers.numbers(count, rows),
            Some(notation) => self.numbers.texts(count, &mut |text| {
                rows.push_text(text, notation);
                Ok(())
            }),
        }?;
        match rows.len() {
            found if found == count => Ok(()),
            found => Err(invalid(format!("the file promises {count} more rows, but has {found}"))),
        }
    }

    /// Reads the keys of the next rows.
    fn next_keys(&mut self, count: usize, rows: &mut Rows) -> io::Result<()> {
        let Some(column) = &mut self.keys else { return Ok(()) };
        let (mut keys, limit_bytes) = (Keys::default(), self.limit_bytes);
        column.texts(count, &mut |key| {
            keys.push(key);
            match keys.bytes() as u64 {
                bytes if bytes > limit_bytes => {
                    Err(too_large("the text of keys that are read together", bytes, limit_bytes))
                }
                _ => Ok(()),
            }
        })?;
        if keys.len() != count {
            let found = keys.len();
            return Err(invalid(format!("{count} more keys are promised, {found} are there")));
        }
        rows.keys = Some(keys);
        Ok(())
    }

    /// Number of batches that so many rows are read in.
    pub(crate) fn batches(rows: u64) -> u64 {
        rows.div_ceil(BATCH_ROWS as u64)
    }
}
