//! An open table of either format, and its pieces.

use super::arrow::{ArrowKeys, ArrowPiece, ArrowTable};
use super::bytes::FileBytes;
use super::columns::{Refused, invalid};
use super::parquet::{ParquetKeys, ParquetPiece, ParquetTable};
use super::{Keys, Rows, TableFormat, TableOptions};
use crate::error::{Error, Result};
use std::fs::File;
use std::io;

/// Rows that are read together.
const BATCH_ROWS: usize = 1 << 14;

/// One integer column of a file, and perhaps one of keys.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    content: Content,
    has_keys: bool,
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
    content: PieceContent,
    keys: Option<PieceKeys>,
    rows_left: u64,
}

enum PieceKeys {
    Parquet(Box<ParquetKeys>),
    Arrow(ArrowKeys),
}

enum PieceContent {
    Parquet(Box<ParquetPiece>),
    Arrow(ArrowPiece),
}

impl Table {
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
        let has_keys = options.keys.is_some();
        let file = FileBytes::of(file, options.piece_bytes()).map_err(Error::io("read", name))?;
        let opened = match format {
            TableFormat::Parquet => ParquetTable::open(file, options.column, options.keys)
                .map(|opened| (Content::Parquet(opened.table), opened.rows)),
            TableFormat::Arrow => ArrowTable::open(file, options)
                .map(|opened| (Content::Arrow(opened.table), opened.rows)),
        };
        let name = name.to_owned();
        match opened {
            Ok((content, rows)) => {
                if rows.iter().try_fold(0_u64, |sum, &rows| sum.checked_add(rows)).is_none() {
                    let source = invalid("it says that it has 2^64 rows or more");
                    return Err(Error::io("read", name)(source));
                }
                Ok(Self { name, content, has_keys, rows })
            }
            Err(Refused::Read(error)) => Err(Error::io("read", name)(error)),
            Err(Refused::Column(what)) => Err(Error::TableColumn { input: name, what }),
        }
    }

    /// Number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        self.rows.len()
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
        let content = match &self.content {
            Content::Parquet(table) => {
                table.piece(piece).map(|piece| PieceContent::Parquet(Box::new(piece)))
            }
            Content::Arrow(table) => {
                table.piece(piece, self.piece_rows(piece)).map(PieceContent::Arrow)
            }
        };
        let keys = match &self.content {
            _ if !self.has_keys => Ok(None),
            Content::Parquet(table) => {
                table.keys(piece).map(|keys| Some(PieceKeys::Parquet(Box::new(keys))))
            }
            Content::Arrow(table) => {
                table.keys(piece, self.piece_rows(piece)).map(|keys| Some(PieceKeys::Arrow(keys)))
            }
        };
        let name = self.name.clone();
        match content.and_then(|content| Ok((content, keys?))) {
            Ok((content, keys)) => {
                Ok(Piece { name, content, keys, rows_left: self.piece_rows(piece) })
            }
            Err(error) => Err(Error::io("read", name)(error)),
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
        let count = usize::try_from(self.rows_left).unwrap_or(usize::MAX).min(BATCH_ROWS);
        if count == 0 {
            return Ok(false);
        }
        let read = match &mut self.content {
            PieceContent::Parquet(piece) => piece.read(count, rows),
            PieceContent::Arrow(piece) => piece.read(count, rows),
        };
        let read = read.and_then(|()| match rows.len() {
            found if found == count => Ok(()),
            found => Err(invalid(format!("the file promises {count} more rows, but has {found}"))),
        });
        let read = read.and_then(|()| self.next_keys(count, rows));
        read.map_err(Error::io("read", &self.name))?;
        self.rows_left -= count as u64;
        Ok(true)
    }

    /// Reads the keys of the next rows.
    fn next_keys(&mut self, count: usize, rows: &mut Rows) -> io::Result<()> {
        let Some(piece) = &mut self.keys else { return Ok(()) };
        let mut keys = Keys::default();
        match piece {
            PieceKeys::Parquet(piece) => piece.read(count, &mut keys)?,
            PieceKeys::Arrow(piece) => piece.read(count, &mut keys)?,
        }
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
