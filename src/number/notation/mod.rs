//! How numbers are written as text: decimal, hexadecimal or as IPv4 addresses; one a line, in
//! ranges, or in CIDR blocks, which this folder calls blocks of addresses.
//!
//! # Grammar
//! A line is `blank* (number | range | block) blank* CR?` before its terminator, or blank;
//! `blank` is a space or a tab. It has fewer than 4096 bytes; only lines in decimal notation without
//! ranges may have more.
//!
//! | | |
//! |---|---|
//! | number, decimal | `digit+`, below 2^64; leading zeros do not matter |
//! | number, hexadecimal | `("0x" or "0X")? hexdigit+`, digits of either case, below 2^64; leading zeros do not matter |
//! | number, IPv4 | four octets with `.` between; an octet is one of `0` to `255`, without leading zeros, which some programs take for octal |
//! | range | `number blank* "-" blank* number`, the first not above the last |
//! | block, IPv4 | `number "/" length`, a length of `0` to `32` without leading zeros; the address has no bits set behind it |
//! | comment, IPv4 | `#` or `;` and all behind it, as block lists have them |
//!
//! Ranges and blocks are read where the notation takes ranges.

mod block;
mod line;
mod write;

pub(crate) use block::{LineSink, RangeSink, block_ranges, block_values};
pub(crate) use write::RunText;

/// How numbers are written as text, and how many numbers a line carries.
///
/// | | reads | writes |
/// |---|---|---|
/// | [`DECIMAL`](Self::DECIMAL), [`HEX`](Self::HEX), [`IPV4`](Self::IPV4) | a number a line | a number a line |
/// | the same [with ranges](Self::with_ranges) | also `FIRST-LAST`; of addresses, blocks too | `FIRST-LAST`, or the number of a range of one |
/// | [`CIDR`](Self::CIDR) | addresses, blocks and ranges | the fewest blocks; the address of a block of one |
///
/// # Examples
///
/// ```
/// use bitsort::number::{Line, Notation};
///
/// let line = b"10.0.0.0/30";
/// assert_eq!(Notation::CIDR.parse_line(line), Line::Range { first: 0x0A00_0000, last: 0x0A00_0003 });
/// assert!(matches!(Notation::IPV4.parse_line(line), Line::Malformed { offset: 8, .. }));
/// assert_eq!(Notation::HEX.parse_line(b"0xFF"), Line::Value(255));
/// assert_eq!(Notation::IPV4.text(0x0A00_0003).as_deref(), Some("10.0.0.3"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Notation {
    digits: Digits,
    lines: LineKind,
}

/// How a number is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Digits {
    Decimal,
    Hex,
    Ipv4,
}

/// The numbers that a line may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum LineKind {
    Values,
    Ranges,
    /// CIDR blocks, of addresses.
    Blocks,
}

/// Lines have fewer bytes than this, except those in decimal notation without ranges.
pub(crate) const MAX_NOTED_BYTES: usize = 4096;

impl Notation {
    /// Decimal digits.
    pub const DECIMAL: Self = Self { digits: Digits::Decimal, lines: LineKind::Values };
    /// Hexadecimal digits; written in lower case, without `0x`.
    pub const HEX: Self = Self { digits: Digits::Hex, lines: LineKind::Values };
    /// IPv4 addresses as four decimal numbers with dots between.
    pub const IPV4: Self = Self { digits: Digits::Ipv4, lines: LineKind::Values };
    /// IPv4 addresses in CIDR blocks, such as `10.0.0.0/8`.
    pub const CIDR: Self = Self { digits: Digits::Ipv4, lines: LineKind::Blocks };
    /// Every notation.
    pub const ALL: [Self; 7] = [
        Self::DECIMAL,
        Self::HEX,
        Self::IPV4,
        Self::CIDR,
        Self::DECIMAL.with_ranges(),
        Self::HEX.with_ranges(),
        Self::IPV4.with_ranges(),
    ];

    /// The same digits; a line may stand for a range of numbers.
    #[must_use]
    pub const fn with_ranges(self) -> Self {
        Self { lines: LineKind::Ranges, ..self }
    }

    /// Whether a line may stand for more than one number.
    #[must_use]
    pub const fn takes_ranges(self) -> bool {
        !matches!(self.lines, LineKind::Values)
    }

    /// The same digits, a number a line.
    #[must_use]
    pub const fn without_ranges(self) -> Self {
        Self { lines: LineKind::Values, ..self }
    }

    /// The largest number that the notation can write.
    #[must_use]
    pub const fn max_value(self) -> u64 {
        match self.digits {
            Digits::Ipv4 => u32::MAX as u64,
            Digits::Decimal | Digits::Hex => u64::MAX,
        }
    }

    /// Whether a number, or a block of addresses, may have this character.
    pub(crate) const fn may_have(self, c: char) -> bool {
        match self.digits {
            Digits::Decimal => c.is_ascii_digit(),
            Digits::Hex => c.is_ascii_hexdigit() || matches!(c, 'x' | 'X'),
            Digits::Ipv4 => c.is_ascii_digit() || matches!(c, '.' | '/'),
        }
    }

    /// The name of one of its numbers in messages.
    pub(crate) const fn number_name(self) -> &'static str {
        match self.digits {
            Digits::Decimal => "a number below 2^64",
            Digits::Hex => "a hexadecimal number below 2^64",
            Digits::Ipv4 => "an address, four numbers of 0 to 255 with dots between",
        }
    }

    /// The name of the notation in Python, and in messages. It parses to the notation.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.digits, self.lines) {
            (Digits::Decimal, LineKind::Values) => "text",
            (Digits::Decimal, _) => "text-ranges",
            (Digits::Hex, LineKind::Values) => "hex",
            (Digits::Hex, _) => "hex-ranges",
            (Digits::Ipv4, LineKind::Values) => "ipv4",
            (Digits::Ipv4, LineKind::Ranges) => "ipv4-ranges",
            (Digits::Ipv4, LineKind::Blocks) => "cidr",
        }
    }
}

impl Default for Notation {
    fn default() -> Self {
        Self::DECIMAL
    }
}

super::named!(Notation, ParseNotationError);

#[cfg(test)]
mod tests;
