//! Roaring bitmaps in memory, made of containers or values.

use super::readable::in_memory;
use super::roaring64::Roaring64;
use crate::error::Result;
use crate::set::container::Container;
use crate::set::file::{BucketEncoder, ValueSink};
use crate::set::view::Damage;
use roaring::RoaringBitmap;
use std::io::{self, Read};

/// Makes a roaring bitmap of ascending containers, each in its smallest form.
///
/// The roaring crate takes containers by the portable format only: some are
/// encoded at a time, into memory that the caches keep.
#[derive(Debug)]
pub(super) struct Collector {
    encoder: BucketEncoder<Vec<u8>>,
    /// High 32 bits of the values of `bitmap` and of what is encoded.
    high: u32,
    bitmap: RoaringBitmap,
    bitmaps: Vec<(u32, RoaringBitmap)>,
}

/// Bytes encoded before they are decoded.
const BATCH_BYTES: u64 = 256 << 10;

impl Default for Collector {
    fn default() -> Self {
        let (encoder, bitmap) = (BucketEncoder::in_memory(), RoaringBitmap::new());
        Self { encoder, high: 0, bitmap, bitmaps: Vec::new() }
    }
}

impl Collector {
    fn add(&mut self, key: u64, container: Container<'_>) -> io::Result<()> {
        let len = container.len();
        if len == 0 {
            return Ok(());
        }
        #[expect(clippy::cast_possible_truncation, reason = "keys have 48 bits")]
        let (high, low) = ((key >> 16) as u32, key as u16);
        if high != self.high {
            self.end_bucket()?;
            self.high = high;
        }
        self.encoder.push(low, container, len)?;
        if self.encoder.body_bytes() >= BATCH_BYTES { self.decode() } else { Ok(()) }
    }

    fn decode(&mut self) -> io::Result<()> {
        if self.encoder.is_empty() {
            return Ok(());
        }
        let head = self.encoder.head();
        let bytes = head.chain(self.encoder.body());
        self.bitmap |= RoaringBitmap::deserialize_unchecked_from(bytes)?;
        self.encoder.clear();
        Ok(())
    }

    fn end_bucket(&mut self) -> io::Result<()> {
        self.decode()?;
        let bitmap = std::mem::take(&mut self.bitmap);
        if !bitmap.is_empty() {
            self.bitmaps.push((self.high, bitmap));
        }
        Ok(())
    }

    /// The set of all containers.
    pub(super) fn finish(mut self) -> Result<Roaring64> {
        self.end_bucket().map_err(not_understood)?;
        Ok(Roaring64::from_buckets(self.bitmaps))
    }
}

impl ValueSink for Collector {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        self.add(key, container).map_err(not_understood)
    }
}

fn not_understood(_: io::Error) -> crate::error::Error {
    in_memory(Damage { offset: 0, what: "a container of an operand is damaged" })
}

/// Hands ascending `values` to `sink`, copies dropped; gives the first that does not
/// ascend.
///
/// # Errors
///
/// If the sink fails.
pub(super) fn push_values(
    sink: &mut (impl ValueSink + ?Sized),
    values: &mut impl Iterator<Item = u64>,
) -> Result<Option<u64>> {
    let mut lows: Vec<[u8; 2]> = Vec::new();
    let (mut key, mut before, mut stray) = (0, None, None);
    #[expect(clippy::cast_possible_truncation, reason = "the low part is meant")]
    for value in values {
        if before >= Some(value) {
            if before == Some(value) {
                continue;
            }
            stray = Some(value);
            break;
        }
        before = Some(value);
        if value >> 16 != key {
            sink.container(key, Container::Array(&lows))?;
            lows.clear();
            key = value >> 16;
        }
        lows.push((value as u16).to_le_bytes());
    }
    sink.container(key, Container::Array(&lows))?;
    Ok(stray)
}

/// The set of `values`: those that ascend are appended, from the first that
/// does not on they are inserted.
pub(super) fn from_values(values: impl IntoIterator<Item = u64>) -> Roaring64 {
    let mut values = values.into_iter();
    let mut collector = Collector::default();
    let pushed = push_values(&mut collector, &mut values);
    let set = pushed.and_then(|stray| Ok((stray, collector.finish()?)));
    #[expect(clippy::expect_used, reason = "an empty set in place of the values would be worse")]
    let (stray, mut set) = set.expect("ascending values are encoded and decoded");
    if let Some(stray) = stray {
        set.extend(std::iter::once(stray).chain(values));
        set.optimize();
    }
    set
}
