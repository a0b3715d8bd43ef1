//! Reads sets of other programs.

use super::PROGRAM;
use super::source::Source;
use super::target::Target;
use crate::bloom::FilterKind;
use crate::cli::exit::say;
use crate::cli::notation::NotationArgs;
use crate::cli::stdout::print_line;
use crate::error::{Error, Result};
use crate::io::compression::Compression;
use crate::io::page::is_own_file;
use crate::io::read::map;
use crate::io::table::TableFormat;
use crate::set::foreign::{self, Foreign, Origin, Reading, spark};
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
            Foreign::Unknown if let Some(format) = Compression::of_content(&bytes) => {
                let suffix = format.suffix();
                let what = "other commands unpack it if it has numbers or a set of bitset";
                print_line(format_args!("{}: file packed as .{suffix}; {what}", path.display()))?;
                continue;
            }
            Foreign::Unknown => match FilterKind::of(path) {
                Ok(kind) => {
                    print_line(format_args!("{}: {}", path.display(), kind.about()))?;
                    continue;
                }
                Err(_) if is_own_file(path) => {
                    let what = "an index of bloom index, or a damaged file of bitset";
                    print_line(format_args!("{}: {what}", path.display()))?;
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

/// Writes the set of another program in a format of ours, or any set in any format.
pub(super) fn convert(
    source: &Source,
    path: &Path,
    reading: &Reading,
    target: &Target,
) -> Result<()> {
    if reading.from.is_none() {
        let set = if path.is_dir() { Some(SetFile::open(path)?) } else { open_named(path)? };
        if let Some(set) = set {
            reading.check(Foreign::Bits, &path.display().to_string())?;
            return verified(source, target, &set);
        }
    }
    let bytes = map(path)?;
    let name = path.display().to_string();
    let is_raw = matches!(reading.from, Some(Origin::Raw(_)));
    if reading.from.is_some()
        && let Some(packed) = Compression::of_named(&name, &bytes, is_raw)
    {
        let suffix = packed.suffix();
        return Err(Error::usage(format!(
            "{name} is packed as .{suffix}, which convert --from does not unpack: unpack it first"
        )));
    }
    let found = Foreign::of(&bytes);
    reading.check(found, &name)?;
    let is_noted = source.notation() != NotationArgs::default();
    match (reading.from, found) {
        (Some(Origin::SparkBitmap), _) => return spark(source, path, target),
        (None, Foreign::Table(TableFormat::Parquet)) if spark::is_table(path)? => {
            return spark(source, path, target);
        }
        (None, Foreign::Bits) => {
            drop(bytes);
            return verified(source, target, &source.open_set(path)?);
        }
        (None, Foreign::Unknown) if Compression::of_content(&bytes).is_some() => {
            return verified(source, target, &source.open(path)?);
        }
        (None, Foreign::Text) => return write(source, target, &source.open(path)?),
        (None, Foreign::Unknown) if is_noted => return write(source, target, &source.open(path)?),
        (None, Foreign::DeltaFile) if reading.vector.is_none() => tell_joined(&bytes, &name)?,
        _ => {}
    }
    write(source, target, &reading.decode(&bytes, &name)?)
}

/// Says that the deletion vectors of a file are joined, if it has several.
fn tell_joined(bytes: &[u8], name: &str) -> Result<()> {
    let count = foreign::parts(bytes, name)?.len();
    if count > 1 {
        say(&format!(
            "{PROGRAM}: {name} has {count} deletion vectors, which are joined; --vector takes one"
        ));
    }
    Ok(())
}

/// Writes a set of ours that is whole: else damage would get checksums that are right.
fn verified(source: &Source, target: &Target, set: &SetFile) -> Result<()> {
    set.verify_with(source.progress())?;
    write(source, target, set)
}

fn write(source: &Source, target: &Target, set: &impl AsSet) -> Result<()> {
    source.write(target, |sink| Plan::of(set).run(sink, source.progress()))
}

fn spark(source: &Source, path: &Path, target: &Target) -> Result<()> {
    write(source, target, &spark::read_table(path, source.memory().bytes())?)
}
