//! Hands sorted values to sets, tables and iterators, which take values and not bytes.
//!
//! A thread gathers values in a [`Batch`]. A relay hands the batches to the [`Taker`] in the order
//! of the output. For a set, the values come as containers: the lower 16 bits of all values with
//! the same upper bits, or a bitmap of them if there are many. If most values would be alone in a
//! container, they come as whole values.

use crate::error::{Error, Result};
use crate::io::write::Carried;
use crate::kernel::ones;
use crate::set::container::{BITMAP_BYTES, Container};
use crate::set::file::{ValueSink, push_array};

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
    pub(super) values: Vec<u64>,
    pub(super) counted: Vec<[u64; 2]>,
    pieces: Vec<Piece>,
    /// The lower bits of all pieces, four in a word; also bitmaps and whole values.
    words: Vec<u64>,
    /// Number of lower bits, whole values counted as [`IN_WORD`], that `words` has.
    pub(super) filled: usize,
}

/// Values with the same upper bits, or neighbours as whole values.
#[derive(Debug)]
struct Piece {
    /// The upper bits of the first value.
    key: u64,
    /// Number of lower bits, or of whole values.
    len: u32,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Lows,
    Bitmap,
    /// Whole values, which begin at the next word.
    Values,
}

/// Words of a bitmap of all values that share all but 16 bits.
pub(in crate::sort) const BLOCK_WORDS: usize = BITMAP_BYTES / 8;
/// Lower bits in a word.
const IN_WORD: usize = 4;
/// Most whole values of a piece.
pub(super) const MAX_WHOLE: usize = 1 << 20;
/// Items of `lows` for a bitmap, and room for the bytes that kernels may write behind an array.
pub(super) const BITMAP_LOWS: usize = BITMAP_BYTES / 2 + ones::SLACK;

impl Batch {
    /// An empty batch that will take about `bytes` bytes.
    pub(in crate::sort) fn new(typed: Option<Typed>, is_counted: bool, bytes: usize) -> Self {
        let room = |of, each| if typed == Some(of) { bytes / each } else { 0 };
        Self {
            values: Vec::with_capacity(if is_counted { 0 } else { room(Typed::Values, 8) }),
            counted: Vec::with_capacity(if is_counted { room(Typed::Values, 16) } else { 0 }),
            // If values are far apart, each is a piece.
            pieces: Vec::with_capacity(room(Typed::Containers, 4 * size_of::<Piece>())),
            words: vec![0; room(Typed::Containers, 8) / 4 * 3],
            filled: 0,
        }
    }

    /// Lower bits for which there is memory.
    pub(super) fn lows_capacity(&self) -> usize {
        self.words.len() * IN_WORD
    }

    /// Room for the lower bits of more values.
    pub(super) fn room(&mut self) -> &mut [[u8; 2]] {
        let is_full = self.pieces.len() == self.pieces.capacity();
        let lows: &mut [[u8; 2]] = bytemuck::cast_slice_mut(&mut self.words);
        if is_full { &mut [] } else { &mut lows[self.filled..] }
    }

    /// Room for more whole values.
    pub(super) fn room_for_values(&mut self) -> &mut [u64] {
        let is_full = self.pieces.len() == self.pieces.capacity();
        if is_full { &mut [] } else { &mut self.words[self.filled.div_ceil(IN_WORD)..] }
    }

    /// Ends a piece, whose items are the last ones that were written.
    pub(super) fn end_piece(&mut self, key: u64, len: usize, form: Form) {
        self.filled = match form {
            Form::Values => (self.filled.div_ceil(IN_WORD) + len) * IN_WORD,
            Form::Lows | Form::Bitmap => self.filled + len,
        };
        #[expect(clippy::cast_possible_truncation, reason = "at most MAX_WHOLE")]
        self.pieces.push(Piece { key, len: len as u32, form });
    }
}

impl Carried for Batch {
    fn another(&self) -> Self {
        Self {
            values: Vec::with_capacity(self.values.capacity()),
            counted: Vec::with_capacity(self.counted.capacity()),
            pieces: Vec::with_capacity(self.pieces.capacity()),
            words: vec![0; self.words.len()],
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

/// Takes batches in order and hands them to a sink. It joins containers that come in pieces.
pub(in crate::sort) struct Taker<'s> {
    sink: &'s mut dyn ValueSink,
    key: u64,
    lows: Vec<[u8; 2]>,
    /// Whole values of a container that may go on.
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
        let lows: &[[u8; 2]] = bytemuck::cast_slice(&batch.words);
        let mut at = 0_usize;
        let mut pieces = batch.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            self.begin(piece.key)?;
            let len = piece.len as usize;
            if piece.form == Form::Values {
                let start = at.div_ceil(IN_WORD);
                self.whole(&batch.words[start..start + len])?;
                at = (start + len) * IN_WORD;
                continue;
            }
            let goes_on = pieces.peek().is_none_or(|next| next.key == piece.key);
            self.piece(piece, &lows[at..at + len], goes_on)?;
            at += len;
        }
        Ok(())
    }

    /// Begins a piece with these upper bits.
    fn begin(&mut self, key: u64) -> Result<()> {
        if key < self.key {
            let what = format!("values of {key:#x} follow those of {:#x}", self.key);
            return Err(Error::Accounting { what });
        }
        if key != self.key {
            self.end()?;
            self.key = key;
        }
        Ok(())
    }

    /// Takes the lower bits of a piece, or its bitmap. If `goes_on`, more of its container may follow.
    fn piece(&mut self, piece: &Piece, lows: &[[u8; 2]], goes_on: bool) -> Result<()> {
        // Whole values that came before belong to the same container.
        self.lows.extend(self.values.drain(..).map(low_half));
        if piece.form == Form::Bitmap {
            if !self.lows.is_empty() {
                let what = format!("a bitmap follows other values of {:#x}", piece.key);
                return Err(Error::Accounting { what });
            }
            let words: &[[u8; 8]] = bytemuck::cast_slice(lows);
            let words = words.try_into().map_err(|_| Error::Accounting {
                what: format!("a bitmap has {} words, not 1024", words.len()),
            })?;
            return self.sink.container(piece.key, Container::Bitmap(words));
        }
        if self.lows.is_empty() && !goes_on {
            return push_array(self.sink, piece.key, lows);
        }
        self.lows.extend_from_slice(lows);
        Ok(())
    }

    /// Takes whole values. The first of them may belong to the last container, and the last of them
    /// to one that goes on.
    fn whole(&mut self, mut values: &[u64]) -> Result<()> {
        if !self.lows.is_empty() {
            let same = values.partition_point(|value| value >> 16 == self.key);
            self.lows.extend(values[..same].iter().copied().map(low_half));
            values = &values[same..];
            if values.is_empty() {
                return Ok(());
            }
            self.end()?;
        }
        self.values.extend_from_slice(values);
        if let Some(last) = self.values.last() {
            self.key = last >> 16;
            let whole = self.values.partition_point(|value| value >> 16 < self.key);
            self.sink.values(&self.values[..whole])?;
            self.values.drain(..whole);
        }
        Ok(())
    }

    /// Hands over the values that wait.
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
