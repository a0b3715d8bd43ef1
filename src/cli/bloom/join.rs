//! Joins filters, and writes them for other programs.

use super::args::JoinArgs;
use super::describe::tell_if_full;
use super::{check_is_file, open_checked};
use crate::bloom::{AnyFilter, FilterFile, FilterKind, Mismatch, Opened};
use crate::cli::bitset::Source;
use crate::cli::exit::say;
use crate::cli::names;
use crate::error::{Error, Result};
use crate::io::write::{is_same_file, lock};
use std::path::Path;

/// Writes a filter of the keys of any of the filters.
pub(super) fn merge(source: &Source, args: &JoinArgs) -> Result<()> {
    join(source, args, |ours, theirs| ours.union_assign(&theirs.filter))
}

/// Writes a filter of the keys of all filters, and maybe some others.
pub(super) fn intersect(source: &Source, args: &JoinArgs) -> Result<()> {
    join(source, args, |ours, theirs| ours.intersection_assign(&theirs.filter))
}

fn join(
    source: &Source,
    args: &JoinArgs,
    join: impl Fn(&mut AnyFilter, &FilterFile<Opened>) -> Result<(), Mismatch>,
) -> Result<()> {
    names::only_filter(&args.output)?;
    let Some((first, others)) = args.filters.split_first() else { return Ok(()) };
    let _bar = source.bar(true);
    check_is_file(first)?;
    // A change of the filter that is replaced comes before or behind this one.
    let is_input = args.filters.iter().any(|path| is_same_file(path, &args.output));
    let _lock = if is_input { Some(lock(&args.output)?) } else { None };
    let mut joined = FilterFile::load(first)?;
    for path in others {
        source.check()?;
        let other = open_checked(path)?;
        tell_of_data(&other, path);
        join(&mut joined.filter, &other).map_err(|mismatch| {
            Error::usage(format!("{} and {}: {mismatch}", first.display(), path.display()))
        })?;
    }
    joined.save(&args.output, joined.kind())?;
    tell_if_full(&joined.filter, &args.output);
    source.note_file(&args.output);
    Ok(())
}

/// Writes a filter as another kind of file.
pub(super) fn convert(source: &Source, path: &Path, output: &Path, to: FilterKind) -> Result<()> {
    names::only_filter(output)?;
    let file = open_checked(path)?;
    file.save(output, to)?;
    if to != FilterKind::Dcso {
        tell_of_data(&file, path);
    }
    source.note_file(output);
    Ok(())
}

/// Prints a note that the data behind a filter of DCSO's `bloom` is left out.
fn tell_of_data(file: &FilterFile<Opened>, path: &Path) {
    if !file.data().is_empty() {
        say(&format!("bitset: the data behind the filter of {} is left out", path.display()));
    }
}
