//! The columns of a file: chooses the wanted one, or says why there is none.

use super::Share;
use crate::error::{ColumnFault, Error};
use crate::number::Column;
use std::io;

/// A table that was opened, and its pieces.
pub(super) struct Opened<T> {
    pub(super) table: T,
    /// Rows of each piece.
    pub(super) rows: Vec<u64>,
    pub(super) share: Share,
}

/// How the numbers of a column are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Integers,
    /// Decimals without a fraction, which are read as text.
    Decimals,
    Texts,
}

/// A column that was chosen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    Numbers,
    Keys,
}

/// The reason why a table cannot be opened.
pub(super) enum Refused {
    /// It cannot be read.
    Read(io::Error),
    /// It has no such column of integers.
    Column(ColumnFault, String),
}

impl Refused {
    /// The error of the table of this name.
    pub(super) fn of(self, name: &str) -> Error {
        match self {
            Self::Read(error) => Error::io("read", name)(error),
            Self::Column(fault, what) => Error::TableColumn { input: name.to_owned(), what, fault },
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Read(error)
    }
}

/// The error for bytes that are no file of this format. Of several lines, as libraries write them, it
/// has the first one.
pub(super) fn invalid(what: impl Into<String>) -> io::Error {
    let what = what.into();
    io::Error::new(io::ErrorKind::InvalidData, what.lines().next().unwrap_or_default())
}

/// The error of a library that unpacks: one of the system, or of this crate, as it is, or that of
/// damaged bytes.
pub(super) fn of_packed(error: io::Error) -> io::Error {
    let is_ours = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()).is_some();
    if error.kind() == io::ErrorKind::Other && error.raw_os_error().is_none() && !is_ours {
        invalid(format!("its packed data is damaged: {error}"))
    } else {
        error
    }
}

/// The error for a file of this format that is sound, but cannot be read.
pub(super) fn unsupported(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, what.into())
}

/// The name of a column on one line.
pub(super) fn shown(name: &str) -> String {
    let escaped = |sign: char| {
        if sign.is_control() { sign.escape_debug().to_string() } else { sign.to_string() }
    };
    name.chars().map(escaped).collect()
}

/// A column of the file.
pub(super) struct Candidate {
    pub(super) name: String,
    /// The type of its values, if they are not of the wanted kind.
    pub(super) other: Option<String>,
    pub(super) is_text: bool,
    /// Whether it has decimals without a fraction.
    pub(super) is_decimal: bool,
}

/// The columns of rows of Spark's bitmaps.
pub(super) const BUCKET: &str = "bucket";
/// See [`BUCKET`].
pub(super) const BITMAP: &str = "bitmap";

/// Types of bytes that are no text, in Parquet and in Arrow.
const BYTES: [&str; 4] = ["BYTE_ARRAY", "Binary", "LargeBinary", "BinaryView"];

/// What a column of numbers holds.
const NUMBERS: &str = "integers, text or decimals without a fraction";
/// What a column of keys holds.
pub(super) const KEYS: &str = "strings, bytes or integers";

/// Column names that a message lists.
const LISTED: usize = 12;

/// Number (from 0) of the wanted column; its values must be of this `kind`.
pub(super) fn choose(
    candidates: &[Candidate],
    wanted: Option<&Column>,
    kind: &str,
) -> Result<usize, Refused> {
    let is_bitmap = |found: &Candidate| {
        found.name == BITMAP && found.other.as_ref().is_some_and(|kind| BYTES.contains(&&**kind))
    };
    let mut integers = candidates.iter().filter(|found| found.other.is_none());
    let only = integers.next().filter(|_| integers.next().is_none());
    let has_bucket = only.is_some_and(|found| found.name == BUCKET);
    if wanted.is_none() && has_bucket && candidates.iter().any(is_bitmap) {
        // The numbers of the buckets are not the values of the set.
        let what = match candidates.len() {
            2 => "its rows are bitmaps of Spark, and no column is named: convert it to a set",
            _ => "its rows may be bitmaps of Spark, and no column is named",
        };
        return Err(Refused::Column(ColumnFault::NotChosen, what.to_owned()));
    }
    let index = choose_any(candidates, wanted)?;
    match &candidates[index] {
        Candidate { other: None, .. } => Ok(index),
        Candidate { name, other: Some(other), .. } => Err(other_type(name, other, kind)),
    }
}

/// Number (from 0) of the wanted column of numbers, and how these are stored. Without a wanted
/// one, it is the only column of integers; if there are none, the only column of text; if there are
/// neither, the only one of decimals.
pub(super) fn choose_numbers(
    candidates: &[Candidate],
    wanted: Option<&Column>,
) -> Result<(usize, Stored), Refused> {
    let mut texts = (0..candidates.len()).filter(|&index| candidates[index].is_text);
    let mut decimals = (0..candidates.len()).filter(|&index| candidates[index].is_decimal);
    let has_integers = candidates.iter().any(|candidate| candidate.other.is_none());
    let (texts, decimals) = ([texts.next(), texts.next()], [decimals.next(), decimals.next()]);
    let index = match (wanted, texts, decimals) {
        (Some(_), ..) => choose_any(candidates, wanted)?,
        (None, [Some(only), None], _) | (None, [None, _], [Some(only), None]) if !has_integers => {
            only
        }
        (None, ..) => choose(candidates, None, NUMBERS)?,
    };
    match &candidates[index] {
        Candidate { other: Some(_), is_text: true, .. } => Ok((index, Stored::Texts)),
        Candidate { other: Some(_), is_decimal: true, .. } => Ok((index, Stored::Decimals)),
        Candidate { other: None, .. } => Ok((index, Stored::Integers)),
        Candidate { name, other: Some(other), .. } => Err(other_type(name, other, NUMBERS)),
    }
}

/// Number (from 0) of the wanted column, or of the only one of integers.
pub(super) fn choose_any(
    candidates: &[Candidate],
    wanted: Option<&Column>,
) -> Result<usize, Refused> {
    let refused = |what: String| Err(Refused::Column(ColumnFault::NotChosen, what));
    let index = match wanted {
        Some(Column::Name(name)) => {
            let mut named = (0..candidates.len()).filter(|&index| candidates[index].name == *name);
            let (Some(index), another) = (named.next(), named.next()) else {
                let there = names(candidates.iter());
                return refused(format!(
                    "no column is named \"{}\"; there are {there}",
                    shown(name)
                ));
            };
            if another.is_some() {
                return refused(format!(
                    "several columns are named \"{}\": give its number",
                    shown(name)
                ));
            }
            index
        }
        Some(Column::Number(number)) => match number.checked_sub(1) {
            Some(index) if index < candidates.len() => index,
            _ => {
                let name = number.to_string();
                let is_name = candidates.iter().any(|found| found.name == name);
                let more = if is_name {
                    format!("; \"{name}\", in quotes, is a name")
                } else {
                    String::new()
                };
                return refused(format!("no column {number}: it has {}{more}", candidates.len()));
            }
        },
        None => return only_integers(candidates),
    };
    Ok(index)
}

/// Number (from 0) of the only column of integers.
fn only_integers(candidates: &[Candidate]) -> Result<usize, Refused> {
    let refused = |fault, what: String| Err(Refused::Column(fault, what));
    let is_right = |found: &&Candidate| found.other.is_none();
    let mut integers = (0..candidates.len()).filter(|&index| is_right(&&candidates[index]));
    match (integers.next(), integers.next()) {
        (Some(index), None) => Ok(index),
        (None, _) if candidates.is_empty() => {
            refused(ColumnFault::NoneOfType, "it has no columns".to_owned())
        }
        (None, _) => {
            let texts = candidates.iter().filter(|found| found.is_text).count();
            let (fault, more) = match candidates {
                [Candidate { other: Some(other), .. }] => {
                    (ColumnFault::NoneOfType, format!(", which holds {other}"))
                }
                _ if texts > 1 => (ColumnFault::NotChosen, ", but several of text".to_owned()),
                _ => (ColumnFault::NoneOfType, String::new()),
            };
            let there = names(candidates.iter());
            refused(fault, format!("no column of integers in {there}{more}"))
        }
        _ => {
            let there = names(candidates.iter().filter(is_right));
            refused(ColumnFault::NotChosen, format!("several columns of integers: {there}"))
        }
    }
}

/// The names of columns for a message; not all of very many.
fn names<'c>(candidates: impl Iterator<Item = &'c Candidate>) -> String {
    let mut names = candidates.map(|found| shown(&found.name));
    let mut list = names.by_ref().take(LISTED).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        list.push_str(", …");
    }
    list
}

fn other_type(name: &str, other: &str, kind: &str) -> Refused {
    let what = format!("column \"{}\" holds {other}, not {kind}", shown(name));
    Refused::Column(ColumnFault::OtherType, what)
}
