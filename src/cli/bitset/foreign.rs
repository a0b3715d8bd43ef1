//! Sets of other programs.

use super::choices::ForeignChoice;
use super::source::Source;
use super::target::Target;
use crate::cli::stdout::print_line;
use crate::error::{Error, Result};
use crate::io::read::map;
use crate::set::SetFile;
use crate::set::foreign::{self, BadBase, Foreign};
use crate::set::plan::Plan;
use std::path::{Path, PathBuf};

/// Says what files are.
pub(super) fn identify(files: &[PathBuf]) -> Result<()> {
    for path in files {
        if path.is_dir() {
            SetFile::open(path)?;
            print_line(format_args!("{}: a set in a folder of .bits files", path.display()))?;
            continue;
        }
        let found = Foreign::of(&map(path)?);
        let hint = match found {
            Foreign::Unknown => " (convert --from bitmap-lsb or bitmap-msb)",
            _ => "",
        };
        // A damaged file of this kind is one, too.
        let representation = match found {
            Foreign::Bits => SetFile::open(path).ok().map(|set| set.representation().name()),
            _ => None,
        };
        let representation = representation.map_or(String::new(), |name| format!(", {name}"));
        print_line(format_args!("{}: {found}{representation}{hint}", path.display()))?;
    }
    Ok(())
}

/// Writes the set of another program in a format of ours.
pub(super) fn convert(
    source: &Source,
    path: &Path,
    from: Option<ForeignChoice>,
    base: u64,
    target: &Target,
) -> Result<()> {
    if path.is_dir() && from.is_none() {
        let set = SetFile::open(path)?;
        return source.write(target, |sink| Plan::of(&set).run(sink, source.progress()));
    }
    let bytes = map(path)?;
    let decoded = match from {
        Some(choice) => foreign::raw_bitmap(&bytes, choice.into(), base).map_err(|BadBase| {
            Error::usage("--base is a multiple of 65536, and all bits end below 2^64")
        })?,
        None => foreign::decode(&bytes, &path.display().to_string())?,
    };
    source.write(target, |sink| Plan::of(&decoded).run(sink, source.progress()))
}
