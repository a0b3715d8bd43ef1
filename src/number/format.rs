//! The formats in which values are read and written: their names, and how values are written in them.

use super::Notation;
use crate::kernel::decimal::{self, Low, MAX_LINE, SLACK};
use std::fmt;
use std::str::FromStr;

/// How natural numbers lie in a file or stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Format {
    /// Decimal digits, one number a line (the grammar is in [`number`](crate::number)).
    #[default]
    Text,
    /// 4 bytes a value, least significant byte first.
    U32Le,
    /// 4 bytes a value, most significant byte first.
    U32Be,
    /// 8 bytes a value, least significant byte first.
    U64Le,
    /// 8 bytes a value, most significant byte first.
    U64Be,
    /// Text in another notation than decimal.
    Noted(Notation),
}

impl Format {
    /// Every format but those in other notations, in the order in which help texts list them.
    pub const ALL: [Self; 5] = [Self::Text, Self::U32Le, Self::U32Be, Self::U64Le, Self::U64Be];

    /// Text in this notation.
    #[must_use]
    pub fn text_in(notation: Notation) -> Self {
        if notation == Notation::DECIMAL { Self::Text } else { Self::Noted(notation) }
    }

    /// The notation of text; `None` for binary values.
    #[must_use]
    pub const fn notation(self) -> Option<Notation> {
        match self {
            Self::Text => Some(Notation::DECIMAL),
            Self::Noted(notation) => Some(notation),
            Self::U32Le | Self::U32Be | Self::U64Le | Self::U64Be => None,
        }
    }

    /// Whether it is text in any notation.
    #[must_use]
    pub const fn is_text(self) -> bool {
        self.notation().is_some()
    }

    /// Bytes of each value; `None` for text, whose lines differ in length.
    #[must_use]
    pub const fn value_bytes(self) -> Option<usize> {
        match self {
            Self::Text | Self::Noted(_) => None,
            Self::U32Le | Self::U32Be => Some(4),
            Self::U64Le | Self::U64Be => Some(8),
        }
    }

    /// Largest value that the format can hold.
    #[must_use]
    pub const fn max_value(self) -> u64 {
        match self {
            Self::U32Le | Self::U32Be => u32::MAX as u64,
            Self::Text | Self::U64Le | Self::U64Be => u64::MAX,
            Self::Noted(notation) => notation.max_value(),
        }
    }

    /// The name used on the command line, in Python, and in messages. It parses to the format.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::U32Le => "u32le",
            Self::U32Be => "u32be",
            Self::U64Le => "u64le",
            Self::U64Be => "u64be",
            Self::Noted(notation) => notation.name(),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text names no [`Format`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected one of {}, or of text: {}",
    Format::ALL[1..].iter().map(|format| format.name()).collect::<Vec<_>>().join(", "),
    Notation::ALL.map(Notation::name).join(", ")
)]
pub struct ParseFormatError;

impl FromStr for Format {
    type Err = ParseFormatError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut all = Self::ALL.into_iter().chain(Notation::ALL.map(Self::text_in));
        all.find(|format| format.name() == text).ok_or(ParseFormatError)
    }
}

impl Format {
    /// Number of values for which [`encode`](Self::encode) needs at most `room` bytes.
    pub(crate) const fn fitting(self, room: usize) -> usize {
        room.saturating_sub(SLACK) / self.most_bytes()
    }

    const fn most_bytes(self) -> usize {
        match self.value_bytes() {
            Some(width) => width,
            None => MAX_LINE,
        }
    }

    /// Writes `base + low` of all `lows`, sorted up or down, to the front of `out`; gives the
    /// number of bytes. Lines end in `terminator`.
    ///
    /// # Errors
    ///
    /// The first value that is too large for the format.
    ///
    /// # Panics
    ///
    /// If `out` is too short for so many values: see [`fitting`](Self::fitting).
    pub(crate) fn encode<L: Low>(
        self,
        base: u64,
        lows: &[L],
        terminator: u8,
        out: &mut [u8],
    ) -> Result<usize, u64> {
        match self {
            Self::Text => Ok(decimal::lines(base, lows, terminator, out)),
            Self::Noted(notation) => notation.encode(base, lows, terminator, out),
            Self::U32Le => narrow(base, lows, out, u32::to_le_bytes),
            Self::U32Be => narrow(base, lows, out, u32::to_be_bytes),
            Self::U64Le => Ok(wide(base, lows, out, u64::to_le_bytes)),
            Self::U64Be => Ok(wide(base, lows, out, u64::to_be_bytes)),
        }
    }
}

fn wide<L: Low>(base: u64, lows: &[L], out: &mut [u8], bytes: fn(u64) -> [u8; 8]) -> usize {
    let slots = &mut out.as_chunks_mut().0[..lows.len()];
    for (slot, low) in slots.iter_mut().zip(lows) {
        *slot = bytes(base + low.widen());
    }
    8 * lows.len()
}

fn narrow<L: Low>(
    base: u64,
    lows: &[L],
    out: &mut [u8],
    bytes: fn(u32) -> [u8; 4],
) -> Result<usize, u64> {
    let slots = &mut out.as_chunks_mut().0[..lows.len()];
    for (slot, low) in slots.iter_mut().zip(lows) {
        let value = base + low.widen();
        *slot = bytes(u32::try_from(value).map_err(|_| value)?);
    }
    Ok(4 * lows.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_to_its_format() {
        for format in Format::ALL.into_iter().chain(Notation::ALL.map(Format::text_in)) {
            assert_eq!(format.name().parse(), Ok(format));
            assert!(ParseFormatError.to_string().contains(format.name()));
        }
        assert_eq!("text".parse(), Ok(Format::Text));
        assert_eq!("u16le".parse::<Format>(), Err(ParseFormatError));
    }

    #[test]
    fn every_format_has_the_values_in_its_bytes() {
        let lows = [0_u32, 1, 300];
        for (format, expected) in [
            (Format::Text, &b"7\n8\n307\n"[..]),
            (Format::U32Le, b"\x07\0\0\0\x08\0\0\0\x33\x01\0\0"),
            (Format::U32Be, b"\0\0\0\x07\0\0\0\x08\0\0\x01\x33"),
            (Format::U64Le, b"\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\x33\x01\0\0\0\0\0\0"),
            (Format::U64Be, b"\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\x01\x33"),
        ] {
            let mut out = vec![0; SLACK + lows.len() * format.most_bytes()];
            assert_eq!(format.fitting(out.len()), lows.len());
            let len = format.encode(7, &lows, b'\n', &mut out).unwrap();
            assert_eq!(&out[..len], expected, "{format}");
        }
        let base = u64::from(u32::MAX) - 1;
        let mut out = [0; 64];
        assert_eq!(Format::U32Le.encode(base, &lows, b'\n', &mut out), Err(base + 300));
    }
}
