//! One column of delimited text, quoted as in RFC 4180.
//!
//! A field that begins with `"` ends at the next `"` that is not doubled, and
//! may hold delimiters and terminators. Behind it stand a delimiter, a
//! terminator or the end, but for carriage returns. Where other text stands
//! there, or the quote is never closed, or the record has several lines and more
//! than [`MAX_RECORD_BYTES`], it is *broken*, whichever of its fields is wanted:
//! nobody can tell which terminators were meant to be in quotes. It is rejected
//! as its first line alone, and the next line begins another record. A `"` inside of a field that does not begin with one is an
//! ordinary byte, as in `6" pipe`.

use super::Notation;
use super::line::{Line, Malformed};
use crate::kernel::steps;
use std::ops::Range;

/// Longest record of several lines: a longer one has a quote that is never closed.
pub(crate) const MAX_RECORD_BYTES: usize = 1 << 20;

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
    /// How numbers are written.
    pub(crate) notation: Notation,
}

/// One record: where it lies, without its terminator, and where the wanted fields do.
#[derive(Debug, PartialEq, Eq)]
struct Record<const N: usize> {
    end: usize,
    fields: Result<[Range<usize>; N], Malformed>,
}

/// One field.
enum Field {
    /// Its content, without quotes, and where the byte behind it is.
    Whole(Range<usize>, Option<usize>),
    /// Its quote is not closed.
    Open,
    /// Text stands behind its closing quote, here.
    Broken(usize),
    /// Its quote is not closed at a line end that [`Ahead`] knows of.
    Known,
}

/// How a record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// With the terminator here.
    At(usize),
    /// With the bytes, outside of quotes.
    Bytes,
    /// With the bytes, inside of quotes.
    Open,
    /// Here text stands behind a closing quote.
    Broken(usize),
}

/// How the record goes on that was followed farthest.
///
/// A record that is inside of quotes at a line end goes on like every other record that is
/// inside of quotes there, wherever the two began. A record that is rejected costs its first
/// line, and each of its other lines begins a record again: these need not be followed to
/// where the first one ended.
#[derive(Clone, Copy)]
struct Ahead {
    /// Line ends before it were inside of quotes, from the second line of that record on.
    reach: usize,
    end: End,
}

impl End {
    /// Where the record was followed to.
    fn reach(self, bytes: &[u8]) -> usize {
        match self {
            Self::At(at) | Self::Broken(at) => at,
            Self::Bytes | Self::Open => bytes.len(),
        }
    }
}

impl Ahead {
    /// Before the first record.
    fn nothing() -> Self {
        Self { reach: 0, end: End::Bytes }
    }
}

impl Selector {
    /// Position behind the last complete record of `bytes`, which begin with a record. A
    /// rejected record is complete with its first line. Behind it are at most `limit`
    /// bytes, or one line: a record of several lines that has more bytes is rejected.
    ///
    /// O(bytes).
    pub(crate) fn complete(&self, bytes: &[u8], limit: usize) -> Option<usize> {
        if !bytes.contains(&b'"') {
            return bytes.iter().rposition(|&byte| byte == self.terminator).map(|last| last + 1);
        }
        let mut ahead = Ahead::nothing();
        let mut complete = None;
        let mut at = 0;
        loop {
            let end = match self.end(bytes, at, &mut ahead, |_, _| ()).0 {
                End::At(end) if end - at <= limit => Some(end),
                End::Bytes | End::Open if bytes.len() - at <= limit => None,
                _ => self.line_end(bytes, at),
            };
            let Some(end) = end else { return complete };
            at = end + 1;
            complete = Some(at);
        }
    }

    /// The field at `start`; `reach` is that of an [`Ahead`].
    fn field(&self, bytes: &[u8], start: usize, reach: usize) -> Field {
        let stops = |byte: &u8| *byte == self.delimiter || *byte == self.terminator;
        if bytes.get(start) != Some(&b'"') {
            let stop = bytes[start..].iter().position(stops).map(|length| start + length);
            return Field::Whole(start..stop.unwrap_or(bytes.len()), stop);
        }
        let mut at = start + 1;
        let mut asks = true; // what is known of the first line end
        loop {
            let ends = |byte: &u8| *byte == b'"' || asks && *byte == self.terminator;
            let Some(length) = bytes[at..].iter().position(ends) else {
                return Field::Open;
            };
            at += length + 1;
            match (bytes[at - 1], bytes.get(at)) {
                (b'"', Some(b'"')) => at += 1,
                (b'"', _) => break,
                _ if at <= reach => return Field::Known,
                _ => asks = false,
            }
        }
        let behind = |byte: &u8| stops(byte) || *byte != b'\r';
        let stop = bytes[at..].iter().position(behind).map(|length| at + length);
        match stop {
            Some(stop) if !stops(&bytes[stop]) => Field::Broken(stop),
            stop => Field::Whole(start + 1..at - 1, stop),
        }
    }

    /// Gives `each` the fields of the record at `start`, and their numbers (from 0); gives
    /// how it ends. `None` where `reach`, that of an [`Ahead`], tells that; the fields are
    /// those before then.
    fn walk(
        &self,
        bytes: &[u8],
        start: usize,
        reach: usize,
        mut each: impl FnMut(usize, Range<usize>),
    ) -> Option<End> {
        let mut at = start;
        let mut number = 0;
        loop {
            let end = match self.field(bytes, at, reach) {
                Field::Whole(content, stop) => {
                    each(number, content);
                    match stop {
                        None => End::Bytes,
                        Some(stop) if bytes[stop] == self.terminator => End::At(stop),
                        Some(stop) => {
                            at = stop + 1;
                            number += 1;
                            continue;
                        }
                    }
                }
                Field::Open => End::Open,
                Field::Broken(at) => End::Broken(at),
                Field::Known => return None,
            };
            steps::count((end.reach(bytes) - start) / 8 + 1);
            return Some(end);
        }
    }

    /// How the record at `start` ends, in the order of records; gives `each` its fields
    /// unless it is in quotes at a line end that is known.
    fn end(
        &self,
        bytes: &[u8],
        start: usize,
        ahead: &mut Ahead,
        each: impl FnMut(usize, Range<usize>),
    ) -> (End, bool) {
        let Some(end) = self.walk(bytes, start, ahead.reach, each) else {
            return (ahead.end, true);
        };
        if end.reach(bytes) > ahead.reach {
            *ahead = Ahead { reach: end.reach(bytes), end };
        }
        (end, false)
    }

    /// Where the line ends that `start` is in.
    fn line_end(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let length = bytes[start..].iter().position(|&byte| byte == self.terminator)?;
        Some(start + length)
    }

    /// The record at `start` of bytes behind which no more of it comes.
    fn record<const N: usize>(
        &self,
        bytes: &[u8],
        start: usize,
        wanted: [usize; N],
        limit: usize,
        ahead: &mut Ahead,
    ) -> Record<N> {
        let mut fields = [const { None }; N];
        let mut each = |number, content: Range<usize>| {
            for (field, wanted) in fields.iter_mut().zip(wanted) {
                if number == wanted {
                    *field = Some(content.clone());
                }
            }
        };
        let (end, is_known) = self.end(bytes, start, ahead, &mut each);
        let end = match end {
            End::At(end) => Some(end),
            End::Bytes => Some(bytes.len()),
            End::Open | End::Broken(_) => None,
        };
        let is_kept = |end: &usize| {
            *end - start <= limit || self.line_end(bytes, start).is_none_or(|line| line == *end)
        };
        let Some(end) = end.filter(is_kept) else {
            let end = self.line_end(bytes, start).unwrap_or(bytes.len());
            return Record { end, fields: Err(Malformed::BadQuote) };
        };
        if is_known {
            self.walk(bytes, start, 0, each);
        }
        let is_missing = fields.iter().any(Option::is_none);
        let fields = fields.map(Option::unwrap_or_default);
        Record { end, fields: if is_missing { Err(Malformed::MissingField) } else { Ok(fields) } }
    }

    /// Number (from 0) of the wanted field, given the first record of an input;
    /// or how many fields have its name, if that is not one.
    pub(crate) fn index(&self, header: &[u8]) -> Result<usize, usize> {
        let name = match &self.column {
            Column::Number(number) => return number.checked_sub(1).ok_or(0),
            Column::Name(name) => name.as_bytes(),
        };
        let mut named = Vec::new();
        self.walk(header, 0, 0, |index, content| {
            if header[content].trim_ascii() == name {
                named.push(index);
            }
        });
        if let [index] = named[..] { Ok(index) } else { Err(named.len()) }
    }

    /// The first record of `bytes`, without its terminator; `limit` as in
    /// [`complete`](Self::complete).
    pub(crate) fn first_record<'b>(&self, bytes: &'b [u8], limit: usize) -> &'b [u8] {
        &bytes[..self.record::<0>(bytes, 0, [], limit, &mut Ahead::nothing()).end]
    }

    /// The records of `bytes` in order, each with what its field `index` is.
    /// Offsets of malformed fields count from the start of the record. `limit` as in
    /// [`complete`](Self::complete).
    pub(crate) fn records<'b>(
        &'b self,
        bytes: &'b [u8],
        index: usize,
        limit: usize,
    ) -> impl Iterator<Item = (Range<usize>, Line)> + 'b {
        self.rows(bytes, [index], limit).map(|(record, line, _)| (record, line))
    }

    /// The same, and beside each value where the field `key` lies, without its quotes.
    pub(crate) fn pairs<'b>(
        &'b self,
        bytes: &'b [u8],
        index: usize,
        key: usize,
        limit: usize,
    ) -> impl Iterator<Item = (Range<usize>, Line, Range<usize>)> + 'b {
        self.rows(bytes, [index, key], limit).map(|(record, line, fields)| {
            let [_, key] = fields;
            // Unlike a number, a key has what is before the end of a line.
            let is_last = key.end == record.end && bytes[key.clone()].ends_with(b"\r");
            (record, line, key.start..key.end - usize::from(is_last))
        })
    }

    /// The records, each with what its first wanted field is, and where these fields lie.
    fn rows<'b, const N: usize>(
        &'b self,
        bytes: &'b [u8],
        wanted: [usize; N],
        limit: usize,
    ) -> impl Iterator<Item = (Range<usize>, Line, [Range<usize>; N])> + 'b {
        let mut at = 0;
        let mut ahead = Ahead::nothing();
        std::iter::from_fn(move || {
            if at >= bytes.len() {
                return None;
            }
            let start = at;
            let record = self.record(bytes, start, wanted, limit, &mut ahead);
            at = record.end + 1;
            let line = &bytes[start..record.end];
            let found = match &record.fields {
                _ if line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) => Line::Blank,
                &Err(reason) => Line::Malformed { reason, offset: 0 },
                Ok(fields) => {
                    let field = fields.first().cloned().unwrap_or_default();
                    match self.notation.parse_line(&bytes[field.clone()]) {
                        Line::Malformed { reason, offset } => Line::Malformed {
                            reason,
                            offset: offset + (field.start - start) as u64,
                        },
                        other => other,
                    }
                }
            };
            let fields = record.fields.unwrap_or([const { 0..0 }; N]);
            Some((start..record.end, found, fields))
        })
    }
}

/// The content of a quoted field: of quotes that are doubled, one.
pub(crate) fn undouble(content: &[u8], plain: &mut Vec<u8>) {
    let mut bytes = content.iter();
    while let Some(&byte) = bytes.next() {
        plain.push(byte);
        if byte == b'"' {
            bytes.next();
        }
    }
}

#[cfg(test)]
mod tests;
