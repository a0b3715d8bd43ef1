//! Sets of other programs.

use super::args::{ForeignChoice, Target};
use super::source::Source;
use crate::bits::map;
use crate::cli::stdout::print_line;
use crate::error::Result;
use crate::set::foreign::{self, BitOrder, Foreign};
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
    let order = from.map(|choice| match choice {
        ForeignChoice::BitmapLsb => BitOrder::LeastFirst,
        ForeignChoice::BitmapMsb => BitOrder::MostFirst,
    });
    let decoded = match order {
        Some(order) => foreign::raw_bitmap(&bytes, order, base)?,
        None => foreign::decode(&bytes, &path.display().to_string())?,
    };
    let blame = decoded.blame();
    source.write(target, |sink| Plan::set(decoded.view(), &blame).run(sink, source.progress()))
}
