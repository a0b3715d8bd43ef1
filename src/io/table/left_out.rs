//! Stand-ins for tables in a program that was built without them.

use super::{Rows, TableFormat, TableOptions};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, Write};
use std::marker::PhantomData;

/// Never exists: this build has no tables.
#[derive(Debug)]
pub(crate) enum Table {}

/// Never exists: this build has no tables.
#[derive(Debug)]
pub(crate) enum Piece {}

/// Never exists: this build has no tables.
pub(crate) struct TableWriter<W>(Never, PhantomData<W>);

/// Never exists: this build has no tables.
#[derive(Debug)]
pub(crate) enum BitmapTable {}

/// Never exists: this build has no tables.
pub(crate) enum ColumnFilters {}

/// Never exists: this build has no tables.
pub(crate) struct BitmapWriter<W>(Never, PhantomData<W>);

enum Never {}

impl BitmapTable {
    pub(crate) fn is_one(_: File, name: &str) -> Result<bool> {
        Err(Error::LeftOut { input: name.to_owned(), format: TableFormat::Parquet.title() })
    }

    pub(crate) fn open(_: File, name: &str, _: u64) -> Result<Self> {
        Err(Error::LeftOut { input: name.to_owned(), format: TableFormat::Parquet.title() })
    }

    pub(crate) fn each(
        &self,
        _: impl FnMut(Option<i64>, Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        match *self {}
    }
}

impl ColumnFilters {
    pub(crate) fn open(_: File, name: &str, _: Option<&crate::number::Column>) -> Result<Self> {
        Err(Error::LeftOut { input: name.to_owned(), format: TableFormat::Parquet.title() })
    }

    pub(crate) fn expected(&self) -> &'static str {
        match *self {}
    }

    pub(crate) fn key(&self, _: &[u8]) -> Option<Vec<u8>> {
        match *self {}
    }

    pub(crate) fn contains(&self, _: &[u8]) -> bool {
        match *self {}
    }
}

impl<W: Write + Send> BitmapWriter<W> {
    pub(crate) fn new(_: W, _: u64) -> io::Result<Self> {
        let format = TableFormat::Parquet;
        let what = format!("this build has no feature columnar to write {format} files");
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub(crate) fn row(&mut self, _: i64, _: &[u8; 4096]) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self.0 {}
    }
}

impl Table {
    pub(crate) fn open(
        _: File,
        name: &str,
        format: TableFormat,
        _: TableOptions<'_>,
    ) -> Result<Self> {
        Err(Error::LeftOut { input: name.to_owned(), format: format.title() })
    }

    pub(crate) fn file(&self) -> &File {
        match *self {}
    }

    pub(crate) fn pieces(&self) -> usize {
        match *self {}
    }

    pub(crate) fn threads(&self) -> usize {
        match *self {}
    }

    pub(crate) fn rows(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn piece_rows(&self, _: usize) -> u64 {
        match *self {}
    }

    pub(crate) fn metadata_bytes(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn bounds(&self) -> Option<(u64, u64)> {
        match *self {}
    }

    pub(crate) fn piece(&self, _: usize) -> Result<Piece> {
        match *self {}
    }
}

impl Piece {
    pub(crate) fn batches(rows: u64) -> u64 {
        rows
    }

    pub(crate) fn next(&mut self, _: &mut Rows) -> Result<bool> {
        match *self {}
    }
}

impl<W: Write + Send> TableWriter<W> {
    pub(crate) fn new(
        format: TableFormat,
        _: W,
        _: &str,
        _: bool,
        _: u64,
        _: Option<f64>,
    ) -> io::Result<Self> {
        let what = format!("this build has no feature columnar to write {format} files");
        Err(io::Error::new(io::ErrorKind::Unsupported, what))
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn values(&mut self, _: &[u64]) -> io::Result<()> {
        match self.0 {}
    }

    pub(crate) fn counted(&mut self, _: &[[u64; 2]]) -> io::Result<()> {
        match self.0 {}
    }
}
