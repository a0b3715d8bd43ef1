//! Cuts lines into blocks, and collects their keys for the filters.

use super::key::KeyRule;
use super::rows::{line_len, rows};
use crate::bloom::BuildError;
use crate::bloom::scheme::{Hash, Scheme};
use crate::bloom::sliced::{MAX_BLOCKS, Shape};
use crate::error::Result;
use crate::kernel::in_usize;
use memchr::memrchr;
use std::borrow::Cow;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Most bytes of data in a group, except for a long line or a larger block. The memory of a thread
/// for its keys is proportional to this.
const GROUP_DATA_BYTES: u64 = 64 << 20;
/// Most bytes of a first or last key that the index keeps.
pub(super) const BOUND_BYTES: usize = 255;

/// How data become an index.
#[derive(Debug, Clone)]
pub(super) struct Recipe {
    pub(super) rule: KeyRule,
    pub(super) block_bytes: u64,
    pub(super) hashes: u32,
    pub(super) rate: f64,
}

impl Recipe {
    /// Number of blocks in a group.
    pub(super) fn group_blocks(&self) -> usize {
        let blocks = usize::try_from(GROUP_DATA_BYTES / self.block_bytes.max(1));
        blocks.unwrap_or(MAX_BLOCKS).clamp(1, MAX_BLOCKS)
    }

    /// The end of the block that begins at `start`: it has as many lines as fit, or one line that
    /// is too long for any block.
    fn end_of_block(&self, data: &[u8], start: usize) -> usize {
        let rest = &data[start..];
        let full = usize::try_from(self.block_bytes).ok().and_then(|full| rest.get(..full));
        match full {
            Some(full) if full.len() < rest.len() => {
                let last = memrchr(b'\n', full);
                start + last.map_or_else(|| line_len(rest), |last| last + 1)
            }
            _ => data.len(),
        }
    }

    /// The blocks of the group that begins at `start`.
    pub(super) fn cut(&self, data: &[u8], mut start: usize) -> Vec<Range<usize>> {
        let mut blocks = Vec::new();
        while start < data.len() && blocks.len() < self.group_blocks() {
            let end = self.end_of_block(data, start);
            blocks.push(start..end);
            start = end;
        }
        blocks
    }
}

/// Facts about a group that the index keeps.
#[derive(Debug)]
pub(super) struct Digest<'d> {
    pub(super) shape: Shape,
    pub(super) filters: Vec<u64>,
    /// Place and checksum of each block.
    pub(super) blocks: Vec<[u64; 2]>,
    pub(super) rows: u64,
    pub(super) keys: u64,
    /// The first and last keys, if no key is smaller than the one before.
    pub(super) order: Option<Order<'d>>,
}

/// First and last keys. A key may be very long, and most lie in the data as they are.
#[derive(Debug, Default)]
pub(super) struct Order<'d> {
    pub(super) first: Cow<'d, [u8]>,
    pub(super) last: Cow<'d, [u8]>,
    /// The place of the bounds of each block.
    pub(super) places: Vec<u64>,
    /// For each block the lengths of both keys, then the keys.
    pub(super) bounds: Vec<u8>,
}

impl<'d> Order<'d> {
    fn push(&mut self, first: Cow<'d, [u8]>, last: Cow<'d, [u8]>) {
        self.places.push(self.bounds.len() as u64);
        let bounds = [&first, &last].map(|key| key.get(..BOUND_BYTES).unwrap_or(key));
        self.bounds.extend(bounds.map(|key| u8::try_from(key.len()).unwrap_or(u8::MAX)));
        self.bounds.extend(bounds.concat());
        if self.places.len() == 1 {
            self.first = first;
        }
        self.last = last;
    }
}

impl<'d> Digest<'d> {
    /// Reads the blocks of a group. It compares neighbouring keys only if the file may still be
    /// sorted.
    pub(super) fn of(
        data: &'d [u8],
        blocks: &[Range<usize>],
        recipe: &Recipe,
        look_at_order: bool,
    ) -> Result<Self> {
        let mut order = look_at_order.then(Order::default);
        let mut table = Vec::with_capacity(blocks.len());
        let mut counts = Vec::with_capacity(blocks.len());
        let (mut hashes, mut of_block) = (Vec::new(), Vec::new());
        let mut row_count = 0;
        let mut previous: Option<Cow<'d, [u8]>> = None;
        for block in blocks {
            let bytes = &data[block.clone()];
            table.push([block.start as u64, xxh3_64(bytes)]);
            let mut first = None;
            for (row, _) in rows(bytes) {
                row_count += 1;
                let key = recipe.rule.key_of(row);
                let Hash([hash, _]) = Scheme::default().hash(&*key);
                of_block.push(hash);
                if order.is_some() {
                    if previous.as_ref().is_some_and(|previous| **previous > *key) {
                        order = None;
                    }
                    if first.is_none() {
                        first = Some(key.clone());
                    }
                    previous = Some(key);
                }
            }
            if let (Some(order), Some(first), Some(last)) = (&mut order, first, &previous) {
                order.push(first, last.clone());
            }
            of_block.sort_unstable();
            of_block.dedup();
            counts.push(of_block.len() as u64);
            hashes.append(&mut of_block);
        }
        let shape = Shape::for_rate(&counts, recipe.hashes, recipe.rate);
        let filters = filters(shape, &counts, hashes)?;
        let keys = counts.iter().sum();
        Ok(Self { shape, filters, blocks: table, rows: row_count, keys, order })
    }
}

/// The filters of blocks with so many keys each. The hashes of all blocks follow each other.
fn filters(shape: Shape, counts: &[u64], hashes: Vec<u64>) -> Result<Vec<u64>, BuildError> {
    let words = shape.words().ok_or(BuildError::TooLarge)?;
    let words = usize::try_from(words).map_err(|_| BuildError::TooLarge)?;
    let mut filters = vec![0; words];
    let mut hashes = hashes.into_iter();
    for (block, &count) in counts.iter().enumerate() {
        for hash in hashes.by_ref().take(in_usize(count)) {
            shape.insert(&mut filters, block, Hash([hash, 0]));
        }
    }
    Ok(filters)
}
