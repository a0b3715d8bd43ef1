//! Puffin files of Iceberg: blobs between magic numbers, and a footer of JSON with their places.
//!
//! Source: <https://iceberg.apache.org/puffin-spec/>.

use super::{Part, short};
use crate::set::view::Damage;
use serde_json::Value;
use std::ops::Range;

pub(super) const MAGIC: [u8; 4] = *b"PFA1";
/// Bytes behind the footer: its length, flags, and the magic number.
const TAIL_BYTES: usize = 12;
/// A footer takes up to 17 times its bytes in memory, and has about 300 bytes for each vector.
const MOST_FOOTER_BYTES: usize = 3 << 20;
/// The type of the blobs that are sets.
const DELETION_VECTOR: &str = "deletion-vector-v1";

/// The deletion vectors of a file, in order.
pub(super) fn parts(bytes: &[u8]) -> Result<Vec<Part>, Damage> {
    let footer = footer(bytes)?;
    let at = footer.start as u64;
    let wrong = |what| Damage { offset: at, what };
    let json: Value = serde_json::from_slice(bytes.get(footer.clone()).unwrap_or_default())
        .map_err(|_| wrong("the footer is no JSON"))?;
    let blobs = json.get("blobs").and_then(Value::as_array);
    let blobs = blobs.ok_or_else(|| wrong("the footer has no list of blobs"))?;
    let mut parts = Vec::new();
    for blob in blobs {
        if blob.get("type").and_then(Value::as_str) != Some(DELETION_VECTOR) {
            continue;
        }
        if blob.get("compression-codec").is_some_and(|codec| !codec.is_null()) {
            return Err(wrong("a deletion vector is compressed, which it never is"));
        }
        let number = |name| {
            let number = blob.get(name).and_then(Value::as_u64);
            number.and_then(|number| usize::try_from(number).ok())
        };
        let range = number("offset").zip(number("length"));
        let range = range.and_then(|(at, length)| Some(at..at.checked_add(length)?));
        let range = range.filter(|range| range.start >= 4 && range.end <= footer.start - 4);
        let range = range.ok_or_else(|| wrong("a blob does not lie in front of the footer"))?;
        let file = blob.get("properties").and_then(|all| all.get("referenced-data-file"));
        let data_file = file.and_then(Value::as_str).map(str::to_owned);
        parts.push(Part { range, data_file });
    }
    Ok(parts)
}

/// The bytes of the footer's JSON.
fn footer(bytes: &[u8]) -> Result<Range<usize>, Damage> {
    let wrong = |offset: usize, what| Damage { offset: offset as u64, what };
    let (rest, tail) = bytes.split_last_chunk::<TAIL_BYTES>().ok_or_else(|| short(bytes))?;
    if !bytes.starts_with(&MAGIC) {
        return Err(wrong(0, "the file does not begin with the magic number of Puffin"));
    }
    let [a, b, c, d, flags @ .., _, _, _, _] = *tail;
    if !tail.ends_with(&MAGIC) {
        return Err(wrong(rest.len() + 8, "the file does not end with the magic number of Puffin"));
    }
    if flags[0] & 1 != 0 {
        return Err(wrong(rest.len() + 4, "the footer is compressed, which is not read"));
    }
    if flags != [0; 4] {
        return Err(wrong(rest.len() + 4, "the footer has flags that are not known"));
    }
    let length = usize::try_from(i32::from_le_bytes([a, b, c, d])).ok();
    if length.is_some_and(|length| length > MOST_FOOTER_BYTES) {
        return Err(wrong(rest.len(), "the footer has more than 3 MiB"));
    }
    let start = length.and_then(|length| rest.len().checked_sub(length));
    let outside = || wrong(rest.len(), "the footer is longer than the file");
    // Leave room for the magic number before the footer, and for the one at the start of the file.
    let start = start.filter(|&start| start >= 8).ok_or_else(outside)?;
    if bytes.get(start - 4..start) != Some(&MAGIC) {
        return Err(wrong(start - 4, "the footer does not begin with the magic number of Puffin"));
    }
    Ok(start..rest.len())
}
