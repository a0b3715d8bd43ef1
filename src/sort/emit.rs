//! Sorted values → the parts of the output.

use super::entry::{Entry, Window};
use super::ways::Ways;
use crate::error::{Error, Result};
use crate::io::write::{Part, Sequence};
use crate::kernel::Level;
use crate::kernel::decimal::{self, MAX_LINE, SLACK, digit_count};
use crate::number::Format;
use crate::progress::Progress;
use std::io::Write;

/// Which values are written, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Selection {
    /// One copy of each value.
    pub(crate) distinct: bool,
    /// Each value behind its multiplicity.
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
    pub(crate) fn ignores_copies(self) -> bool {
        self.distinct && !self.counted && !self.repeated
    }
}

/// How values are written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub(super) format: Format,
    /// Instead of lines: blocks of values that share all but 16 bits.
    pub(super) blocks: bool,
    pub(super) terminator: u8,
    pub(super) selection: Selection,
}

impl Style {
    /// Bytes of a line of each value between `first` and `last`, if all of them are
    /// equally long.
    pub(super) fn line_bytes(self, first: u64, last: u64) -> Option<u64> {
        if self.selection.counted || self.blocks {
            return None;
        }
        let line = match self.format.value_bytes() {
            Some(width) => width,
            None if digit_count(first) == digit_count(last) => digit_count(first) + 1,
            None => return None,
        };
        Some(line as u64)
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    /// Lines, or values in binary formats.
    pub(super) lines: u64,
    /// Values that these lines stand for.
    pub(super) values: u64,
    /// How parts were finished.
    pub(super) ways: Ways,
}

/// Formats values into a buffer and writes it, part by part.
pub(super) struct Emitter<'s, 'a> {
    sequence: &'s Sequence<'a>,
    progress: &'s Progress,
    pub(super) level: Level,
    part: Option<Part<'s, 'a>>,
    /// All values of the part lie in it.
    window: Window,
    /// The value of the part that was written last.
    previous: Option<u64>,
    style: Style,
    pub(super) buffer: Vec<u8>,
    pub(super) filled: usize,
    pub(super) written: Written,
}

/// Smallest useful buffer.
pub(super) const MIN_BUFFER: usize = 16 * MAX_LINE + SLACK + 64;

impl<'s, 'a> Emitter<'s, 'a> {
    pub(super) fn new(
        sequence: &'s Sequence<'a>,
        progress: &'s Progress,
        style: Style,
        buffer_bytes: usize,
    ) -> Self {
        let buffer = vec![0; buffer_bytes.max(MIN_BUFFER)];
        Self {
            sequence,
            progress,
            level: Level::best(),
            part: None,
            window: Window::ALL,
            previous: None,
            style,
            buffer,
            filled: 0,
            written: Written::default(),
        }
    }

    pub(super) fn style(&self) -> &Style {
        &self.style
    }

    /// Begins part `number` of the output, of values of `window`.
    ///
    /// Parts are in order because their windows are.
    pub(super) fn begin(&mut self, number: usize, window: Window) {
        self.part = Some(self.sequence.part(number));
        self.window = window;
        self.previous = None;
    }

    /// Checks that values which begin with `first` and end with `last` may be written
    /// next: they lie in the window of the part, and behind all that it has.
    pub(super) fn follows(&mut self, first: u64, last: u64) -> Result<()> {
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
    pub(super) fn end(&mut self) -> Result<()> {
        if let Some(part) = &mut self.part
            && !part.is_announced()
        {
            part.announce(part.written() + self.filled as u64);
        }
        self.flush()?;
        self.part.take().map_or(Ok(()), Part::finish)
    }

    /// Says that the whole part will be `count` lines of values between `first` and
    /// `last`; they are counted only if that tells how long it will be.
    pub(super) fn announce(&mut self, count: impl FnOnce() -> u64, first: u64, last: u64) {
        if let (Some(part), Some(line)) = (&mut self.part, self.style.line_bytes(first, last))
            && !part.is_announced()
        {
            part.announce(count() * line);
        }
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        if self.progress.is_cancelled() {
            return Err(Error::Interrupted);
        }
        let filled = std::mem::take(&mut self.filled);
        match &mut self.part {
            Some(part) => part.write(&mut self.buffer, filled),
            None => Ok(()),
        }
    }

    /// Writes `base + value` for ascending `values`. All copies of a value
    /// must come in one call.
    pub(super) fn sorted<E: Entry>(&mut self, base: u64, values: &mut [E]) -> Result<()> {
        let selection = self.style.selection;
        if selection.keeps_all() {
            return self.all(base, values);
        }
        if selection.reverse {
            values.reverse();
        }
        if !selection.ignores_copies() {
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
    pub(super) fn all<E: Entry>(&mut self, base: u64, values: &mut [E]) -> Result<()> {
        if self.style.selection.reverse {
            values.reverse();
        }
        self.all_follow(base, values)?;
        self.written.values += values.len() as u64;
        self.lines(base, values)
    }

    /// Writes a value that occurs `count` times.
    pub(super) fn run(&mut self, value: u64, count: u64) -> Result<()> {
        let selection = self.style.selection;
        self.follows(value, value)?;
        self.written.values += count;
        if selection.repeated && count < 2 {
            return Ok(());
        }
        if selection.counted {
            if self.buffer.len() - self.filled < 64 {
                self.flush()?;
            }
            if self.style.format != Format::Text {
                let slot = &mut self.buffer[self.filled..self.filled + 16];
                slot[..8].copy_from_slice(&value.to_le_bytes());
                slot[8..].copy_from_slice(&count.to_le_bytes());
                self.filled += 16;
                self.written.lines += 1;
                return Ok(());
            }
            let mut slot = &mut self.buffer[self.filled..];
            let before = slot.len();
            let end = char::from(self.style.terminator);
            write!(slot, "{count:>7} {value}{end}").map_err(Error::io("write", "-"))?;
            self.filled += before - slot.len();
            self.written.lines += 1;
            return Ok(());
        }
        if !selection.keeps_all() {
            return self.lines(0, &[value]);
        }
        // A block of copies is formatted once, then the buffer is filled with it.
        let copies = [value; 16];
        let mut left = count;
        while left > 0 {
            if left < 32 {
                let now = left.min(16);
                self.lines(0, &copies[..usize::try_from(now).unwrap_or(16)])?;
                left -= now;
                continue;
            }
            if self.buffer.len() - self.filled < 16 * MAX_LINE + SLACK {
                self.flush()?; // now, so that `lines` does not
            }
            let start = self.filled;
            self.lines(0, &copies)?;
            left -= 16;
            let block = self.filled - start;
            let line = block / 16;
            let room = ((self.buffer.len() - self.filled) / line) as u64;
            let more = room.min(left);
            let end = self.filled + usize::try_from(more).unwrap_or(0) * line;
            while self.filled < end {
                let size = (self.filled - start).min(end - self.filled);
                self.buffer.copy_within(start..start + size, self.filled);
                self.filled += size;
            }
            self.written.lines += more;
            left -= more;
        }
        Ok(())
    }

    /// Writes values that were checked to follow.
    fn lines<E: Entry>(&mut self, base: u64, values: &[E]) -> Result<()> {
        self.written.lines += values.len() as u64;
        if self.style.blocks {
            return self.blocks(base, values);
        }
        let longest = self.style.format.value_bytes().unwrap_or(MAX_LINE);
        let mut rest = values;
        while !rest.is_empty() {
            let room = (self.buffer.len() - self.filled).saturating_sub(SLACK) / longest;
            if room < rest.len().min(16) {
                self.flush()?;
                continue;
            }
            let (now, later) = rest.split_at(room.min(rest.len()));
            let out = &mut self.buffer[self.filled..];
            self.filled += match self.style.format {
                Format::Text => decimal::lines(self.level, base, now, self.style.terminator, out),
                Format::U32Le => narrow(base, now, out, "u32le", u32::to_le_bytes)?,
                Format::U32Be => narrow(base, now, out, "u32be", u32::to_be_bytes)?,
                Format::U64Le => wide(base, now, out, u64::to_le_bytes),
                Format::U64Be => wide(base, now, out, u64::to_be_bytes),
            };
            rest = later;
        }
        Ok(())
    }
}

fn wide<E: Entry>(base: u64, values: &[E], out: &mut [u8], bytes: fn(u64) -> [u8; 8]) -> usize {
    let (slots, _) = out.as_chunks_mut::<8>();
    for (slot, value) in slots.iter_mut().zip(values) {
        *slot = bytes(base + value.widen());
    }
    values.len() * 8
}

fn narrow<E: Entry>(
    base: u64,
    values: &[E],
    out: &mut [u8],
    format: &'static str,
    bytes: fn(u32) -> [u8; 4],
) -> Result<usize> {
    let (slots, _) = out.as_chunks_mut::<4>();
    for (slot, value) in slots.iter_mut().zip(values) {
        let value = base + value.widen();
        let small = u32::try_from(value).map_err(|_| Error::ValueTooLarge { value, format })?;
        *slot = bytes(small);
    }
    Ok(values.len() * 4)
}
