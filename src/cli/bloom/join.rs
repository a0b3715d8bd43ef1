//! Filters joined, and written for other programs.

use super::args::{JoinArgs, KindChoice};
use super::{check_is_file, open};
use crate::bloom::filter_file::FilterFile;
use crate::bloom::{AnyFilter, Mismatch};
use crate::cli::bitset::Source;
use crate::error::{Error, Result};
use std::path::Path;

/// The keys of any of the filters.
pub(super) fn merge(source: &Source, args: &JoinArgs) -> Result<()> {
    join(source, args, |ours, theirs| ours.union_assign(&theirs.filter))
}

/// The keys of all of the filters, and maybe others.
pub(super) fn intersect(source: &Source, args: &JoinArgs) -> Result<()> {
    join(source, args, |ours, theirs| ours.intersection_assign(&theirs.filter))
}

fn join(
    source: &Source,
    args: &JoinArgs,
    join: impl Fn(&mut AnyFilter, &FilterFile) -> Result<(), Mismatch>,
) -> Result<()> {
    let Some((first, others)) = args.filters.split_first() else { return Ok(()) };
    let _bar = source.bar(true);
    check_is_file(first)?;
    let mut joined = FilterFile::load(first)?;
    for path in others {
        source.check()?;
        let other = open(path)?;
        join(&mut joined.filter, &other).map_err(|mismatch| {
            Error::usage(format!("{} and {}: {mismatch}", first.display(), path.display()))
        })?;
    }
    joined.save(&args.output, joined.kind)?;
    source.note_file(&args.output);
    Ok(())
}

/// Writes a filter as another kind of file.
pub(super) fn convert(source: &Source, path: &Path, output: &Path, to: KindChoice) -> Result<()> {
    open(path)?.save(output, to.into())?;
    source.note_file(output);
    Ok(())
}
