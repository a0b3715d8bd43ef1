//! Blocks of lines in any notation.
//!
//! Lines that are nothing but a number, a range or a block are parsed in one go, without a
//! search for their end. All others go to [`Notation::parse_line`].

use super::{Digits, Notation};
use crate::kernel::Level;
use crate::number::line::Line;
use crate::number::lines::{LineSink, decimal_values};
use std::ops::{ControlFlow, Range};

/// Where the lines of a block go that may be ranges, in order.
pub(crate) trait RangeSink: LineSink {
    /// The next lines carry the numbers of these ranges, from the first to the last of each.
    fn ranges(&mut self, ranges: &[[u64; 2]]);
}

/// Lines that are handed over together.
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
    let lines = Lines { notation: notation.without_ranges(), bytes, span, terminator };
    match notation.digits {
        Digits::Decimal => decimal_values(level, bytes, lines.span, terminator, sink),
        Digits::Hex => lines.each::<Hex, _>(&mut OneByOne::new(sink)),
        Digits::Ipv4 => lines.each::<Ipv4, _>(&mut OneByOne::new(sink)),
    }
}

/// Hands the complete lines of `bytes[span]`, a range each, to `sink`.
///
/// # Panics
///
/// As [`block_values`].
pub(crate) fn block_ranges<S: RangeSink>(
    notation: Notation,
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    sink: &mut S,
) {
    let lines = Lines { notation, bytes, span, terminator };
    match notation.digits {
        Digits::Decimal => lines.each::<Decimal, _>(&mut InRanges::new(sink)),
        Digits::Hex => lines.each::<Hex, _>(&mut InRanges::new(sink)),
        Digits::Ipv4 => lines.each::<Ipv4, _>(&mut InRanges::new(sink)),
    }
}

/// A range and where its line ends.
type Found = (u64, u64, usize);

/// Gathers what lines carry.
trait Gather {
    /// Whether lines may be ranges.
    const RANGES: bool;

    fn take(&mut self, found: Found);

    /// Hands over the gathered lines, and gives the sink for all other lines.
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
struct Lines<'b> {
    notation: Notation,
    bytes: &'b [u8],
    span: Range<usize>,
    terminator: u8,
}

impl Lines<'_> {
    fn each<N: Number, G: Gather>(self, gather: &mut G) {
        let mut at = self.span.start;
        while at < self.span.end {
            let end = if let Some(found) = self.plain::<N, G>(at) {
                gather.take(found);
                found.2
            } else {
                let rest = &self.bytes[at..self.span.end];
                let Some(length) = memchr::memchr(self.terminator, rest) else { break };
                if self.other(at..at + length, gather).is_break() {
                    break;
                }
                at + length
            };
            at = end + 1;
        }
        gather.sink();
    }

    /// The line at `at`, if it is plain.
    #[inline]
    fn plain<N: Number, G: Gather>(&self, at: usize) -> Option<Found> {
        let (first, mut at) = N::parse(self.bytes, at)?;
        let mut last = first;
        match *self.bytes.get(at)? {
            b'-' if G::RANGES => (last, at) = N::parse(self.bytes, at + 1)?,
            b'/' if G::RANGES => (last, at) = N::block(first, self.bytes, at + 1)?,
            _ => {}
        }
        at += usize::from(self.bytes.get(at) == Some(&b'\r'));
        let is_whole = self.bytes.get(at) == Some(&self.terminator) && first <= last;
        is_whole.then_some((first, last, at))
    }

    /// Takes a line that is not.
    #[cold]
    fn other<G: Gather>(&self, line: Range<usize>, gather: &mut G) -> ControlFlow<()> {
        #[expect(clippy::cast_possible_truncation, reason = "blocks are below 4 GiB")]
        let end = line.end as u32;
        match self.notation.parse_line(&self.bytes[line.clone()]) {
            Line::Value(value) => gather.take((value, value, line.end)),
            Line::Range { first, last } => gather.take((first, last, line.end)),
            Line::Blank => gather.sink().blank(end),
            Line::Malformed { reason, offset } => {
                return gather.sink().malformed(line, reason, offset);
            }
        }
        ControlFlow::Continue(())
    }
}

/// Numbers as most lines have them.
trait Number {
    /// The number at `at`, and where it ends; `None` if it is not written as usual.
    fn parse(bytes: &[u8], at: usize) -> Option<(u64, usize)>;

    /// The last number of a block, whose length is at `at`, and where it ends.
    fn block(_first: u64, _bytes: &[u8], _at: usize) -> Option<(u64, usize)> {
        None
    }
}

struct Decimal;
struct Hex;
struct Ipv4;

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
        // 19 digits are below 2^64.
        (1..=19).contains(&(end - at)).then_some((value, end))
    }
}

/// The digits that bytes stand for; 16 where they stand for none.
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

/// A bit for each of eight bytes, the first one the lowest: whether it is no digit.
#[inline]
fn no_digits(bytes: [u8; 8]) -> u32 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let values = u64::from_le_bytes(bytes) ^ (EACH * u64::from(b'0'));
    // The upper bit of a byte is set by what is above 9.
    let above = ((values & (EACH * 0x7F)) + EACH * 0x76) | values;
    let flags = above >> 7 & EACH;
    (flags.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

/// Bytes of the longest address and what stands behind it.
const WINDOW: usize = 16;

impl Number for Ipv4 {
    /// Finds the ends of all four numbers at once, and makes each of its last three digits,
    /// whatever their count is: lengths change from line to line, and would be guessed wrong.
    #[inline]
    #[expect(clippy::needless_bitwise_bool, reason = "nothing is guessed there either")]
    fn parse(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let window: &[u8; WINDOW] = bytes.get(at..)?.first_chunk()?;
        let [lower, upper] = bytemuck::cast::<[u8; WINDOW], [[u8; 8]; 2]>(*window);
        let mut others = no_digits(lower) | no_digits(upper) << 8;
        let (mut address, mut start, mut is_odd) = (0, 0, false);
        for octet in 0..4 {
            let end = others.trailing_zeros();
            others &= others.wrapping_sub(1);
            let length = end.wrapping_sub(start);
            let digits = bytes.get(at + start as usize..)?.first_chunk()?;
            let digits = u32::from_le_bytes(*digits) ^ 0x3030_3030;
            // The last digit moves to the upper byte, and what is behind it out.
            let last = digits.wrapping_shl(32_u32.wrapping_sub(length.wrapping_mul(8)));
            let value = (last >> 24) + 10 * (last >> 16 & 0xFF) + 100 * (last >> 8 & 0xFF);
            let leads_with_zero = (length > 1) & (digits.trailing_zeros() >= 8);
            is_odd |= (length.wrapping_sub(1) > 2) | (value > 255) | leads_with_zero;
            is_odd |= (octet < 3) & (window[end as usize % WINDOW] != b'.');
            address = address << 8 | u64::from(value);
            start = end.wrapping_add(1);
        }
        (!is_odd).then_some((address, at + start as usize - 1))
    }

    #[inline]
    fn block(first: u64, bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let digit =
            |at: usize| bytes.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|d| *d < 10);
        let mut length = u32::from(digit(at)?);
        let mut end = at + 1;
        if let Some(more) = digit(end).filter(|_| length > 0) {
            (length, end) = (10 * length + u32::from(more), end + 1);
        }
        let others = if length <= 32 { u64::from(u32::MAX) >> length } else { return None };
        (first & others == 0).then_some((first | others, end))
    }
}
