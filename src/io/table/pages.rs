//! Hands pages of a Parquet file to the crate that decodes them. It refuses counts that contradict the
//! bytes of a page, before the crate allocates memory for so many values.
//!
//! Source of the encodings: <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use super::bytes::{ColumnBytes, ThisPage};
use super::{TableOptions, too_large};
use crate::kernel::in_usize;
use ::parquet::basic::{Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::data_type::ByteArray;
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::SerializedPageReader;
use ::parquet::schema::types::ColumnDescriptor;
use integer_encoding::VarInt;
use std::sync::Arc;

/// The pages of a column in a row group.
pub(super) struct Pages {
    inner: SerializedPageReader<ColumnBytes>,
    /// Fewest bytes of a value in a dictionary.
    value_bytes: u64,
    /// Bytes of a value of a dictionary in memory beside its own.
    entry_bytes: u64,
    max_def_level: i16,
    memory_bytes: u64,
    /// What the dictionary takes of it.
    held_bytes: u64,
    page: Arc<ThisPage>,
}

/// Texts that are decoded together.
const TOGETHER: u64 = 32;

/// Whether the values of a type are bytes, each of which the crate keeps on its own.
pub(super) fn has_bytes(kind: Type) -> bool {
    matches!(kind, Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY)
}

fn damaged(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

impl Pages {
    /// The pages that `open` opens may take `memory_bytes`. `page` tells of each of them.
    pub(super) fn new(
        memory_bytes: u64,
        column: &ColumnDescriptor,
        page: Arc<ThisPage>,
        open: impl FnOnce() -> Result<SerializedPageReader<ColumnBytes>>,
    ) -> Result<Self> {
        page.limit_next(memory_bytes / 3);
        let value_bytes = match column.physical_type() {
            Type::INT64 | Type::DOUBLE => 8,
            Type::INT96 => 12,
            Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4, // a text has its length before it
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(column.type_length()).unwrap_or(1),
            Type::BOOLEAN => 0, // eight in a byte
        };
        let entry_bytes =
            if has_bytes(column.physical_type()) { size_of::<ByteArray>() as u64 } else { 0 };
        let max_def_level = column.max_def_level();
        let (inner, held_bytes) = (open()?, 0);
        Ok(Self { inner, value_bytes, entry_bytes, max_def_level, memory_bytes, held_bytes, page })
    }

    /// About the bytes that the first page of data takes, with a dictionary before it. The next ones may
    /// be of the usual size, or a quarter larger than these.
    pub(super) fn bytes_of_first(&mut self) -> Result<u64> {
        let more = |bytes: u64| bytes.saturating_add(bytes / 4);
        let (mut bytes, mut page_bytes) = (0, TableOptions::USUAL_PAGE_BYTES);
        while let Some(page) = self.get_next_page()? {
            let here_bytes = more(page.buffer().len() as u64);
            let lengths_bytes = 4 * u64::from(page.num_values());
            bytes = bytes.max(match page.encoding() {
                Encoding::DELTA_BYTE_ARRAY => 4 * here_bytes.max(lengths_bytes),
                Encoding::DELTA_LENGTH_BYTE_ARRAY => 3 * here_bytes.max(lengths_bytes),
                _ => 3 * here_bytes,
            });
            if page.is_data_page() {
                page_bytes = page_bytes.max(here_bytes);
                break;
            }
        }
        let held_bytes = more(self.held_bytes);
        Ok(bytes.max(held_bytes + 2 * page_bytes).max(held_bytes / 7 * 8))
    }

    fn too_large(what: &str, bytes: u64, limit_bytes: u64) -> ParquetError {
        ParquetError::External(Box::new(too_large(what, bytes, limit_bytes)))
    }

    fn check(&mut self, page: &Page) -> Result<()> {
        let count = u64::from(page.num_values());
        let values = match page {
            Page::DictionaryPage { buf, .. } => {
                if count.saturating_mul(self.value_bytes) > buf.len() as u64 {
                    return Err(damaged("a dictionary has fewer bytes than values"));
                }
                return self.check_dictionary(count, buf.len() as u64);
            }
            Page::DataPage { buf, def_level_encoding, .. } => {
                behind_levels(buf, self.max_def_level, *def_level_encoding, count)
            }
            Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let levels = u64::from(*def_levels_byte_len) + u64::from(*rep_levels_byte_len);
                usize::try_from(levels).ok().and_then(|levels| buf.get(levels..))
            }
        };
        // How many lists of lengths the texts begin with, and how many texts may be decoded together.
        let (lists, together) = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => (1, TOGETHER),
            Encoding::DELTA_BYTE_ARRAY => (2, self.texts_together(page.buffer().len() as u64)?),
            _ => (0, TOGETHER),
        };
        self.page.set(in_usize(count), in_usize(together));
        if lists == 0 {
            return Ok(());
        }
        let mut rest = values.ok_or_else(|| damaged("a page ends inside of its levels"))?;
        for _ in 0..lists {
            if rest.is_empty() {
                break; // the crate refuses it, or there are no values
            }
            let Some((lengths, behind)) = delta_list(rest, count) else {
                return Err(damaged("a page has another number of lengths than of values"));
            };
            let limit_bytes = self.memory_bytes / 3;
            if lengths.saturating_mul(4) > limit_bytes {
                return Err(Self::too_large("a list of lengths", lengths * 4, limit_bytes));
            }
            rest = behind;
        }
        Ok(())
    }

    /// Checks that the values of a dictionary fit, and leaves the rest to the pages of data.
    fn check_dictionary(&mut self, count: u64, page_bytes: u64) -> Result<()> {
        if self.entry_bytes == 0 {
            return Ok(()); // it takes as many bytes as its page, for which there is a third
        }
        let bytes = count.saturating_mul(self.entry_bytes).saturating_add(page_bytes);
        let limit_bytes = self.memory_bytes / 8 * 7;
        if bytes > limit_bytes {
            return Err(Self::too_large("a dictionary", bytes, limit_bytes));
        }
        self.held_bytes = bytes;
        self.page.limit_next(((self.memory_bytes - bytes) / 2).min(self.memory_bytes / 3));
        Ok(())
    }

    /// How many texts of a page may be decoded together, if they share their first bytes there: each
    /// may have all bytes of the page.
    fn texts_together(&self, page_bytes: u64) -> Result<u64> {
        let left_bytes = self.memory_bytes - self.held_bytes;
        // The page is there twice, and a text stays for the next one.
        match (left_bytes / page_bytes.max(1)).saturating_sub(3) {
            0 => Err(Self::too_large("a page of texts", 4 * page_bytes, left_bytes)),
            fit => Ok(fit.min(TOGETHER)),
        }
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
