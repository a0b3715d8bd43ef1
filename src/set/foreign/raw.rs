//! Bitmaps without a head.

use super::{Content, Decoded};

/// Which bit of a byte comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BitOrder {
    /// The least significant bit.
    LeastFirst,
    /// The most significant bit.
    MostFirst,
}

/// The error for a base that is no multiple of 2^16 or too large.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the base of a raw bitmap is a multiple of 65536, and all its bits end below 2^64")]
pub struct BadBase;

/// Reads a bitmap without a head, whose first bit stands for `base`. O(1) if the least significant
/// bit comes first and the bytes fill whole containers of 8 KiB; else it copies the bytes.
///
/// # Errors
///
/// If `base` is no multiple of 2^16, or a bit stands for 2^64 or more.
///
/// # Examples
///
/// ```
/// use bitsort::set::foreign::{BitOrder, raw_bitmap};
///
/// let set = raw_bitmap(&[0b1000_0001], BitOrder::MostFirst, 1 << 16)?;
/// assert_eq!(set.view().iter().collect::<Result<Vec<_>, _>>(), Ok(vec![65_536, 65_543]));
/// # Ok::<(), bitsort::set::foreign::BadBase>(())
/// ```
pub fn raw_bitmap(bytes: &[u8], order: BitOrder, base: u64) -> Result<Decoded<'_>, BadBase> {
    let in_range = |bits: u64| base.checked_add(bits - 1).is_some();
    if !base.is_multiple_of(1 << 16) || !in_range((bytes.len() as u64 * 8).max(1)) {
        return Err(BadBase);
    }
    let whole = bytes.len().is_multiple_of(8 << 10) && order == BitOrder::LeastFirst;
    let bytes = if whole {
        bytes.into()
    } else {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(8 << 10), 0);
        if order == BitOrder::MostFirst {
            for byte in &mut padded {
                *byte = byte.reverse_bits();
            }
        }
        padded.into()
    };
    Ok(Decoded { content: Content::Dense(bytes, base), name: "bitmap".into() })
}
