//! One column of delimited text, quoted as in RFC 4180.
//!
//! A field that begins with `"` ends at the next `"` that is not doubled, and
//! may hold delimiters and terminators. Behind it stand a delimiter, a
//! terminator or the end, but for carriage returns. Where other text stands
//! there, or the quote is never closed, the record is *broken*, whichever of its
//! fields is wanted: nobody can tell which terminators were meant to be in
//! quotes. It is rejected as its first line alone, and the next line begins
//! another record. A `"` inside of a field that does not begin with one is an
//! ordinary byte, as in `6" pipe`.

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

/// One field.
enum Field {
    /// Its content, without quotes, and where the byte behind it is.
    Whole(Range<usize>, Option<usize>),
    /// Its quote is not closed.
    Open,
    /// Text stands behind its closing quote.
    Broken,
}

/// How a record ends.
enum End {
    /// With the terminator here.
    At(usize),
    /// With the bytes, outside of quotes.
    Bytes,
    /// With the bytes, inside of quotes.
    Open,
    Broken,
}

/// Where fields of broken records begin, behind their first lines: a record that
/// has a field there goes on as they did. So no field is read again for each
/// line of them.
#[derive(Default)]
struct Dead(Vec<u64>);

impl Dead {
    fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn add(&mut self, at: usize) {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        self.0[at / 64] |= 1 << (at % 64);
    }
}

impl Selector {
    /// Position behind the last complete record of `bytes`, which begin with a
    /// record. A broken record is complete with its first line.
    pub(crate) fn complete(&self, bytes: &[u8]) -> Option<usize> {
        if !bytes.contains(&b'"') {
            return bytes.iter().rposition(|&byte| byte == self.terminator).map(|last| last + 1);
        }
        let mut dead = Dead::default();
        let mut complete = None;
        let mut at = 0;
        loop {
            let end = match self.walk(bytes, at, &dead, |_, _| ()) {
                End::At(end) => Some(end),
                End::Broken => self.bury(bytes, at, &mut dead),
                End::Bytes | End::Open => None,
            };
            let Some(end) = end else { return complete };
            at = end + 1;
            complete = Some(at);
        }
    }

    /// The field at `start`.
    fn field(&self, bytes: &[u8], start: usize) -> Field {
        let stops = |byte: &u8| *byte == self.delimiter || *byte == self.terminator;
        if bytes.get(start) != Some(&b'"') {
            let stop = bytes[start..].iter().position(stops).map(|length| start + length);
            return Field::Whole(start..stop.unwrap_or(bytes.len()), stop);
        }
        let mut at = start + 1;
        loop {
            let Some(quote) = bytes[at..].iter().position(|&byte| byte == b'"') else {
                return Field::Open;
            };
            at += quote + 1;
            if bytes.get(at) != Some(&b'"') {
                break;
            }
            at += 1;
        }
        let behind = |byte: &u8| stops(byte) || *byte != b'\r';
        let stop = bytes[at..].iter().position(behind).map(|length| at + length);
        match stop {
            Some(stop) if !stops(&bytes[stop]) => Field::Broken,
            stop => Field::Whole(start + 1..at - 1, stop),
        }
    }

    /// Gives `each` the fields of the record at `start`, and their numbers (from 0).
    fn walk(
        &self,
        bytes: &[u8],
        start: usize,
        dead: &Dead,
        mut each: impl FnMut(usize, Range<usize>),
    ) -> End {
        let mut at = start;
        let mut number = 0;
        while !dead.has(at) {
            match self.field(bytes, at) {
                Field::Whole(content, stop) => {
                    each(number, content);
                    match stop {
                        None => return End::Bytes,
                        Some(stop) if bytes[stop] == self.terminator => return End::At(stop),
                        Some(stop) => at = stop + 1,
                    }
                }
                Field::Open => return End::Open,
                Field::Broken => return End::Broken,
            }
            number += 1;
        }
        End::Broken
    }

    /// Where the first line of the broken record at `start` ends, whose fields
    /// behind it are kept in mind.
    fn bury(&self, bytes: &[u8], start: usize, dead: &mut Dead) -> Option<usize> {
        let end = start + bytes[start..].iter().position(|&byte| byte == self.terminator)?;
        let mut at = start;
        while !dead.has(at) {
            if at > end {
                dead.add(at);
            }
            match self.field(bytes, at) {
                Field::Whole(_, Some(stop)) if bytes[stop] != self.terminator => at = stop + 1,
                _ => break,
            }
        }
        Some(end)
    }

    /// The record at `start` of bytes behind which no more of it comes.
    fn record(&self, bytes: &[u8], start: usize, index: usize, dead: &mut Dead) -> Record {
        let mut field = Err(Malformed::MissingField);
        let end = self.walk(bytes, start, dead, |number, content| {
            if number == index {
                field = Ok(content);
            }
        });
        match end {
            End::At(end) => Record { end, field },
            End::Bytes => Record { end: bytes.len(), field },
            End::Open | End::Broken => {
                let end = self.bury(bytes, start, dead).unwrap_or(bytes.len());
                Record { end, field: Err(Malformed::BadQuote) }
            }
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
        self.walk(header, 0, &Dead::default(), |index, content| {
            if header[content].trim_ascii() == name {
                named.push(index);
            }
        });
        if let [index] = named[..] { Ok(index) } else { Err(named.len()) }
    }

    /// The first record of `bytes`, without its terminator.
    pub(crate) fn first_record<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        &bytes[..self.record(bytes, 0, 0, &mut Dead::default()).end]
    }

    /// The records of `bytes` in order, each with what its field `index` is.
    /// Offsets of malformed fields count from the start of the record.
    pub(crate) fn records<'b>(
        &'b self,
        bytes: &'b [u8],
        index: usize,
    ) -> impl Iterator<Item = (Range<usize>, Line)> + 'b {
        let mut at = 0;
        let mut dead = Dead::default();
        std::iter::from_fn(move || {
            if at >= bytes.len() {
                return None;
            }
            let start = at;
            let record = self.record(bytes, start, index, &mut dead);
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
        assert_eq!(lines("1,\"b\n2\n", 0), [bad_quote, Line::Value(2)]);
    }

    #[test]
    fn a_broken_record_costs_its_first_line_wherever_it_is_broken() {
        let bad_quote = Line::Malformed { reason: Malformed::BadQuote, offset: 0 };
        let text = "1,\"5 in\n2,x\n3,6\" pipe\n4,y\n";
        let values = [2, 3, 4].map(Line::Value);
        let expected = [&[bad_quote], &values[..]].concat();
        assert_eq!(lines(text, 0), expected);
        assert_eq!(lines("1,x,\"a\nb\" c\n2\n", 0)[0], bad_quote);
        assert_eq!(lines("1\n2,\"\"3\n4,\"\r\r\"\r\n", 0)[1], bad_quote);
        let selector = selector(Column::Number(1));
        assert_eq!(selector.complete(b"1,\"a\n2,\"b"), Some(5));
        assert_eq!(selector.complete(b"1,\"a\n2,\""), None);
        assert_eq!(selector.complete(b"1,\"a\" b"), None);
    }

    #[test]
    fn lines_that_are_broken_at_the_same_place_are_read_in_no_time() {
        let count = 100_000;
        for tail in ["\"x\"y\n", "\"x"] {
            let text = "7\",\"\n".repeat(count).replacen("7\"", "\"7\"", 1) + tail;
            let found = lines(&text, 0);
            assert_eq!(found.len(), count + 1);
            let is_bad = |line: &Line| matches!(line, Line::Malformed { .. });
            assert!(found.iter().all(is_bad));
            let selector = selector(Column::Number(1));
            let last = text.rfind('\n').map(|at| at + 1);
            assert!(tail.ends_with('x') || selector.complete(text.as_bytes()) == last);
        }
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
