//! The kernels, for the benchmarks of this repository; exists with the feature `_benching` only.
//!
//! A benchmark measures one kernel at every [`Kernels::available`]. This is no part of the
//! interface: it may change in any version.

use crate::kernel::Level;
use crate::kernel::decimal;
use crate::kernel::ones;
use crate::kernel::parse;
use crate::kernel::popcount;
use crate::kernel::words::{self, Op};
use std::ops::{ControlFlow, Range};

/// The kernels, with one instruction set of this CPU.
#[derive(Debug, Clone, Copy)]
pub struct Kernels(Level);

impl Kernels {
    /// One for each instruction set of this CPU, the simplest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Level::available().iter().copied().map(Self)
    }

    /// The instruction set: `scalar`, `avx2` or `avx512`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Parses the lines of `text`, which end in newlines.
    #[must_use]
    pub fn parse(self, text: &Text) -> Parsed {
        let mut parsed = Parsed::default();
        let span = parse::PADDING..text.0.len() - parse::PADDING;
        parse::parse(self.0, &text.0, span, b'\n', &mut parsed);
        parsed
    }

    /// Writes the position of every set bit of `words` to the front of `positions`, and
    /// returns their number.
    ///
    /// # Panics
    ///
    /// If `positions` is shorter than the number of set bits plus [`Self::POSITIONS_SLACK`].
    pub fn scan(self, words: &[u64], positions: &mut [u32]) -> usize {
        ones::ones(self.0, words, 0, positions)
    }

    /// Entries that [`Self::scan`] may overwrite behind the positions.
    pub const POSITIONS_SLACK: usize = ones::SLACK;

    /// Writes the sorted `values` as decimal lines to the front of `out`, and returns the
    /// number of bytes.
    ///
    /// # Panics
    ///
    /// If `out` is shorter than [`Self::decimal_room`] of the number of values.
    pub fn decimal(values: &[u64], out: &mut [u8]) -> usize {
        decimal::lines(0, values, b'\n', out)
    }

    /// Bytes that [`Self::decimal`] needs for this number of values.
    #[must_use]
    pub fn decimal_room(value_count: usize) -> usize {
        value_count * decimal::MAX_LINE + decimal::SLACK
    }

    /// Writes the bits that are set in `a` and in `b` to `out`, as far as all reach.
    pub fn and(self, a: &[u64], b: &[u64], out: &mut [u64]) {
        words::join_into(self.0, Op::And, a, b, out);
    }

    /// Writes the bits that are set in `a` or in `b` to `out`, as far as all reach.
    pub fn or(self, a: &[u64], b: &[u64], out: &mut [u64]) {
        words::join_into(self.0, Op::Or, a, b, out);
    }

    /// Number of set bits.
    #[must_use]
    pub fn popcount(self, words: &[[u8; 8]]) -> u64 {
        popcount::ones(self.0, words)
    }
}

/// A text with the padding that the parser needs.
#[derive(Debug, Clone)]
pub struct Text(Vec<u8>);

impl Text {
    /// Copies `text`.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let padding = [0; parse::PADDING];
        Self([padding.as_slice(), text.as_bytes(), &padding].concat())
    }
}

/// The result of a parser, in a form that is cheap to make and depends on every value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Number of lines that are a value.
    pub values: u64,
    /// Sum of the values, modulo 2^64.
    pub sum: u64,
    /// Number of other lines.
    pub odd_lines: u64,
}

impl parse::ParseSink for Parsed {
    fn values(&mut self, values: &[u64], _ends: &[u32]) {
        self.values += values.len() as u64;
        self.sum = values.iter().fold(self.sum, |sum, &value| sum.wrapping_add(value));
    }

    fn odd_line(&mut self, _line: Range<usize>) -> ControlFlow<()> {
        self.odd_lines += 1;
        ControlFlow::Continue(())
    }
}
