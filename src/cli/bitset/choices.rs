//! Parses names of formats, numbers and bindings.

use crate::set::SetFormat;
use crate::set::foreign::Origin;
use crate::set::keyed::{KeyedSets, OverlapBy};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Parses the names of kinds of files, and lists them in help texts.
pub(super) fn origin() -> impl TypedValueParser<Value = Origin> {
    let names = Origin::ALL.map(|origin| {
        let is_built_in = origin != Origin::SparkBitmap || SetFormat::SparkBitmap.is_built_in();
        PossibleValue::new(origin.name()).help(origin.about()).hide(!is_built_in)
    });
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Origin>())
}

/// What makes a pair of sets a better one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OverlapChoice {
    /// Number of values in both
    Intersection,
    /// Values in both, as a share of those in either
    Jaccard,
    /// Values in both, against what independent sets would have; printed as a fifth column
    Lift,
}

impl From<OverlapChoice> for OverlapBy {
    fn from(choice: OverlapChoice) -> Self {
        match choice {
            OverlapChoice::Intersection => Self::Intersection,
            OverlapChoice::Jaccard => Self::Jaccard,
            OverlapChoice::Lift => Self::Lift,
        }
    }
}

/// A file may have any name. Without a name for the set, it is a `.sets` file.
pub(super) fn binding(text: &OsStr) -> Result<(String, PathBuf), &'static str> {
    let mut halves = text.as_bytes().splitn(2, |byte| *byte == b'=');
    let name = halves.next().and_then(|name| str::from_utf8(name).ok());
    match (name, halves.next()) {
        (Some(name), Some(path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), OsStr::from_bytes(path).into()))
        }
        (_, None) if text.as_bytes().ends_with(b".sets") || KeyedSets::is_at(Path::new(text)) => {
            Ok((String::new(), text.into()))
        }
        _ => Err("expected NAME=SET, or a .sets file"),
    }
}
