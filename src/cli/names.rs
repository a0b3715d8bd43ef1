//! Rules for the names of files: an output does not get the name of something else, nor take the place
//! of an input, and a set is not read as lines.

use crate::error::{Error, Result};
use crate::io::page::is_own_file;
use crate::io::read::is_stdin;
use crate::io::write::{is_same_file, is_standard_input};
use crate::set::keyed::{is_sets_file, no_set_inside};
use crate::set::{SetFile, SetFormat};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whether the name of a file is that of sets by key.
pub(super) fn is_of_keys(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("sets"))
}

/// Whether the name of a file is that of a Bloom filter.
pub(super) fn is_of_filter(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("bloom"))
}

/// Whether the name of a file is that of an index.
pub(super) fn is_of_index(path: &Path) -> bool {
    path.extension() == Some(OsStr::new("bix"))
}

/// Refuses names for one set, or for numbers. `--to` allows every ending; without it, .sets, .bloom
/// and .bix are refused.
pub(super) fn only_set(path: &Path, to: Option<SetFormat>) -> Result<()> {
    let what = match to {
        None if is_of_keys(path) => "a .sets file has sets by key, and this is one set",
        None if is_of_filter(path) => {
            "a .bloom file has a filter, which this command does not write"
        }
        None if is_of_index(path) => "a .bix file has an index, which this command does not write",
        _ => return no_set_inside(path),
    };
    Err(Error::usage(format!("{}: {what}", path.display())))
}

/// Refuses a name for a folder of parts that is one of a file in another format.
pub(super) fn only_folder(path: &Path) -> Result<()> {
    match SetFormat::of_name(path) {
        None | Some(SetFormat::Bits) => Ok(()),
        Some(_) => {
            let what = "--parts makes a folder of .bits files: choose a name for a folder";
            Err(Error::usage(format!("{}: {what}", path.display())))
        }
    }
}

/// Refuses a name for a filter that names a set, an index or a table.
pub(super) fn only_filter(path: &Path) -> Result<()> {
    only_kind(path, "bloom", "a Bloom filter")
}

/// Refuses a name for an index that names a set, a filter or a table.
pub(super) fn only_index(path: &Path) -> Result<()> {
    only_kind(path, "bix", "an index")
}

/// Refuses a name that names something else than a file of a kind, which ends in `ending`.
fn only_kind(path: &Path, ending: &str, kind: &str) -> Result<()> {
    no_set_inside(path)?;
    let is_lines = |format| matches!(format, SetFormat::Values(_));
    let is_other = ["sets", "bloom", "bix"]
        .into_iter()
        .any(|other| other != ending && path.extension() == Some(OsStr::new(other)));
    if is_other || SetFormat::of_name(path).is_some_and(|format| !is_lines(format)) {
        let what = format!("this command writes {kind}: choose a name that ends in .{ending}");
        return Err(Error::usage(format!("{}: {what}", path.display())));
    }
    Ok(())
}

/// Refuses a name for an output of lines that names a set, a filter, an index or a table: the lines
/// would stand in its place.
pub(super) fn only_lines(path: &Path) -> Result<()> {
    no_set_inside(path)?;
    let name = path.display();
    let advice = match SetFormat::of_name(path) {
        Some(SetFormat::Table(_)) => "bitsort writes tables of numbers",
        Some(SetFormat::Values(_)) => return Ok(()),
        Some(_) => "bitset build makes a set of lines",
        None if is_of_keys(path) => "bitset group makes sets by key of rows",
        None if is_of_filter(path) => "bitset bloom build makes a filter of lines",
        None if is_of_index(path) => "bitset bloom index build makes an index of a file",
        None => return Ok(()),
    };
    let what = "this command writes lines of text: choose another name";
    Err(Error::usage(format!("{name}: {what} ({advice})")))
}

/// Refuses a set, a filter or an index among files of which malformed lines are left out: it would
/// have no other lines.
pub(super) fn no_sets_as_lines<'p>(files: impl IntoIterator<Item = &'p PathBuf>) -> Result<()> {
    for file in files.into_iter().filter(|file| !is_stdin(file)) {
        let is_own = is_own_file(file);
        let is_set = is_set_file(file) || is_own && is_sets_file(file);
        if is_set || is_own {
            let kind = if is_set { "a set" } else { "a damaged set, a filter or an index" };
            let what = "not text, and all of it would be left out as malformed";
            let advice = match (is_set, is_sets_file(file)) {
                (true, true) => ": bitset cat FILE:KEY prints the values of one set",
                (true, false) => ": bitset cat prints its values",
                (false, _) => "",
            };
            return Err(Error::usage(format!("{} is {kind}, {what}{advice}", file.display())));
        }
    }
    Ok(())
}

/// Whether a file that is read as text is a set. False if it cannot be opened.
pub(super) fn is_set_file(path: &Path) -> bool {
    !is_stdin(path) && matches!(SetFile::open_if_set(path), Ok(Some(_)))
}

/// Refuses an output that would take the place of an input, which cannot be made of it again.
pub(super) fn no_input<'p>(
    inputs: impl IntoIterator<Item = &'p PathBuf>,
    output: &Path,
) -> Result<()> {
    let is_output = |input: &&PathBuf| {
        if is_stdin(input) { is_standard_input(output) } else { is_same_file(input, output) }
    };
    match inputs.into_iter().find(is_output) {
        Some(input) => {
            let what = "is an input, and cannot be made of the output again: choose another name";
            Err(Error::usage(format!("{} {what}", input.display())))
        }
        None => Ok(()),
    }
}
