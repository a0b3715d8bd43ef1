//! Draws a map of a set's universe.

use super::source::Source;
use crate::cli::names;
use crate::error::{Error, Result};
use crate::plot::{MAX_ORDER, Map};
use crate::set::keyed::no_set_inside;
use std::path::Path;

/// Draws the set into a `.png` or `.svg` file.
pub(super) fn plot(
    source: &Source,
    path: &Path,
    output: &Path,
    order: Option<u32>,
    ipv4: bool,
) -> Result<()> {
    let suffix = output.extension().and_then(|suffix| suffix.to_str());
    if !suffix.is_some_and(|suffix| ["png", "svg"].iter().any(|s| suffix.eq_ignore_ascii_case(s))) {
        let what = format!("{}: maps are .png or .svg files", output.display());
        return Err(Error::usage(what));
    }
    if order.is_some_and(|order| order > MAX_ORDER) {
        return Err(Error::usage("--order is at most 10: 1024 cells a side"));
    }
    no_set_inside(output)?;
    names::no_input([&path.to_path_buf()], output)?;
    let (ipv4, set) = (ipv4 || source.notation().is_ipv4(), source.open(path)?);
    let map = if ipv4 { Map::of_ipv4(&set, order) } else { Map::of(&set, order) }?;
    map.write(output)
}
