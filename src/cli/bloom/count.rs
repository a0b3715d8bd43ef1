//! Parses numbers of keys.

use std::str::FromStr;

/// A number of keys: digits, maybe with K, M, G or T for powers of a thousand, or in the form 1e9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl FromStr for Count {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected a number such as 1000000, 50M or 1e9";
        let (number, unit) = match text.chars().last().map(|last| last.to_ascii_uppercase()) {
            Some('K') => (&text[..text.len() - 1], 1_000),
            Some('M') => (&text[..text.len() - 1], 1_000_000),
            Some('G') => (&text[..text.len() - 1], 1_000_000_000),
            Some('T') => (&text[..text.len() - 1], 1_000_000_000_000),
            _ => (text, 1_u64),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).map(Self).ok_or(WRONG);
        }
        if !number.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return Err(WRONG);
        }
        let real: f64 = number.parse().map_err(|_| WRONG)?;
        #[expect(clippy::cast_precision_loss, reason = "units are exact")]
        let real = real * unit as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        if (0.0..1.8e19).contains(&real) && real.fract() == 0.0 {
            Ok(Self(real as u64))
        } else {
            Err(WRONG)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_typed_in_several_ways() {
        for (text, count) in
            [("0", 0), ("7", 7), ("50M", 50_000_000), ("1e9", 1_000_000_000), ("1.5k", 1500)]
        {
            assert_eq!(text.parse(), Ok(Count(count)), "{text}");
        }
        for text in ["", "-1", "M", "1.5", "1e30", "inf", "NaN", "ä", "99T9", "99999999999T"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }
}
