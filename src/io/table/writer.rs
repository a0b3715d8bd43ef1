//! Writes values as a Parquet or Arrow file, a row group or record batch at a time.
//!
//! Parquet: `DELTA_BINARY_PACKED`, which takes about a byte for each of sorted values; every reader
//! of Parquet 2 knows it. Arrow: plain values, so that the file can be mapped.

use super::TableFormat;
use crate::kernel::in_usize;
use ::parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical};
use ::parquet::data_type::Int64Type;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::{ColumnPath, Type};
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a row group if there is memory; other writers take as many.
const GROUP_ROWS: u64 = 1 << 20;
const MIN_GROUP_ROWS: u64 = 1 << 14;
/// Rows of a record batch. A reader may have to take them at once.
const BATCH_ROWS: u64 = 1 << 16;
/// Memory of a row: its numbers and their encoded form.
const ROW_BYTES: u64 = 64;
/// The name of the second column.
const COUNT: &str = "count";

/// Takes values and writes a column of them; or values with their counts, and writes two.
pub(crate) struct TableWriter<W: Write + Send> {
    encoder: Encoder<W>,
    /// For each column, the numbers that are not written yet.
    columns: Vec<Vec<u64>>,
    group_rows: usize,
}

enum Encoder<W: Write + Send> {
    Parquet(Box<SerializedFileWriter<Holding<W>>>),
    Arrow(Box<FileWriter<Holding<W>>>, SchemaRef),
}

/// Holds back the first bytes of the output. Without [`finish`](Self::finish) they are lost, so a
/// run that fails before there are rows writes nothing.
pub(super) struct Holding<W> {
    out: W,
    held: Vec<u8>,
    holds: bool,
}

/// Most bytes that the formats write before the first rows.
const HELD_BYTES: usize = 4 << 10;

impl<W: Write> Holding<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, held: Vec::new(), holds: true }
    }

    fn release(&mut self) -> io::Result<()> {
        self.holds = false;
        self.out.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.release()?;
        self.out.flush()
    }
}

impl<W: Write> Write for Holding<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.holds && self.held.len() + bytes.len() <= HELD_BYTES {
            self.held.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        self.release()?;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(()) // `finish` flushes
    }
}

/// Bytes that a row takes in a filter with this rate of false positives; the size of a filter is a
/// power of two.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
fn filter_row_bytes(rate: f64) -> u64 {
    let bits = -8.0 / (1.0 - rate.powf(1.0 / 8.0)).ln();
    (bits / 4.0).ceil() as u64
}

pub(super) fn parquet_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}

fn arrow_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, cause) => cause,
        other => io::Error::other(other),
    }
}

impl<W: Write + Send> TableWriter<W> {
    /// A table with a column called `name`, and with a column of counts if values come with counts.
    /// With `filter_rate` each row group of Parquet has a Bloom filter of the first column.
    ///
    /// # Errors
    ///
    /// If its beginning cannot be written, or a filter was asked for in another format.
    pub(crate) fn new(
        format: TableFormat,
        out: W,
        name: &str,
        counted: bool,
        memory_bytes: u64,
        filter_rate: Option<f64>,
    ) -> io::Result<Self> {
        let out = Holding::new(out);
        // The two columns must have different names.
        let name = if counted && name == COUNT { "value" } else { name };
        let names = if counted { vec![name, COUNT] } else { vec![name] };
        let row_bytes = ROW_BYTES + filter_rate.map_or(0, filter_row_bytes);
        let rows = memory_bytes / row_bytes / names.len() as u64;
        let (encoder, rows) = match format {
            TableFormat::Parquet => {
                let rows = rows.clamp(MIN_GROUP_ROWS, GROUP_ROWS);
                (parquet(out, &names, filter_rate.map(|rate| (rate, rows)))?, rows)
            }
            TableFormat::Arrow if filter_rate.is_some() => {
                return Err(io::Error::other("files of Arrow have no Bloom filters"));
            }
            TableFormat::Arrow => (arrow(out, &names)?, rows.clamp(MIN_GROUP_ROWS, BATCH_ROWS)),
        };
        let group_rows = in_usize(rows);
        let columns = names.iter().map(|_| Vec::with_capacity(group_rows)).collect();
        Ok(Self { encoder, columns, group_rows })
    }

    /// Completes the file.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        if !self.columns[0].is_empty() {
            self.write_group()?;
        }
        let out = match self.encoder {
            Encoder::Parquet(writer) => writer.into_inner().map_err(parquet_error)?,
            Encoder::Arrow(mut writer, _) => {
                writer.finish().map_err(arrow_error)?;
                writer.into_inner().map_err(arrow_error)?
            }
        };
        out.finish()
    }

    /// Takes the next rows.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub(crate) fn values(&mut self, values: &[u64]) -> io::Result<()> {
        let mut rest = values;
        while !rest.is_empty() {
            let room = self.group_rows - self.columns[0].len();
            let (now, later) = rest.split_at(rest.len().min(room));
            self.columns[0].extend_from_slice(now);
            rest = later;
            self.write_full_group()?;
        }
        Ok(())
    }

    /// Takes the next rows of two columns.
    ///
    /// # Errors
    ///
    /// If they cannot be written, or the table has only one column.
    pub(crate) fn counted(&mut self, pairs: &[[u64; 2]]) -> io::Result<()> {
        for [value, count] in pairs {
            let [values, counts] = &mut self.columns[..] else {
                return Err(io::Error::other("the table has no column of counts"));
            };
            values.push(*value);
            counts.push(*count);
            self.write_full_group()?;
        }
        Ok(())
    }

    fn write_full_group(&mut self) -> io::Result<()> {
        if self.columns[0].len() < self.group_rows {
            return Ok(());
        }
        self.write_group()
    }

    fn write_group(&mut self) -> io::Result<()> {
        match &mut self.encoder {
            Encoder::Parquet(writer) => {
                let mut group = writer.next_row_group().map_err(parquet_error)?;
                for numbers in &self.columns {
                    let column = group.next_column().map_err(parquet_error)?;
                    let mut column = column.ok_or_else(|| io::Error::other("no such column"))?;
                    let numbers: &[i64] = bytemuck::cast_slice(numbers);
                    let typed = column.typed::<Int64Type>();
                    typed.write_batch(numbers, None, None).map_err(parquet_error)?;
                    column.close().map_err(parquet_error)?;
                }
                group.close().map_err(parquet_error)?;
                self.columns.iter_mut().for_each(Vec::clear);
            }
            Encoder::Arrow(writer, schema) => {
                let arrays = self.columns.iter_mut().map(|numbers| {
                    let numbers = std::mem::replace(numbers, Vec::with_capacity(self.group_rows));
                    Arc::new(UInt64Array::from(numbers)) as ArrayRef
                });
                let batch = RecordBatch::try_new(Arc::clone(schema), arrays.collect());
                writer.write(&batch.map_err(arrow_error)?).map_err(arrow_error)?;
            }
        }
        Ok(())
    }
}

/// `filter` is the rate of false positives of a filter of the first column, and the most rows of
/// one filter.
fn parquet<W: Write + Send>(
    out: Holding<W>,
    names: &[&str],
    filter: Option<(f64, u64)>,
) -> io::Result<Encoder<W>> {
    let fields = names.iter().map(|name| {
        Type::primitive_type_builder(name, Physical::INT64)
            .with_repetition(Repetition::REQUIRED)
            .with_logical_type(Some(LogicalType::integer(64, false)))
            .build()
            .map(Arc::new)
    });
    let fields = fields.collect::<Result<Vec<_>, _>>().map_err(parquet_error)?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build();
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("bitsort version ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(Compression::UNCOMPRESSED)
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    if let (Some((rate, rows)), Some(name)) = (filter, names.first()) {
        let column = ColumnPath::from(vec![(*name).to_owned()]);
        properties = properties
            .set_column_bloom_filter_fpp(column.clone(), rate)
            .set_column_bloom_filter_max_ndv(column, rows);
    }
    let schema = Arc::new(schema.map_err(parquet_error)?);
    let writer = SerializedFileWriter::new(out, schema, Arc::new(properties.build()));
    Ok(Encoder::Parquet(Box::new(writer.map_err(parquet_error)?)))
}

fn arrow<W: Write + Send>(out: Holding<W>, names: &[&str]) -> io::Result<Encoder<W>> {
    let fields = names.iter().map(|name| Field::new(*name, DataType::UInt64, false));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let writer = FileWriter::try_new(out, &schema).map_err(arrow_error)?;
    Ok(Encoder::Arrow(Box::new(writer), schema))
}
