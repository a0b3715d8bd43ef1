//! Deletion vectors of Iceberg and Delta Lake: a magic number and a 64-bit roaring bitmap.
//!
//! In a blob of Iceberg, and in a file of Delta Lake behind a byte 1, each vector has its length
//! before it and its CRC-32 behind it, both big-endian. In a transaction of Delta Lake a vector is
//! text in Z85: 5 characters for 4 bytes, with zeros to fill the last 4 bytes.
//!
//! Sources: the Puffin specification of Iceberg; `PROTOCOL.md` of Delta Lake; RFC 32 of `ZeroMQ`.

use super::{Content, shifted, short, treemap};
use crate::set::view::{Bucket, Damage, SetView, Shape, Table, TreemapView, check_buckets};
use byteorder::{BigEndian, ByteOrder};
use std::ops::Range;

/// Stands before the bitmap.
pub(super) const MAGIC: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];
/// The magic number in Z85.
pub(super) const MAGIC_TEXT: &[u8] = b"^Bg9^";
/// The first byte of a file of Delta Lake.
pub(super) const FILE_VERSION: u8 = 1;
/// The largest position: both systems keep the upper 32 bits below 2^31 − 1.
pub(super) const MAX_POSITION: u64 = 0x7FFF_FFFE_8000_0000;

/// The bitmap behind the magic number.
fn behind_magic(bytes: &[u8]) -> Result<&[u8], Damage> {
    let what = "there is no magic number of a deletion vector";
    bytes.strip_prefix(&MAGIC).ok_or(Damage { offset: 0, what })
}

/// The set of a magic number and a bitmap.
pub(super) fn unframed(bytes: &[u8]) -> Result<Content<'_>, Damage> {
    let bitmap = behind_magic(bytes)?;
    let content = treemap(bitmap).map_err(shifted(4))?;
    if let Content::Treemap(_, buckets) = &content {
        check_keys(buckets).map_err(shifted(4))?;
    }
    Ok(content)
}

/// Refuses a bitmap with positions of 2^63 and above.
fn check_keys(buckets: &[Bucket]) -> Result<(), Damage> {
    /// Bytes of the key, before the place of the bucket.
    const KEY_BYTES: u64 = 4;
    match buckets.last().filter(|last| last.key > i32::MAX.cast_unsigned()) {
        Some(last) => {
            let what = "a position in a data file has 63 bits";
            Err(Damage { offset: last.offset - KEY_BYTES, what })
        }
        None => Ok(()),
    }
}

/// The set of a vector with its length and its checksum, and nothing else.
pub(super) fn framed(bytes: &[u8]) -> Result<Content<'_>, Damage> {
    let range = frame_at(bytes, 0)?;
    if range.end != bytes.len() {
        let what = "bytes follow the end of the deletion vector";
        return Err(Damage { offset: range.end as u64, what });
    }
    let vector = bytes.get(4..bytes.len() - 4).ok_or_else(|| short(bytes))?;
    if BigEndian::read_u32(&bytes[bytes.len() - 4..]) != crc32fast::hash(vector) {
        let what = "the deletion vector does not have its checksum";
        return Err(Damage { offset: (bytes.len() - 4) as u64, what });
    }
    unframed(vector).map_err(shifted(4))
}

/// The bytes of the vector at `at`, with its length and its checksum.
fn frame_at(bytes: &[u8], at: usize) -> Result<Range<usize>, Damage> {
    let length = bytes.get(at..).and_then(<[u8]>::first_chunk::<4>).ok_or_else(|| short(bytes))?;
    let end = at.saturating_add(8).saturating_add(u32::from_be_bytes(*length) as usize);
    if end > bytes.len() {
        return Err(short(bytes));
    }
    Ok(at..end)
}

/// The places of the vectors in a file of Delta Lake.
pub(super) fn file_parts(bytes: &[u8]) -> Result<Vec<Range<usize>>, Damage> {
    match bytes.first() {
        Some(&FILE_VERSION) => {}
        Some(_) => return Err(Damage { offset: 0, what: "the version of the file is not 1" }),
        None => return Err(short(bytes)),
    }
    let (mut parts, mut at) = (Vec::new(), 1);
    while at < bytes.len() {
        let range = frame_at(bytes, at)?;
        at = range.end;
        parts.push(range);
    }
    // Nobody writes such a file; it is one that was cut.
    if parts.is_empty() { Err(short(bytes)) } else { Ok(parts) }
}

/// The set of a vector as text. White space at either end is ignored.
pub(super) fn inline(text: &[u8]) -> Result<Content<'static>, Damage> {
    let blanks = text.len() - text.trim_ascii_start().len();
    trimmed(text.trim_ascii()).map_err(shifted(blanks))
}

fn trimmed(text: &[u8]) -> Result<Content<'static>, Damage> {
    let bytes = from_z85(text)?;
    let bitmap = behind_magic(&bytes)?;
    // Up to 3 zeros fill the last characters.
    let filled = bitmap.iter().rev().take(3).take_while(|byte| **byte == 0).count();
    let mut found = check_buckets(bitmap).map(|walked| (bitmap, walked));
    for less in 1..=filled {
        if found.is_ok() {
            break;
        }
        let cut = &bitmap[..bitmap.len() - less];
        found = check_buckets(cut).map(|walked| (cut, walked)).or(found);
    }
    let in_text = |damage: Damage| Damage { offset: (damage.offset + 4) / 4 * 5, ..damage };
    let (bitmap, (buckets, _)) = found.map_err(in_text)?;
    check_keys(&buckets).map_err(in_text)?;
    let view = SetView(Shape::Treemap(TreemapView::new(bitmap, Table::Walked(&buckets))));
    Ok(Content::Memory(view.to_set().map_err(in_text)?))
}

/// The digits of Z85.
const DIGITS: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// The number that each byte stands for as a digit; other bytes are no digits.
const NUMBERS: [Option<u8>; 256] = {
    let mut numbers = [None; 256];
    let mut number = 0;
    while number < DIGITS.len() {
        #[expect(clippy::cast_possible_truncation, reason = "below 85")]
        let digit = number as u8;
        numbers[DIGITS[number] as usize] = Some(digit);
        number += 1;
    }
    numbers
};

fn from_z85(text: &[u8]) -> Result<Vec<u8>, Damage> {
    let (groups, rest) = text.as_chunks::<5>();
    if !rest.is_empty() {
        let what = "text in Z85 has groups of 5 characters";
        return Err(Damage { offset: text.len() as u64, what });
    }
    let mut bytes = Vec::with_capacity(4 * groups.len());
    for (index, group) in groups.iter().enumerate() {
        let mut number = 0_u64;
        for (place, character) in group.iter().enumerate() {
            let digit = NUMBERS[usize::from(*character)].ok_or(Damage {
                offset: (5 * index + place) as u64,
                what: "this is no character of Z85",
            })?;
            number = 85 * number + u64::from(digit);
        }
        let number = u32::try_from(number).map_err(|_| Damage {
            offset: 5 * index as u64,
            what: "these characters stand for more than 4 bytes",
        })?;
        bytes.extend(number.to_be_bytes());
    }
    Ok(bytes)
}

/// Four bytes as text.
pub(super) fn to_z85(bytes: [u8; 4]) -> [u8; 5] {
    let mut number = u32::from_be_bytes(bytes) as usize;
    let mut text = [0; 5];
    for character in text.iter_mut().rev() {
        *character = DIGITS[number % 85];
        number /= 85;
    }
    text
}
