//! `BitmapValue` of Apache Doris and `StarRocks`: a byte with the kind, and the values.
//!
//! | kind | what follows |
//! |--:|---|
//! | 0 | nothing: the set is empty |
//! | 1, 3 | one value of 4 bytes, of 8 |
//! | 2 | a portable roaring bitmap of 32 bits |
//! | 4 | their number in 7 bits a byte, then for each its key of 4 bytes and the bitmap |
//! | 5, 10 | a number of values, of 1 byte or of 4, then 8 bytes for each |
//! | 12, 13 | as 2 and 4, with bitmaps in the native format of `CRoaring` |
//!
//! Sources: `bitmap_value.h` of both.

use super::{Content, bitmap32, numbers, shifted, short};
use crate::kernel::in_usize;
use crate::set::container::{Owned, Scratch};
use crate::set::integer_set::IntegerSet;
use crate::set::view::{Damage, RoaringView, SetView, Shape};
use byteorder::{ByteOrder, LittleEndian};
use integer_encoding::VarInt;

/// The first byte of the native format of `CRoaring`: a number and so many values of 4 bytes, or a
/// portable bitmap.
const NATIVE_VALUES: u8 = 1;
const NATIVE_PORTABLE: u8 = 2;

pub(super) fn read(bytes: &[u8]) -> Result<Content<'_>, Damage> {
    let (&kind, rest) = bytes.split_first().ok_or_else(|| short(bytes))?;
    let nested = shifted(1);
    let content = match kind {
        0 => exactly(rest, 0).map(|()| Content::Memory(IntegerSet::new())),
        1 => exactly(rest, 4).map(|()| Content::Memory(numbers(rest, 4))),
        3 => exactly(rest, 8).map(|()| Content::Memory(numbers(rest, 8))),
        2 => bitmap32(rest),
        4 => buckets(rest, portable).map(Content::Memory),
        5 => {
            let (&count, values) = rest.split_first().ok_or_else(|| short(bytes))?;
            few(count.into(), values).map_err(shifted(1))
        }
        10 => {
            let (count, values) = rest.split_first_chunk::<4>().ok_or_else(|| short(bytes))?;
            few(u32::from_le_bytes(*count).into(), values).map_err(shifted(4))
        }
        12 => one(rest, native).map(Content::Memory),
        13 => buckets(rest, native).map(Content::Memory),
        _ => {
            let what = "no bitmap of Doris or StarRocks has this kind";
            return Err(Damage { offset: 0, what });
        }
    };
    content.map_err(nested)
}

/// The name of the kind, if the bytes agree with it.
pub(super) fn kind(bytes: &[u8]) -> Option<&'static str> {
    let (&kind, rest) = bytes.split_first()?;
    let few = |count: u64, head: usize| rest.len() as u64 == count.saturating_mul(8) + head as u64;
    let starts = |rest: &[u8]| match rest.split_first() {
        Some((&NATIVE_VALUES, rest)) => rest.len() >= 4,
        Some((&NATIVE_PORTABLE, rest)) => RoaringView::new(rest).is_ok(),
        _ => false,
    };
    let behind_key = |rest: &'_ [u8]| -> Option<usize> {
        let (count, len) = u64::decode_var(rest)?;
        (count > 0 && rest.len() > len + 4).then_some(len + 4)
    };
    match (kind, rest.len()) {
        (0, 0) => Some("empty"),
        (1, 4) => Some("one 32-bit value"),
        (3, 8) => Some("one 64-bit value"),
        (2, _) if RoaringView::new(rest).is_ok() => Some("32 bits"),
        (4, _) => {
            behind_key(rest).filter(|&at| RoaringView::new(&rest[at..]).is_ok()).map(|_| "64 bits")
        }
        (5, 1..) if few(rest[0].into(), 1) => Some("few values"),
        (10, 4..) if few(LittleEndian::read_u32(rest).into(), 4) => Some("few values"),
        (12, _) if starts(rest) => Some("32 bits, of CRoaring's own format"),
        (13, _) => behind_key(rest)
            .filter(|&at| starts(&rest[at..]))
            .map(|_| "64 bits, of CRoaring's own format"),
        _ => None,
    }
}

fn exactly(rest: &[u8], bytes: usize) -> Result<(), Damage> {
    match rest.len().checked_sub(bytes) {
        Some(0) => Ok(()),
        Some(_) => Err(Damage { offset: bytes as u64, what: "bytes follow the end of the bitmap" }),
        None => Err(short(rest)),
    }
}

/// `count` values of 8 bytes.
fn few<'b>(count: u64, values: &[u8]) -> Result<Content<'b>, Damage> {
    let bytes = count.saturating_mul(8);
    exactly(values, in_usize(bytes))?;
    Ok(Content::Memory(numbers(values, 8)))
}

/// Appends the values of the bitmap at the start of `bytes`, with `key` as their upper half; gives
/// the length of the bitmap in bytes.
type Body = fn(&[u8], u32, &mut IntegerSet) -> Result<usize, Damage>;

/// A portable bitmap.
fn portable(bytes: &[u8], key: u32, set: &mut IntegerSet) -> Result<usize, Damage> {
    let view = RoaringView::new(bytes)?;
    let end = view.check()?;
    let (mut scratch, mut cursor) = (Scratch::default(), SetView(Shape::Roaring(view)).cursor());
    while let Some((low, container)) = cursor.next_sound()? {
        set.0.push(u64::from(key) << 16 | low, Owned::copy(container, &mut scratch));
    }
    Ok(end)
}

/// A bitmap in the native format of `CRoaring`.
fn native(bytes: &[u8], key: u32, set: &mut IntegerSet) -> Result<usize, Damage> {
    let (&form, rest) = bytes.split_first().ok_or_else(|| short(bytes))?;
    if form == NATIVE_PORTABLE {
        return Ok(1 + portable(rest, key, set).map_err(shifted(1))?);
    }
    if form != NATIVE_VALUES {
        return Err(Damage { offset: 0, what: "CRoaring has no serialized form of this number" });
    }
    let (count, rest) = rest.split_first_chunk::<4>().ok_or_else(|| short(bytes))?;
    let len = 4 * u64::from(u32::from_le_bytes(*count));
    let len = in_usize(len);
    let values = rest.get(..len).ok_or_else(|| short(bytes))?;
    let high = u64::from(key) << 32;
    let values = values.as_chunks().0.iter().map(|&low| high | u64::from(u32::from_le_bytes(low)));
    set.extend(values);
    Ok(5 + len)
}

/// The set of one bitmap; fails if bytes follow it.
fn one(bytes: &[u8], body: Body) -> Result<IntegerSet, Damage> {
    let mut set = IntegerSet::new();
    let len = body(bytes, 0, &mut set)?;
    exactly(bytes, len)?;
    Ok(set)
}

/// The set of bitmaps with ascending keys before them.
fn buckets(bytes: &[u8], body: Body) -> Result<IntegerSet, Damage> {
    let (count, mut at) = u64::decode_var(bytes).ok_or_else(|| short(bytes))?;
    let (mut set, mut before) = (IntegerSet::new(), None);
    for _ in 0..count {
        let rest = bytes.get(at..).unwrap_or_default();
        let (key, rest) = rest.split_first_chunk::<4>().ok_or_else(|| short(bytes))?;
        let key = u32::from_le_bytes(*key);
        if before.is_some_and(|before| before >= key) {
            return Err(Damage {
                offset: at as u64,
                what: "the keys of the bitmaps do not ascend",
            });
        }
        at += 4 + body(rest, key, &mut set).map_err(shifted(at + 4))?;
        before = Some(key);
    }
    exactly(bytes, at)?;
    Ok(set)
}
