//! Writes sorted values as parts of the output.

use super::batch::{BLOCK_WORDS, Batch, Typed};
use super::span::Span;
use super::ways::Ways;
use crate::error::{Error, Result};
use crate::io::write::{self, Buffer, Relay, Sequence, Sink};
use crate::kernel::decimal::{self, MAX_LINE, SLACK, digit_count};
use crate::kernel::{Level, ones};
use crate::number::Format;
use crate::progress::Progress;
use crate::sort::partitioning::{Entry, Window};
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Which values are written, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Selection {
    /// One copy of each value.
    pub(crate) distinct: bool,
    /// Each value with its multiplicity before it.
    pub(crate) counted: bool,
    /// Only values that occur more than once.
    pub(crate) repeated: bool,
    /// Largest first.
    pub(crate) reverse: bool,
}

impl Selection {
    /// Whether every copy of every value is written.
    pub(crate) fn keeps_all(self) -> bool {
        !(self.distinct || self.counted || self.repeated)
    }

    /// Whether the multiplicity of a value does not matter.
    pub(crate) fn ignores_duplicates(self) -> bool {
        self.distinct && !self.counted && !self.repeated
    }
}

/// How values are written.
#[derive(Debug, Clone, Copy)]
pub(in crate::sort) struct Style {
    pub(in crate::sort) format: Format,
    /// The kind of values that the output takes; none if it takes bytes.
    pub(in crate::sort) typed: Option<Typed>,
    pub(in crate::sort) terminator: u8,
    pub(in crate::sort) selection: Selection,
}

impl Style {
    /// Bytes of each line between those of `first` and `last`, if all are equally long.
    pub(in crate::sort) fn line_bytes(self, first: u64, last: u64) -> Option<u64> {
        if self.selection.counted || self.typed.is_some() {
            return None;
        }
        let line = match self.format.value_bytes() {
            Some(width) => width,
            None if self.format != Format::Text => return None,
            None if digit_count(first) == digit_count(last) => digit_count(first) + 1,
            None => return None,
        };
        Some(line as u64)
    }
}

/// Counts of the output.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::sort) struct Written {
    /// Lines, or values in binary formats.
    pub(in crate::sort) lines: u64,
    /// Values that these lines stand for.
    pub(in crate::sort) values: u64,
    /// How parts were finished.
    pub(in crate::sort) ways: Ways,
}

impl AddAssign for Written {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.values += other.values;
        self.ways += other.ways;
    }
}

/// Encodes values into a buffer, or gathers them in a batch, and hands these on, part by part.
pub(in crate::sort) struct Emitter<'s, 'a> {
    output: &'s Output<'a>,
    progress: &'s Progress,
    pub(in crate::sort) level: Level,
    part: Option<Part<'s, 'a>>,
    /// A window that has all values of the part.
    window: Window,
    /// The last value of the part that was written.
    previous: Option<u64>,
    style: Style,
    buffer: Buffer,
    pub(in crate::sort) batch: Batch,
    pub(in crate::sort) written: Written,
}

/// Smallest useful buffer.
pub(in crate::sort) const MIN_BUFFER: usize = 16 * MAX_LINE + SLACK + 64;

impl<'s, 'a> Emitter<'s, 'a> {
    pub(in crate::sort) fn new(
        output: &'s Output<'a>,
        progress: &'s Progress,
        style: Style,
        buffer_bytes: usize,
    ) -> Self {
        let bytes = buffer_bytes.max(MIN_BUFFER);
        let buffer = Buffer::new(if style.typed.is_none() { bytes } else { 0 });
        let batch = Batch::new(style.typed, style.selection.counted, bytes);
        Self {
            output,
            progress,
            level: Level::best(),
            part: None,
            window: Window::ALL,
            previous: None,
            style,
            buffer,
            batch,
            written: Written::default(),
        }
    }

    pub(in crate::sort) fn style(&self) -> &Style {
        &self.style
    }

    /// Begins part `number` of the output, of values of `window`.
    ///
    /// Parts are in order because their windows are.
    pub(in crate::sort) fn begin(&mut self, number: usize, window: Window) {
        self.part = Some(self.output.part(number));
        self.window = window;
        self.previous = None;
    }

    /// Checks that values from `first` to `last` may be written next: they lie in the window of the
    /// part, behind all its earlier values.
    pub(in crate::sort) fn follows(&mut self, first: u64, last: u64) -> Result<()> {
        let Selection { reverse, .. } = self.style.selection;
        let in_order = |before: u64, behind: u64| {
            let (lower, upper) = if reverse { (behind, before) } else { (before, behind) };
            lower < upper || (lower == upper && self.style.selection.keeps_all())
        };
        let (lower, upper) = if reverse { (last, first) } else { (first, last) };
        let window = self.window;
        let inside = window.base <= lower && lower <= upper && upper <= window.last;
        if inside && self.previous.is_none_or(|previous| in_order(previous, first)) {
            self.previous = Some(last);
            return Ok(());
        }
        let previous = self.previous.map_or("none".to_owned(), |value| value.to_string());
        let what = format!(
            "values {first} to {last} were to be written behind {previous}, in a part of {} to {}",
            window.base, window.last
        );
        Err(Error::Accounting { what })
    }

    /// Whether all values with the upper bits `key` belong to this part. If not, another part has
    /// some of them, and a bitmap would not have them all.
    fn has_whole(&self, key: u64) -> bool {
        self.window.base <= key << 16 && key << 16 | 0xFFFF <= self.window.last
    }

    /// [`follows`](Self::follows) for `base + value` of all `values`, in the order in which
    /// they are written.
    fn all_follow<E: Entry>(&mut self, base: u64, values: &[E]) -> Result<()> {
        let [first, .., last] = values else {
            let Some(only) = values.first() else { return Ok(()) };
            let value = base + only.widen();
            return self.follows(value, value);
        };
        self.follows(base + first.widen(), base + last.widen())
    }

    /// Ends the part.
    pub(in crate::sort) fn end(&mut self) -> Result<()> {
        if let Some(part) = &mut self.part {
            part.announce(|written| written + self.buffer.filled as u64);
        }
        self.flush()?;
        self.part.take().map_or(Ok(()), Part::finish)
    }

    /// Announces that the part will have `count` lines of values between `first` and `last`. It
    /// calls `count` only if that tells how many bytes the part will have.
    pub(in crate::sort) fn announce(&mut self, count: impl FnOnce() -> u64, first: u64, last: u64) {
        if let (Some(part), Some(line)) = (&mut self.part, self.style.line_bytes(first, last)) {
            part.announce(|_| count() * line);
        }
    }

    pub(in crate::sort) fn flush(&mut self) -> Result<()> {
        Error::if_cancelled(self.progress)?;
        match &mut self.part {
            Some(part) => part.write(&mut self.buffer, &mut self.batch),
            None => Ok(()),
        }
    }

    /// Writes `base + value` for ascending `values`. All copies of a value
    /// must come in one call.
    pub(in crate::sort) fn sorted<E: Entry>(&mut self, base: u64, values: &mut [E]) -> Result<()> {
        let selection = self.style.selection;
        if selection.keeps_all() {
            return self.all(base, values);
        }
        if selection.reverse {
            values.reverse();
        }
        if !selection.ignores_duplicates() {
            for copies in values.chunk_by(|a, b| a == b) {
                self.run(base + copies[0].widen(), copies.len() as u64)?;
            }
            return Ok(());
        }
        self.written.values += values.len() as u64;
        let mut distinct = 0;
        let mut last = None;
        for index in 0..values.len() {
            let value = values[index];
            values[distinct] = value;
            distinct += usize::from(last != Some(value));
            last = Some(value);
        }
        self.all_follow(base, &values[..distinct])?;
        self.lines(base, &values[..distinct])
    }

    /// Writes `base + value` for all of ascending `values`.
    pub(in crate::sort) fn all<E: Entry>(&mut self, base: u64, values: &mut [E]) -> Result<()> {
        if self.style.selection.reverse {
            values.reverse();
        }
        self.all_follow(base, values)?;
        self.written.values += values.len() as u64;
        self.lines(base, values)
    }

    /// Writes a value that occurs `count` times.
    pub(in crate::sort) fn run(&mut self, value: u64, count: u64) -> Result<()> {
        let selection = self.style.selection;
        self.follows(value, value)?;
        self.written.values += count;
        if selection.repeated && count < 2 {
            return Ok(());
        }
        if selection.counted {
            self.written.lines += 1;
            return self.line_of_count(value, count);
        }
        if !selection.keeps_all() {
            return self.lines(0, &[value]);
        }
        let copies = [value; 16];
        let mut left = count;
        while left > 0 {
            if left >= 32 && self.style.typed.is_none() {
                left -= self.many_copies(value, left)?;
                continue;
            }
            let now = left.min(16);
            self.lines(0, &copies[..usize::try_from(now).unwrap_or(16)])?;
            left -= now;
        }
        Ok(())
    }

    /// Writes up to `most` copies of a value, at least 16; gives how many it wrote. It encodes a
    /// block of them once, and fills the buffer with it.
    fn many_copies(&mut self, value: u64, most: u64) -> Result<u64> {
        if self.buffer.room().len() < 16 * MAX_LINE + SLACK {
            self.flush()?; // so that `lines` need not
        }
        let start = self.buffer.filled;
        self.lines(0, &[value; 16])?;
        let Buffer { bytes, filled } = &mut self.buffer;
        let line = (*filled - start) / 16;
        let room = (bytes.len() - *filled) / line;
        let more = usize::try_from(most - 16).map_or(room, |more| more.min(room));
        let end = *filled + more * line;
        while *filled < end {
            let size = (*filled - start).min(end - *filled);
            bytes.copy_within(start..start + size, *filled);
            *filled += size;
        }
        self.written.lines += more as u64;
        Ok(16 + more as u64)
    }

    /// Writes a value with its count before it.
    fn line_of_count(&mut self, value: u64, count: u64) -> Result<()> {
        /// The fewest bytes that a count takes, spaces before it.
        const COUNT_WIDTH: usize = 7;
        /// Bytes of room for a count and a value.
        const ROOM: usize = 2 * (MAX_LINE + SLACK);
        if self.style.typed.is_some() {
            return self.pair(value, count);
        }
        if self.buffer.room().len() < ROOM {
            self.flush()?;
        }
        let Style { format, terminator, .. } = self.style;
        let mut digits = [0; MAX_LINE + SLACK];
        let count_len = decimal::lines(count, &[0_u32], b' ', &mut digits);
        let spaces = (COUNT_WIDTH + 1).saturating_sub(count_len);
        let room = self.buffer.room();
        room[..spaces].fill(b' ');
        room[spaces..spaces + count_len].copy_from_slice(&digits[..count_len]);
        let before = spaces + count_len;
        let value_len = format.encode(value, &[0_u32], terminator, &mut room[before..]);
        let too_large = |value| Error::ValueTooLarge { value, format: format.name() };
        self.buffer.filled += before + value_len.map_err(too_large)?;
        Ok(())
    }

    /// Writes values that `follows` has checked.
    fn lines<E: Entry>(&mut self, base: u64, values: &[E]) -> Result<()> {
        self.written.lines += values.len() as u64;
        match self.style.typed {
            Some(Typed::Containers) => return self.pieces(base, values),
            Some(Typed::Values) => return self.values(base, values),
            None => {}
        }
        let Style { format, terminator, .. } = self.style;
        let mut rest = values;
        while !rest.is_empty() {
            let room = format.fitting(self.buffer.room().len());
            if room < rest.len().min(16) {
                self.flush()?;
                continue;
            }
            let (now, later) = rest.split_at(room.min(rest.len()));
            let encoded = format.encode(base, now, terminator, self.buffer.room());
            self.buffer.filled +=
                encoded.map_err(|value| Error::ValueTooLarge { value, format: format.name() })?;
            rest = later;
        }
        Ok(())
    }
}

/// Where a run puts its output.
pub(in crate::sort) enum Target<'a> {
    /// A file or stream, and its name.
    Bytes(Sink<'a>, PathBuf),
    /// A function, and the name of the file that it writes, or `-`.
    Values(Typed, TakeBatch<'a>, PathBuf),
}

/// Takes batches in order.
pub(in crate::sort) type TakeBatch<'a> = &'a mut (dyn FnMut(&Batch) -> Result<()> + Send);

impl Target<'_> {
    /// The kind of values that it takes; none if it takes bytes.
    pub(in crate::sort) fn typed(&self) -> Option<Typed> {
        match self {
            Self::Bytes(..) => None,
            Self::Values(typed, ..) => Some(*typed),
        }
    }

    /// The name of the file that the run writes, or `-`.
    pub(in crate::sort) fn name(&self) -> &Path {
        match self {
            Self::Bytes(_, name) | Self::Values(_, _, name) => name,
        }
    }
}

/// An output in numbered parts.
pub(in crate::sort) enum Output<'a> {
    Bytes(Sequence<'a>),
    /// The relay, and the number of parts.
    Values(Relay<'a, Batch>, AtomicUsize),
}

/// One part, while it is written.
pub(in crate::sort) enum Part<'s, 'a> {
    Bytes(write::Part<'s, 'a>),
    Values(&'s Relay<'a, Batch>, usize),
}

impl<'a> Output<'a> {
    /// An output without parts. Threads may use up to `spare` buffers beside their own.
    pub(in crate::sort) fn new(target: Target<'a>, spare: usize) -> Self {
        match target {
            Target::Bytes(sink, name) => Self::Bytes(Sequence::new(sink, name, spare)),
            Target::Values(_, take, _) => {
                Self::Values(Relay::new(spare, take), AtomicUsize::new(0))
            }
        }
    }

    /// Adds `parts` parts at the end; gives the number of the first one.
    pub(in crate::sort) fn extend(&self, parts: usize) -> usize {
        match self {
            Self::Bytes(sequence) => sequence.extend(parts),
            Self::Values(_, count) => count.fetch_add(parts, Ordering::Relaxed),
        }
    }

    /// Says how many bytes part `number` will have.
    pub(in crate::sort) fn announce(&self, number: usize, bytes: u64) {
        if let Self::Bytes(sequence) = self {
            sequence.announce(number, bytes);
        }
    }

    /// Begins part `number`. Each part must be finished once, by the thread that began
    /// it; parts must be begun in order.
    pub(in crate::sort) fn part(&self, number: usize) -> Part<'_, 'a> {
        match self {
            Self::Bytes(sequence) => Part::Bytes(sequence.part(number)),
            Self::Values(relay, _) => Part::Values(relay, number),
        }
    }

    /// Wakes all threads that wait; their writes fail.
    pub(in crate::sort) fn abort(&self) {
        match self {
            Self::Bytes(sequence) => sequence.abort(),
            Self::Values(relay, _) => relay.abort(),
        }
    }

    /// Ends the output; gives the bytes of all parts.
    pub(in crate::sort) fn finish(&self) -> Result<u64> {
        match self {
            Self::Bytes(sequence) => sequence.finish(),
            Self::Values(..) => Ok(0),
        }
    }
}

impl Part<'_, '_> {
    /// Announces how many bytes this part will have, unless it is announced already or the size
    /// does not matter.
    pub(in crate::sort) fn announce(&mut self, bytes: impl FnOnce(u64) -> u64) {
        if let Self::Bytes(part) = self
            && !part.is_announced()
        {
            part.announce(bytes(part.written()));
        }
    }

    /// Appends the content of `buffer` or `batch`; both are empty afterwards.
    pub(in crate::sort) fn write(&mut self, buffer: &mut Buffer, batch: &mut Batch) -> Result<()> {
        match self {
            Self::Bytes(part) => part.write(buffer),
            Self::Values(relay, number) => relay.pass(*number, batch),
        }
    }

    /// Ends this part.
    pub(in crate::sort) fn finish(self) -> Result<()> {
        match self {
            Self::Bytes(part) => part.finish(),
            Self::Values(relay, number) => relay.finish(number),
        }
    }
}

/// Words that are scanned at once: the positions of their bits stay in the first-level cache.
const SLAB_WORDS: usize = 256;

/// A bitmap of the values of a span.
pub(in crate::sort) struct Scan<'w> {
    pub(in crate::sort) level: Level,
    pub(in crate::sort) span: Span,
    pub(in crate::sort) words: &'w [u64],
    /// Duplicates beside the bitmap: a value is here once for each duplicate. Ascending.
    pub(in crate::sort) duplicates: &'w [u32],
}

impl Scan<'_> {
    /// Writes the values; gives how many distinct ones there are.
    pub(in crate::sort) fn emit(
        self,
        positions: &mut Vec<u32>,
        emit: &mut Emitter<'_, '_>,
    ) -> Result<u64> {
        let Self { level, span, words, duplicates: mut left } = self;
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
            // A span may end inside of the last word of a container.
            let is_whole = (end * 64) as u64 <= span.len();
            let key = (span.first() + u64::from(first)) >> 16;
            if by_blocks
                && is_whole
                && emit.has_whole(key)
                && let Ok(block) = slab_words.try_into()
            {
                distinct += emit.bitmap(key, block)?;
                continue;
            }
            let duplicates;
            if selection.reverse {
                let (lower, upper) = left.split_at(left.partition_point(|&low| low < first));
                (left, duplicates) = (lower, upper);
            } else {
                let behind =
                    left.partition_point(|&low| (low as usize) < (start + slab_words.len()) * 64);
                let (lower, upper) = left.split_at(behind);
                (duplicates, left) = (lower, upper);
            }
            let most = slab_words.len() * 64 + ones::SLACK + duplicates.len();
            if positions.len() < most {
                positions.resize(most, 0);
            }
            let found = ones::ones(level, slab_words, first, positions);
            distinct += found as u64;
            if selection.ignores_duplicates() {
                emit.all(span.first(), &mut positions[..found])?;
                continue;
            }
            merge_duplicates(positions, found, duplicates);
            emit.sorted(span.first(), &mut positions[..found + duplicates.len()])?;
        }
        Ok(distinct)
    }
}

/// The error for a plan whose segments of a bitmap have more than 2^32 bits.
fn too_wide() -> Error {
    Error::Accounting { what: "a segment of the bitmap has places of more than 32 bits".into() }
}

/// Merges `duplicates` into `positions[..found]`. Both are sorted, and `positions` has each of the
/// duplicated values once. There is room for the duplicates behind them.
fn merge_duplicates(positions: &mut [u32], found: usize, duplicates: &[u32]) {
    let (mut from, mut to) = (found, found + duplicates.len());
    for &duplicate in duplicates.iter().rev() {
        while from > 0 && positions[from - 1] > duplicate {
            (from, to) = (from - 1, to - 1);
            positions[to] = positions[from];
        }
        to -= 1;
        positions[to] = duplicate;
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
    use super::merge_duplicates;

    #[test]
    fn duplicates_are_put_beside_their_value() {
        let mut positions = vec![1, 4, 9, 0, 0, 0, 0];
        merge_duplicates(&mut positions, 3, &[1, 1, 9, 9]);
        assert_eq!(positions, [1, 1, 1, 4, 9, 9, 9]);
    }
}
