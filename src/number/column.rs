//! One column of delimited text, quoted as in RFC 4180.
//!
//! A field that begins with `"` ends at the next `"` that is not doubled, and may hold delimiters
//! and terminators. Carriage returns may follow it, then a delimiter, a terminator or the end of
//! the bytes. A record is *broken* if other text follows the quote, if the quote is never closed,
//! or if the record has several lines and more than [`MAX_RECORD_BYTES`]. It does not matter which
//! field is wanted: nobody can tell which terminators were meant to be in quotes. The parser
//! rejects the first line of a broken record alone, and the next line begins another record. A `"`
//! inside of a field that does not begin with one is an ordinary byte, as in `6" pipe`. Without
//! quoting every `"` is one, and every terminator ends a record.

use super::Notation;
use super::line::{Line, Malformed};
use crate::kernel::steps;
use memchr::{memchr_iter, memchr2, memrchr};
use std::borrow::Cow;
use std::ops::Range;

/// Longest record. One of several lines that is longer has a quote that is never closed.
pub(crate) const MAX_RECORD_BYTES: usize = 1 << 20;

/// Why there is nothing to quote.
pub(crate) const NO_FIELDS: &str = "quotes are around fields of delimited text: choose a column";

/// Which column of delimited text carries the numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// The field of this number, counted from 1.
    Number(usize),
    /// The field that has this name in the first line of each input.
    Name(String),
}

impl Column {
    /// Why there is no such column of text with these bytes between fields and behind records.
    pub(crate) fn fault(&self, delimiter: u8, terminator: u8) -> Option<&'static str> {
        if *self == Self::Number(0) {
            return Some("columns are numbered from 1");
        }
        let is_taken = [terminator, b'"', b'\r'].contains(&delimiter);
        is_taken.then_some("this byte cannot be a delimiter")
    }
}

/// How to find the numbers in delimited text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    /// The field with the numbers.
    pub(crate) column: Column,
    /// The byte between fields.
    pub(crate) delimiter: u8,
    /// The byte that ends a record.
    pub(crate) terminator: u8,
    /// How numbers are written.
    pub(crate) notation: Notation,
    /// Whether the first record has names of columns, also if the column is chosen by its number.
    pub(crate) header: bool,
    /// Whether quotes around a field are no part of it.
    pub(crate) quoting: bool,
}

/// One record: its place, without its terminator, and the places of the wanted fields.
#[derive(Debug, PartialEq, Eq)]
struct Record<const N: usize> {
    end: usize,
    fields: Result<[Range<usize>; N], Malformed>,
}

/// One field.
enum Field {
    /// A sound field: the place of its content, without quotes, and the place of the delimiter or
    /// terminator behind it.
    Whole(Range<usize>, Option<usize>),
    /// Its quote is not closed.
    Open,
    /// Text stands behind its closing quote, here.
    Broken(usize),
    /// Its quote is not closed at a line end that [`Ahead`] knows of.
    Known,
}

/// How a record ends, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The terminator at this place ends it.
    At(usize),
    /// The bytes end, outside of quotes.
    Bytes,
    /// The bytes end, inside of quotes.
    Open,
    /// At this place, text follows a closing quote.
    Broken(usize),
}

/// How far one record was followed, so that no byte is read for two broken records.
///
/// All records that are inside of quotes at the same line end go on alike, wherever they began. A
/// broken record is rejected as its first line, and each of its other lines begins a record again:
/// the parser need not follow those to the end of the first one.
#[derive(Clone, Copy)]
struct Ahead {
    /// The record was inside of quotes at every line end before this place, from its second line
    /// on.
    reach: usize,
    end: End,
}

impl End {
    /// The place up to which the record was followed.
    fn reach(self, bytes: &[u8]) -> usize {
        match self {
            Self::At(at) | Self::Broken(at) => at,
            Self::Bytes | Self::Open => bytes.len(),
        }
    }
}

impl Ahead {
    /// The state before the first record.
    fn nothing() -> Self {
        Self { reach: 0, end: End::Bytes }
    }
}

impl Selector {
    /// Whether the first record of an input has no value.
    pub(crate) fn has_header(&self) -> bool {
        self.header || matches!(self.column, Column::Name(_))
    }

    /// Position behind the last complete record of `bytes`, which begin with a record. A rejected
    /// record is complete with its first line. At most `limit` bytes, or one line, are behind this
    /// position: a record of several lines with more bytes is rejected. If `waits`, a record without
    /// an end is not rejected yet, however long it is.
    ///
    /// O(bytes).
    pub(crate) fn complete(&self, bytes: &[u8], limit: usize, waits: bool) -> Option<usize> {
        if !self.quoting || !bytes.contains(&b'"') {
            return memrchr(self.terminator, bytes).map(|last| last + 1);
        }
        let mut ahead = Ahead::nothing();
        let mut complete = None;
        let mut at = 0;
        loop {
            let end = match self.end(bytes, at, &mut ahead, |_, _| false).0 {
                End::At(end) if end - at <= limit => Some(end),
                End::Bytes | End::Open if waits || bytes.len() - at <= limit => None,
                _ => self.line_end(bytes, at),
            };
            let Some(end) = end else { return complete };
            at = end + 1;
            complete = Some(at);
        }
    }

    /// Whether a field that begins here is in quotes.
    #[inline]
    fn is_quote(&self, bytes: &[u8], start: usize) -> bool {
        self.quoting && bytes.get(start) == Some(&b'"')
    }

    /// The field at `start`. `reach` is [`Ahead::reach`].
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call a field makes a command 1.2 times as slow")]
    fn field(&self, bytes: &[u8], start: usize, reach: usize) -> Field {
        let stops = |byte: &u8| *byte == self.delimiter || *byte == self.terminator;
        if !self.is_quote(bytes, start) {
            let stop = bytes[start..].iter().position(stops).map(|length| start + length);
            return Field::Whole(start..stop.unwrap_or(bytes.len()), stop);
        }
        let mut at = start + 1;
        let mut asks = start < reach; // whether `reach` may be asked about the first line end
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

    /// Gives the fields of the record at `start` and their numbers (from 0) to `each`, which says
    /// whether it wants more. Returns the end of the record, or `None` if `reach`, which is
    /// [`Ahead::reach`], tells that the record goes on in quotes; then `each` got the fields before
    /// that.
    fn walk(
        &self,
        bytes: &[u8],
        start: usize,
        reach: usize,
        mut each: impl FnMut(usize, Range<usize>) -> bool,
    ) -> Option<End> {
        if let Some(end) = self.unquoted_end(bytes, start) {
            self.walk_unquoted(start, &bytes[start..end.reach(bytes)], each);
            steps::count((end.reach(bytes) - start) / 8 + 1);
            return Some(end);
        }
        let mut at = start;
        let mut number = 0;
        loop {
            let end = match self.field(bytes, at, reach) {
                Field::Whole(content, stop) => {
                    let _ = each(number, content); // the end of the record is wanted, too
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

    /// The end of the record at `start`, if no quote is before it: then the first terminator ends
    /// it.
    #[inline]
    fn unquoted_end(&self, bytes: &[u8], start: usize) -> Option<End> {
        if self.is_quote(bytes, start) {
            return None;
        }
        let quote = if self.quoting { b'"' } else { self.terminator };
        match memchr2(quote, self.terminator, &bytes[start..]).map(|length| start + length) {
            None => Some(End::Bytes),
            Some(at) => (bytes[at] == self.terminator).then_some(End::At(at)),
        }
    }

    /// Gives the fields of `record`, which begins at `start` and has no quote, to `each`, as long as
    /// it wants more.
    #[inline]
    fn walk_unquoted(
        &self,
        start: usize,
        record: &[u8],
        mut each: impl FnMut(usize, Range<usize>) -> bool,
    ) {
        let ends = memchr_iter(self.delimiter, record).chain([record.len()]);
        let mut at = 0;
        for (number, end) in ends.enumerate() {
            if !each(number, start + at..start + end) {
                return;
            }
            at = end + 1;
        }
    }

    /// The end of the record at `start`; records must be asked in order. Gives its fields to
    /// `each`, unless the record is in quotes at a line end that [`Ahead`] knows of.
    fn end(
        &self,
        bytes: &[u8],
        start: usize,
        ahead: &mut Ahead,
        each: impl FnMut(usize, Range<usize>) -> bool,
    ) -> (End, bool) {
        let Some(end) = self.walk(bytes, start, ahead.reach, each) else {
            return (ahead.end, true);
        };
        if end.reach(bytes) > ahead.reach {
            *ahead = Ahead { reach: end.reach(bytes), end };
        }
        (end, false)
    }

    /// The end of the line that has `start` in it.
    fn line_end(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let length = bytes[start..].iter().position(|&byte| byte == self.terminator)?;
        Some(start + length)
    }

    /// The record at `start`; `bytes` have all of it.
    fn record<const N: usize>(
        &self,
        bytes: &[u8],
        start: usize,
        wanted: [usize; N],
        limit: usize,
        ahead: &mut Ahead,
    ) -> Record<N> {
        let mut fields = [const { None }; N];
        let last = wanted.iter().copied().max().unwrap_or_default();
        let mut each = |number, content: Range<usize>| {
            for (field, wanted) in fields.iter_mut().zip(wanted) {
                if number == wanted {
                    *field = Some(content.clone());
                }
            }
            number < last
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

    /// Number (from 0) of the wanted field, found in the first record of an input. Fails with the
    /// number of fields of that name, if it is not one.
    pub(crate) fn index(&self, header: &[u8]) -> Result<usize, usize> {
        let name = match &self.column {
            Column::Number(number) => return number.checked_sub(1).ok_or(0),
            Column::Name(name) => name.as_bytes(),
        };
        let mut named = Vec::new();
        self.walk(header, 0, 0, |index, content| {
            if self::content(header, content).trim_ascii() == name.trim_ascii() {
                named.push(index);
            }
            true
        });
        if let [index] = named[..] { Ok(index) } else { Err(named.len()) }
    }

    /// The first record of `bytes`, without its terminator; `limit` as in
    /// [`complete`](Self::complete).
    pub(crate) fn first_record<'b>(&self, bytes: &'b [u8], limit: usize) -> &'b [u8] {
        &bytes[..self.record::<0>(bytes, 0, [], limit, &mut Ahead::nothing()).end]
    }

    /// The records of `bytes` in order, each with the meaning of its field `index`. Offsets of
    /// malformed fields count from the start of the record. `limit` as in
    /// [`complete`](Self::complete).
    pub(crate) fn records<'b>(
        &'b self,
        bytes: &'b [u8],
        index: usize,
        limit: usize,
    ) -> impl Iterator<Item = (Range<usize>, Line)> + 'b {
        self.rows(bytes, [index], limit).map(|(record, line, _)| (record, line))
    }

    /// The same, and beside each value the places of its field and of the field `key`, without
    /// quotes; that of `key` also without a carriage return before the line end.
    pub(crate) fn pairs<'b>(
        &'b self,
        bytes: &'b [u8],
        index: usize,
        key: usize,
        limit: usize,
    ) -> impl Iterator<Item = (Range<usize>, Line, [Range<usize>; 2])> + 'b {
        self.rows(bytes, [index, key], limit).map(|(record, line, [value, key])| {
            // A carriage return before the end of a line is no part of a field.
            let is_last = key.end == record.end && bytes[key.clone()].ends_with(b"\r");
            (record, line, [value, key.start..key.end - usize::from(is_last)])
        })
    }

    /// The records, each with the meaning of its first wanted field, and the places of all wanted
    /// fields.
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
                // A block may have room for a longer line or not, and the answer must not depend on
                // where the block begins.
                _ if line.len() > limit => {
                    Line::Malformed { reason: Malformed::RecordTooLong, offset: 0 }
                }
                _ if is_blank(line) => Line::Blank,
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

/// Whether a record is blank: it has no bytes but spaces, tabs and carriage returns.
pub(crate) fn is_blank(record: &[u8]) -> bool {
    record.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
}

/// The content of the field at a place that [`Selector::pairs`] gave: of two quotes in quotes, one.
pub(crate) fn content(bytes: &[u8], place: Range<usize>) -> Cow<'_, [u8]> {
    let is_quoted = place.start.checked_sub(1).is_some_and(|before| bytes[before] == b'"');
    let content = &bytes[place];
    if !is_quoted || !content.contains(&b'"') {
        return content.into();
    }
    let mut plain = Vec::with_capacity(content.len());
    undouble(content, &mut plain);
    plain.into()
}

/// Appends the content of a quoted field to `plain`: two quotes become one.
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
