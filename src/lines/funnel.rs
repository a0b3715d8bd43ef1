//! Turns the text of a key into the bytes that a filter hashes.
//!
//! Programs that share a filter must use the same way. Guava calls it a funnel.

use crate::bloom::guava;
use std::str;

/// How the text of a key becomes the bytes that are hashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Funnel {
    /// The bytes of the text.
    #[default]
    Bytes,
    /// The 8 bytes of the number.
    Long,
    /// The 4 bytes of the number.
    Int,
    /// The bytes of the UTF-16 code units of the text.
    Chars,
}

impl Funnel {
    /// The texts that the funnel takes, in words.
    #[must_use]
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Bytes => "a text",
            Self::Long => "an integer of 64 bits, -2^63 to 2^63 - 1",
            Self::Int => "an integer of 32 bits, -2^31 to 2^31 - 1",
            Self::Chars => "a text of UTF-8",
        }
    }

    /// The bytes of a key that filters hash; none if the text has a wrong form.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::lines::Funnel;
    ///
    /// assert_eq!(Funnel::Int.key(b"-2").as_deref(), Some(&[0xFE, 0xFF, 0xFF, 0xFF][..]));
    /// assert_eq!(Funnel::Int.key(b"2x"), None);
    /// ```
    #[must_use]
    pub fn key(self, text: &[u8]) -> Option<Vec<u8>> {
        let mut key = Vec::new();
        self.push(text, &mut key)?;
        Some(key)
    }

    fn push(self, text: &[u8], keys: &mut Vec<u8>) -> Option<()> {
        match self {
            Self::Bytes => keys.extend_from_slice(text),
            Self::Long => keys.extend(guava::long(digits(text)?.parse().ok()?)),
            Self::Int => keys.extend(guava::int(digits(text)?.parse().ok()?)),
            Self::Chars => keys.extend(guava::unencoded_chars(str::from_utf8(text).ok()?)),
        }
        Some(())
    }

    /// Calls `take` with the bytes of each key.
    ///
    /// # Errors
    ///
    /// The index of the first text that has a wrong form.
    pub(crate) fn keys<R>(
        self,
        texts: &[&[u8]],
        take: impl FnOnce(&[&[u8]]) -> R,
    ) -> Result<R, usize> {
        if self == Self::Bytes {
            return Ok(take(texts));
        }
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(texts.len()));
        for (index, text) in texts.iter().enumerate() {
            self.push(text, &mut bytes).ok_or(index)?;
            ends.push(bytes.len());
        }
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let keys: Vec<&[u8]> = starts.zip(&ends).map(|(start, &end)| &bytes[start..end]).collect();
        Ok(take(&keys))
    }
}

/// The text, if it is digits with or without a minus. `+5` is not.
fn digits(text: &[u8]) -> Option<&str> {
    str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_what_java_hashes() {
        for (funnel, text, expected) in [
            (Funnel::Bytes, "5", Some(&b"5"[..])),
            (Funnel::Bytes, "", Some(b"")),
            (Funnel::Long, "5", Some(b"\x05\0\0\0\0\0\0\0")),
            (Funnel::Long, "-2", Some(b"\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF")),
            (Funnel::Long, "9223372036854775807", Some(b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F")),
            (Funnel::Long, "9223372036854775808", None),
            (Funnel::Long, "+5", None),
            (Funnel::Long, "", None),
            (Funnel::Int, "-2147483648", Some(b"\0\0\0\x80")),
            (Funnel::Int, "2147483648", None),
            (Funnel::Int, " 5", None),
            (Funnel::Chars, "aä", Some(b"a\0\xE4\0")),
            (Funnel::Chars, "𝄞", Some(b"\x34\xD8\x1E\xDD")),
        ] {
            assert_eq!(funnel.key(text.as_bytes()).as_deref(), expected, "{funnel:?} {text}");
        }
        assert_eq!(Funnel::Chars.key(b"\xFF"), None);
    }

    #[test]
    fn many_keys_are_those_of_each() {
        let texts: Vec<&[u8]> = vec![b"1", b"22", b"", b"-3"];
        for funnel in [Funnel::Bytes, Funnel::Chars, Funnel::Long] {
            let many = funnel.keys(&texts, |keys| keys.iter().map(|key| key.to_vec()).collect());
            let each: Option<Vec<Vec<u8>>> = texts.iter().map(|text| funnel.key(text)).collect();
            assert_eq!(many, each.ok_or(2), "{funnel:?}");
        }
    }
}
