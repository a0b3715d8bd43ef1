//! Amounts of memory and disk as people type and read them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes, typed as `512M`, `2G` or `1048576` and printed alike.
///
/// Suffixes are binary: `K` is 1024 bytes, `M`, `G` and `T` follow. A `B` or
/// `iB` after the suffix and lower-case letters are accepted.
///
/// # Examples
///
/// ```
/// # use bitsort::ByteSize;
/// let size: ByteSize = "2G".parse()?;
/// assert_eq!(size.bytes(), 2 << 30);
/// assert_eq!(size.to_string(), "2.0 GiB");
/// assert_eq!("1.5k".parse::<ByteSize>()?.bytes(), 1536);
/// # Ok::<(), bitsort::ParseByteSizeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteSize(u64);

impl ByteSize {
    /// This many bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// This many mebibytes (2^20 bytes); saturates at 2^64 − 1 bytes.
    #[must_use]
    pub const fn from_mib(mib: u64) -> Self {
        Self(mib.saturating_mul(1 << 20))
    }

    /// The number of bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }
}

/// Why a text is not a [`ByteSize`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a size such as 512M, 2G or 1048576")]
pub struct ParseByteSizeError;

impl FromStr for ByteSize {
    type Err = ParseByteSizeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(digits);
        let shift = match suffix.trim_start().to_ascii_lowercase().as_str() {
            "" | "b" => 0,
            "k" | "kb" | "ki" | "kib" => 10,
            "m" | "mb" | "mi" | "mib" => 20,
            "g" | "gb" | "gi" | "gib" => 30,
            "t" | "tb" | "ti" | "tib" => 40,
            "p" | "pb" | "pi" | "pib" => 50,
            "e" | "eb" | "ei" | "eib" => 60,
            _ => return Err(ParseByteSizeError),
        };
        let unit = 1_u64 << shift;
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).map(Self).ok_or(ParseByteSizeError);
        }
        let number: f64 = number.parse().map_err(|_| ParseByteSizeError)?;
        #[expect(clippy::cast_precision_loss, reason = "a fraction of a unit needs no more digits")]
        let bytes = number * unit as f64;
        #[expect(clippy::cast_precision_loss, reason = "the bound of the type, rounded up")]
        if !(0.0..u64::MAX as f64).contains(&bytes) {
            return Err(ParseByteSizeError);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked above"
        )]
        Ok(Self(bytes as u64))
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let mut exponent = self.0.ilog2() / 10; // at most 6
        #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
        let mut amount = self.0 as f64 / (1_u64 << (10 * exponent)) as f64;
        if amount >= 1023.95 && exponent < 6 {
            // It would be shown as 1024.0.
            (exponent, amount) = (exponent + 1, amount / 1024.0);
        }
        write!(f, "{amount:.1} {}", UNITS[exponent as usize - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_are_binary_and_case_does_not_matter() {
        for (text, bytes) in [
            ("0", 0),
            ("7", 7),
            ("1k", 1024),
            ("64M", 64 << 20),
            ("2GiB", 2 << 30),
            ("1T", 1 << 40),
            ("1.5 GiB", 3 << 29),
            ("2.5 PiB", 5 << 49),
            ("512Mi", 512 << 20),
        ] {
            assert_eq!(text.parse::<ByteSize>().unwrap().bytes(), bytes, "{text}");
        }
    }

    #[test]
    fn every_size_is_named() {
        for (bytes, text) in [
            (1023, "1023 B"),
            ((1 << 20) - 1, "1.0 MiB"),
            (3 << 19, "1.5 MiB"),
            (5 << 49, "2.5 PiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(ByteSize::from_bytes(bytes).to_string(), text);
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in ["", "G", "-1", "1X", "1.2.3M", "99999999999999T", "1e3", "."] {
            assert_eq!(text.parse::<ByteSize>(), Err(ParseByteSizeError), "{text}");
        }
    }
}
