//! A block of lines through the vector kernels; what they leave goes to the
//! reference parser.

use super::line::{Line, Malformed, parse_line};
use crate::kernel::Level;
use crate::kernel::parse::{Lines, parse};
use std::ops::{ControlFlow, Range};

/// Where the lines of a block go, in order.
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

struct Resolve<'a, S> {
    bytes: &'a [u8],
    sink: &'a mut S,
}

impl<S: LineSink> Lines for Resolve<'_, S> {
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

/// Hands the complete lines of `bytes[span]`, which are decimal, to `sink`.
///
/// # Panics
///
/// If less than [`PADDING`](crate::kernel::parse::PADDING) bytes lie around the span.
pub(super) fn decimal_values<S: LineSink>(
    level: Level,
    bytes: &[u8],
    span: Range<usize>,
    terminator: u8,
    sink: &mut S,
) {
    parse(level, bytes, span, terminator, &mut Resolve { bytes, sink });
}
