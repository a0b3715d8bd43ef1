//! Sets as other programs store them, told apart by their bytes.
//!
//! Sources: the Roaring format specification; `RoaringBitmap` (Java)
//! `Roaring64NavigableMap`; the aggregate state of `ClickHouse`'s `groupBitmap`;
//! `BitmapValue` of Apache Doris; the deletion vectors of Delta Lake and
//! Iceberg.

use crate::error::{Error, Result};
use crate::set::file::SetKind;
use crate::set::operand::{AsSet, Operand};
use crate::set::view::{Bucket, Damage, RoaringView, SetView, Shape, Table, TreemapView, walk};
use byteorder::{BigEndian, ReadBytesExt};
use integer_encoding::VarInt;
use std::fmt;
use std::ops::Range;

/// The magic number of Delta Lake's and Iceberg's deletion vectors.
const DELETION_VECTOR: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];

/// What bytes hold, and where the set lies in them.
///
/// # Examples
///
/// ```
/// use bitsort::set::foreign::{Foreign, decode};
///
/// // A deletion vector: its magic number, then a 64-bit roaring bitmap of one bucket:
/// // cookie, one container, key 0 with 2 values, its offset, 35 and 40.
/// let mut bytes = vec![0xD1, 0xD3, 0x39, 0x64, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// bytes.extend([58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 35, 0, 40, 0]);
/// assert_eq!(Foreign::of(&bytes), Foreign::DeletionVector(4..bytes.len()));
///
/// let set = decode(&bytes, "deleted.bin")?;
/// assert_eq!(set.view().iter().collect::<Result<Vec<_>, _>>(), Ok(vec![35, 40]));
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// A `.bits` file.
    Bits,
    /// A portable roaring bitmap of 32 bits.
    Roaring(Range<usize>),
    /// One of 64 bits.
    Treemap(Range<usize>),
    /// A deletion vector, and the 64-bit roaring bitmap in it.
    DeletionVector(Range<usize>),
    /// `ClickHouse`'s `groupBitmap` state, a small set.
    ClickHouseSmall,
    /// The same with a bitmap.
    ClickHouse(Range<usize>),
    /// Doris's `BitmapValue`; what its type byte says.
    Doris(&'static str, Option<Range<usize>>),
    /// `Roaring64NavigableMap` as Java serializes it.
    JavaNavigableMap,
    /// Digits and white space.
    Text,
    /// No bytes.
    Empty,
    /// Something else; a raw bitmap has no mark.
    Unknown,
}

impl Foreign {
    /// What these bytes are, as far as they say so. O(containers) of a 64-bit bitmap, else
    /// O(1).
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        if bytes.is_empty() {
            return Self::Empty;
        }
        match SetKind::of(bytes) {
            Some(SetKind::Bits) => return Self::Bits,
            Some(SetKind::Roaring) => return Self::Roaring(0..bytes.len()),
            Some(SetKind::Treemap) if is_treemap(bytes) => return Self::Treemap(0..bytes.len()),
            _ => {}
        }
        if let Some(range) = deletion_vector(bytes) {
            return Self::DeletionVector(range);
        }
        if is_navigable_map(bytes) {
            return Self::JavaNavigableMap;
        }
        if let Some(found) = click_house(bytes).or_else(|| doris(bytes)) {
            return found;
        }
        let text = |&byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace();
        if bytes.iter().take(4096).all(text) { Self::Text } else { Self::Unknown }
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bits => write!(f, ".bits file"),
            Self::Roaring(_) => write!(f, "portable roaring bitmap, 32 bits"),
            Self::Treemap(_) => write!(f, "portable roaring bitmap, 64 bits"),
            Self::DeletionVector(range) => {
                write!(
                    f,
                    "deletion vector (Delta Lake, Iceberg), 64-bit roaring bitmap at byte {}",
                    range.start
                )
            }
            Self::ClickHouseSmall => write!(f, "groupBitmap state of ClickHouse, small set"),
            Self::ClickHouse(range) => {
                write!(f, "groupBitmap state of ClickHouse, bitmap at byte {}", range.start)
            }
            Self::Doris(what, _) => write!(f, "bitmap of Apache Doris or StarRocks, {what}"),
            Self::JavaNavigableMap => {
                write!(
                    f,
                    "Roaring64NavigableMap as Java serializes it; in Java, SERIALIZATION_MODE_PORTABLE writes what others read"
                )
            }
            Self::Text => write!(f, "text"),
            Self::Empty => write!(f, "empty"),
            Self::Unknown => write!(f, "not recognized; a raw bitmap has no mark"),
        }
    }
}

fn is_treemap(bytes: &[u8]) -> bool {
    walk(bytes).is_ok()
}

/// The bitmap in a deletion vector: as it is, behind its length, or in a file
/// of them behind a version byte and its length; a checksum follows.
fn deletion_vector(bytes: &[u8]) -> Option<Range<usize>> {
    for skip in [0, 4, 5] {
        if bytes.get(skip..)?.starts_with(&DELETION_VECTOR) {
            let start = skip + 4;
            let end = match skip.checked_sub(4) {
                None => bytes.len(),
                Some(at) => {
                    let length = bytes.get(at..)?.read_u32::<BigEndian>().ok()?;
                    skip.checked_add(length as usize)?
                }
            };
            return bytes.get(start..end).map(|_| start..end);
        }
    }
    None
}

fn is_navigable_map(bytes: &[u8]) -> bool {
    let head = || -> Option<bool> {
        let mut rest = bytes;
        let signed = rest.read_u8().ok()?;
        let count = rest.read_u32::<BigEndian>().ok()? as usize;
        let cookie = RoaringView::new(rest.get(4..).unwrap_or_default()).is_ok();
        Some(signed <= 1 && count <= rest.len() / 12 && count > 0 && cookie)
    };
    head() == Some(true)
}

/// A number of 7 bits a byte, the lowest first; and what follows.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (value, len) = u64::decode_var(bytes)?;
    Some((value, bytes.get(len..)?))
}

fn click_house(bytes: &[u8]) -> Option<Foreign> {
    let (&kind, rest) = bytes.split_first()?;
    match kind {
        0 => {
            let (&count, values) = rest.split_first()?;
            let fits = (1..=32).contains(&count)
                && [1, 2, 4, 8].iter().any(|width| values.len() == width * usize::from(count));
            fits.then_some(Foreign::ClickHouseSmall)
        }
        1 => {
            let (length, rest) = varint(rest)?;
            let start = bytes.len() - rest.len();
            let known = RoaringView::new(rest).is_ok() || is_treemap(rest);
            (length == rest.len() as u64 && known)
                .then_some(Foreign::ClickHouse(start..bytes.len()))
        }
        _ => None,
    }
}

fn doris(bytes: &[u8]) -> Option<Foreign> {
    let (&kind, rest) = bytes.split_first()?;
    let found = match (kind, rest.len()) {
        (0, 0) => Foreign::Doris("empty", None),
        (1, 4) => Foreign::Doris("one 32-bit value", None),
        (3, 8) => Foreign::Doris("one 64-bit value", None),
        (2, _) if RoaringView::new(rest).is_ok() => Foreign::Doris("32 bits", Some(1..bytes.len())),
        (4, _) => {
            let (_, rest) = varint(rest)?;
            RoaringView::new(rest.get(4..)?).ok()?;
            Foreign::Doris("64 bits", None)
        }
        _ => return None,
    };
    Some(found)
}

/// Which bit of a byte is the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BitOrder {
    /// The least significant one.
    LeastFirst,
    /// The most significant one.
    MostFirst,
}

/// A set read from foreign bytes.
#[derive(Debug)]
pub struct Decoded<'b> {
    bytes: std::borrow::Cow<'b, [u8]>,
    kind: Kind,
    name: String,
}

#[derive(Debug)]
enum Kind {
    Roaring,
    Treemap(Vec<Bucket>),
    /// Value of the first bit.
    Dense(u64),
}

impl Decoded<'_> {
    /// What is asked.
    #[must_use]
    pub fn view(&self) -> SetView<'_> {
        match &self.kind {
            Kind::Roaring => {
                let shape = RoaringView::new(&self.bytes).map(Shape::Roaring);
                SetView(shape.unwrap_or_else(Shape::Damaged))
            }
            Kind::Treemap(buckets) => {
                SetView(Shape::Treemap(TreemapView::new(&self.bytes, Table::Walked(buckets))))
            }
            Kind::Dense(base) => SetView::dense(self.bytes.as_chunks().0, *base),
        }
    }
}

impl AsSet for Decoded<'_> {
    fn as_set(&self) -> Operand<'_> {
        Operand::named(self.view(), &self.name)
    }
}

fn damaged(name: &str, Damage { offset, what }: Damage) -> Error {
    Error::Damaged { input: name.to_owned(), offset, what }
}

/// Reads what [`Foreign::of`] recognizes, where it lies; `name` is for messages.
/// O(containers).
///
/// # Errors
///
/// If it is no set that can be read where it lies, or its bytes contradict its format.
pub fn decode<'b>(bytes: &'b [u8], name: &str) -> Result<Decoded<'b>> {
    let found = Foreign::of(bytes);
    let range = match &found {
        Foreign::Roaring(range)
        | Foreign::Treemap(range)
        | Foreign::DeletionVector(range)
        | Foreign::ClickHouse(range)
        | Foreign::Doris(_, Some(range)) => range.clone(),
        Foreign::Unknown => return Err(Error::Unrecognized { input: name.into() }),
        other => {
            return Err(Error::NotConvertible { input: name.into(), found: other.to_string() });
        }
    };
    let start = range.start as u64;
    let blame = |damage: Damage| damaged(name, Damage { offset: damage.offset + start, ..damage });
    let payload = bytes.get(range).unwrap_or_default();
    let kind = match RoaringView::new(payload) {
        Ok(view) => {
            view.check().map_err(blame)?;
            Kind::Roaring
        }
        Err(_) => Kind::Treemap(walk(payload).map_err(blame)?.0),
    };
    Ok(Decoded { bytes: payload.into(), kind, name: name.to_owned() })
}

/// The base of a raw bitmap is out of its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the base of a raw bitmap is a multiple of 65536, and all its bits end below 2^64")]
pub struct BadBase;

/// Reads a bitmap without a head, whose first bit stands for `base`. O(1) where bits are
/// least first and the bytes fill whole blocks of 8 KiB; else they are copied.
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
    Ok(Decoded { bytes, kind: Kind::Dense(base), name: "bitmap".into() })
}
