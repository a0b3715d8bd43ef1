//! Hands pages of a Parquet file to the crate that decodes them. It refuses counts that contradict the
//! bytes of a page, before the crate allocates memory for so many values.
//!
//! Source of the encodings: <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use super::bytes::FileBytes;
use super::too_large;
use ::parquet::basic::{Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::SerializedPageReader;
use ::parquet::schema::types::ColumnDescriptor;
use integer_encoding::VarInt;

/// The pages of a column in a row group.
pub(super) struct Pages {
    inner: SerializedPageReader<FileBytes>,
    /// Fewest bytes of a value in a dictionary.
    value_bytes: u64,
    max_def_level: i16,
    limit_bytes: u64,
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl Pages {
    /// `limit_bytes` is the memory for the lengths of the values of a page.
    pub(super) fn new(
        pages: SerializedPageReader<FileBytes>,
        column: &ColumnDescriptor,
        limit_bytes: u64,
    ) -> Self {
        let value_bytes = match column.physical_type() {
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4, // a text has its length before it
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(1),
            Type::BOOLEAN => 0, // eight in a byte
        };
        Self { inner: pages, value_bytes, max_def_level: column.max_def_level(), limit_bytes }
    }

    fn check(&self, page: &Page) -> Result<()> {
        let count = u64::from(page.num_values());
        let values = match page {
            Page::DictionaryPage { buf, .. } => {
                if count.saturating_mul(self.value_bytes) > buf.len() as u64 {
                    return Err(damaged("a dictionary has fewer bytes than values"));
                }
                return Ok(());
            }
            Page::DataPage { buf, def_level_encoding, .. } => {
                behind_levels(buf, self.max_def_level, *def_level_encoding, count)
            }
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                usize::try_from(levels).ok().and_then(|levels| buf.get(levels..))
            }
        };
        // How many lists of lengths the texts begin with.
        let lists = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return Ok(()),
        };
        let mut rest = values.ok_or_else(|| damaged("a page ends inside of its levels"))?;
        for _ in 0..lists {
            if rest.is_empty() {
                break; // the crate refuses it, or there are no values
            }
            let Some((lengths, behind)) = delta_list(rest, count) else {
                return Err(damaged("a page has another number of lengths than of values"));
            };
            if lengths.saturating_mul(4) > self.limit_bytes {
                let error = too_large("lengths of texts", lengths * 4, self.limit_bytes);
                return Err(ParquetError::External(Box::new(error)));
            }
            rest = behind;
        }
        Ok(())
    }
}

/// The bytes of a page of the first version behind the levels of its `count` values. There are no
/// repetition levels: lists are refused.
fn behind_levels(bytes: &[u8], max_level: i16, encoding: Encoding, count: u64) -> Option<&[u8]> {
    let level_bits = u64::from(i16::BITS - max_level.leading_zeros());
    if level_bits == 0 {
        return Some(bytes);
    }
    if encoding == Encoding::RLE {
        let (len, rest) = bytes.split_first_chunk()?;
        return rest.get(usize::try_from(u32::from_le_bytes(*len)).ok()?..);
    }
    let len = count.checked_mul(level_bits)?.div_ceil(8);
    bytes.get(usize::try_from(len).ok()?..)
}

/// The number of values of a list in the encoding `DELTA_BINARY_PACKED`, and the bytes behind it; none
/// if it has more than `most` values, or is cut off.
fn delta_list(bytes: &[u8], most: u64) -> Option<(u64, &[u8])> {
    let mut rest = bytes;
    let block_values = varint(&mut rest)?;
    let miniblocks = varint(&mut rest)?;
    let count = varint(&mut rest).filter(|&count| count <= most)?;
    let _first = varint(&mut rest)?;
    let values_each = block_values.checked_div(miniblocks)?;
    let miniblocks = usize::try_from(miniblocks).ok()?;
    let mut left = count.saturating_sub(1);
    while left > 0 {
        let _least = varint(&mut rest)?;
        let (widths, mut packed) = rest.split_at_checked(miniblocks)?;
        // Of the last block, only the miniblocks with values are there.
        for &bits in widths {
            if left == 0 {
                break;
            }
            let len = values_each.checked_mul(bits.into())?.div_ceil(8);
            packed = packed.get(usize::try_from(len).ok()?..)?;
            left = left.saturating_sub(values_each.max(1));
        }
        rest = packed;
        if widths.is_empty() {
            return None;
        }
    }
    Some((count, rest))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let (number, len) = u64::decode_var(rest)?;
    *rest = rest.get(len..)?;
    Some(number)
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn supports_deferred_dictionary(&self) -> bool {
        self.inner.supports_deferred_dictionary()
    }

    fn take_deferred_dictionary(&mut self) -> Result<Option<Page>> {
        let page = self.inner.take_deferred_dictionary()?;
        page.iter().try_for_each(|page| self.check(page))?;
        Ok(page)
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}
