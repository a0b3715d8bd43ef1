//! Sets in the formats of other systems.
//!
//! | system | bytes | read | written |
//! |---|---|---|---|
//! | roaring libraries | portable roaring bitmap of 32 or 64 bits | yes | [`SetFormat::Roaring`](super::SetFormat) |
//! | `ClickHouse` | state of `groupBitmap` | yes | [`ForeignFormat::ClickHouse32`], [`ForeignFormat::ClickHouse64`] |
//! | Apache Doris, `StarRocks` | `BitmapValue` | yes | [`ForeignFormat::Doris`] |
//! | Apache Iceberg | `deletion-vector-v1` | yes, also in Puffin files | [`ForeignFormat::Iceberg`] |
//! | Delta Lake | deletion vectors | a file of them, and one that is inline | [`ForeignFormat::Delta`], [`ForeignFormat::DeltaInline`] |
//! | Apache Spark | rows of `bitmap_construct_agg` | [`spark`] | [`spark`] |
//! | any | raw bitmaps | [`raw_bitmap`] | |
//!
//! [`Foreign::of`] identifies bytes, [`decode`] reads them in the format that they show, [`decode_as`]
//! reads them in a given format, and [`Reading`] with all that a caller may know. [`encode`] writes.

mod click_house;
mod deletion;
mod doris;
mod identify;
mod puffin;
mod raw;
mod reading;
pub mod spark;
#[cfg(test)]
mod tests;
mod write;

use super::integer_set::IntegerSet;
use super::operand::{AsSet, Operand};
use super::view::{Bucket, Damage, RoaringView, SetView, Shape, Table, TreemapView, check_buckets};
use crate::error::{Error, Result};
use crate::number::named;
use byteorder::{ByteOrder, LittleEndian};
pub use identify::Foreign;
pub use raw::{BadBase, BitOrder, raw_bitmap};
pub use reading::{Origin, ParseOriginError, Reading};
use std::borrow::Cow;
use std::ops::Range;
pub(super) use write::{Buckets, ForeignSink, frame};

/// A format of another system in which a set is read and written.
///
/// # Examples
///
/// ```
/// use bitsort::set::foreign::{ForeignFormat, decode_as, encode};
/// use bitsort::set::IntegerSet;
///
/// let bytes = encode(&IntegerSet::from([7]), ForeignFormat::Doris)?;
/// assert_eq!(bytes, [1, 7, 0, 0, 0]);
/// assert_eq!(decode_as(&bytes, ForeignFormat::Doris, "cell")?.view().max(), Ok(Some(7)));
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ForeignFormat {
    /// The state of `ClickHouse`'s `groupBitmap` of integers of at most 4 bytes.
    ClickHouse32,
    /// The same for integers of 8 bytes.
    ClickHouse64,
    /// `BitmapValue` of Apache Doris and `StarRocks`.
    Doris,
    /// The blob `deletion-vector-v1` of Iceberg.
    Iceberg,
    /// A file of deletion vectors of Delta Lake. A file that is written has one vector.
    Delta,
    /// A deletion vector of Delta Lake as text, as a transaction has it inline.
    DeltaInline,
}

impl ForeignFormat {
    /// All of them, in the order in which help texts list them.
    pub const ALL: [Self; 6] = [
        Self::ClickHouse32,
        Self::ClickHouse64,
        Self::Doris,
        Self::Iceberg,
        Self::Delta,
        Self::DeltaInline,
    ];

    /// The name used on the command line, in Python, and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClickHouse32 => "clickhouse-u32",
            Self::ClickHouse64 => "clickhouse-u64",
            Self::Doris => "doris",
            Self::Iceberg => "iceberg",
            Self::Delta => "delta",
            Self::DeltaInline => "delta-inline",
        }
    }

    /// What the format is, in a line of a help text.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::ClickHouse32 => "State of ClickHouse's groupBitmap(UInt32)",
            Self::ClickHouse64 => "State of ClickHouse's groupBitmap(UInt64)",
            Self::Doris => "Bitmap value of Apache Doris and StarRocks",
            Self::Iceberg => "Blob of an Iceberg deletion vector",
            Self::Delta => "Deletion vector file of Delta Lake",
            Self::DeltaInline => "Inline deletion vector of Delta Lake, as text",
        }
    }

    /// The largest value that the format can have.
    #[must_use]
    pub const fn max_value(self) -> u64 {
        match self {
            Self::ClickHouse32 => u32::MAX as u64,
            Self::ClickHouse64 | Self::Doris => u64::MAX,
            Self::Iceberg | Self::Delta | Self::DeltaInline => deletion::MAX_POSITION,
        }
    }
}

named!(ForeignFormat, ParseForeignFormatError);

/// A set read from foreign bytes.
#[derive(Debug)]
pub struct Decoded<'b> {
    content: Content<'b>,
    name: String,
}

/// The set, in the bytes or in memory.
#[derive(Debug)]
enum Content<'b> {
    Roaring(&'b [u8]),
    Treemap(&'b [u8], Vec<Bucket>),
    /// The bytes of a plain bitmap in whole containers, and its base.
    Dense(Cow<'b, [u8]>, u64),
    Memory(IntegerSet),
}

impl Decoded<'_> {
    /// A view of the set, for questions.
    #[must_use]
    pub fn view(&self) -> SetView<'_> {
        match &self.content {
            Content::Roaring(bytes) => {
                let shape = RoaringView::new(bytes).map(Shape::Roaring);
                SetView(shape.unwrap_or_else(Shape::Damaged))
            }
            Content::Treemap(bytes, buckets) => {
                SetView(Shape::Treemap(TreemapView::new(bytes, Table::Walked(buckets))))
            }
            Content::Dense(bytes, base) => SetView::dense(bytes.as_chunks().0, *base),
            Content::Memory(set) => set.view(),
        }
    }

    /// A copy in memory. O(bytes).
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub fn to_set(&self) -> Result<IntegerSet> {
        self.view().to_set().map_err(blame(&self.name))
    }
}

impl AsSet for Decoded<'_> {
    fn as_set(&self) -> Operand<'_> {
        Operand::named(self.view(), &self.name)
    }
}

/// One of several sets in foreign bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The bytes of the set.
    pub range: Range<usize>,
    /// The data file that the deletion vector belongs to; only in Iceberg.
    pub data_file: Option<String>,
}

/// The deletion vectors in a file of Delta Lake or in a Puffin file; none for other bytes.
/// O(vectors).
///
/// # Errors
///
/// If the bytes contradict their format.
pub fn parts(bytes: &[u8], name: &str) -> Result<Vec<Part>> {
    match Foreign::of(bytes) {
        Foreign::DeltaFile => {
            let ranges = deletion::file_parts(bytes).map_err(blame(name))?;
            Ok(ranges.into_iter().map(|range| Part { range, data_file: None }).collect())
        }
        Foreign::Puffin => puffin::parts(bytes).map_err(blame(name)),
        _ => Ok(Vec::new()),
    }
}

/// The set of one of the [`parts`] of `bytes`.
///
/// # Errors
///
/// If it lies outside of the bytes, or contradicts its format.
pub fn decode_part<'b>(bytes: &'b [u8], part: &Part, name: &str) -> Result<Decoded<'b>> {
    let outside = Damage { offset: part.range.start as u64, what: "the vector is not in the file" };
    let vector = bytes.get(part.range.clone()).ok_or(outside).map_err(blame(name))?;
    let content = deletion::framed(vector).map_err(shifted(part.range.start));
    content.map_err(blame(name)).map(|content| Decoded { content, name: name.to_owned() })
}

/// Makes an error of damage that names the input.
fn blame(name: &str) -> impl Fn(Damage) -> Error {
    move |damage| damage.of_input(name)
}

/// Damage with an offset from an earlier place.
fn shifted(start: usize) -> impl Fn(Damage) -> Damage {
    move |damage| damage.behind(start as u64)
}

/// Reads the formats that [`Foreign::of`] recognizes. Several deletion vectors in a file give the
/// union of all. `name` is for messages. Roaring bitmaps are read in place, other sets are copied.
/// O(containers), or O(bytes) with a copy.
///
/// # Errors
///
/// If the bytes are no such set, or contradict their format.
pub fn decode<'b>(bytes: &'b [u8], name: &str) -> Result<Decoded<'b>> {
    decode_found(bytes, Foreign::of(bytes), name)
}

/// The same for bytes that are identified.
fn decode_found<'b>(bytes: &'b [u8], found: Foreign, name: &str) -> Result<Decoded<'b>> {
    let content = match found {
        Foreign::Roaring | Foreign::Treemap => return decode_portable(bytes, name),
        Foreign::DeletionVector => deletion::unframed(bytes),
        Foreign::Iceberg => return decode_as(bytes, ForeignFormat::Iceberg, name),
        Foreign::DeltaFile => return decode_as(bytes, ForeignFormat::Delta, name),
        Foreign::DeltaInline => return decode_as(bytes, ForeignFormat::DeltaInline, name),
        Foreign::ClickHouseSmall | Foreign::ClickHouse => {
            click_house::read(bytes, &click_house::WIDTHS)
        }
        Foreign::Doris(_) => return decode_as(bytes, ForeignFormat::Doris, name),
        Foreign::Puffin => return union(bytes, &parts(bytes, name)?, name),
        Foreign::Unknown => return Err(Error::Unrecognized { input: name.into() }),
        Foreign::Bits
        | Foreign::Sets
        | Foreign::JavaNavigableMap
        | Foreign::Table(_)
        | Foreign::Text
        | Foreign::Empty => {
            return Err(Error::NotConvertible { input: name.into(), found: found.to_string() });
        }
    };
    content.map_err(blame(name)).map(|content| Decoded { content, name: name.to_owned() })
}

/// Reads a portable roaring bitmap. O(containers).
fn decode_portable<'b>(bytes: &'b [u8], name: &str) -> Result<Decoded<'b>> {
    let content = portable(bytes).map_err(blame(name))?;
    Ok(Decoded { content, name: name.to_owned() })
}

/// Reads bytes of one format. O(containers), or O(bytes) with a copy.
///
/// # Errors
///
/// If the bytes are not of this format: if they are cut off, go on behind the end of the set, have
/// a wrong checksum, or contradict the format in another way.
pub fn decode_as<'b>(bytes: &'b [u8], format: ForeignFormat, name: &str) -> Result<Decoded<'b>> {
    let content = match format {
        ForeignFormat::ClickHouse32 => click_house::read(bytes, click_house::NARROW),
        ForeignFormat::ClickHouse64 => click_house::read(bytes, click_house::WIDE),
        ForeignFormat::Doris => doris::read(bytes),
        ForeignFormat::Iceberg => deletion::framed(bytes),
        ForeignFormat::Delta => {
            let ranges = deletion::file_parts(bytes).map_err(blame(name))?;
            let parts = ranges.into_iter().map(|range| Part { range, data_file: None });
            return union(bytes, &parts.collect::<Vec<_>>(), name);
        }
        ForeignFormat::DeltaInline => deletion::inline(bytes),
    };
    content.map_err(blame(name)).map(|content| Decoded { content, name: name.to_owned() })
}

/// Reads a state of `ClickHouse`'s `groupBitmap` of integers of `width` bytes: 1, 2, 4 or 8.
///
/// The bytes of a small set do not say how wide its integers are. [`decode_as`] takes the width
/// that fits their number, so it takes a state of 4-byte integers that lost its second half for one
/// of 2-byte integers. This function refuses it.
///
/// # Errors
///
/// As [`decode_as`], and if there are no integers of this width.
pub fn decode_click_house<'b>(bytes: &'b [u8], width: usize, name: &str) -> Result<Decoded<'b>> {
    if !click_house::WIDTHS.contains(&width) {
        return Err(Error::usage("integers of ClickHouse have 1, 2, 4 or 8 bytes"));
    }
    let content = click_house::read(bytes, &[width]).map_err(blame(name))?;
    Ok(Decoded { content, name: name.to_owned() })
}

/// The union of the parts.
fn union<'b>(bytes: &'b [u8], parts: &[Part], name: &str) -> Result<Decoded<'b>> {
    if let [part] = parts {
        return decode_part(bytes, part, name);
    }
    let mut all = IntegerSet::new();
    for part in parts {
        let set = decode_part(bytes, part, name)?;
        all |= &set.to_set()?;
    }
    Ok(Decoded { content: Content::Memory(all), name: name.to_owned() })
}

/// The bytes of a set in a format of another system. O(bytes).
///
/// # Errors
///
/// If the largest value is too large for the format, or if a vector would have too many bytes for
/// its head.
pub fn encode(set: &IntegerSet, format: ForeignFormat) -> Result<Vec<u8>> {
    if let Some(value) = set.max().filter(|&max| max > format.max_value()) {
        return Err(Error::ValueTooLarge { value, format: format.name() });
    }
    let treemap = set.to_roaring_bytes();
    let mut bytes = Vec::with_capacity(treemap.len() + 16);
    let framed = frame(format, Buckets::of_memory(&treemap, set), &mut bytes);
    framed.map_err(Error::io("write", "a set in memory"))?;
    Ok(bytes)
}

/// The damage of bytes that end too early.
fn short(bytes: &[u8]) -> Damage {
    Damage { offset: bytes.len() as u64, what: "the bytes end inside of a value" }
}

/// The roaring bitmap of 32 or 64 bits in `bytes`, which must end with it.
fn portable(bytes: &[u8]) -> Result<Content<'_>, Damage> {
    match super::file::SetKind::of(bytes) {
        Some(super::file::SetKind::Roaring) => bitmap32(bytes),
        _ => treemap(bytes),
    }
}

/// The roaring bitmap of 32 bits in `bytes`, which must end with it.
fn bitmap32(bytes: &[u8]) -> Result<Content<'_>, Damage> {
    RoaringView::whole(bytes).map(|_| Content::Roaring(bytes))
}

/// The roaring bitmap of 64 bits in `bytes`, which must end with it.
fn treemap(bytes: &[u8]) -> Result<Content<'_>, Damage> {
    Ok(Content::Treemap(bytes, check_buckets(bytes)?.0))
}

/// The set of numbers of 4 or 8 bytes each, in any order.
fn numbers(bytes: &[u8], width: usize) -> IntegerSet {
    bytes.chunks_exact(width).map(|number| LittleEndian::read_uint(number, width)).collect()
}
