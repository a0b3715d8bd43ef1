//! Parquet files of two columns: a number, and the bytes of a bitmap.

use super::bytes::FileBytes;
use super::columns::{BITMAP, BUCKET, invalid};
use super::parquet::{column_reader, error, metadata_of};
use super::writer::{Holding, parquet_error};
use crate::error::{Error, Result};
use crate::io::caught::caught;
use ::parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use ::parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use ::parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use ::parquet::file::metadata::ParquetMetaData;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{ColumnDescriptor, Type};
use bytes::BytesMut;
use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::sync::Arc;

/// Rows of a row group if there is memory for them.
const GROUP_ROWS: u64 = 4096;
const MIN_GROUP_ROWS: u64 = 64;
const ROW_BYTES: u64 = 3 * 4096;
/// Bytes of a page. The allocator gives the memory of larger pages back to the system after each.
const PAGE_BYTES: usize = 1 << 15;
/// Rows that are read together.
const BATCH_ROWS: usize = 64;
/// Memory for reading the metadata of a file when only its columns are of interest.
const LOOK_BYTES: u64 = 64 << 20;

/// Writes rows of a number and a bitmap.
pub(crate) struct BitmapWriter<W: Write + Send> {
    writer: SerializedFileWriter<Holding<W>>,
    buckets: Vec<i64>,
    /// The bitmaps of these rows, one behind the other, and the end of each.
    bitmaps: BytesMut,
    ends: Vec<usize>,
    group_rows: usize,
}

impl<W: Write + Send> BitmapWriter<W> {
    /// Encodes in about `memory_bytes`.
    ///
    /// # Errors
    ///
    /// If the beginning of the file cannot be written.
    pub(crate) fn new(out: W, memory_bytes: u64) -> io::Result<Self> {
        let column = |name, kind| {
            let column = Type::primitive_type_builder(name, kind);
            column.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
        };
        let build = || {
            let fields =
                vec![column(BUCKET, Physical::INT64)?, column(BITMAP, Physical::BYTE_ARRAY)?];
            let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
            let properties = WriterProperties::builder()
                .set_created_by(concat!("bitsort version ", env!("CARGO_PKG_VERSION")).to_owned())
                .set_compression(Compression::SNAPPY)
                .set_dictionary_enabled(false)
                .set_statistics_enabled(EnabledStatistics::None)
                .set_offset_index_disabled(true)
                .set_data_page_size_limit(PAGE_BYTES)
                .build();
            let out = Holding::new(out);
            SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
        };
        let rows = (memory_bytes / ROW_BYTES).clamp(MIN_GROUP_ROWS, GROUP_ROWS);
        let group_rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let writer = build().map_err(parquet_error)?;
        Ok(Self {
            writer,
            buckets: Vec::new(),
            bitmaps: BytesMut::new(),
            ends: Vec::new(),
            group_rows,
        })
    }

    /// Takes the next row.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn row(&mut self, bucket: i64, bitmap: &[u8]) -> io::Result<()> {
        self.buckets.push(bucket);
        self.bitmaps.extend_from_slice(bitmap);
        self.ends.push(self.bitmaps.len());
        if self.buckets.len() < self.group_rows { Ok(()) } else { self.group() }
    }

    fn group(&mut self) -> io::Result<()> {
        let shared = std::mem::take(&mut self.bitmaps).freeze();
        let starts = iter::once(&0).chain(&self.ends);
        let places = starts.zip(&self.ends).map(|(start, end)| *start..*end);
        let bitmaps: Vec<ByteArray> = places.map(|place| shared.slice(place).into()).collect();
        let mut write = || {
            let mut group = self.writer.next_row_group()?;
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int64Type>().write_batch(&self.buckets, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                column.typed::<ByteArrayType>().write_batch(&bitmaps, None, None)?;
                column.close()?;
            }
            group.close().map(drop)
        };
        write().map_err(parquet_error)?;
        self.buckets.clear();
        self.ends.clear();
        drop(bitmaps);
        // The memory serves the next rows, which spares the system the mapping of new memory.
        self.bitmaps = shared.try_into_mut().unwrap_or_default();
        self.bitmaps.clear();
        Ok(())
    }

    /// Completes the file.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.buckets.is_empty() {
            self.group()?;
        }
        self.writer.into_inner().map_err(parquet_error)?.finish()
    }
}

/// The two columns of a file.
#[derive(Debug)]
pub(crate) struct BitmapTable {
    bytes: Arc<FileBytes>,
    metadata: ParquetMetaData,
    name: String,
    bucket: usize,
    bitmap: usize,
}

/// Whether a column has signed numbers of 8 bytes.
fn is_bucket(column: &ColumnDescriptor) -> bool {
    let plain = matches!(column.converted_type(), ConvertedType::NONE | ConvertedType::INT_64);
    column.max_rep_level() == 0 && column.physical_type() == Physical::INT64 && plain
}

/// Whether a column has bytes that are not text.
fn is_bitmap(column: &ColumnDescriptor) -> bool {
    let is_plain = column.converted_type() == ConvertedType::NONE;
    let is_binary = column.physical_type() == Physical::BYTE_ARRAY && is_plain;
    column.max_rep_level() == 0 && is_binary && column.logical_type_ref().is_none()
}

impl BitmapTable {
    /// Whether a file has exactly these two columns, by their names and types.
    pub(crate) fn is_one(file: File, name: &str) -> Result<bool> {
        let bytes = FileBytes::of(file, LOOK_BYTES).map_err(Error::io("read", name))?;
        let metadata = metadata_of(&bytes).map_err(Error::io("read", name))?;
        let columns = metadata.file_metadata().schema_descr().columns();
        let named = |name: &str, fits: fn(&ColumnDescriptor) -> bool| {
            columns.iter().any(|column| column.path().string() == name && fits(column))
        };
        Ok(columns.len() == 2 && named(BUCKET, is_bucket) && named(BITMAP, is_bitmap))
    }

    /// Opens a file that has one column of each kind. Its pages and its metadata take at most
    /// `memory_bytes`.
    pub(crate) fn open(file: File, name: &str, memory_bytes: u64) -> Result<Self> {
        let bytes = FileBytes::of(file, memory_bytes / 3).map_err(Error::io("read", name))?;
        let metadata = metadata_of(&bytes).map_err(Error::io("read", name))?;
        let columns = metadata.file_metadata().schema_descr().columns();
        let only = |fits: fn(&ColumnDescriptor) -> bool, what: &str| {
            let mut found = (0..columns.len()).filter(|&index| fits(&columns[index]));
            match (found.next(), found.next()) {
                (Some(index), None) => Ok(index),
                (None, _) => Err(format!("it has no column of {what}")),
                _ => Err(format!("it has several columns of {what}")),
            }
        };
        let columns = only(is_bucket, "64-bit integers, for the buckets")
            .and_then(|bucket| Ok((bucket, only(is_bitmap, "bytes, for the bitmaps")?)));
        let (bucket, bitmap) =
            columns.map_err(|what| Error::TableColumn { input: name.to_owned(), what })?;
        Ok(Self { bytes: Arc::new(bytes), metadata, name: name.to_owned(), bucket, bitmap })
    }

    /// Hands over each row, in order.
    pub(crate) fn each(
        &self,
        mut take: impl FnMut(Option<i64>, Option<&[u8]>) -> Result<()>,
    ) -> Result<()> {
        for group in 0..self.metadata.num_row_groups() {
            let failed = || Error::io("read", &self.name);
            let rows = usize::try_from(self.metadata.row_group(group).num_rows());
            let mut left = rows.map_err(|_| failed()(invalid("a row group has a wrong size")))?;
            let mut buckets =
                Column::<Int64Type>::open(self, group, self.bucket).map_err(failed())?;
            let mut bitmaps =
                Column::<ByteArrayType>::open(self, group, self.bitmap).map_err(failed())?;
            while left > 0 {
                let count = left.min(BATCH_ROWS);
                let buckets = buckets.read(count).map_err(failed())?;
                let bitmaps = bitmaps.read(count).map_err(failed())?;
                for (bucket, bitmap) in buckets.iter().zip(&bitmaps) {
                    take(*bucket, bitmap.as_ref().map(ByteArray::data))?;
                }
                left -= count;
            }
        }
        Ok(())
    }
}

/// A column of a row group that is being read.
struct Column<T: DataType> {
    reader: ColumnReaderImpl<T>,
    /// Definition level of a value that is not null.
    present: i16,
}

impl<T: DataType> Column<T> {
    fn open(table: &BitmapTable, group: usize, column: usize) -> io::Result<Self> {
        let (reader, present) = column_reader(&table.bytes, &table.metadata, group, column)?;
        Ok(Self { reader: get_typed_column_reader(reader), present })
    }

    /// The next `count` rows.
    fn read(&mut self, count: usize) -> io::Result<Vec<Option<T::T>>> {
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let reader = &mut self.reader;
        let (rows, ..) = caught(|| {
            reader.read_records(count, Some(&mut levels), None, &mut values).map_err(error)
        })?;
        if rows != count {
            return Err(invalid(format!("the file promises {count} more rows, but has {rows}")));
        }
        if self.present == 0 {
            return Ok(values.into_iter().map(Some).collect());
        }
        let mut values = values.into_iter();
        let found = levels.iter().map(|&level| (level == self.present).then(|| values.next()));
        Ok(found.map(Option::flatten).collect())
    }
}
