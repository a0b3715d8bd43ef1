//! The split-block Bloom filters of one column of a Parquet file, one for each row group.
//!
//! Source: <https://parquet.apache.org/docs/file-format/bloomfilter/>.

use super::bytes::FileBytes;
use super::columns::{Candidate, Refused, choose_any, invalid, shown};
use super::parquet::{is_decimal, metadata_of, sign_of_type};
use crate::error::{ColumnFault, Result};
use crate::number::Column;
use ::parquet::basic::{LogicalType, Type as Physical};
use ::parquet::bloom_filter::Sbbf;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::schema::types::ColumnDescPtr;
use integer_encoding::VarInt;
use std::fs::File;
use std::io;
use std::str;
use std::sync::Arc;

/// Bytes of a block of eight words.
const BLOCK_BYTES: usize = 32;
/// The header of a filter: a field with a number, then three fields of unions. The first member of
/// each union, a structure without fields, is the only known one: blocks, XXH64 and no compression.
const NUMBER_FIELD: u8 = 0x15;
const ONLY_WAYS: [u8; 13] = [0x1C, 0x1C, 0, 0, 0x1C, 0x1C, 0, 0, 0x1C, 0x1C, 0, 0, 0];
/// The most bytes of a header: its parts, and a number of 32 bits.
const MAX_HEADER_BYTES: u64 = 1 + 5 + ONLY_WAYS.len() as u64;
/// Most bytes of a filter; a larger number is taken for damage.
const MAX_FILTER_BYTES: u64 = 1 << 30;

/// The filters of a column.
pub(crate) struct ColumnFilters {
    column: ColumnDescPtr,
    /// Whether its integers have a sign.
    is_signed: bool,
    /// One for each row group; none if it has no filter.
    filters: Vec<Option<Sbbf>>,
}

impl ColumnFilters {
    /// Reads the filters of a column, or of the only one that a file has.
    ///
    /// # Errors
    ///
    /// If the file is damaged, or has no such column, or no filter of it.
    pub(crate) fn open(file: File, name: &str, column: Option<&Column>) -> Result<Self> {
        Self::read(file, column).map_err(|refused| refused.of(name))
    }

    fn read(file: File, wanted: Option<&Column>) -> Result<Self, Refused> {
        let bytes = FileBytes::of(file, MAX_FILTER_BYTES)?;
        let metadata = metadata_of(&bytes)?;
        let columns = metadata.file_metadata().schema_descr().columns();
        // Any column may be named. Without a name it is the only one, or the only one of integers.
        let is_any = wanted.is_some() || columns.len() == 1;
        let candidate = |column: &ColumnDescPtr| {
            let is_other = !is_any && sign_of_type(column).is_none();
            let other = is_other.then(|| column.physical_type().to_string());
            Candidate { name: column.path().string(), other, is_text: false, is_decimal: false }
        };
        let candidates: Vec<_> = columns.iter().map(candidate).collect();
        let index = choose_any(&candidates, wanted)?;
        let column = Arc::clone(&columns[index]);
        let is_integer = matches!(column.physical_type(), Physical::INT32 | Physical::INT64);
        let not_asked = |has: &str| {
            let what = format!(
                "column \"{}\" has {has}, which are not asked",
                shown(&candidates[index].name)
            );
            Refused::Column(ColumnFault::OtherType, what)
        };
        if is_decimal(&column) && !(is_integer && column.type_scale() == 0) {
            return Err(not_asked("decimals"));
        }
        if matches!(column.logical_type_ref(), Some(LogicalType::Float16)) {
            return Err(not_asked("numbers of 16 bits with a point"));
        }
        let filter = |chunk: Option<&ColumnChunkMetaData>| {
            let chunk = chunk.ok_or_else(|| invalid("a row group lacks the column"))?;
            filter_of(&bytes, chunk)
        };
        let groups = metadata.row_groups().iter();
        let filters = groups.map(|group| filter(group.columns().get(index)));
        let filters = filters.collect::<io::Result<Vec<_>>>()?;
        // A file without rows has no filters.
        if !filters.is_empty() && !filters.iter().any(Option::is_some) {
            let what = format!("column \"{}\" has no Bloom filter", shown(&candidates[index].name));
            return Err(Refused::Column(ColumnFault::NoFilter, what));
        }
        let is_signed = sign_of_type(&column).unwrap_or(true);
        Ok(Self { column, is_signed, filters })
    }

    /// What a key of the column must be, in words.
    pub(crate) fn expected(&self) -> &'static str {
        match self.column.physical_type() {
            Physical::INT32 if self.is_signed => "an integer of 32 bits, which may be negative",
            Physical::INT64 if self.is_signed => "an integer of 64 bits, which may be negative",
            Physical::INT32 => "an integer of 32 bits without a sign",
            Physical::INT64 => "an integer of 64 bits without a sign",
            Physical::FLOAT | Physical::DOUBLE => "a number",
            Physical::FIXED_LEN_BYTE_ARRAY => "as many bytes as the column has in each row",
            Physical::BYTE_ARRAY => "a text",
            Physical::BOOLEAN | Physical::INT96 => "nothing: such columns are not asked",
        }
    }

    /// The bytes of a key as the column stores it; none if the column cannot store such a text.
    pub(crate) fn key(&self, text: &[u8]) -> Option<Vec<u8>> {
        // As in text, a number does not begin with a plus sign.
        let number = || str::from_utf8(text).ok().filter(|text| !text.starts_with('+'));
        Some(match self.column.physical_type() {
            Physical::INT32 if self.is_signed => {
                number()?.parse::<i32>().ok()?.to_le_bytes().to_vec()
            }
            Physical::INT32 => number()?.parse::<u32>().ok()?.to_le_bytes().to_vec(),
            Physical::INT64 if self.is_signed => {
                number()?.parse::<i64>().ok()?.to_le_bytes().to_vec()
            }
            Physical::INT64 => number()?.parse::<u64>().ok()?.to_le_bytes().to_vec(),
            // NaN has many patterns of bits, and a filter knows one pattern at a time.
            Physical::FLOAT => {
                let number = number()?.parse::<f32>().ok().filter(|number| !number.is_nan())?;
                number.to_le_bytes().to_vec()
            }
            Physical::DOUBLE => {
                let number = number()?.parse::<f64>().ok().filter(|number| !number.is_nan())?;
                number.to_le_bytes().to_vec()
            }
            Physical::BYTE_ARRAY => text.to_vec(),
            Physical::FIXED_LEN_BYTE_ARRAY => {
                let len = usize::try_from(self.column.type_length()).ok();
                len.filter(|&len| len == text.len()).map(|_| text.to_vec())?
            }
            Physical::BOOLEAN | Physical::INT96 => return None,
        })
    }

    /// Whether a row group may have the key; one without a filter may have any.
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let other_zero = self.other_zero(key);
        self.filters.iter().any(|filter| {
            let may_have = |key: &[u8]| filter.as_ref().is_none_or(|filter| filter.check(key));
            may_have(key) || other_zero.as_deref().is_some_and(may_have)
        })
    }

    /// The zero of the other sign, if the key is a zero with a floating point: both are one number.
    fn other_zero(&self, key: &[u8]) -> Option<Vec<u8>> {
        let is_float = matches!(self.column.physical_type(), Physical::FLOAT | Physical::DOUBLE);
        let (&sign, rest) = key.split_last().filter(|_| is_float)?;
        let is_zero = sign << 1 == 0 && rest.iter().all(|&byte| byte == 0);
        is_zero.then(|| [rest, &[sign ^ 0x80]].concat())
    }
}

/// The filter of a column chunk, if it has one.
fn filter_of(bytes: &FileBytes, chunk: &ColumnChunkMetaData) -> io::Result<Option<Sbbf>> {
    let Some(offset) = chunk.bloom_filter_offset() else { return Ok(None) };
    let negative = |_| invalid("a Bloom filter lies before the beginning of the file");
    let offset = u64::try_from(offset).map_err(negative)?;
    let head = bytes.at(offset, MAX_HEADER_BYTES.min(bytes.len.saturating_sub(offset)))?;
    let wrong = || invalid("a Bloom filter has no header that is known");
    let (&field, rest) = head.split_first().ok_or_else(wrong)?;
    let (len, digits) =
        i32::decode_var(rest).filter(|_| field == NUMBER_FIELD).ok_or_else(wrong)?;
    if !rest[digits..].starts_with(&ONLY_WAYS) {
        return Err(wrong());
    }
    let header_bytes = (1 + digits + ONLY_WAYS.len()) as u64;
    let len = usize::try_from(len).ok().filter(|len| *len > 0 && len.is_multiple_of(BLOCK_BYTES));
    let len = len.ok_or_else(|| invalid("a Bloom filter has no whole number of blocks"))?;
    let said = chunk.bloom_filter_length().map(i64::from);
    if said.is_some_and(|said| said != (header_bytes + len as u64).cast_signed()) {
        return Err(invalid("a Bloom filter has another length than the file says"));
    }
    Ok(Some(Sbbf::new(&bytes.at(offset + header_bytes, len as u64)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::data_type::{DataType, DoubleType, Int32Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    /// A file with a value in a column of this type, and its filter.
    fn filters_of<T: DataType>(kind: &str, logical: &str, value: T::T) -> Result<ColumnFilters> {
        let schema = parse_message_type(&format!("message rows {{ required {kind} v{logical}; }}"));
        let wanted = WriterProperties::builder().set_bloom_filter_enabled(true).build();
        let file = tempfile::tempfile().unwrap();
        let out = file.try_clone().unwrap();
        let mut writer =
            SerializedFileWriter::new(out, Arc::new(schema.unwrap()), Arc::new(wanted)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut values = group.next_column().unwrap().unwrap();
        values.typed::<T>().write_batch(&[value], None, None).unwrap();
        values.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        ColumnFilters::open(file, "rows", None)
    }

    #[test]
    fn decimals_are_asked_only_if_their_text_is_what_is_stored() {
        for whole in ["", " (DECIMAL(9,0))"] {
            let filter = filters_of::<Int32Type>("int32", whole, 1200).unwrap();
            assert!(filter.contains(&filter.key(b"1200").unwrap()));
            assert!(!filter.contains(&filter.key(b"12").unwrap()));
        }
        let Err(refused) = filters_of::<Int32Type>("int32", " (DECIMAL(9,2))", 1200) else {
            panic!("it was opened")
        };
        assert!(refused.to_string().contains("has decimals, which are not asked"), "{refused}");
    }

    #[test]
    fn a_zero_of_either_sign_is_one_number_and_nan_is_none() {
        for zero in [0.0, -0.0] {
            let filter = filters_of::<DoubleType>("double", "", zero).unwrap();
            for key in ["0", "-0", "0.0"] {
                assert!(filter.contains(&filter.key(key.as_bytes()).unwrap()), "{key}");
            }
            assert!(!filter.contains(&filter.key(b"1").unwrap()));
            assert_eq!((filter.key(b"nan"), filter.key(b"x")), (None, None));
        }
    }

    #[test]
    fn a_column_is_asked_only_for_what_its_sign_allows() {
        for (logical, inside, outside) in
            [(" (UINT_32)", "4294967295", "-1"), ("", "-1", "4294967295")]
        {
            let filter = filters_of::<Int32Type>("int32", logical, -1).unwrap();
            assert!(filter.contains(&filter.key(inside.as_bytes()).unwrap()));
            assert_eq!(filter.key(outside.as_bytes()), None);
        }
    }
}
