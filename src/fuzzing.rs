//! What fuzz targets need of rooms that are private; exists under `cfg(fuzzing)` only.

use crate::kernel::Level;
use crate::kernel::parse::{Lines, PADDING, parse};
use std::ops::{ControlFlow, Range};

/// What one kernel made of a text.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Its instruction set.
    pub level: &'static str,
    /// Where each line ends, and its value if the kernel took it for plain digits.
    pub lines: Vec<(usize, Option<u64>)>,
    /// Behind the last complete line.
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

impl Lines for Collect {
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
