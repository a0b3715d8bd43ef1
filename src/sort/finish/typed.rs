//! Puts sorted values into a batch: as pieces of containers, as whole values, or with their counts.

use super::batch::{BITMAP_LOWS, BLOCK_WORDS, Form, MAX_WHOLE, Typed};
use super::emit::Emitter;
use crate::error::Result;
use crate::kernel::low_halves::low_halves;
use crate::kernel::{ones, popcount};
use crate::set::container::{BITMAP_BYTES, MAX_ARRAY};
use crate::sort::partitioning::Entry;

impl Emitter<'_, '_> {
    /// Whether the sink also takes values as bitmaps.
    pub(in crate::sort) fn takes_bitmaps(&self) -> bool {
        let style = self.style();
        let plain = style.selection.ignores_duplicates() && !style.selection.reverse;
        style.typed == Some(Typed::Containers) && plain && self.batch.lows_capacity() >= BITMAP_LOWS
    }

    /// Takes all values with the upper bits `key`, from a bitmap of their lower bits; gives how
    /// many there are. All of them belong to the part.
    pub(in crate::sort) fn bitmap(&mut self, key: u64, words: &[u64; BLOCK_WORDS]) -> Result<u64> {
        let bytes: &[[u8; 8]] = bytemuck::cast_slice(words);
        let count = popcount::ones(self.level, bytes);
        if count == 0 {
            return Ok(0);
        }
        self.follows(key << 16, key << 16 | 0xFFFF)?;
        if self.batch.room().len() < BITMAP_LOWS {
            self.flush()?;
        }
        let room = self.batch.room();
        let is_bitmap = count > MAX_ARRAY as u64;
        let len = if is_bitmap {
            room[..BITMAP_BYTES / 2].copy_from_slice(bytemuck::cast_slice(words));
            BITMAP_BYTES / 2
        } else {
            ones::lows(self.level, words, room)
        };
        let form = if is_bitmap { Form::Bitmap } else { Form::Lows };
        self.batch.end_piece(key, len, form);
        self.written.lines += count;
        self.written.values += count;
        Ok(count)
    }

    /// Takes `base + value` for ascending `values`, in pieces of containers.
    pub(in crate::sort) fn pieces<E: Entry>(&mut self, base: u64, values: &[E]) -> Result<()> {
        let mut rest = values;
        if let Some((first, last)) = values.first().zip(values.last())
            && (last.widen() >> 16).saturating_sub(first.widen() >> 16) >= values.len() as u64 / 2
            && values.len() > 1
        {
            return self.whole(base, values);
        }
        while let Some(first) = rest.first() {
            let key = (base + first.widen()) >> 16;
            let alike = match rest.last() {
                Some(last) if (base + last.widen()) >> 16 == key => rest.len(),
                _ => rest.partition_point(|value| (base + value.widen()) >> 16 == key),
            };
            let room = self.batch.room();
            if room.len() < alike.min(64) {
                self.flush()?;
                continue;
            }
            let (now, later) = rest.split_at(alike.min(room.len()));
            low_halves(self.level, base, now, &mut room[..now.len()]);
            self.batch.end_piece(key, now.len(), Form::Lows);
            rest = later;
        }
        Ok(())
    }

    /// Takes `base + value` for ascending `values` that are far apart.
    fn whole<E: Entry>(&mut self, base: u64, mut values: &[E]) -> Result<()> {
        while let Some(first) = values.first() {
            let is_used = self.batch.filled > 0;
            let room = self.batch.room_for_values();
            if room.is_empty() || is_used && room.len() < values.len().min(64) {
                self.flush()?;
                continue;
            }
            let (now, later) = values.split_at(values.len().min(room.len()).min(MAX_WHOLE));
            for (slot, value) in room.iter_mut().zip(now) {
                *slot = base + value.widen();
            }
            let key = (base + first.widen()) >> 16;
            self.batch.end_piece(key, now.len(), Form::Values);
            values = later;
        }
        Ok(())
    }

    /// Takes `base + value` for `values` in the given order.
    pub(in crate::sort) fn values<E: Entry>(&mut self, base: u64, values: &[E]) -> Result<()> {
        let mut rest = values;
        while !rest.is_empty() {
            let gathered = &mut self.batch.values;
            let room = gathered.capacity() - gathered.len();
            let (now, later) = rest.split_at(rest.len().min(room));
            gathered.extend(now.iter().map(|value| base + value.widen()));
            rest = later;
            if gathered.len() == gathered.capacity() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Takes a value and its count.
    pub(in crate::sort) fn pair(&mut self, value: u64, count: u64) -> Result<()> {
        if self.batch.counted.len() == self.batch.counted.capacity() {
            self.flush()?;
        }
        self.batch.counted.push([value, count]);
        Ok(())
    }
}
