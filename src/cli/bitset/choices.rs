//! Parses names of formats, numbers and bindings.

use crate::set::SetFormat;
use crate::set::foreign::{BitOrder, ForeignFormat};
use crate::set::keyed::{KeyedSets, OverlapBy};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a file holds, as `convert --from` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignChoice {
    /// A bitmap without a head.
    Raw(BitOrder),
    /// A table of Spark, with any names of columns.
    SparkBitmap,
    /// Bytes of a format with a name.
    Bytes(ForeignFormat),
}

impl ForeignChoice {
    pub(super) fn is_click_house(self) -> bool {
        matches!(self, Self::Bytes(ForeignFormat::ClickHouse32 | ForeignFormat::ClickHouse64))
    }

    /// Parses the names, and lists them in help texts.
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        let raw = [
            ("bitmap-lsb", BitOrder::LeastFirst, "least"),
            ("bitmap-msb", BitOrder::MostFirst, "most"),
        ];
        let raw = raw.map(|(name, order, first)| {
            let help = format!("A raw bitmap, the {first} significant bit of a byte first");
            (PossibleValue::new(name).help(help), Self::Raw(order))
        });
        let spark = SetFormat::SparkBitmap;
        let spark = PossibleValue::new(spark.name()).help(spark.about()).hide(!spark.is_built_in());
        let bytes = ForeignFormat::ALL.map(|format| {
            (PossibleValue::new(format.name()).help(format.about()), Self::Bytes(format))
        });
        let all = raw.into_iter().chain([(spark, Self::SparkBitmap)]).chain(bytes);
        let (names, choices): (Vec<PossibleValue>, Vec<Self>) = all.unzip();
        let known = names.clone();
        PossibleValuesParser::new(names).try_map(move |name: String| {
            let index = known.iter().position(|value| value.get_name() == name);
            index.and_then(|index| choices.get(index).copied()).ok_or("no such kind")
        })
    }
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
