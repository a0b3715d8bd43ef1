//! Parquet: row groups, whose pages of one column are read one by one.

use super::bytes::{ColumnBytes, FileBytes, ThisPage};
use super::columns::{
    Candidate, KEYS, Opened, Refused, Stored, Which, choose, choose_numbers, invalid, of_packed,
    unsupported,
};
use super::pages::{Pages, has_bytes};
use super::thrift::Struct;
use super::{Rows, TableOptions, TakeText, too_large};
use crate::io::caught::caught;
use ::parquet::basic::{ConvertedType, LogicalType, Type};
use ::parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use ::parquet::data_type::{
    ByteArray, ByteArrayType, DataType, FixedLenByteArray, FixedLenByteArrayType, Int32Type,
    Int64Type,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use ::parquet::file::reader::SerializedPageReader;
use ::parquet::schema::types::ColumnDescriptor;
use arrow_buffer::i256;
use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The end of a file: the bytes of its metadata, and the magic number.
const TAIL_BYTES: u64 = 8;
/// The number of the next table, by which [`RECENT`] knows it.
static NEXT_TABLE: AtomicU64 = AtomicU64::new(0);
/// Metadata in memory takes about this many times its bytes in the file.
const METADATA_FACTOR: u64 = 4;

thread_local! {
    /// The metadata of the tables that this thread used last, the newest behind. The metadata of
    /// many tables does not stay in memory.
    static RECENT: RefCell<Vec<Decoded>> = const { RefCell::new(Vec::new()) };
}
/// Metadata of this many bytes stays in [`RECENT`], however little memory there is.
const MIN_RECENT_BYTES: u64 = 4 << 20;

/// The metadata of a table.
struct Decoded {
    /// The number of the table.
    number: u64,
    metadata: Rc<ParquetMetaData>,
    /// About the bytes that it takes.
    bytes: u64,
}

impl Decoded {
    fn new(number: u64, metadata: ParquetMetaData) -> Self {
        let bytes = metadata.memory_size() as u64;
        Self { number, metadata: Rc::new(metadata), bytes }
    }
}

/// Keeps metadata for the next piece of the same table, and drops the least recently used.
fn keep(decoded: Decoded, limit_bytes: u64) {
    RECENT.with_borrow_mut(|recent| {
        let limit_bytes = limit_bytes.max(MIN_RECENT_BYTES).saturating_sub(decoded.bytes);
        while recent.iter().map(|kept| kept.bytes).sum::<u64>() > limit_bytes {
            recent.remove(0);
        }
        recent.push(decoded);
    });
}

/// One column of a file.
#[derive(Debug)]
pub(super) struct ParquetTable {
    bytes: Arc<FileBytes>,
    number: u64,
    /// About the bytes of the metadata in memory.
    metadata_bytes: u64,
    /// The smallest and the largest value, if the metadata has them.
    bounds: Option<(u64, u64)>,
    column: usize,
    is_signed: bool,
    stored: Stored,
    /// The column of keys, and whether it has signed integers.
    keys: Option<(usize, bool)>,
    /// Memory for a piece of the column of numbers, and for one of the keys.
    memory_bytes: [u64; 2],
}

/// A column of a row group that is being read.
pub(super) struct ParquetColumn {
    raw: Raw,
    is_signed: bool,
    is_decimal: bool,
    /// Definition level of a value that is not null.
    present: i16,
    levels: Vec<i16>,
    page: Arc<ThisPage>,
    /// Rows of the page that were not read.
    left_in_page: usize,
}

/// The physical types of numbers and keys, each with the values of the last read.
enum Raw {
    Int32(ColumnReaderImpl<Int32Type>, Vec<i32>),
    Int64(ColumnReaderImpl<Int64Type>, Vec<i64>),
    Bytes(ColumnReaderImpl<ByteArrayType>, Vec<ByteArray>),
    FixedBytes(ColumnReaderImpl<FixedLenByteArrayType>, Vec<FixedLenByteArray>),
}

/// An error of the file system as it is, or the error of damaged bytes.
pub(super) fn error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => of_packed(*cause),
            Err(cause) => invalid(cause.to_string()),
        },
        ParquetError::EOF(what) => io::Error::new(io::ErrorKind::UnexpectedEof, what),
        ParquetError::General(what) => invalid(what),
        other => invalid(other.to_string()),
    }
}

/// Whether a column of integers is signed; none if it has no integers, or lists of them.
fn signedness(column: &ColumnDescriptor) -> Option<bool> {
    if column.max_rep_level() > 0 { None } else { sign_of_type(column) }
}

/// The same of any column, whose rows may be lists.
pub(super) fn sign_of_type(column: &ColumnDescriptor) -> Option<bool> {
    if !matches!(column.physical_type(), Type::INT32 | Type::INT64) {
        return None;
    }
    match (column.logical_type_ref(), column.converted_type()) {
        (Some(LogicalType::Integer(integer)), _) => Some(integer.is_signed),
        (
            None,
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64,
        ) => Some(false),
        (
            None,
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64,
        ) => Some(true),
        _ => None,
    }
}

fn candidate(column: &ColumnDescriptor) -> Candidate {
    let kind = || {
        if column.max_rep_level() > 0 {
            return "lists".to_owned();
        }
        if is_decimal(column) {
            return format!("Decimal({}, {})", column.type_precision(), column.type_scale());
        }
        match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Unknown), _) => "nulls alone".to_owned(),
            (Some(logical), _) => {
                let name = format!("{logical:?}");
                name.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
            }
            (None, ConvertedType::NONE) => column.physical_type().to_string(),
            (None, converted) => converted.to_string(),
        }
    };
    let other = signedness(column).is_none().then(kind);
    let is_bytes = column.max_rep_level() == 0 && column.physical_type() == Type::BYTE_ARRAY;
    let is_text = is_bytes && !is_decimal(column);
    let is_decimal = column.max_rep_level() == 0 && is_decimal(column) && column.type_scale() == 0;
    Candidate { name: column.path().string(), other, is_text, is_decimal }
}

/// Whether a column has decimals, whose stored form is another than their text.
pub(super) fn is_decimal(column: &ColumnDescriptor) -> bool {
    matches!(column.logical_type_ref(), Some(LogicalType::Decimal(_)))
        || column.converted_type() == ConvertedType::DECIMAL
}

/// The metadata at the end of a file.
pub(super) fn metadata_of(bytes: &FileBytes) -> io::Result<ParquetMetaData> {
    let tail = bytes.at(bytes.len.saturating_sub(TAIL_BYTES), TAIL_BYTES.min(bytes.len))?;
    let (Some(&metadata_bytes), true) = (tail.first_chunk(), tail.ends_with(b"PAR1")) else {
        return Err(invalid("a Parquet file ends in PAR1, and this one does not"));
    };
    let metadata_bytes = u64::from(u32::from_le_bytes(metadata_bytes));
    let metadata_at = bytes.len.checked_sub(TAIL_BYTES + metadata_bytes);
    let metadata_at = metadata_at.ok_or_else(|| invalid("its metadata is cut off"))?;
    if metadata_bytes * METADATA_FACTOR > bytes.limit_bytes {
        let needed = metadata_bytes * METADATA_FACTOR;
        return Err(too_large("its metadata", needed, bytes.limit_bytes));
    }
    let metadata = bytes.at(metadata_at, metadata_bytes)?;
    if !matches!(Struct::of(&metadata), Struct::Whole(_)) {
        return Err(invalid("its metadata has no usual form"));
    }
    caught(|| ParquetMetaDataReader::decode_metadata(&metadata).map_err(error))
}

fn chunk_of(
    metadata: &ParquetMetaData,
    piece: usize,
    column: usize,
) -> io::Result<&ColumnChunkMetaData> {
    let group = metadata.row_groups().get(piece);
    let chunk = group.and_then(|group| group.columns().get(column));
    let chunk = chunk.ok_or_else(|| invalid("a row group lacks the column"))?;
    if chunk.file_path().is_some_and(|path| !path.is_empty()) {
        return Err(unsupported("its rows are in other files: name these"));
    }
    let offsets = [Some(chunk.data_page_offset()), chunk.dictionary_page_offset()];
    if chunk.compressed_size() < 0 || offsets.iter().flatten().any(|&offset| offset < 0) {
        return Err(invalid("a column lies before the beginning of the file"));
    }
    Ok(chunk)
}

/// The pages of a column in a row group, of which no more than `memory_bytes` are in memory.
fn pages_of(
    bytes: &Arc<FileBytes>,
    metadata: &ParquetMetaData,
    (piece, column): (usize, usize),
    memory_bytes: u64,
    page: &Arc<ThisPage>,
) -> io::Result<Pages> {
    let chunk = chunk_of(metadata, piece, column)?;
    let rows = metadata.row_group(piece).num_rows();
    let rows = usize::try_from(rows).map_err(|_| invalid("a row group is too large"))?;
    let column = metadata.file_metadata().schema_descr().column(column);
    if chunk.column_type() != column.physical_type() {
        return Err(invalid("a column chunk has another type than its column"));
    }
    if column.max_rep_level() == 0 && chunk.num_values() != metadata.row_group(piece).num_rows() {
        return Err(invalid("a row group and its column have different numbers of rows"));
    }
    let bytes = ColumnBytes { file: Arc::clone(bytes), page: Arc::clone(page) };
    caught(|| {
        let pages = Pages::new(memory_bytes, &column, Arc::clone(page), || {
            SerializedPageReader::new(Arc::new(bytes), chunk, rows, None)
        });
        pages.map_err(error)
    })
}

/// The reader of these pages, and the definition level of values that are not null.
pub(super) fn column_reader(
    bytes: &Arc<FileBytes>,
    metadata: &ParquetMetaData,
    place: (usize, usize),
    memory_bytes: u64,
    page: &Arc<ThisPage>,
) -> io::Result<(ColumnReader, i16)> {
    let pages = pages_of(bytes, metadata, place, memory_bytes, page)?;
    let column = metadata.file_metadata().schema_descr().column(place.1);
    let present = column.max_def_level();
    caught(|| Ok((get_column_reader(column, Box::new(pages)), present)))
}

/// About the bytes that the pages of a column in a row group take, by a look at the largest group and
/// at that with the largest dictionary. Pages that take more are refused when they are read.
fn bytes_for(bytes: &Arc<FileBytes>, metadata: &ParquetMetaData, column: usize, most: u64) -> u64 {
    let usual_bytes = TableOptions::FACTOR * TableOptions::USUAL_PAGE_BYTES;
    let has_bytes =
        has_bytes(metadata.file_metadata().schema_descr().column(column).physical_type());
    let size = |group: usize| {
        chunk_of(metadata, group, column).map_or(0, ColumnChunkMetaData::uncompressed_size)
    };
    let dictionary = |group: usize| {
        let chunk = chunk_of(metadata, group, column).ok();
        let places = chunk.map(|chunk| (chunk.data_page_offset(), chunk.dictionary_page_offset()));
        places.map_or(0, |(data, dictionary)| data - dictionary.unwrap_or(data))
    };
    let groups = || 0..metadata.num_row_groups();
    let largest = groups().max_by_key(|&group| size(group));
    let is_small = largest.is_none_or(|group| {
        u64::try_from(size(group)).is_ok_and(|bytes| bytes < TableOptions::USUAL_PAGE_BYTES)
    });
    if is_small && !has_bytes {
        return usual_bytes;
    }
    let look = |group: usize| {
        let pages = pages_of(bytes, metadata, (group, column), most, &Arc::default());
        // Damage is an error when the group is read, and too large a page, too.
        pages
            .map_or(0, |mut pages| caught(|| pages.bytes_of_first().map_err(error)).unwrap_or(most))
    };
    let with_dictionary = groups().max_by_key(|&group| dictionary(group));
    let other = with_dictionary.filter(|_| with_dictionary != largest);
    let found_bytes = largest.into_iter().chain(other).map(look).max().unwrap_or(0);
    if has_bytes { found_bytes.max(1) } else { usual_bytes.max(found_bytes) }
}

/// The smallest and the largest value of a column of integers, if all row groups say theirs.
fn bounds_of(metadata: &ParquetMetaData, column: usize, is_signed: bool) -> Option<(u64, u64)> {
    let each = (0..metadata.num_row_groups()).map(|group| {
        let statistics = chunk_of(metadata, group, column).ok()?.statistics()?;
        let number = |bytes: &[u8]| match bytes.len() {
            4 => bytes.try_into().ok().map(u32::from_le_bytes).map(u64::from),
            _ => bytes.try_into().ok().map(u64::from_le_bytes),
        };
        Some((number(statistics.min_bytes_opt()?)?, number(statistics.max_bytes_opt()?)?))
    });
    // Negative bounds would become large numbers, and they are no values: ignore them.
    let bounds: Option<Vec<_>> = each.collect();
    let bounds = bounds?;
    let (min, max) = (bounds.iter().map(|b| b.0).min()?, bounds.iter().map(|b| b.1).max()?);
    let is_sane = min <= max && (!is_signed || i64::try_from(max).is_ok());
    is_sane.then_some((min, max))
}

impl ParquetTable {
    pub(super) fn file(&self) -> &std::fs::File {
        &self.bytes.file
    }

    pub(super) fn open(
        bytes: FileBytes,
        options: TableOptions<'_>,
    ) -> Result<Opened<Self>, Refused> {
        let TableOptions { column: wanted, keys, .. } = options;
        let metadata = metadata_of(&bytes)?;
        let columns = metadata.file_metadata().schema_descr().columns();
        let candidates: Vec<_> = columns.iter().map(|column| candidate(column)).collect();
        let (column, stored) = choose_numbers(&candidates, wanted)?;
        let keys = keys.map(|wanted| -> Result<_, Refused> {
            let candidates: Vec<_> = columns.iter().map(|column| key_candidate(column)).collect();
            let index = choose(&candidates, Some(wanted), KEYS)?;
            Ok((index, signedness(&columns[index]).unwrap_or_default()))
        });
        let keys = keys.transpose()?;
        let is_signed = signedness(&columns[column]).unwrap_or(true);
        let rows = metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()));
        let rows = rows.collect::<Result<Vec<u64>, _>>();
        let rows = rows.map_err(|_| invalid("a row group has a negative number of rows"))?;
        let said = metadata.file_metadata().num_rows();
        if rows.iter().map(|&rows| i128::from(rows)).sum::<i128>() != i128::from(said) {
            return Err(invalid("its row groups have not as many rows as it says").into());
        }
        // Texts have bounds as well, in the order of their bytes, and so have decimals in bytes.
        let has_bounds = stored == Stored::Integers;
        let bounds = has_bounds.then(|| bounds_of(&metadata, column, is_signed)).flatten();
        let number = NEXT_TABLE.fetch_add(1, Ordering::Relaxed);
        let decoded = Decoded::new(number, metadata);
        let metadata_bytes = decoded.bytes;
        let bytes = Arc::new(bytes);
        let bytes_for = |column| bytes_for(&bytes, &decoded.metadata, column, options.memory_bytes);
        let needed =
            [Some(column), keys.map(|(index, _)| index)].map(|column| column.map_or(0, bytes_for));
        let share = options.share(needed[0] + needed[1]);
        let [whole, all] = [share.piece_bytes, needed[0] + needed[1]].map(u128::from);
        let part = |bytes| u64::try_from(whole * u128::from(bytes) / all).unwrap_or(0);
        let memory_bytes = needed.map(part);
        keep(decoded, bytes.limit_bytes);
        let table = Self {
            bytes,
            number,
            metadata_bytes,
            bounds,
            column,
            is_signed,
            stored,
            keys,
            memory_bytes,
        };
        Ok(Opened { table, rows, share })
    }

    pub(super) fn metadata_bytes(&self) -> u64 {
        self.metadata_bytes
    }

    pub(super) fn bounds(&self) -> Option<(u64, u64)> {
        self.bounds
    }

    fn metadata(&self) -> io::Result<Rc<ParquetMetaData>> {
        let kept = RECENT.with_borrow_mut(|recent| {
            let place = recent.iter().position(|kept| kept.number == self.number)?;
            Some(recent.remove(place))
        });
        let decode = || Ok(Decoded::new(self.number, metadata_of(&self.bytes)?));
        let decoded = kept.map_or_else(decode, io::Result::Ok)?;
        let metadata = Rc::clone(&decoded.metadata);
        keep(decoded, self.bytes.limit_bytes);
        Ok(metadata)
    }

    /// How the numbers are stored; [`ParquetColumn::texts`] gives all but integers.
    pub(super) fn stored(&self) -> Stored {
        self.stored
    }

    /// Begins to read a column of a piece.
    pub(super) fn column(&self, which: Which, piece: usize) -> io::Result<ParquetColumn> {
        let [of_numbers, of_keys] = self.memory_bytes;
        let (column, is_signed, memory_bytes) = match which {
            Which::Numbers => (self.column, self.is_signed, of_numbers),
            Which::Keys => match self.keys {
                Some((column, is_signed)) => (column, is_signed, of_keys),
                None => return Err(invalid("no column of keys is chosen")),
            },
        };
        let is_decimal = matches!(which, Which::Numbers) && self.stored == Stored::Decimals;
        let (place, page) = ((piece, column), Arc::default());
        let (reader, present) =
            column_reader(&self.bytes, &*self.metadata()?, place, memory_bytes, &page)?;
        let raw = match reader {
            ColumnReader::Int32ColumnReader(reader) => Raw::Int32(reader, Vec::new()),
            ColumnReader::Int64ColumnReader(reader) => Raw::Int64(reader, Vec::new()),
            ColumnReader::ByteArrayColumnReader(reader) => Raw::Bytes(reader, Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => {
                Raw::FixedBytes(reader, Vec::new())
            }
            _ => return Err(invalid("the column holds no strings and no integers")),
        };
        let levels = Vec::new();
        Ok(ParquetColumn { raw, is_signed, is_decimal, present, levels, page, left_in_page: 0 })
    }
}

impl ParquetColumn {
    /// Appends the next `count` rows, or fewer at the end.
    pub(super) fn numbers(&mut self, count: usize, rows: &mut Rows) -> io::Result<()> {
        let Self { raw, is_signed, present, levels, .. } = self;
        levels.clear();
        let levels_of = Levels { levels, present: *present };
        match raw {
            Raw::Int32(reader, raw) => {
                read_raw(reader, raw, count, levels_of.levels)?;
                if *is_signed {
                    levels_of.push(raw, rows, |value| {
                        u64::try_from(value).map_err(|_| i64::from(value))
                    });
                } else {
                    levels_of.push(raw, rows, |value| Ok(value.cast_unsigned().into()));
                }
            }
            Raw::Int64(reader, raw) => {
                read_raw(reader, raw, count, levels_of.levels)?;
                if *is_signed {
                    levels_of.push(raw, rows, |value| u64::try_from(value).map_err(|_| value));
                } else {
                    levels_of.push(raw, rows, |value| Ok(value.cast_unsigned()));
                }
            }
            Raw::Bytes(..) | Raw::FixedBytes(..) => {
                return Err(invalid("the column holds no integers"));
            }
        }
        Ok(())
    }

    /// Hands over the texts or keys of the next `count` rows, or of fewer at the end.
    pub(super) fn texts(&mut self, count: usize, take: TakeText<'_>) -> io::Result<()> {
        let mut left = count;
        while left > 0 {
            // Nobody knows how many texts of a new page fit in the memory before it is read.
            let most = self.page.together().min(self.left_in_page).max(1);
            let read = self.texts_together(left.min(most), take)?;
            if self.left_in_page == 0 {
                self.left_in_page = self.page.rows();
            }
            self.left_in_page = self.left_in_page.saturating_sub(read);
            left -= read;
            if read == 0 {
                break;
            }
        }
        Ok(())
    }

    /// The same for rows that are decoded together; gives their number.
    fn texts_together(&mut self, count: usize, take: TakeText<'_>) -> io::Result<usize> {
        let Self { raw, is_signed, is_decimal, present, levels, .. } = self;
        levels.clear();
        let levels_of = Levels { levels, present: *present };
        let read;
        match raw {
            Raw::Int32(reader, raw) => {
                read = read_raw(reader, raw, count, levels_of.levels)?;
                levels_of.each_text(raw, take, |value, text| {
                    digits(*is_signed, (*value).into(), value.cast_unsigned().into(), text)
                })
            }
            Raw::Int64(reader, raw) => {
                read = read_raw(reader, raw, count, levels_of.levels)?;
                levels_of.each_text(raw, take, |value, text| {
                    digits(*is_signed, *value, value.cast_unsigned(), text)
                })
            }
            Raw::Bytes(reader, raw) => {
                read = read_raw(reader, raw, count, levels_of.levels)?;
                levels_of.each_text(raw, take, |value, text| {
                    bytes_or_digits(*is_decimal, value.data(), text)
                })
            }
            Raw::FixedBytes(reader, raw) => {
                read = read_raw(reader, raw, count, levels_of.levels)?;
                levels_of.each_text(raw, take, |value, text| {
                    bytes_or_digits(*is_decimal, value.data(), text)
                })
            }
        }?;
        Ok(read)
    }
}

/// Judges a column as [`candidate`] does, but for keys: texts, UUIDs and other bytes, not numbers of
/// any width.
fn key_candidate(column: &ColumnDescriptor) -> Candidate {
    let found = candidate(column);
    let is_key = match column.physical_type() {
        Type::BYTE_ARRAY => found.is_text,
        Type::FIXED_LEN_BYTE_ARRAY => {
            column.max_rep_level() == 0
                && matches!(column.logical_type_ref(), None | Some(LogicalType::Uuid))
                && column.converted_type() == ConvertedType::NONE
        }
        _ => false,
    };
    Candidate { other: found.other.filter(|_| !is_key), ..found }
}

/// Reads the values of the next `count` rows that are not null, and the levels of all; gives the number
/// of the rows, which is less at the end.
fn read_raw<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    raw: &mut Vec<T::T>,
    count: usize,
    levels: &mut Vec<i16>,
) -> io::Result<usize> {
    raw.clear();
    let read = caught(|| reader.read_records(count, Some(levels), None, raw).map_err(error))?;
    Ok(read.0)
}

/// Appends an integer as text.
fn digits(is_signed: bool, signed: i64, unsigned: u64, text: &mut Vec<u8>) -> io::Result<&[u8]> {
    if is_signed { write!(text, "{signed}") } else { write!(text, "{unsigned}") }?;
    Ok(text)
}

/// The bytes of a text as they are, or the digits of a decimal without a fraction, whose bytes are
/// a number with a sign, the highest first.
fn bytes_or_digits<'v>(
    is_decimal: bool,
    bytes: &'v [u8],
    text: &'v mut Vec<u8>,
) -> io::Result<&'v [u8]> {
    if !is_decimal {
        return Ok(bytes);
    }
    let fill = if bytes.first().is_some_and(|&high| high >= 0x80) { 0xFF } else { 0 };
    let mut whole = [fill; 32];
    let start = whole.len().checked_sub(bytes.len()).filter(|_| !bytes.is_empty());
    let start = start.ok_or_else(|| invalid("a decimal has no bytes, or more than 32"))?;
    whole[start..].copy_from_slice(bytes);
    let number = i256::from_be_bytes(whole);
    match number.to_i128() {
        Some(number) => write!(text, "{number}")?, // much faster
        None => write!(text, "{number}")?,
    }
    Ok(text)
}

/// Which rows are not null.
struct Levels<'l> {
    levels: &'l mut Vec<i16>,
    present: i16,
}

impl Levels<'_> {
    fn each_text<T>(
        &self,
        raw: &[T],
        take: TakeText<'_>,
        text_of: impl for<'v> Fn(&'v T, &'v mut Vec<u8>) -> io::Result<&'v [u8]>,
    ) -> io::Result<()> {
        let (mut values, mut text) = (raw.iter(), Vec::new());
        let rows = self.levels.len().max(raw.len());
        for row in 0..rows {
            let is_there = self.levels.get(row).is_none_or(|&level| level == self.present);
            match if is_there { values.next() } else { None } {
                Some(value) => {
                    text.clear();
                    take(Some(text_of(value, &mut text)?))?;
                }
                None => take(None)?,
            }
        }
        Ok(())
    }

    fn push<T: Copy>(&self, raw: &[T], rows: &mut Rows, natural: impl Fn(T) -> Result<u64, i64>) {
        if self.levels.len() <= raw.len() {
            return rows.extend(raw, natural);
        }
        let mut values = raw.iter().copied();
        let found = self
            .levels
            .iter()
            .map(|&level| if level == self.present { values.next() } else { None });
        rows.extend_some(found, natural);
    }
}
