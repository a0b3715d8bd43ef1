//! A map of a set's universe.

use super::source::Source;
use crate::error::{Error, Result};
use crate::output::{Destination, open_destination};
use crate::plot::Map;
use crate::set::SetFile;
use crate::view::Damage;
use std::io::Write;
use std::path::Path;

/// A cell is a pixel then.
const MAX_ORDER: u32 = 10;

/// Draws the set into a `.png` or `.svg` file.
pub(super) fn plot(
    source: &Source,
    path: &Path,
    output: &Path,
    order: Option<u32>,
    ipv4: bool,
) -> Result<()> {
    let suffix = output.extension().and_then(|suffix| suffix.to_str());
    let is_svg = match suffix {
        Some("svg") => true,
        Some("png") => false,
        _ => return Err(Error::usage("the output is a .png or a .svg file")),
    };
    if order.is_some_and(|order| order > MAX_ORDER) {
        return Err(Error::usage("--order is at most 10: 1024 cells a side"));
    }
    let set = source.open(path)?;
    let map = map(&set, order, ipv4)?;
    let encoded = if is_svg { map.to_svg().map(String::into_bytes) } else { map.to_png() };
    let bytes = encoded.map_err(Error::io("draw", output))?;
    match open_destination(output)? {
        Destination::Atomic(new) => {
            new.file().write_all(&bytes).map_err(Error::io("write", output))?;
            new.commit()
        }
        Destination::Stream(mut file) => file.write_all(&bytes).map_err(Error::io("write", output)),
    }
}

fn map(set: &SetFile, order: Option<u32>, ipv4: bool) -> Result<Map> {
    let max = set.view().max().map_err(set.damaged())?.unwrap_or(0);
    // The universe is a square: 4 to some power, from 0 on.
    let bits = if ipv4 { 32 } else { (u64::BITS - max.leading_zeros()).next_multiple_of(2).max(2) };
    if ipv4 && max > u32::MAX.into() {
        let path = set.path().display();
        let what = format!("{path} has {max}, which is no IPv4 address: leave out --ipv4");
        return Err(Error::usage(what));
    }
    let order = order.unwrap_or(9).min(bits / 2);
    let cell_bits = bits - 2 * order;
    let mut counts = vec![0_u64; 1 << (2 * order)];
    let mut cursor = set.view().cursor();
    let damaged = set.damaged();
    let mut lows = Vec::new();
    let cells = counts.len();
    let place = |cell: u64| {
        let place = usize::try_from(cell).ok().filter(|place| *place < cells);
        place.ok_or_else(|| damaged(Damage::of("a value is larger than the largest one")))
    };
    while let Some((key, container)) = cursor.next().map_err(&damaged)? {
        if cell_bits >= 16 {
            counts[place(key >> (cell_bits - 16))?] += u64::from(container.len());
            continue;
        }
        let found = container.positions(0, &mut lows);
        for &low in &lows[..found] {
            counts[place((key << 16 | u64::from(low)) >> cell_bits)?] += 1;
        }
    }
    let name = set.path().file_name().unwrap_or(set.path().as_os_str());
    Ok(Map { order, cell_bits, counts, title: name.to_string_lossy().into_owned(), ipv4 })
}
