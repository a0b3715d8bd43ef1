//! Sorted values → blocks of values that share all but 16 bits, for what makes a set
//! of them.
//!
//! A block is the bits that its values share in 8 bytes, the number of values in 4, and
//! 2 bytes of each; little-endian. Blocks ascend; several may share the same bits. If
//! all values of these bits come at once and are more than [`MAX_ARRAY`], then a bitmap
//! of 8 KiB stands for them, and the number has its highest bit set.

use super::emit::Emitter;
use super::entry::Entry;
use crate::error::Result;
use crate::kernel::low_halves::low_halves;
use crate::kernel::{ones, popcount};
use crate::set::container::{BITMAP_BYTES, MAX_ARRAY};

/// Bytes before the values of a block: the bits that they share, and how many
/// they are.
pub(crate) const BLOCK_HEAD: usize = 12;
/// Added to the number of values if a bitmap follows.
pub(crate) const IS_BITMAP: u32 = 1 << 31;
/// Words of a bitmap of all values that share all but 16 bits.
pub(super) const BLOCK_WORDS: usize = BITMAP_BYTES / 8;
/// Bytes of the largest block that [`Emitter::block`] makes, and behind it.
const MAX_BLOCK: usize = BLOCK_HEAD + BITMAP_BYTES + 2 * ones::SLACK;

impl Emitter<'_, '_> {
    /// Whether values may come as bitmaps, too.
    pub(super) fn takes_bitmaps(&self) -> bool {
        let style = self.style();
        let plain = style.selection.ignores_copies() && !style.selection.reverse;
        style.blocks && plain && self.buffer.len() >= MAX_BLOCK
    }

    /// Writes all values whose upper bits are `key`, from the bitmap of their lower
    /// ones; gives how many there are.
    pub(super) fn block(&mut self, key: u64, words: &[u64; BLOCK_WORDS]) -> Result<u64> {
        let bytes: &[[u8; 8]] = bytemuck::cast_slice(words);
        let count = popcount::ones(self.level, bytes);
        if count == 0 {
            return Ok(0);
        }
        self.follows(key << 16, key << 16 | 0xFFFF)?;
        if self.buffer.len() - self.filled < MAX_BLOCK {
            self.flush()?;
        }
        let out = &mut self.buffer[self.filled + BLOCK_HEAD..];
        let is_bitmap = count > MAX_ARRAY as u64;
        let body = if is_bitmap {
            out[..BITMAP_BYTES].copy_from_slice(bytes.as_flattened());
            BITMAP_BYTES
        } else {
            2 * ones::lows(self.level, words, out.as_chunks_mut().0)
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
        let told = count as u32 | if is_bitmap { IS_BITMAP } else { 0 };
        self.end_block(key, told, body);
        self.written.lines += count;
        self.written.values += count;
        Ok(count)
    }

    /// Writes blocks of `base + value` for ascending `values`.
    pub(super) fn blocks<E: Entry>(&mut self, base: u64, values: &[E]) -> Result<()> {
        let mut rest = values;
        while let Some(first) = rest.first() {
            let key = (base + first.widen()) >> 16;
            let alike = match rest.last() {
                Some(last) if (base + last.widen()) >> 16 == key => rest.len(),
                _ => rest.partition_point(|value| (base + value.widen()) >> 16 == key),
            };
            let room = (self.buffer.len() - self.filled).saturating_sub(BLOCK_HEAD) / 2;
            if room < alike.min(64) {
                self.flush()?;
                continue;
            }
            let (now, later) = rest.split_at(alike.min(room));
            let out = &mut self.buffer[self.filled + BLOCK_HEAD..];
            low_halves(self.level, base, now, out.as_chunks_mut().0);
            #[expect(clippy::cast_possible_truncation, reason = "as many as fit in a buffer")]
            self.end_block(key, now.len() as u32, 2 * now.len());
            rest = later;
        }
        Ok(())
    }

    /// Puts the head before the `bytes` of a block that stand in the buffer.
    fn end_block(&mut self, key: u64, told: u32, bytes: usize) {
        let head = &mut self.buffer[self.filled..][..BLOCK_HEAD];
        head[..8].copy_from_slice(&key.to_le_bytes());
        head[8..].copy_from_slice(&told.to_le_bytes());
        self.filled += BLOCK_HEAD + bytes;
    }
}
