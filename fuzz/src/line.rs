//! The grammar of lines, written down a second time in the plainest way.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Value(u64),
    Blank,
    Malformed,
}

/// A line without its terminator.
pub fn meaning(line: &[u8]) -> Meaning {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let Ok(text) = std::str::from_utf8(line) else { return Meaning::Malformed };
    let text = text.trim_matches([' ', '\t']);
    if text.is_empty() {
        Meaning::Blank
    } else if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let digits = text.trim_start_matches('0');
        let parsed = if digits.is_empty() { Ok(0) } else { digits.parse() };
        parsed.map_or(Meaning::Malformed, Meaning::Value)
    } else {
        Meaning::Malformed
    }
}
