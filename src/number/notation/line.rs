//! Parses one line in any notation. The parser of blocks hands it every line that is not plain, and
//! tests compare that parser with it.

use super::{Digits, MAX_NOTED_BYTES, Notation};
use crate::number::line::{Line, Malformed, parse_line};

impl Notation {
    /// Parses one whole line, given without its terminator. O(length).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::number::{Line, Malformed, Notation};
    ///
    /// let ranges = Notation::DECIMAL.with_ranges();
    /// assert_eq!(ranges.parse_line(b"3 - 40"), Line::Range { first: 3, last: 40 });
    /// assert_eq!(
    ///     ranges.parse_line(b"40-3"),
    ///     Line::Malformed { reason: Malformed::Descending, offset: 3 }
    /// );
    /// ```
    #[must_use]
    pub fn parse_line(self, line: &[u8]) -> Line {
        if self == Self::DECIMAL {
            return parse_line(line);
        }
        if line.len() >= MAX_NOTED_BYTES {
            return Line::Malformed { reason: Malformed::LineTooLong, offset: 0 };
        }
        let mut scan = Scan { notation: self, line, at: 0 };
        match scan.line() {
            Ok(line) => line,
            Err(reason) => Line::Malformed { reason, offset: scan.at as u64 },
        }
    }
}

/// A line that is being read. After a failure, `at` is the place of the first bad byte.
struct Scan<'l> {
    notation: Notation,
    line: &'l [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether only blanks, or a comment, are left.
    fn is_at_end(&self) -> bool {
        match self.peek() {
            None => true,
            Some(b'#' | b';') => self.notation.digits == Digits::Ipv4,
            Some(_) => false,
        }
    }

    /// Refuses text behind the number, range or block.
    fn end(&mut self) -> Result<(), Malformed> {
        if self.is_at_end() {
            return Ok(());
        }
        self.at += usize::from(self.peek() == Some(b'\r'));
        if self.at == self.line.len() { Ok(()) } else { Err(Malformed::ExpectedEnd) }
    }

    fn line(&mut self) -> Result<Line, Malformed> {
        self.skip_blanks();
        if self.is_at_end() || self.peek() == Some(b'\r') {
            return self.end().map(|()| Line::Blank);
        }
        let start = self.at;
        let first = self.number()?;
        let mut last = first;
        if self.notation.digits == Digits::Ipv4 && self.peek() == Some(b'/') {
            last = self.block_of(first, start)?;
            self.skip_blanks();
        } else {
            self.skip_blanks();
            if self.peek() == Some(b'-') {
                last = self.end_of(first)?;
                self.skip_blanks();
            }
        }
        self.end()?;
        Ok(if first == last { Line::Value(first) } else { Line::Range { first, last } })
    }

    fn check_takes_ranges(&self) -> Result<(), Malformed> {
        if self.notation.takes_ranges() { Ok(()) } else { Err(Malformed::ManyValues) }
    }

    /// The last number of a range, behind its first one.
    fn end_of(&mut self, first: u64) -> Result<u64, Malformed> {
        self.check_takes_ranges()?;
        self.at += 1;
        self.skip_blanks();
        let start = self.at;
        let last = self.number()?;
        if last < first {
            self.at = start;
            return Err(Malformed::Descending);
        }
        Ok(last)
    }

    /// The last address of a block whose first one, at `start`, was read.
    fn block_of(&mut self, first: u64, start: usize) -> Result<u64, Malformed> {
        self.check_takes_ranges()?;
        self.at += 1;
        let length = self.small(32, Malformed::PrefixTooLong, Malformed::ExpectedDigit)?;
        let others = u64::from(u32::MAX) >> length;
        if first & others != 0 {
            self.at = start;
            return Err(Malformed::HostBits);
        }
        Ok(first | others)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        match self.notation.digits {
            Digits::Decimal => self.digits(10, Malformed::ExpectedDigit),
            Digits::Hex => {
                if let [b'0', b'x' | b'X', ..] = self.line[self.at..] {
                    self.at += 2;
                }
                self.digits(16, Malformed::ExpectedHexDigit)
            }
            Digits::Ipv4 => self.address(),
        }
    }

    fn digits(&mut self, base: u32, expected: Malformed) -> Result<u64, Malformed> {
        let start = self.at;
        let mut value = 0_u64;
        while let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(base)) {
            let more = value.checked_mul(base.into()).and_then(|v| v.checked_add(digit.into()));
            value = more.ok_or(Malformed::TooLarge)?;
            self.at += 1;
        }
        if self.at == start { Err(expected) } else { Ok(value) }
    }

    fn address(&mut self) -> Result<u64, Malformed> {
        let mut address = 0;
        for octet in 0..4 {
            if octet > 0 {
                if self.peek() != Some(b'.') {
                    return Err(Malformed::ExpectedAddress);
                }
                self.at += 1;
            }
            let octet = self.small(255, Malformed::OctetTooLarge, Malformed::ExpectedAddress)?;
            address = address << 8 | u64::from(octet);
        }
        Ok(address)
    }

    /// A number of up to three digits, up to `most`, without leading zeros.
    fn small(&mut self, most: u32, above: Malformed, none: Malformed) -> Result<u32, Malformed> {
        let start = self.at;
        let mut value = 0;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            value = 10 * value + u32::from(digit - b'0');
            self.at += 1;
            let wrong = match self.line[start] {
                b'0' if self.at > start + 1 => Some(Malformed::LeadingZero),
                _ if value > most => Some(above),
                _ => None,
            };
            if let Some(reason) = wrong {
                self.at = start;
                return Err(reason);
            }
        }
        if self.at == start { Err(none) } else { Ok(value) }
    }
}
