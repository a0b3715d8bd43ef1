//! Parquet files of two columns: a number, and the bytes of a bitmap.

use super::bytes::FileBytes;
use super::columns::{BITMAP, BUCKET, Refused, invalid};
use super::parquet::{column_reader, error, metadata_of};
use super::writer::{Holding, parquet_error};
use crate::error::{ColumnFault, Error, Result};
use crate::io::caught::caught;
use crate::kernel::in_usize;
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
use std::sync::Arc;

/// Most rows of a row group: programs that read all of it need 128 MiB.
const GROUP_ROWS: usize = 1 << 15;
/// Fewest bytes of rows that wait for their row group.
const MIN_WAITING: usize = 1 << 16;
/// Bytes of a row's bitmap.
const ROW_BYTES: usize = 4096;
/// Bytes of a page. The allocator gives the memory of larger pages back to the system after each.
const PAGE_BYTES: usize = 1 << 15;
/// Rows that are written together.
const WRITTEN_ROWS: usize = 2 * PAGE_BYTES / ROW_BYTES;
/// Rows that are read together.
const BATCH_ROWS: usize = 64;
/// Memory for reading the metadata of a file when only its columns are of interest.
const LOOK_BYTES: u64 = 64 << 20;

/// Writes rows of a number and a bitmap.
pub(crate) struct BitmapWriter<W: Write + Send> {
    writer: SerializedFileWriter<Holding<W>>,
    buckets: Vec<i64>,
    /// The bitmaps of these rows: all their bytes, or the place and the value of each that is not 0,
    /// if that is less.
    bitmaps: Vec<u8>,
    /// Bytes of each of them.
    lens: Vec<usize>,
    /// Most bytes of bitmaps that wait.
    most: usize,
    /// The whole bitmaps of some rows.
    whole: BytesMut,
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
        // A vector may have twice the capacity.
        let most = in_usize(memory_bytes / 4).max(MIN_WAITING);
        let writer = build().map_err(parquet_error)?;
        let (buckets, bitmaps, lens) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { writer, buckets, bitmaps, lens, most, whole: BytesMut::new() })
    }

    /// Takes the next row.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn row(&mut self, bucket: i64, bitmap: &[u8; ROW_BYTES]) -> io::Result<()> {
        let before = self.bitmaps.len();
        let words = (0_u16..).step_by(8).zip(bitmap.as_chunks::<8>().0);
        for (first, word) in words.filter(|(_, word)| **word != [0; 8]) {
            for (place, &byte) in (first..).zip(word).filter(|(_, byte)| **byte != 0) {
                let [low, high] = place.to_le_bytes();
                self.bitmaps.extend_from_slice(&[low, high, byte]);
            }
            if self.bitmaps.len() - before >= ROW_BYTES {
                self.bitmaps.truncate(before);
                self.bitmaps.extend_from_slice(bitmap);
                break;
            }
        }
        self.buckets.push(bucket);
        self.lens.push(self.bitmaps.len() - before);
        let waits = self.buckets.len() < GROUP_ROWS && self.bitmaps.len() < self.most;
        if waits { Ok(()) } else { self.group() }
    }

    /// Writes the rows that wait as a row group.
    fn group(&mut self) -> io::Result<()> {
        let Self { writer, buckets, bitmaps, lens, whole, .. } = self;
        let mut write = || {
            let mut group = writer.next_row_group()?;
            if let Some(mut column) = group.next_column()? {
                column.typed::<Int64Type>().write_batch(buckets, None, None)?;
                column.close()?;
            }
            if let Some(mut column) = group.next_column()? {
                let mut rest = &bitmaps[..];
                for lens in lens.chunks(WRITTEN_ROWS) {
                    for &len in lens {
                        let (stored, later) = rest.split_at(len);
                        append(whole, stored);
                        rest = later;
                    }
                    let shared = std::mem::take(whole).freeze();
                    let rows = (0..lens.len()).map(|row| row * ROW_BYTES);
                    let rows = rows.map(|at| shared.slice(at..at + ROW_BYTES).into());
                    let rows: Vec<ByteArray> = rows.collect();
                    column.typed::<ByteArrayType>().write_batch(&rows, None, None)?;
                    drop(rows);
                    *whole = shared.try_into_mut().unwrap_or_default(); // to use the memory again
                    whole.clear();
                }
                column.close()?;
            }
            group.close().map(drop)
        };
        write().map_err(parquet_error)?;
        self.buckets.clear();
        self.bitmaps.clear();
        self.lens.clear();
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

/// Bytes of a byte of a bitmap that waits with its place.
const PLACED_BYTES: usize = 3;

/// Appends a whole bitmap of which `stored` waited.
fn append(whole: &mut BytesMut, stored: &[u8]) {
    if stored.len() == ROW_BYTES {
        whole.extend_from_slice(stored);
        return;
    }
    let start = whole.len();
    whole.resize(start + ROW_BYTES, 0);
    for [low, high, byte] in stored.as_chunks::<PLACED_BYTES>().0 {
        whole[start + usize::from(u16::from_le_bytes([*low, *high]))] = *byte;
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
            columns.map_err(|what| Refused::Column(ColumnFault::NoBitmaps, what).of(name))?;
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
        let (place, page) = ((group, column), Arc::default());
        let (reader, present) = column_reader(
            &table.bytes,
            &table.metadata,
            place,
            3 * table.bytes.limit_bytes,
            &page,
        )?;
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
