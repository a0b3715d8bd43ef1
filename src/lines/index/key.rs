//! The key of a row.
//!
//! A column may be quoted as in RFC 4180: a field that begins with `"` ends at the next `"` that is
//! not doubled, and may hold delimiters, but no line end. If the quotes do not close before a
//! delimiter, the field is taken as it is.

use crate::error::{Error, Result};
use crate::kernel::in_usize;
use crate::number::undouble;
use std::borrow::Cow;

/// The most columns that make up a key.
pub(super) const MAX_COLUMNS: usize = 64;
/// Largest number of a column in a key.
const MAX_COLUMN: u32 = 1 << 16;

/// The bytes of a row that are its key.
///
/// A row is a line without its line end, `\n` or `\r\n`.
///
/// # Examples
///
/// ```
/// use bitsort::lines::index::KeyRule;
///
/// let key = |rule: KeyRule| rule.key_of(b"user1,info:name,Ann").into_owned();
/// assert_eq!(key(KeyRule::Row), b"user1,info:name,Ann");
/// assert_eq!(key(KeyRule::columns(vec![1, 3], b',')?), b"user1,Ann");
/// assert_eq!(key(KeyRule::Prefix(4)), b"user");
/// assert_eq!(key(KeyRule::Until(b':')), b"user1,info");
/// # Ok::<(), bitsort::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum KeyRule {
    /// The whole row.
    #[default]
    Row,
    /// Columns, such as row, family and qualifier of a cell.
    Columns(Columns),
    /// So many bytes at the start of the row; all bytes of a shorter row.
    Prefix(u64),
    /// The bytes before the first of these bytes; the whole row if it has none.
    Until(u8),
}

/// Columns that are a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Counted from 1.
    pub(super) numbers: Vec<u32>,
    pub(super) delimiter: u8,
    /// Whether the numbers follow each other, as in 2, 3, 4.
    is_run: bool,
}

impl Columns {
    /// Their numbers, counted from 1.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// The byte between two columns.
    #[must_use]
    pub const fn delimiter(&self) -> u8 {
        self.delimiter
    }
}

impl KeyRule {
    /// The columns of these numbers, counted from 1, in this order. A column
    /// that a row does not have is empty.
    ///
    /// # Errors
    ///
    /// If there are none or more than 64, one is 0 or above 65536, or the
    /// delimiter is a quote or ends lines.
    pub fn columns(numbers: Vec<u32>, delimiter: u8) -> Result<Self> {
        let exist = numbers.iter().all(|number| (1..=MAX_COLUMN).contains(number));
        if numbers.is_empty() || numbers.len() > MAX_COLUMNS || !exist {
            return Err(Error::usage("a key has 1 to 64 columns, and these count from 1 to 65536"));
        }
        if matches!(delimiter, b'"' | b'\n' | b'\r') {
            return Err(Error::usage("columns cannot be delimited by a quote or a line end"));
        }
        let is_run = numbers.is_sorted_by(|a, b| a.checked_add(1) == Some(*b));
        Ok(Self::Columns(Columns { numbers, delimiter, is_run }))
    }

    /// The key of a row. Columns are joined by the delimiter. A column that has a delimiter or
    /// begins with a quote is quoted, so that different columns give different keys.
    #[must_use]
    pub fn key_of<'r>(&self, row: &'r [u8]) -> Cow<'r, [u8]> {
        match self {
            Self::Row => row.into(),
            Self::Prefix(len) => {
                let len = in_usize(*len);
                row.get(..len).unwrap_or(row).into()
            }
            Self::Until(byte) => before(row, *byte).into(),
            Self::Columns(columns) => columns.key_of(row),
        }
    }

    /// The key that a user means by `text`. For columns, `text` is a row with only these columns;
    /// for other rules, it is the key.
    ///
    /// # Errors
    ///
    /// If there are more columns than in a key.
    pub fn parse<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, [u8]>> {
        let Self::Columns(columns) = self else { return Ok(text.into()) };
        let (wanted, delimiter) = (columns.numbers.len(), columns.delimiter);
        let fields: Vec<_> = fields(text, delimiter).take(wanted + 1).collect();
        if fields.len() > wanted {
            let text = text.escape_ascii();
            let columns = if wanted == 1 { "column" } else { "columns" };
            return Err(Error::usage(format!("\"{text}\" has more than {wanted} {columns}")));
        }
        let fields = (0..wanted).map(|index| fields.get(index).map_or(&[][..], |field| field));
        Ok(joined(fields, delimiter, text.len()).into())
    }

    /// The key of a row with these fields in the columns of the rule, in this order. For other
    /// rules, the fields one after the other.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::lines::index::KeyRule;
    ///
    /// let rule = KeyRule::columns(vec![2, 1], b',')?;
    /// assert_eq!(rule.join(&["Oslo", "x,y"]), b"Oslo,\"x,y\"");
    /// assert_eq!(rule.join(&["Oslo", "x,y"]), *rule.key_of(b"\"x,y\",Oslo"));
    /// # Ok::<(), bitsort::Error>(())
    /// ```
    #[must_use]
    pub fn join(&self, fields: &[impl AsRef<[u8]>]) -> Vec<u8> {
        let Self::Columns(columns) = self else {
            return fields.iter().flat_map(AsRef::as_ref).copied().collect();
        };
        joined(fields.iter().map(AsRef::as_ref), columns.delimiter, 0)
    }
}

/// Finds the rows of a key.
#[derive(Debug)]
pub(super) struct Matcher<'k> {
    rule: &'k KeyRule,
    key: &'k [u8],
    /// The content that each of the first columns must have; none if any content will do.
    fields: Vec<Option<Cow<'k, [u8]>>>,
    /// Whether one column would have to have two different contents.
    is_impossible: bool,
}

impl<'k> Matcher<'k> {
    pub(super) fn new(rule: &'k KeyRule, key: &'k [u8]) -> Self {
        let mut new = Self { rule, key, fields: Vec::new(), is_impossible: false };
        let KeyRule::Columns(columns) = rule else { return new };
        for (field, number) in fields(key, columns.delimiter).zip(&columns.numbers) {
            let index = *number as usize - 1;
            if new.fields.len() <= index {
                new.fields.resize(index + 1, None);
            }
            match &new.fields[index] {
                Some(other) => new.is_impossible |= *other != field,
                None => new.fields[index] = Some(field),
            }
        }
        new
    }

    /// Bytes that every row of the key holds, one after the other: the longest part of the key that
    /// has no quote, as these are doubled in a quoted column.
    pub(super) fn held_bytes(&self) -> &[u8] {
        let KeyRule::Columns(_) = self.rule else { return self.key };
        let fields = self.fields.iter().flatten().map(|field| &**field);
        let plain = fields.filter(|field| !field.contains(&b'"'));
        plain.max_by_key(|field| field.len()).unwrap_or_default()
    }

    /// Whether this is the key of a row. It copies nothing, and stops at the first column that
    /// differs.
    #[inline]
    pub(super) fn matches(&self, row: &[u8]) -> bool {
        let KeyRule::Columns(columns) = self.rule else {
            return *self.rule.key_of(row) == *self.key;
        };
        if self.is_impossible {
            return false;
        }
        let mut found = fields(row, columns.delimiter);
        self.fields.iter().all(|wanted| {
            let found = found.next();
            wanted.as_ref().is_none_or(|wanted| **wanted == *found.as_deref().unwrap_or_default())
        })
    }
}

impl Columns {
    /// The key, if its columns follow each other in a row and none is quoted.
    #[inline]
    fn plain<'r>(&self, row: &'r [u8]) -> Option<&'r [u8]> {
        let (&first, &last) = self.numbers.first().zip(self.numbers.last())?;
        if !self.is_run {
            return None;
        }
        let (mut start, mut at) = (0, 0);
        for number in 1..=last {
            if number == first {
                start = at;
            }
            if row.get(at) == Some(&b'"') {
                return None;
            }
            let end = row.get(at..)?.iter().position(|&byte| byte == self.delimiter);
            match end {
                Some(len) => at += len + 1,
                None if number == last => return row.get(start..),
                None => return None,
            }
        }
        row.get(start..at - 1)
    }

    fn key_of<'r>(&self, row: &'r [u8]) -> Cow<'r, [u8]> {
        if let Some(key) = self.plain(row) {
            return key.into();
        }
        let last = self.numbers.iter().max().map_or(0, |last| *last as usize);
        let fields: Vec<_> = fields(row, self.delimiter).take(last).collect();
        let found = |number: &u32| fields.get(*number as usize - 1).map_or(&[][..], |field| field);
        joined(self.numbers.iter().map(found), self.delimiter, row.len()).into()
    }
}

fn before(row: &[u8], byte: u8) -> &[u8] {
    row.iter().position(|&found| found == byte).map_or(row, |end| &row[..end])
}

/// The fields with the delimiter between them; `bytes` is about the length of the result.
fn joined<'f>(
    fields: impl Iterator<Item = &'f [u8]>,
    delimiter: u8,
    expected_bytes: usize,
) -> Vec<u8> {
    let mut key = Vec::with_capacity(expected_bytes);
    for (index, field) in fields.enumerate() {
        if index > 0 {
            key.push(delimiter);
        }
        append(&mut key, field, delimiter);
    }
    key
}

/// Appends a field, in quotes if it needs them.
fn append(key: &mut Vec<u8>, field: &[u8], delimiter: u8) {
    if field.first() != Some(&b'"') && !field.contains(&delimiter) {
        return key.extend_from_slice(field);
    }
    key.push(b'"');
    for &byte in field {
        key.push(byte);
        if byte == b'"' {
            key.push(byte);
        }
    }
    key.push(b'"');
}

/// The fields of a row, without their quotes.
pub(in crate::lines) fn fields(row: &[u8], delimiter: u8) -> impl Iterator<Item = Cow<'_, [u8]>> {
    let mut rest = Some(row);
    std::iter::from_fn(move || {
        let bytes = rest?;
        if let Some((field, end)) = quoted(bytes, delimiter) {
            rest = bytes.get(end + 1..);
            return Some(field);
        }
        let field = before(bytes, delimiter);
        rest = bytes.get(field.len() + 1..);
        Some(field.into())
    })
}

/// The content of the quoted field at the start of `bytes`, and the end of the field.
fn quoted(bytes: &[u8], delimiter: u8) -> Option<(Cow<'_, [u8]>, usize)> {
    let inside = bytes.strip_prefix(b"\"")?;
    let (mut at, mut doubled) = (0, false);
    loop {
        at += inside[at..].iter().position(|&byte| byte == b'"')?;
        match inside.get(at + 1) {
            Some(b'"') => doubled = true,
            Some(&byte) if byte != delimiter => return None,
            _ => break,
        }
        at += 2;
    }
    let content = &inside[..at];
    if !doubled {
        return Some((content.into(), at + 2));
    }
    let mut plain = Vec::with_capacity(content.len());
    undouble(content, &mut plain);
    Some((plain.into(), at + 2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn columns(numbers: &[u32]) -> KeyRule {
        KeyRule::columns(numbers.to_vec(), b',').unwrap()
    }

    #[test]
    fn columns_are_found_in_any_order_with_and_without_quotes() {
        for (row, numbers, key) in [
            ("a,b,c", &[1][..], "a"),
            ("a,b,c", &[3, 1], "c,a"),
            ("a,b", &[2, 3], "b,"),
            ("", &[1, 2], ","),
            ("\"a,b\",c", &[1, 2], "\"a,b\",c"),
            ("a,\"b,c\"", &[1, 2], "a,\"b,c\""),
            ("\"a\",\"b\"", &[2, 1], "b,a"),
            ("\"a\"\"b\",c", &[1], "a\"b"),
            ("\"\"\"a\",c", &[1], "\"\"\"a\""),
            ("\"a,b", &[1], "\"\"\"a\""),
            ("5\" pipe,x", &[1], "5\" pipe"),
            ("\"5\" pipe,x", &[2], "x"),
            ("a,b,c", &[2, 3], "b,c"),
            ("a,b,c,d", &[2, 3], "b,c"),
            ("\"a,b\",c,d", &[2, 3], "c,d"),
            ("a,\"b\",c", &[1, 2, 3], "a,b,c"),
            ("a,b,", &[3, 4], ","),
        ] {
            assert_eq!(&*columns(numbers).key_of(row.as_bytes()), key.as_bytes(), "{row}");
        }
        assert!(KeyRule::columns(vec![], b',').is_err());
        assert!(KeyRule::columns(vec![0], b',').is_err());
        assert!(KeyRule::columns(vec![1], b'"').is_err());
        let refused = columns(&[1, 2]).parse(b"a,b,c").unwrap_err().to_string();
        assert_eq!(refused, "\"a,b,c\" has more than 2 columns");
        assert_eq!(&*columns(&[7, 5]).parse(b"\"a\"").unwrap(), b"a,");
    }

    proptest! {
        #[test]
        fn ways_to_find_columns_agree(
            row in "[ab\",]{0,12}",
            numbers in prop::collection::vec(1_u32..5, 1..4),
            first in 1_u32..4,
            count in 1_u32..4,
        ) {
            let row = row.as_bytes();
            let all: Vec<_> = fields(row, b',').collect();
            for numbers in [numbers, (first..first + count).collect()] {
                let field = |number: &u32| all.get(*number as usize - 1).cloned().unwrap_or_default();
                let rule = columns(&numbers);
                let key = rule.join(&numbers.iter().map(field).collect::<Vec<_>>());
                prop_assert_eq!(&*rule.key_of(row), &key[..]);
                prop_assert!(Matcher::new(&rule, &key).matches(row));
            }
        }

        #[test]
        fn keys_differ_where_columns_do(
            a in prop::collection::vec("[ab\",]{0,4}", 2),
            b in prop::collection::vec("[ab\",]{0,4}", 2),
        ) {
            let rule = columns(&[1, 2]);
            prop_assert_eq!(rule.join(&a) == rule.join(&b), a == b);
            // A key is a row of its columns.
            let key = rule.join(&a);
            prop_assert_eq!(Matcher::new(&rule, &key).matches(&rule.join(&b)), a == b);
            prop_assert_eq!(&*rule.key_of(&key), &key[..]);
            prop_assert_eq!(&*rule.parse(&key).unwrap(), &key[..]);
        }
    }
}
