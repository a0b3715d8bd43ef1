//! Reads sets of other programs.

use super::PROGRAM;
use super::choices::ForeignChoice;
use super::source::Source;
use super::target::Target;
use crate::bloom::FilterKind;
use crate::cli::exit::say;
use crate::cli::notation::NotationArgs;
use crate::cli::stdout::print_line;
use crate::error::{Error, Result};
use crate::io::read::map;
use crate::io::table::TableFormat;
use crate::set::foreign::{self, BadBase, Decoded, Foreign, Part, spark};
use crate::set::keyed::{KeyedSets, open_named};
use crate::set::plan::Plan;
use crate::set::{AsSet, SetFile};
use std::path::{Path, PathBuf};

/// Prints the kinds of files.
pub(super) fn identify(files: &[PathBuf]) -> Result<()> {
    for path in files {
        if path.is_dir() {
            SetFile::open(path)?;
            print_line(format_args!("{}: a set in a folder of .bits files", path.display()))?;
            continue;
        }
        if let Some(set) = open_named(path)? {
            let kind = set.representation().name();
            print_line(format_args!("{}: set of a .sets file, {kind}", path.display()))?;
            continue;
        }
        let bytes = map(path)?;
        let found = Foreign::of(&bytes);
        let more = match found {
            Foreign::Unknown => match FilterKind::of(path) {
                Ok(kind) => {
                    print_line(format_args!("{}: {}", path.display(), kind.about()))?;
                    continue;
                }
                // It is no filter either.
                Err(_) => " (convert --from bitmap-lsb or bitmap-msb)".to_owned(),
            },
            // A damaged file of this kind still has this kind.
            Foreign::Bits => match SetFile::open(path) {
                Ok(set) => format!(", {}", set.representation().name()),
                Err(_) => String::new(),
            },
            Foreign::Sets => match KeyedSets::open(path) {
                Ok(sets) => format!(", {}", sets.len()),
                Err(_) => String::new(),
            },
            Foreign::Table(TableFormat::Parquet) => match spark::is_table(path) {
                Ok(true) => ", bitmaps of Spark's bitmap_construct_agg".to_owned(),
                Ok(false) | Err(_) => String::new(),
            },
            Foreign::DeltaFile | Foreign::Puffin => {
                match foreign::parts(&bytes, &path.display().to_string()) {
                    Ok(parts) => format!(", deletion vectors: {}", parts.len()),
                    Err(_) => String::new(),
                }
            }
            _ => String::new(),
        };
        print_line(format_args!("{}: {found}{more}", path.display()))?;
    }
    Ok(())
}

/// How a file is read.
pub(super) struct How {
    pub(super) from: Option<ForeignChoice>,
    pub(super) base: Option<u64>,
    pub(super) vector: Option<usize>,
    pub(super) width: Option<usize>,
}

/// Writes the set of another program in a format of ours, or any set in any format.
pub(super) fn convert(source: &Source, path: &Path, how: &How, target: &Target) -> Result<()> {
    if how.from.is_none() {
        let set = if path.is_dir() { Some(SetFile::open(path)?) } else { open_named(path)? };
        if let Some(set) = set {
            set.verify_with(source.progress())?;
            return write(source, target, &set);
        }
    }
    let bytes = map(path)?;
    let name = path.display().to_string();
    let found = Foreign::of(&bytes);
    let is_noted = source.notation() != NotationArgs::default();
    if how.vector.is_some() && !matches!(found, Foreign::DeltaFile | Foreign::Puffin) {
        let what = "--vector is for files of several deletion vectors";
        return Err(Error::usage(format!("{what}; {name}: {found}")));
    }
    if how.base.is_some() && !matches!(how.from, Some(ForeignChoice::Raw(_))) {
        let what = "--base is for raw bitmaps, which --from names";
        return Err(Error::usage(format!("{what}; {name}: {found}")));
    }
    if let Some(width) = how.width {
        let of_click_house = match how.from {
            Some(from) => from.is_click_house(),
            None => matches!(found, Foreign::ClickHouse | Foreign::ClickHouseSmall),
        };
        if !of_click_house {
            let what = "--width is for states of ClickHouse";
            return Err(Error::usage(format!("{what}; {name}: {found}")));
        }
        return write(source, target, &foreign::decode_click_house(&bytes, width, &name)?);
    }
    let decoded = match (how.from, found) {
        (Some(ForeignChoice::SparkBitmap), _) => return spark(source, path, target),
        (None, Foreign::Table(TableFormat::Parquet)) if spark::is_table(path)? => {
            return spark(source, path, target);
        }
        (None, Foreign::Bits) => {
            drop(bytes);
            let set = source.open_set(path)?;
            set.verify_with(source.progress())?; // else damage would get checksums that are right
            return write(source, target, &set);
        }
        (None, Foreign::Text) => return write(source, target, &source.open(path)?),
        (None, Foreign::Unknown) if is_noted => return write(source, target, &source.open(path)?),
        (None, Foreign::DeltaFile | Foreign::Puffin) => {
            one_of_several(&bytes, found, &name, how.vector)?
        }
        (None, _) => foreign::decode(&bytes, &name)?,
        (Some(ForeignChoice::Bytes(format)), _) => foreign::decode_as(&bytes, format, &name)?,
        (Some(ForeignChoice::Raw(order)), _) => {
            foreign::raw_bitmap(&bytes, order, how.base.unwrap_or(0)).map_err(|BadBase| {
                Error::usage("--base is a multiple of 65536, and all bits end below 2^64")
            })?
        }
    };
    write(source, target, &decoded)
}

fn write(source: &Source, target: &Target, set: &impl AsSet) -> Result<()> {
    source.write(target, |sink| Plan::of(set).run(sink, source.progress()))
}

fn spark(source: &Source, path: &Path, target: &Target) -> Result<()> {
    write(source, target, &spark::read_table(path, source.memory().bytes())?)
}

/// The deletion vector of the wanted number. Without a number, the only one, or all of a file of
/// Delta Lake, with a note.
fn one_of_several<'b>(
    bytes: &'b [u8],
    found: Foreign,
    name: &str,
    vector: Option<usize>,
) -> Result<Decoded<'b>> {
    let parts = foreign::parts(bytes, name)?;
    if let Some(number) = vector {
        let part = number.checked_sub(1).and_then(|index| parts.get(index));
        let none = || {
            Error::usage(format!("no vector {number}: {name} has {}{}", parts.len(), list(&parts)))
        };
        return foreign::decode_part(bytes, part.ok_or_else(none)?, name);
    }
    match (&parts[..], found) {
        ([part], _) => return foreign::decode_part(bytes, part, name),
        ([], Foreign::Puffin) => {
            return Err(Error::NotConvertible {
                input: name.to_owned(),
                found: "Puffin file without deletion vectors".to_owned(),
            });
        }
        (several, Foreign::Puffin) => {
            let what = "deletion vectors: choose one with --vector";
            return Err(Error::usage(format!(
                "{name} has {} {what}{}",
                several.len(),
                list(several)
            )));
        }
        ([], _) => {}
        (several, _) => say(&format!(
            "{PROGRAM}: {name} has {} deletion vectors, which are joined; --vector takes one",
            several.len()
        )),
    }
    foreign::decode(bytes, name)
}

/// Vectors that a message lists.
const LISTED: usize = 20;

/// The data files of vectors, one on each line.
fn list(parts: &[Part]) -> String {
    let line = |(index, part): (usize, &Part)| {
        let file = part.data_file.as_ref()?;
        Some(format!("\n  {}: {}", index + 1, file.escape_debug()))
    };
    let mut lines: String = parts.iter().enumerate().take(LISTED).filter_map(line).collect();
    if parts.len() > LISTED && !lines.is_empty() {
        lines.push_str("\n  …");
    }
    lines
}
