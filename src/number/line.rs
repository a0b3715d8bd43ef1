//! One line, exactly: the reference parser.
//!
//! The vector kernels take the lines that are nothing but digits. Every other line comes here, and
//! only this file decides why it is malformed.

use std::fmt;

/// The meaning of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// It carries this number.
    Value(u64),
    /// It carries all numbers from a first to a last one. Only a [notation](super::Notation) that
    /// takes ranges has such lines.
    Range {
        /// The first number.
        first: u64,
        /// The last one.
        last: u64,
    },
    /// It carries nothing.
    Blank,
    /// It is neither a number nor blank.
    Malformed {
        /// What was expected.
        reason: Malformed,
        /// Place of the first bad byte, from the start of the line.
        offset: u64,
    },
}

/// Why a line is not a natural number below 2^64.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Something else stands where the number should begin.
    #[default]
    ExpectedDigit,
    /// Something follows the number.
    ExpectedEnd,
    /// 2^64 or more.
    TooLarge,
    /// A delimited line has too few fields.
    MissingField,
    /// A quoted field has no closing quote, or text behind it.
    BadQuote,
    /// A record of delimited text is too long.
    RecordTooLong,
    /// An integer of a table is below 0.
    Negative,
    /// Something else stands where a hexadecimal number should begin.
    ExpectedHexDigit,
    /// An address does not have four numbers with dots between.
    ExpectedAddress,
    /// A number of an address begins with a zero, and is not 0.
    LeadingZero,
    /// A number of an address is above 255.
    OctetTooLarge,
    /// The length of a prefix is above 32.
    PrefixTooLong,
    /// The address of a block has bits set behind its prefix.
    HostBits,
    /// The last number of a range is below the first.
    Descending,
    /// A range or a block, where each line carries one number.
    ManyValues,
    /// The line is too long for its notation.
    LineTooLong,
    /// A range of a row with a key has numbers that are too large.
    RangeTooHigh,
}

impl Malformed {
    /// Every reason.
    pub(crate) const ALL: [Self; 17] = [
        Self::ExpectedDigit,
        Self::ExpectedEnd,
        Self::TooLarge,
        Self::MissingField,
        Self::BadQuote,
        Self::RecordTooLong,
        Self::Negative,
        Self::ExpectedHexDigit,
        Self::ExpectedAddress,
        Self::LeadingZero,
        Self::OctetTooLarge,
        Self::PrefixTooLong,
        Self::HostBits,
        Self::Descending,
        Self::ManyValues,
        Self::LineTooLong,
        Self::RangeTooHigh,
    ];
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ExpectedDigit => "expected a digit",
            Self::ExpectedEnd => "expected the end of the line after the number",
            Self::TooLarge => "expected a number below 2^64",
            Self::MissingField => "the line has no such column",
            Self::BadQuote => "expected a closing quote, then a delimiter or the end of the line",
            Self::RecordTooLong => "expected a record of at most 1 MiB",
            Self::Negative => "expected a number of 0 or more",
            Self::ExpectedHexDigit => "expected a hexadecimal digit",
            Self::ExpectedAddress => "expected four numbers with dots between",
            Self::LeadingZero => "expected no leading zero: some programs read it as octal",
            Self::OctetTooLarge => "expected a number up to 255",
            Self::PrefixTooLong => "expected a prefix length up to 32",
            Self::HostBits => "expected an address without bits behind its prefix",
            Self::Descending => "expected a last number that is not below the first",
            Self::ManyValues => "expected one number, not a range or a block",
            Self::LineTooLong => "expected a line of less than 4 KiB",
            Self::RangeTooHigh => {
                "expected a range of numbers below 2^44, the limit of rows with keys"
            }
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Digits,
    After,
    /// Behind the `\r` that ends a blank line.
    BlankEnd,
    /// Behind the `\r` that ends a line with a number.
    NumberEnd,
}

/// Parses a line that arrives in pieces, in constant memory.
///
/// # Examples
///
/// ```
/// # use bitsort::number::{Line, LineScanner, Malformed};
/// let mut scanner = LineScanner::new();
/// scanner.feed(b"  00");
/// scanner.feed(b"42\r");
/// assert_eq!(scanner.finish(), Line::Value(42));
/// ```
#[derive(Debug, Clone)]
pub struct LineScanner {
    state: State,
    value: u64,
    seen_bytes: u64,
    wrong: Option<(Malformed, u64)>,
}

impl Default for LineScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl LineScanner {
    /// A scanner at the start of a line.
    #[must_use]
    pub const fn new() -> Self {
        Self { state: State::Before, value: 0, seen_bytes: 0, wrong: None }
    }

    /// Takes the next bytes of the line, without its terminator.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.wrong.is_none() {
            for (offset, &byte) in (self.seen_bytes..).zip(bytes) {
                if let Err(reason) = self.step(byte) {
                    self.wrong = Some((reason, offset));
                    break;
                }
            }
        }
        self.seen_bytes += bytes.len() as u64;
    }

    fn step(&mut self, byte: u8) -> Result<(), Malformed> {
        use State::{After, Before, BlankEnd, Digits, NumberEnd};
        self.state = match (self.state, byte) {
            (Before | Digits, b'0'..=b'9') => {
                let digit = u64::from(byte - b'0');
                self.value = self
                    .value
                    .checked_mul(10)
                    .and_then(|tens| tens.checked_add(digit))
                    .ok_or(Malformed::TooLarge)?;
                Digits
            }
            (Before, b' ' | b'\t') => Before,
            (Digits | After, b' ' | b'\t') => After,
            (Before, b'\r') => BlankEnd,
            (Digits | After, b'\r') => NumberEnd,
            (Before, _) => return Err(Malformed::ExpectedDigit),
            _ => return Err(Malformed::ExpectedEnd),
        };
        Ok(())
    }

    /// The meaning of the whole line.
    #[must_use]
    pub fn finish(&self) -> Line {
        match (self.wrong, self.state) {
            (Some((reason, offset)), _) => Line::Malformed { reason, offset },
            (None, State::Before | State::BlankEnd) => Line::Blank,
            (None, State::Digits | State::After | State::NumberEnd) => Line::Value(self.value),
        }
    }
}

/// Parses one whole line, given without its terminator.
///
/// O(length). This is the reference that every vector kernel is held against.
///
/// # Examples
///
/// ```
/// # use bitsort::number::{Line, Malformed, parse_line};
/// assert_eq!(parse_line(b" 007\r"), Line::Value(7));
/// assert_eq!(parse_line(b" \t"), Line::Blank);
/// assert_eq!(
///     parse_line(b"12abc"),
///     Line::Malformed { reason: Malformed::ExpectedEnd, offset: 2 }
/// );
/// ```
#[must_use]
pub fn parse_line(line: &[u8]) -> Line {
    let mut scanner = LineScanner::new();
    scanner.feed(line);
    scanner.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_takes_what_it_says() {
        for (line, value) in [
            ("0", 0),
            ("42", 42),
            (" \t42\t ", 42),
            ("42\r", 42),
            ("42 \r", 42),
            ("0000000000000000000000000000000000000007", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_line(line.as_bytes()), Line::Value(value), "{line:?}");
        }
        for line in ["", " ", "\t \t", "\r", "  \r"] {
            assert_eq!(parse_line(line.as_bytes()), Line::Blank, "{line:?}");
        }
    }

    #[test]
    fn everything_else_is_malformed_at_its_first_bad_byte() {
        use Malformed::{ExpectedDigit, ExpectedEnd, TooLarge};
        for (line, reason, offset) in [
            ("+5", ExpectedDigit, 0),
            ("-3", ExpectedDigit, 0),
            ("1e3", ExpectedEnd, 1),
            ("1,000", ExpectedEnd, 1),
            ("0x1F", ExpectedEnd, 1),
            ("12abc", ExpectedEnd, 2),
            ("1 2", ExpectedEnd, 2),
            ("1\r ", ExpectedEnd, 2),
            ("\r1", ExpectedEnd, 1),
            ("18446744073709551616", TooLarge, 19),
            ("99999999999999999999999", TooLarge, 19),
            ("\0", ExpectedDigit, 0),
            ("abc", ExpectedDigit, 0),
        ] {
            assert_eq!(parse_line(line.as_bytes()), Line::Malformed { reason, offset }, "{line:?}");
        }
    }
}
