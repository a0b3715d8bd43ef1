//! Writes the values of a bitmap, or of counters.

use super::batch::BLOCK_WORDS;
use super::emit::Emitter;
use super::span::Span;
use crate::error::{Error, Result};
use crate::kernel::{Level, ones};

/// Words that are scanned at once: the positions of their bits stay in the first-level cache.
const SLAB_WORDS: usize = 256;

/// A bitmap of the values of a span.
pub(in crate::sort) struct Scan<'w> {
    pub(in crate::sort) level: Level,
    pub(in crate::sort) span: Span,
    pub(in crate::sort) words: &'w [u64],
    /// Copies beside the bitmap: a value is here once for each further copy. Ascending.
    pub(in crate::sort) copies: &'w [u32],
}

impl Scan<'_> {
    /// Writes the values; gives how many distinct ones there are.
    pub(in crate::sort) fn emit(
        self,
        positions: &mut Vec<u32>,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<u64> {
        let Self { level, span, words, copies: mut left } = self;
        let selection = emit.style().selection;
        let mut distinct = 0;
        let by_blocks =
            emit.takes_bitmaps() && span.first().is_multiple_of(BLOCK_WORDS as u64 * 64);
        let slab_len = if by_blocks { BLOCK_WORDS } else { SLAB_WORDS };
        let slabs = words.len().div_ceil(slab_len);
        for index in 0..slabs {
            let slab = if selection.reverse { slabs - 1 - index } else { index };
            let start = slab * slab_len;
            let end = words.len().min(start + slab_len);
            let slab_words = &words[start..end];
            let first = u32::try_from(start * 64).map_err(|_| too_wide())?;
            if by_blocks && let Ok(block) = slab_words.try_into() {
                distinct += emit.bitmap((span.first() + u64::from(first)) >> 16, block)?;
                continue;
            }
            let copies;
            if selection.reverse {
                let (lower, upper) = left.split_at(left.partition_point(|&low| low < first));
                (left, copies) = (lower, upper);
            } else {
                let behind =
                    left.partition_point(|&low| (low as usize) < (start + slab_words.len()) * 64);
                let (lower, upper) = left.split_at(behind);
                (copies, left) = (lower, upper);
            }
            let most = slab_words.len() * 64 + ones::SLACK + copies.len();
            if positions.len() < most {
                positions.resize(most, 0);
            }
            let found = ones::ones(level, slab_words, first, positions);
            distinct += found as u64;
            if selection.ignores_copies() {
                emit.all(span.first(), &mut positions[..found])?;
                continue;
            }
            merge_copies(positions, found, copies);
            emit.sorted(span.first(), &mut positions[..found + copies.len()])?;
        }
        Ok(distinct)
    }
}

/// The error for a plan whose segments of a bitmap have more than 2^32 bits.
fn too_wide() -> Error {
    Error::Accounting { what: "a segment of the bitmap has places of more than 32 bits".into() }
}

/// Merges `copies` into `positions[..found]`. Both are sorted, and `positions` has each of the
/// copied values once. There is room for the copies behind them.
fn merge_copies(positions: &mut [u32], found: usize, copies: &[u32]) {
    let (mut from, mut to) = (found, found + copies.len());
    for &copy in copies.iter().rev() {
        while from > 0 && positions[from - 1] > copy {
            (from, to) = (from - 1, to - 1);
            positions[to] = positions[from];
        }
        to -= 1;
        positions[to] = copy;
    }
}

/// A value with more copies than this is written on its own, not through a list.
const MANY: u64 = 64;

/// Writes each value as often as its counter says, and 2^16 times more for each of its carries.
pub(in crate::sort) fn emit_counts<C: Copy + Into<u64>>(
    counts: &[C],
    carries: &[u32],
    base: u64,
    positions: &mut Vec<u32>,
    emit: &mut Emitter<'_, '_>,
) -> Result<()> {
    const SLAB: usize = 4096;
    let reverse = emit.style().selection.reverse;
    let slabs = counts.len().div_ceil(SLAB);
    for index in 0..slabs {
        let slab = if reverse { slabs - 1 - index } else { index };
        let start = slab * SLAB;
        let slab_counts = &counts[start..counts.len().min(start + SLAB)];
        let end = start + slab_counts.len();
        let places = carries.partition_point(|&low| (low as usize) < start)
            ..carries.partition_point(|&low| (low as usize) < end);
        if places.is_empty() && slab_counts.iter().all(|&count| count.into() <= MANY) {
            positions.clear();
            for (low, &count) in (0_u32..).zip(slab_counts) {
                for _ in 0..count.into() {
                    positions.push(low);
                }
            }
            emit.sorted(base + start as u64, positions)?;
            continue;
        }
        let here = &carries[places];
        for index in 0..slab_counts.len() {
            let offset = if reverse { slab_counts.len() - 1 - index } else { index };
            let low = start + offset;
            let wraps = here.partition_point(|&carry| carry as usize <= low)
                - here.partition_point(|&carry| (carry as usize) < low);
            let count = slab_counts[offset].into() + ((wraps as u64) << u16::BITS);
            if count > 0 {
                emit.run(base + low as u64, count)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::merge_copies;

    #[test]
    fn copies_are_put_beside_their_value() {
        let mut positions = vec![1, 4, 9, 0, 0, 0, 0];
        merge_copies(&mut positions, 3, &[1, 1, 9, 9]);
        assert_eq!(positions, [1, 1, 1, 4, 9, 9, 9]);
    }
}
