//! How people read and type keys.

use std::fmt;

/// The text of a key on a line: plain text as it is, and any other key in quotation marks with
/// escapes. So two keys never have the same text.
///
/// Between quotation marks all is ASCII, and `\"`, `\\`, `\t`, `\n`, `\r` and `\xHH` stand for
/// bytes.
///
/// # Examples
///
/// ```
/// use bitsort::set::keyed::KeyName;
///
/// assert_eq!(KeyName(b"tokyo").to_string(), "tokyo");
/// assert_eq!(KeyName(b"a\tb\xFF").to_string(), r#""a\tb\xFF""#);
/// assert_eq!(KeyName::parse(r#""a\tb\xFF""#.as_bytes()).unwrap(), b"a\tb\xFF");
/// assert_eq!(KeyName::parse(b"tokyo").unwrap(), b"tokyo");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct KeyName<'a>(pub &'a [u8]);

impl KeyName<'_> {
    /// The key of a typed text; none if it has wrong escapes in quotation marks.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Vec<u8>> {
        match text {
            [b'"', inside @ ..] => match unquoted(inside)? {
                (key, []) => Some(key),
                _ => None,
            },
            _ => Some(text.to_vec()),
        }
    }

    fn is_plain(text: &str) -> bool {
        !text.is_empty()
            && !text.starts_with('"')
            && !text.starts_with(char::is_whitespace)
            && !text.ends_with(char::is_whitespace)
            && !text.contains(char::is_control)
            && !text.contains(|c: char| c.is_whitespace() && c != ' ')
    }
}

/// The key before the closing quotation mark, and the bytes behind the mark.
pub(crate) fn unquoted(mut text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut key = Vec::new();
    loop {
        (text, ()) = match text {
            [b'"', rest @ ..] => return Some((key, rest)),
            [b'\\', b'x', high, low, rest @ ..] => {
                let digit = |digit: &u8| char::from(*digit).to_digit(16);
                let byte = digit(high).zip(digit(low)).map(|(high, low)| high << 4 | low);
                (rest, key.push(byte.and_then(|byte| u8::try_from(byte).ok())?))
            }
            [b'\\', b't', rest @ ..] => (rest, key.push(b'\t')),
            [b'\\', b'n', rest @ ..] => (rest, key.push(b'\n')),
            [b'\\', b'r', rest @ ..] => (rest, key.push(b'\r')),
            [b'\\', byte @ (b'"' | b'\\'), rest @ ..] => (rest, key.push(*byte)),
            [] | [b'\\', ..] => return None,
            [byte, rest @ ..] => (rest, key.push(*byte)),
        };
    }
}

impl fmt::Display for KeyName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Ok(text) = str::from_utf8(self.0)
            && Self::is_plain(text)
        {
            return f.write_str(text);
        }
        f.write_str("\"")?;
        for &byte in self.0 {
            match byte {
                b'"' => f.write_str("\\\""),
                b'\\' => f.write_str("\\\\"),
                b'\t' => f.write_str("\\t"),
                b'\n' => f.write_str("\\n"),
                b'\r' => f.write_str("\\r"),
                b' '..=b'~' => write!(f, "{}", char::from(byte)),
                _ => write!(f, "\\x{byte:02X}"),
            }?;
        }
        f.write_str("\"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_key_is_read_back_as_it_is_written(key in prop::collection::vec(
            prop_oneof![any::<u8>(), prop::sample::select(b"a \"\\\t\nx0".to_vec())], 0..12,
        )) {
            let shown = KeyName(&key).to_string();
            prop_assert!(!shown.contains(['\t', '\n']));
            prop_assert_eq!(KeyName::parse(shown.as_bytes()), Some(key));
        }
    }

    #[test]
    fn half_an_escape_is_no_key() {
        for text in [r#"""#, r#""a"#, r#""\""#, r#""\q""#, r#""\x1""#, r#""a"b"#, r#""a" "#] {
            assert_eq!(KeyName::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(KeyName::parse(b"a\\n\""), Some(b"a\\n\"".to_vec()));
    }
}
