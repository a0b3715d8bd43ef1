//! The parser of blocks of lines, one number or range a line, in any notation. Rows of columns go
//! through [`Selector`](crate::number::Selector) instead, and lines longer than a block one by one.
//!
//! Decimal numbers, one a line, go through the vector kernels of [`parse`]. In other notations, a
//! line that is nothing but a number, a range or a CIDR block is parsed in one go, without a
//! search for its end. All other lines go to [`parse_line`] or [`Notation::parse_line`], which
//! decide what is wrong with a line.

use super::{Digits, Notation};
use crate::kernel::Level;
use crate::kernel::parse::{ParseSink, parse};
use crate::kernel::quads::{self, Quads};
use crate::number::line::{Line, Malformed, parse_line};
use std::ops::{ControlFlow, Range};

/// Takes the lines of a block in order.
pub(crate) trait LineSink {
    /// The next lines carry these values; `ends` are the places of their
    /// terminators in the block.
    fn values(&mut self, values: &[u64], ends: &[u32]);

    /// The next line, which ends at this place, carries nothing.
    fn blank(&mut self, end: u32);

    /// The next line, at this range of the block, is malformed at this byte of
    /// it. `Break` ends the parse.
    fn malformed(&mut self, line: Range<usize>, reason: Malformed, offset: u64) -> ControlFlow<()>;
}

/// Takes the lines of a block in order, if they may be ranges.
pub(crate) trait RangeSink: LineSink {
    /// The next lines carry the numbers of these ranges, from the first to the last of each.
    fn ranges(&mut self, ranges: &[[u64; 2]]);
}

/// Most lines that go to the sink together.
const BATCH: usize = 256;

/// Hands the complete lines of `bytes[span]`, a number each, to `sink`.
///
/// # Panics
///
/// If less than [`PADDING`](crate::kernel::parse::PADDING) bytes lie around the span.
pub(crate) fn block_values<S: LineSink>(
    level: Level,
    notation: Notation,
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    sink: &mut S,
) {
    let lines = TextBlock { notation: notation.without_ranges(), bytes, span, terminator };
    match notation.digits {
        Digits::Decimal => {
            parse(level, bytes, lines.span, terminator, &mut Decimals { bytes, sink });
        }
        Digits::Hex => lines.each::<Hex, _>(&mut OneByOne::new(sink)),
        Digits::Ipv4 => lines.each_quad(level, &mut OneByOne::new(sink)),
    }
}

/// Hands the lines of `bytes[span]`, a range each, to `sink`. The span ends in a terminator.
pub(crate) fn block_ranges<S: RangeSink>(
    level: Level,
    notation: Notation,
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    sink: &mut S,
) {
    let lines = TextBlock { notation, bytes, span, terminator };
    match notation.digits {
        Digits::Decimal => lines.each::<Decimal, _>(&mut InRanges::new(sink)),
        Digits::Hex => lines.each::<Hex, _>(&mut InRanges::new(sink)),
        Digits::Ipv4 => lines.each_quad(level, &mut InRanges::new(sink)),
    }
}

/// Hands on what the vector kernels find in lines of one decimal number.
struct Decimals<'a, S> {
    bytes: &'a [u8],
    sink: &'a mut S,
}

impl<S: LineSink> ParseSink for Decimals<'_, S> {
    #[inline]
    fn values(&mut self, values: &[u64], ends: &[u32]) {
        self.sink.values(values, ends);
    }

    fn odd_line(&mut self, line: Range<usize>) -> ControlFlow<()> {
        #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
        let end = line.end as u32;
        match parse_line(&self.bytes[line.clone()]) {
            Line::Value(value) => self.sink.values(&[value], &[end]),
            Line::Blank => self.sink.blank(end),
            Line::Range { .. } => return self.sink.malformed(line, Malformed::ManyValues, 0),
            Line::Malformed { reason, offset } => {
                return self.sink.malformed(line, reason, offset);
            }
        }
        ControlFlow::Continue(())
    }
}

/// A range and the end of its line.
type Found = (u64, u64, usize);

/// Gathers the numbers or ranges of lines, and hands them to a sink together.
trait Gather {
    /// Whether lines may be ranges.
    const RANGES: bool;

    fn take(&mut self, found: Found);

    /// Hands over the gathered lines. Gives the sink, which takes other lines now.
    fn sink(&mut self) -> &mut impl LineSink;
}

struct OneByOne<'s, S> {
    sink: &'s mut S,
    values: [u64; BATCH],
    ends: [u32; BATCH],
    count: usize,
}

impl<'s, S> OneByOne<'s, S> {
    fn new(sink: &'s mut S) -> Self {
        Self { sink, values: [0; BATCH], ends: [0; BATCH], count: 0 }
    }
}

impl<S: LineSink> Gather for OneByOne<'_, S> {
    const RANGES: bool = false;

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
    fn take(&mut self, (value, _, end): Found) {
        (self.values[self.count], self.ends[self.count]) = (value, end as u32);
        self.count += 1;
        if self.count == BATCH {
            self.sink();
        }
    }

    fn sink(&mut self) -> &mut impl LineSink {
        if self.count > 0 {
            self.sink.values(&self.values[..self.count], &self.ends[..self.count]);
            self.count = 0;
        }
        self.sink
    }
}

struct InRanges<'s, S> {
    sink: &'s mut S,
    ranges: [[u64; 2]; BATCH],
    count: usize,
}

impl<'s, S> InRanges<'s, S> {
    fn new(sink: &'s mut S) -> Self {
        Self { sink, ranges: [[0; 2]; BATCH], count: 0 }
    }
}

impl<S: RangeSink> Gather for InRanges<'_, S> {
    const RANGES: bool = true;

    #[inline]
    fn take(&mut self, (first, last, _): Found) {
        self.ranges[self.count] = [first, last];
        self.count += 1;
        if self.count == BATCH {
            self.sink();
        }
    }

    fn sink(&mut self) -> &mut impl LineSink {
        if self.count > 0 {
            self.sink.ranges(&self.ranges[..self.count]);
            self.count = 0;
        }
        self.sink
    }
}

/// Complete lines in a buffer with padding around them.
struct TextBlock<'b> {
    notation: Notation,
    bytes: &'b [u8],
    span: Range<usize>,
    terminator: u8,
}

impl TextBlock<'_> {
    fn each<N: Number, G: Gather>(self, gather: &mut G) {
        let mut at = self.span.start;
        while at < self.span.end {
            let end = if let Some(found) = self.plain::<N, G>(at) {
                gather.take(found);
                found.2
            } else {
                let Some(end) = self.other(at, gather) else { break };
                end
            };
            at = end + 1;
        }
        gather.sink();
    }

    /// The same for lines of addresses.
    fn each_quad<G: Gather>(self, level: Level, gather: &mut G) {
        let Self { bytes, terminator, .. } = self;
        let quads = Quads { bytes, terminator, takes_ranges: G::RANGES };
        let mut at = self.span.start;
        while at < self.span.end {
            let rest = at..self.span.end;
            at = quads::parse(level, quads, rest, |first, last, end| {
                gather.take((first, last, end));
            });
            if at < self.span.end {
                let Some(end) = self.other(at, gather) else { break };
                at = end + 1;
            }
        }
        gather.sink();
    }

    /// The line at `at`, if it is nothing but a number or a range.
    #[inline]
    fn plain<N: Number, G: Gather>(&self, at: usize) -> Option<Found> {
        let (first, mut at) = N::parse(self.bytes, at)?;
        let mut last = first;
        match *self.bytes.get(at)? {
            b'-' if G::RANGES => (last, at) = N::parse(self.bytes, at + 1)?,
            _ => {}
        }
        at += usize::from(self.bytes.get(at) == Some(&b'\r'));
        let is_whole = self.bytes.get(at) == Some(&self.terminator) && first <= last;
        is_whole.then_some((first, last, at))
    }

    /// Takes the line at `at`, which is not [plain](Self::plain). Gives its end, or `None` if there
    /// are no more lines to take.
    #[cold]
    fn other<G: Gather>(&self, at: usize, gather: &mut G) -> Option<usize> {
        let end = at + memchr::memchr(self.terminator, &self.bytes[at..self.span.end])?;
        #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
        let place = end as u32;
        match self.notation.parse_line(&self.bytes[at..end]) {
            Line::Value(value) => gather.take((value, value, end)),
            Line::Range { first, last } => gather.take((first, last, end)),
            Line::Blank => gather.sink().blank(place),
            Line::Malformed { reason, offset } => {
                if gather.sink().malformed(at..end, reason, offset).is_break() {
                    return None;
                }
            }
        }
        Some(end)
    }
}

/// How most lines write their number.
trait Number {
    /// The number at `at` and its end; `None` if the line is not like most lines.
    fn parse(bytes: &[u8], at: usize) -> Option<(u64, usize)>;
}

struct Decimal;
struct Hex;

impl Number for Decimal {
    #[inline]
    fn parse(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let (mut value, mut end) = (0_u64, at);
        loop {
            let digit = bytes.get(end)?.wrapping_sub(b'0');
            if digit > 9 {
                break;
            }
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            end += 1;
        }
        // A number of 19 digits is below 2^64.
        (1..=19).contains(&(end - at)).then_some((value, end))
    }
}

/// The value of each byte as a hexadecimal digit; 16 if it is no digit.
static HEX_DIGITS: [u8; 256] = {
    let mut digits = [16; 256];
    let mut digit = 0;
    while digit < 16 {
        let (lower, upper) = (b"0123456789abcdef"[digit], b"0123456789ABCDEF"[digit]);
        #[expect(clippy::cast_possible_truncation, reason = "below 16")]
        let value = digit as u8;
        digits[lower as usize] = value;
        digits[upper as usize] = value;
        digit += 1;
    }
    digits
};

impl Number for Hex {
    #[inline]
    fn parse(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let has_mark = matches!(bytes.get(at..at + 2)?, [b'0', b'x' | b'X']);
        let start = at + 2 * usize::from(has_mark);
        let (mut value, mut end) = (0, start);
        loop {
            let digit = HEX_DIGITS[usize::from(*bytes.get(end)?)];
            if digit > 15 {
                break;
            }
            value = value << 4 | u64::from(digit);
            end += 1;
        }
        (1..=16).contains(&(end - start)).then_some((value, end))
    }
}
