//! The state of `ClickHouse`'s `groupBitmap`: 0, a number of values up to 32 and the values; or
//! 1, a number of bytes, and a portable roaring bitmap.
//!
//! Source: `AggregateFunctionGroupBitmapData.h` of `ClickHouse`. Signed values of 1 and 2 bytes are
//! sign-extended to 32 bits in the bitmap, but not in a small set.

use super::{Content, bitmap32, numbers, shifted, short, treemap};
use crate::set::file::SetKind;
use crate::set::view::{Damage, RoaringView, check_buckets};
use integer_encoding::VarInt;
use std::ops::Range;

/// Most values of a small set, which has no bitmap.
const MOST_SMALL: u64 = 32;

/// Bytes of an integer.
pub(super) const WIDTHS: [usize; 4] = [1, 2, 4, 8];
pub(super) const NARROW: &[usize] = &[1, 2, 4];
pub(super) const WIDE: &[usize] = &[8];

/// The set in the state. Integers have one of these widths.
pub(super) fn read<'b>(bytes: &'b [u8], widths: &[usize]) -> Result<Content<'b>, Damage> {
    match bytes.first() {
        Some(0) => {
            let (count, values) = counted(bytes)?;
            if count > MOST_SMALL {
                return Err(Damage { offset: 1, what: "a small set has at most 32 values" });
            }
            let width = small_width(count, values.len(), widths).ok_or(Damage {
                offset: 2,
                what: "the number of bytes is not that of so many values",
            })?;
            Ok(Content::Memory(numbers(values, width)))
        }
        Some(1) => {
            let range = bitmap(bytes)?;
            let start = range.start;
            let bitmap = bytes.get(range).unwrap_or_default();
            let is_wide = match widths {
                WIDE => true,
                widths if !widths.contains(&8) => false,
                _ => SetKind::of(bitmap) != Some(SetKind::Roaring),
            };
            let read = if is_wide { treemap(bitmap) } else { bitmap32(bitmap) };
            read.map_err(shifted(start))
        }
        Some(_) => Err(Damage { offset: 0, what: "a groupBitmap state begins with 0 or 1" }),
        None => Err(short(bytes)),
    }
}

/// Whether the state may be a small set, by its first byte and its length.
pub(super) fn is_small(bytes: &[u8]) -> bool {
    let counted = if bytes.first() == Some(&0) { counted(bytes).ok() } else { None };
    counted.is_some_and(|(count, values)| small_width(count, values.len(), &WIDTHS).is_some())
}

/// Whether the state has a bitmap with a readable start.
pub(super) fn is_bitmap(bytes: &[u8]) -> bool {
    let range = if bytes.first() == Some(&1) { bitmap(bytes).ok() } else { None };
    range
        .and_then(|range| bytes.get(range))
        .is_some_and(|bitmap| RoaringView::new(bitmap).is_ok() || check_buckets(bitmap).is_ok())
}

/// Bytes of each value, if `count` values fill `bytes` bytes: one of these widths.
fn small_width(count: u64, bytes: usize, widths: &[usize]) -> Option<usize> {
    if count == 0 {
        return widths.first().copied().filter(|_| bytes == 0);
    }
    let fits = |width: &&usize| count.checked_mul(**width as u64) == Some(bytes as u64);
    widths.iter().find(fits).copied().filter(|_| count <= MOST_SMALL)
}

/// The number behind the first byte, with 7 bits in each byte, the lowest first; and the bytes
/// behind it.
fn counted(bytes: &[u8]) -> Result<(u64, &[u8]), Damage> {
    let rest = bytes.get(1..).ok_or_else(|| short(bytes))?;
    let (count, len) = u64::decode_var(rest).ok_or_else(|| short(bytes))?;
    Ok((count, rest.get(len..).ok_or_else(|| short(bytes))?))
}

/// The place of the bitmap.
fn bitmap(bytes: &[u8]) -> Result<Range<usize>, Damage> {
    let (length, rest) = counted(bytes)?;
    if length != rest.len() as u64 {
        let what = "the number of bytes of the bitmap is not that of the state";
        return Err(Damage { offset: 1, what });
    }
    Ok(bytes.len() - rest.len()..bytes.len())
}
