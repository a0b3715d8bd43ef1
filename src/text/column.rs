//! One column of delimited text, quoted as in RFC 4180.
//!
//! A field that begins with `"` ends at the next `"` that is not doubled, and
//! may hold delimiters and terminators. A `"` anywhere else is an ordinary
//! byte, so that a stray one spoils its own field and no more.

use super::line::{Line, Malformed, parse_line};
use std::ops::Range;

/// Which column of delimited text carries the numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// The n-th field, counted from 1.
    Number(usize),
    /// The field that the first line of each input calls so.
    Name(String),
}

/// How to find the numbers in delimited text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    /// Which field.
    pub(crate) column: Column,
    /// Between fields.
    pub(crate) delimiter: u8,
    /// Ends a record.
    pub(crate) terminator: u8,
}

/// One record: where it lies, without its terminator, and where its field does.
#[derive(Debug, PartialEq, Eq)]
struct Record {
    end: usize,
    field: Result<Range<usize>, Malformed>,
}

impl Selector {
    /// Position behind the last complete record of `bytes`, which begin with a
    /// record.
    pub(crate) fn complete(&self, bytes: &[u8]) -> Option<usize> {
        if !bytes.contains(&b'"') {
            return bytes.iter().rposition(|&byte| byte == self.terminator).map(|last| last + 1);
        }
        let mut complete = None;
        let mut at = 0;
        while let Some(end) = self.record_end(bytes, at) {
            at = end + 1;
            complete = Some(at);
        }
        complete
    }

    /// Where the record that begins at `start` ends; `None` if it is incomplete.
    fn record_end(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        loop {
            let field = self.field(bytes, at);
            let stop = field.stop?;
            if bytes[stop] == self.terminator {
                return Some(stop);
            }
            at = stop + 1;
        }
    }

    /// The field at `start` and the byte that stops it.
    fn field(&self, bytes: &[u8], start: usize) -> Field {
        let stops = |byte: &u8| *byte == self.delimiter || *byte == self.terminator;
        let mut content_end = None;
        let mut at = start;
        if bytes.get(start) == Some(&b'"') {
            at += 1;
            loop {
                let Some(quote) = bytes[at..].iter().position(|&byte| byte == b'"') else {
                    return Field { content: Err(Malformed::BadQuote), stop: None };
                };
                at += quote + 1;
                if bytes.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
            content_end = Some(at - 1);
        }
        let stop = bytes[at..].iter().position(stops).map(|length| at + length);
        let end = stop.unwrap_or(bytes.len());
        let content = match content_end {
            None => Ok(start..end),
            Some(close) if bytes[at..end].iter().all(|&byte| byte == b'\r') => Ok(start + 1..close),
            Some(_) => Err(Malformed::BadQuote),
        };
        Field { content, stop }
    }

    fn record(&self, bytes: &[u8], start: usize, index: usize) -> Record {
        let mut at = start;
        let mut wanted = Err(Malformed::MissingField);
        for number in 0.. {
            let Field { content, stop } = self.field(bytes, at);
            if number == index {
                wanted = content;
            }
            match stop {
                Some(stop) if bytes[stop] != self.terminator => at = stop + 1,
                Some(stop) => return Record { end: stop, field: wanted },
                None => break,
            }
        }
        // A quote that is never closed costs its own line, not all that follow.
        let rest = bytes[at..].iter().position(|&byte| byte == self.terminator);
        match rest {
            Some(length) => {
                Record { end: at + length, field: wanted.map_err(|_| Malformed::BadQuote) }
            }
            None => Record { end: bytes.len(), field: wanted },
        }
    }

    /// Number (from 0) of the wanted field, given the first record of an input;
    /// or how many fields have its name, if that is not one.
    pub(crate) fn index(&self, header: &[u8]) -> Result<usize, usize> {
        let name = match &self.column {
            Column::Number(number) => return number.checked_sub(1).ok_or(0),
            Column::Name(name) => name.as_bytes(),
        };
        let mut named = Vec::new();
        let mut at = 0;
        for index in 0.. {
            let Field { content, stop } = self.field(header, at);
            if content.map(|range| header[range].trim_ascii()) == Ok(name) {
                named.push(index);
            }
            match stop {
                Some(stop) if header[stop] != self.terminator => at = stop + 1,
                _ => break,
            }
        }
        if let [index] = named[..] { Ok(index) } else { Err(named.len()) }
    }

    /// The first record of `bytes`, without its terminator.
    pub(crate) fn first_record<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[..self.record_end(bytes, 0).unwrap_or(bytes.len())]
    }

    /// The records of `bytes` in order, each with what its field `index` is.
    /// Offsets of malformed fields count from the start of the record.
    pub(crate) fn records<'b>(
        &'b self,
        bytes: &'b [u8],
        index: usize,
    ) -> impl Iterator<Item = (Range<usize>, Line)> + 'b {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at >= bytes.len() {
                return None;
            }
            let start = at;
            let record = self.record(bytes, start, index);
            at = record.end + 1;
            let line = &bytes[start..record.end];
            let found = match record.field {
                _ if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) => Line::Blank,
                Err(reason) => Line::Malformed { reason, offset: 0 },
                Ok(field) => match parse_line(&bytes[field.clone()]) {
                    Line::Malformed { reason, offset } => {
                        Line::Malformed { reason, offset: offset + (field.start - start) as u64 }
                    }
                    other => other,
                },
            };
            Some((start..record.end, found))
        })
    }
}

/// A field's content, without quotes, and where the byte behind it is.
struct Field {
    content: Result<Range<usize>, Malformed>,
    stop: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(column: Column) -> Selector {
        Selector { column, delimiter: b',', terminator: b'\n' }
    }

    fn lines(text: &str, index: usize) -> Vec<Line> {
        let selector = selector(Column::Number(index + 1));
        selector.records(text.as_bytes(), index).map(|(_, line)| line).collect()
    }

    #[test]
    fn fields_are_found_with_and_without_quotes() {
        let text = "a,1\n\"b,\"\"x\",\"2\"\n\"c\nd\",3,e\r\n\n";
        let expected = [Line::Value(1), Line::Value(2), Line::Value(3), Line::Blank];
        assert_eq!(lines(text, 1), expected);
        assert_eq!(selector(Column::Number(2)).complete(text.as_bytes()), Some(text.len()));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_in_the_record() {
        let malformed = |reason, offset| Line::Malformed { reason, offset };
        assert_eq!(lines("a\n", 1), [malformed(Malformed::MissingField, 0)]);
        assert_eq!(lines("ab,x1\n", 1), [malformed(Malformed::ExpectedDigit, 3)]);
        assert_eq!(lines("ab,\"1\"2\n", 1), [malformed(Malformed::BadQuote, 0)]);
        assert_eq!(lines("ab,\"12\n", 1), [malformed(Malformed::BadQuote, 0)]);
        assert_eq!(lines("ab,\n", 1), [Line::Blank]);
        assert_eq!(lines("5\" pipe,7\n", 1), [Line::Value(7)]);
        let bad_quote = malformed(Malformed::BadQuote, 0);
        assert_eq!(lines("1\n\"b\n2\n", 0), [Line::Value(1), bad_quote, Line::Value(2)]);
        assert_eq!(lines("1,\"b\n2\n", 0), [Line::Value(1), Line::Value(2)]);
    }

    #[test]
    fn an_incomplete_record_is_left_for_later() {
        let selector = selector(Column::Number(1));
        assert_eq!(selector.complete(b"1,2\n3,\"4\n5\n"), Some(4));
        assert_eq!(selector.complete(b"1,2"), None);
    }

    #[test]
    fn a_column_is_found_by_its_name() {
        let selector = selector(Column::Name("id".into()));
        assert_eq!(selector.index(b"name, \"x\" ,id\r"), Ok(2));
        assert_eq!(selector.index(b"\"id\",name"), Ok(0));
        assert_eq!(selector.index(b"idx,name"), Err(0));
        assert_eq!(selector.index(b"id,name,\"id\""), Err(2));
    }
}
