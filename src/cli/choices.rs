//! Parsers of options whose values have names. The names are those of the library.

use crate::bloom::FilterKind;
use crate::lines::Funnel;
use crate::number::Format;
use crate::set::SetFormat;
use crate::set::foreign::Origin;
use crate::set::keyed::{OverlapBy, is_sets_file};
use crate::sort::Strategy;
use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use std::ffi::OsStr;
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Parses the name of one of these values, and lists the names in help texts.
fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    choices: [(T, PossibleValue); N],
) -> impl TypedValueParser<Value = T> {
    let names = choices.clone().map(|(_, name)| name);
    PossibleValuesParser::new(names).try_map(move |typed| {
        let found = choices.iter().find(|(_, name)| name.get_name() == typed);
        found.map(|(value, _)| *value).ok_or("no such name")
    })
}

/// A name, with what it means.
fn name(name: &'static str, about: &'static str) -> PossibleValue {
    PossibleValue::new(name).help(about)
}

/// A strategy of a sort.
pub(super) fn strategy() -> impl TypedValueParser<Value = Strategy> {
    named(Strategy::ALL.map(|strategy| {
        let about = match strategy {
            Strategy::Dense => "A bitmap of the value range",
            Strategy::InMemory => "All values in memory",
            Strategy::Spill => "Temporary files",
            Strategy::MultiPass => "Reading the input once for each slice of the range",
        };
        (strategy, name(strategy.name(), about))
    }))
}

/// A kind of filter files.
pub(super) fn filter_kind() -> impl TypedValueParser<Value = FilterKind> {
    named(FilterKind::ALL.map(|kind| {
        let about = match kind {
            FilterKind::Bloom => "This program's own",
            FilterKind::Guava => "What Guava's `BloomFilter.readFrom` reads",
            FilterKind::Dcso => "What DCSO's `bloom` reads",
            FilterKind::Spark => "What Spark's `BloomFilter.readFrom` reads, of version 2",
        };
        (kind, name(kind.name(), about))
    }))
}

/// Which form of a key is hashed, by the names of Guava's funnels.
pub(super) fn funnel() -> impl TypedValueParser<Value = Funnel> {
    named([
        (Funnel::Bytes, name("bytes", "Its bytes, as of a UTF-8 string or a byte array")),
        (Funnel::Long, name("long", "The 8 bytes of its number, as of a long")),
        (Funnel::Int, name("int", "The 4 bytes of its number, as of an integer")),
        (Funnel::Chars, name("chars", "The bytes of its UTF-16 code units, as of unencoded chars")),
    ])
}

/// Parses the number of parts of a folder.
pub(super) fn parts(text: &str) -> Result<NonZero<usize>, &'static str> {
    text.parse().map_err(|_| "expected a number of at least 1")
}

/// What makes a pair of sets a better one.
pub(super) fn overlap_by() -> impl TypedValueParser<Value = OverlapBy> {
    const LIFT: &str = "Values in both, divided by what two independent sets of these sizes would share, with values from the union of all sets; printed as a fifth column";
    named([
        (OverlapBy::Intersection, name("intersection", "Number of values in both")),
        (OverlapBy::Jaccard, name("jaccard", "Values in both, as a share of those in either")),
        (OverlapBy::Lift, name("lift", LIFT)),
    ])
}

/// A format of numbers. The notation of text has an option of its own.
pub(super) fn number_format() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.map(|format| (format, PossibleValue::new(format.name()))))
}

/// A format of sets.
pub(super) fn set_format() -> impl TypedValueParser<Value = SetFormat> {
    named(
        SetFormat::ALL.map(|format| {
            (format, name(format.name(), format.about()).hide(!format.is_built_in()))
        }),
    )
}

/// A kind of files of other systems.
pub(super) fn origin() -> impl TypedValueParser<Value = Origin> {
    named(Origin::ALL.map(|origin| {
        let is_built_in = origin != Origin::SparkBitmap || SetFormat::SparkBitmap.is_built_in();
        (origin, name(origin.name(), origin.about()).hide(!is_built_in))
    }))
}

/// The name of a file that is written. In place of a file, `-` would mean standard output elsewhere.
pub(super) fn new_file() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|name| {
        let wrong = "this option takes no standard output; ./- is a file of this name";
        if name == "-" { Err(wrong) } else { Ok(PathBuf::from(name)) }
    })
}

/// A file may have any name. Without a name for the set, it is a `.sets` file. The name of a set has no
/// slash: in `./a=b/t.sets`, all of the text is the path.
pub(super) fn binding(text: &OsStr) -> Result<(String, PathBuf), &'static str> {
    let mut halves = text.as_bytes().splitn(2, |byte| *byte == b'=');
    let name = halves.next().and_then(|name| str::from_utf8(name).ok());
    let wrong = "expected NAME=SET, or a .sets file";
    match (name, halves.next()) {
        (Some(""), Some(_)) | (Some(_), Some(b"")) => Err(wrong),
        (Some(name), Some(path)) if !name.contains('/') => {
            Ok((name.to_owned(), OsStr::from_bytes(path).into()))
        }
        _ if text.as_bytes().ends_with(b".sets") || is_sets_file(Path::new(text)) => {
            Ok((String::new(), text.into()))
        }
        _ => Err(wrong),
    }
}
