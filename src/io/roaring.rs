//! Tells portable roaring bitmaps from text by their first bytes.
//!
//! Source: the [specification](https://github.com/RoaringBitmap/RoaringFormatSpec) of the format.

/// Cookie of a portable roaring bitmap without runs; the number of containers follows.
pub(crate) const NO_RUNS_COOKIE: u32 = 12_346;
/// Low half of the cookie of a bitmap with runs; the high half is the number of containers − 1.
pub(crate) const RUNS_COOKIE: u16 = 12_347;
/// Keys of containers that are compared to tell a roaring bitmap.
const SEEN_KEYS: usize = 16;

/// Whether these bytes may be of a text: they have no control characters but white space.
pub(crate) fn has_no_controls(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| !byte.is_ascii_control() || byte.is_ascii_whitespace())
}

/// The number of containers of a portable roaring bitmap of 32 bits that begins with `head`, and the
/// place of their keys; none if it has the cookie of no bitmap.
fn containers(head: &[u8]) -> Option<(usize, usize)> {
    let (&cookie, rest) = head.split_first_chunk()?;
    let cookie = u32::from_le_bytes(cookie);
    if cookie == NO_RUNS_COOKIE {
        return Some((u32::from_le_bytes(*rest.first_chunk()?) as usize, 8));
    }
    let count = (cookie >> 16) as usize + 1;
    (cookie & 0xFFFF == u32::from(RUNS_COOKIE)).then(|| (count, 4 + count.div_ceil(8)))
}

/// What stands before the bitmap of the first bucket in a bitmap of 64 bits: the number of buckets,
/// which is below 2^32, and the key of the bucket.
const WIDE: usize = 12;

/// The bitmap of the first bucket, if `head` may begin a bitmap of 64 bits.
fn first_bucket(head: &[u8]) -> Option<&[u8]> {
    head.get(WIDE..).filter(|_| head[4..8] == [0; 4])
}

/// Whether an input that begins with `head` may be a portable roaring bitmap. The cookie of one with
/// runs is text, but the keys of containers ascend, which those of text do not. `head` must have the
/// [wanted] length, unless the input ends before.
pub(crate) fn may_begin(head: &[u8]) -> bool {
    let narrow = |head: &[u8]| {
        let Some((count, keys_at)) = containers(head) else { return false };
        let (keys, _) = head.get(keys_at..).unwrap_or_default().as_chunks::<4>();
        let seen = count.min(SEEN_KEYS);
        let keys = keys.iter().take(seen).map(|[low, high, ..]| [*high, *low]);
        count <= 1 << 16 && keys.len() == seen && keys.is_sorted_by(|a, b| a < b)
    };
    narrow(head) || first_bucket(head).is_some_and(narrow)
}

/// How many bytes of an input that begins with `head` show whether it may be such a bitmap.
pub(crate) fn wanted(head: &[u8]) -> usize {
    let end = |head: &[u8]| containers(head).map_or(0, |(_, keys_at)| keys_at + 4 * SEEN_KEYS);
    let of_bucket = first_bucket(head).map_or(0, |bitmap| WIDE + end(bitmap));
    head.len().max(end(head)).max(of_bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_no_bitmap_whatever_its_length() {
        let line = |number: usize| format!("{}\n", number * 7919 % 10_007);
        for start in [";0\n", ";0 comment\n", ";0 \x1B[0m\n", ";0123\n", ";0\x001\0"] {
            let text = start.to_owned() + &(0..3000).map(line).collect::<String>();
            for end in start.len()..text.len() {
                assert!(!may_begin(&text.as_bytes()[..end]), "{start:?} {end}");
            }
            assert!(wanted(text.as_bytes()) == text.len() && wanted(&text.as_bytes()[..40]) < 9000);
        }
    }
}
