//! Sorted values as they are → what takes values: sets, tables, iterators.
//!
//! A thread gathers values in a [`Batch`], which a relay hands to the [`Taker`] in the
//! order of the output. A set gets its containers: the lower 16 bits of the values that
//! share the upper ones, or a bitmap of them if they come all at once and are many; where
//! most values would be alone, the values as they are.

use super::emit::Emitter;
use crate::error::{Error, Result};
use crate::io::write::Carried;
use crate::kernel::low_halves::low_halves;
use crate::kernel::{ones, popcount};
use crate::set::container::{BITMAP_BYTES, Container, MAX_ARRAY};
use crate::set::file::{ValueSink, push_array};
use crate::sort::entry::Entry;

/// The kind of values that a sink takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sort) enum Typed {
    /// Values, or pairs of a value and its count.
    Values,
    /// Containers of ascending values, each once.
    Containers,
}

/// Values on their way to a sink.
#[derive(Debug)]
pub(in crate::sort) struct Batch {
    values: Vec<u64>,
    counted: Vec<[u64; 2]>,
    pieces: Vec<Piece>,
    /// Of all pieces; of a bitmap and of whole values, their bytes in pairs.
    lows: Vec<[u8; 2]>,
    /// Number of items of `lows` that are in use.
    filled: usize,
}

/// Values that share their upper bits, or follow each other.
#[derive(Debug)]
struct Piece {
    /// Of the first value.
    key: u64,
    /// Pairs of bytes.
    len: u32,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Lows,
    Bitmap,
    /// Whole values, little-endian.
    Values,
}

/// Words of a bitmap of all values that share all but 16 bits.
pub(in crate::sort) const BLOCK_WORDS: usize = BITMAP_BYTES / 8;
/// Pairs of bytes of a whole value.
const PAIRS: usize = 4;
/// Most whole values of a piece.
const MAX_WHOLE: usize = 1 << 20;
/// Items of `lows` for a bitmap, with the slack that kernels write behind an array.
const BITMAP_LOWS: usize = BITMAP_BYTES / 2 + ones::SLACK;

impl Batch {
    /// An empty batch that will take about `bytes` bytes.
    pub(in crate::sort) fn new(typed: Option<Typed>, is_counted: bool, bytes: usize) -> Self {
        let room = |of, each| if typed == Some(of) { bytes / each } else { 0 };
        Self {
            values: Vec::with_capacity(if is_counted { 0 } else { room(Typed::Values, 8) }),
            counted: Vec::with_capacity(if is_counted { room(Typed::Values, 16) } else { 0 }),
            // Where values are far apart, each is a piece.
            pieces: Vec::with_capacity(room(Typed::Containers, 4 * size_of::<Piece>())),
            lows: vec![[0; 2]; room(Typed::Containers, 2) / 4 * 3],
            filled: 0,
        }
    }

    /// Room for the lower bits of further values.
    fn room(&mut self) -> &mut [[u8; 2]] {
        let is_full = self.pieces.len() == self.pieces.capacity();
        if is_full { &mut [] } else { &mut self.lows[self.filled..] }
    }

    /// Ends a piece whose lower bits stand behind those of all others.
    fn end_piece(&mut self, key: u64, len: usize, form: Form) {
        self.filled += len;
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^16")]
        self.pieces.push(Piece { key, len: len as u32, form });
    }
}

impl Carried for Batch {
    fn another(&self) -> Self {
        Self {
            values: Vec::with_capacity(self.values.capacity()),
            counted: Vec::with_capacity(self.counted.capacity()),
            pieces: Vec::with_capacity(self.pieces.capacity()),
            lows: vec![[0; 2]; self.lows.len()],
            filled: 0,
        }
    }

    fn clear(&mut self) {
        self.values.clear();
        self.counted.clear();
        self.pieces.clear();
        self.filled = 0;
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.counted.is_empty() && self.pieces.is_empty()
    }
}

impl Emitter<'_, '_> {
    /// Whether values may come as bitmaps, too.
    pub(in crate::sort) fn takes_bitmaps(&self) -> bool {
        let style = self.style();
        let plain = style.selection.ignores_copies() && !style.selection.reverse;
        style.typed == Some(Typed::Containers) && plain && self.batch.lows.len() >= BITMAP_LOWS
    }

    /// Takes all values whose upper bits are `key`, from the bitmap of their lower
    /// ones; gives how many there are.
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

    /// Takes `base + value` of ascending `values` in pieces of containers.
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

    /// Takes `base + value` of ascending `values` that are far apart.
    fn whole<E: Entry>(&mut self, base: u64, mut values: &[E]) -> Result<()> {
        while let Some(first) = values.first() {
            let room = self.batch.room().len() / PAIRS;
            let is_narrow = room < values.len().min(64) && self.batch.filled > 0;
            if is_narrow || room == 0 {
                self.flush()?;
                continue;
            }
            let (now, later) = values.split_at(values.len().min(room).min(MAX_WHOLE));
            let slots = self.batch.room().as_chunks_mut::<PAIRS>().0;
            for (slot, value) in slots.iter_mut().zip(now) {
                *slot = bytemuck::cast((base + value.widen()).to_le_bytes());
            }
            let key = (base + first.widen()) >> 16;
            self.batch.end_piece(key, now.len() * PAIRS, Form::Values);
            values = later;
        }
        Ok(())
    }

    /// Takes `base + value` of `values` as they come.
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

/// Takes batches in order, and hands them to a sink: containers that come in pieces are
/// put together.
pub(in crate::sort) struct Taker<'s> {
    sink: &'s mut dyn ValueSink,
    key: u64,
    lows: Vec<[u8; 2]>,
    /// Whole values, of whose last container more may follow.
    values: Vec<u64>,
}

impl<'s> Taker<'s> {
    pub(in crate::sort) fn new(sink: &'s mut dyn ValueSink) -> Self {
        Self { sink, key: 0, lows: Vec::new(), values: Vec::new() }
    }

    pub(in crate::sort) fn take(&mut self, batch: &Batch) -> Result<()> {
        if !batch.values.is_empty() {
            self.sink.values(&batch.values)?;
        }
        if !batch.counted.is_empty() {
            self.sink.counted(&batch.counted)?;
        }
        let mut lows = &batch.lows[..batch.filled];
        let mut pieces = batch.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            let (here, behind) = lows.split_at(piece.len as usize);
            lows = behind;
            let goes_on = pieces.peek().is_none_or(|next| next.key == piece.key);
            self.piece(piece, here, goes_on)?;
        }
        Ok(())
    }

    /// Takes a piece, of whose container more may follow.
    fn piece(&mut self, piece: &Piece, lows: &[[u8; 2]], goes_on: bool) -> Result<()> {
        if piece.key < self.key {
            let what = format!("values of {:#x} follow those of {:#x}", piece.key, self.key);
            return Err(Error::Accounting { what });
        }
        if piece.key != self.key {
            self.end()?;
            self.key = piece.key;
        }
        if piece.form == Form::Values {
            return self.whole(lows);
        }
        // Those that came as whole values are of the same container.
        self.lows.extend(self.values.drain(..).map(low_half));
        if piece.form == Form::Bitmap {
            debug_assert!(self.lows.is_empty(), "a bitmap is of all values of its key");
            let words: &[[u8; 8]] = bytemuck::cast_slice(lows);
            let words = words.try_into().map_err(|_| Error::Accounting {
                what: format!("a bitmap of {} words", words.len()),
            })?;
            return self.sink.container(piece.key, Container::Bitmap(words));
        }
        if self.lows.is_empty() && !goes_on {
            return push_array(self.sink, piece.key, lows);
        }
        self.lows.extend_from_slice(lows);
        Ok(())
    }

    /// Takes whole values, the first of which may go on with the last container.
    fn whole(&mut self, bytes: &[[u8; 2]]) -> Result<()> {
        let values = bytes.as_flattened().as_chunks().0;
        let mut values = values.iter().map(|&value| u64::from_le_bytes(value)).peekable();
        if !self.lows.is_empty() {
            let key = self.key;
            while let Some(value) = values.next_if(|value| value >> 16 == key) {
                self.lows.push(low_half(value));
            }
            if values.peek().is_none() {
                return Ok(());
            }
            self.end()?;
        }
        self.values.extend(values);
        if let Some(last) = self.values.last() {
            self.key = last >> 16;
            let whole = self.values.partition_point(|value| value >> 16 < self.key);
            self.sink.values(&self.values[..whole])?;
            self.values.drain(..whole);
        }
        Ok(())
    }

    /// Hands over what waits.
    pub(in crate::sort) fn end(&mut self) -> Result<()> {
        if !self.lows.is_empty() {
            push_array(self.sink, self.key, &self.lows)?;
            self.lows.clear();
        }
        if !self.values.is_empty() {
            self.sink.values(&self.values)?;
            self.values.clear();
        }
        Ok(())
    }
}

fn low_half(value: u64) -> [u8; 2] {
    let [first, second, ..] = value.to_le_bytes();
    [first, second]
}
