//! Sets of other programs.

use super::choices::ForeignChoice;
use super::source::Source;
use super::target::Target;
use crate::cli::stdout::print_line;
use crate::error::Result;
use crate::io::read::map;
use crate::set::foreign::{self, Foreign};
use crate::set::plan::Plan;
use std::path::{Path, PathBuf};

/// Says what files are.
pub(super) fn identify(files: &[PathBuf]) -> Result<()> {
    for path in files {
        let found = Foreign::of(&map(path)?);
        print_line(format_args!("{}: {found}", path.display()))?;
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
    let bytes = map(path)?;
    let decoded = match from {
        Some(choice) => foreign::raw_bitmap(&bytes, choice.into(), base)?,
        None => foreign::decode(&bytes, &path.display().to_string())?,
    };
    source.write(target, |sink| Plan::of(&decoded).run(sink, source.progress()))
}
