//! Access to private rooms for fuzz targets; the feature `_testing` only has it.

use crate::kernel::Level;
use crate::kernel::parse::{PADDING, ParseSink, parse};
use crate::number::{Line, LineSink, Malformed, Notation, RangeSink, block_ranges, block_values};
use std::ops::{ControlFlow, Range};

/// The lines that one kernel found in a text.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Its instruction set.
    pub level: &'static str,
    /// The end of each line, and its value if the kernel took it for plain digits.
    pub lines: Vec<(usize, Option<u64>)>,
    /// The place behind the last complete line.
    pub end: usize,
}

/// The lines of `text`, which begins `shift` bytes behind the padding, as each
/// kernel of this machine finds them.
#[must_use]
pub fn parse_at_every_level(text: &[u8], shift: usize, terminator: u8) -> Vec<Parsed> {
    let start = PADDING + shift;
    let mut bytes = vec![b'7'; start];
    bytes.extend_from_slice(text);
    bytes.extend_from_slice(&[terminator; PADDING]);
    let found = Level::available().iter().map(|&level| {
        let mut found = Collect { start, lines: Vec::new() };
        let end = parse(level, &bytes, start..start + text.len(), terminator, &mut found);
        Parsed { level: level.name(), lines: found.lines, end: end - start }
    });
    found.collect()
}

struct Collect {
    start: usize,
    lines: Vec<(usize, Option<u64>)>,
}

impl ParseSink for Collect {
    fn values(&mut self, values: &[u64], ends: &[u32]) {
        assert_eq!(values.len(), ends.len(), "every value has an end");
        let places = ends.iter().map(|&end| end as usize - self.start);
        self.lines.extend(places.zip(values.iter().copied().map(Some)));
    }

    fn odd_line(&mut self, line: Range<usize>) -> ControlFlow<()> {
        let before = self.lines.last().map_or(0, |(end, _)| end + 1);
        assert_eq!(line.start - self.start, before, "lines follow each other");
        self.lines.push((line.end - self.start, None));
        ControlFlow::Continue(())
    }
}

/// The complete lines of `text`, as they are found together, in order.
#[must_use]
pub fn lines_in(notation: Notation, text: &[u8], terminator: u8) -> Vec<Line> {
    let bytes = [&[b'7'; PADDING][..], text, &[b'7'; PADDING]].concat();
    let (span, mut found) = (PADDING..PADDING + text.len(), Found(Vec::new()));
    if notation.takes_ranges() {
        block_ranges(Level::best(), notation, &bytes, span, terminator, &mut found);
    } else {
        block_values(Level::best(), notation, &bytes, span, terminator, &mut found);
    }
    found.0
}

struct Found(Vec<Line>);

impl LineSink for Found {
    fn values(&mut self, values: &[u64], ends: &[u32]) {
        assert_eq!(values.len(), ends.len(), "every value has an end");
        self.0.extend(values.iter().copied().map(Line::Value));
    }

    fn blank(&mut self, _: u32) {
        self.0.push(Line::Blank);
    }

    fn malformed(&mut self, _: Range<usize>, reason: Malformed, offset: u64) -> ControlFlow<()> {
        self.0.push(Line::Malformed { reason, offset });
        ControlFlow::Continue(())
    }
}

impl RangeSink for Found {
    fn ranges(&mut self, ranges: &[[u64; 2]]) {
        self.0.extend(ranges.iter().map(|&[first, last]| {
            if first == last { Line::Value(first) } else { Line::Range { first, last } }
        }));
    }
}
