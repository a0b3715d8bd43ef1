//! Files that are mapped whole.

use crate::error::{Error, Result};
use crate::kernel::sys::{LOST, Map, map_file};
use std::fs::File;
use std::io;
use std::path::Path;

/// Maps the file at `path`.
pub(crate) fn map(path: &Path) -> Result<Map> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    let metadata = file.metadata().map_err(Error::io("read", path))?;
    if metadata.is_dir() {
        return Err(Error::directory("read", path));
    }
    if !metadata.is_file() {
        return Err(Error::usage(format!("{} is no regular file", path.display())));
    }
    map_file(&file).map_err(Error::io("map", path))
}

/// Fails if the map of the file at `path` lost bytes, or the file is shorter than its map.
pub(crate) fn check_whole(map: &Map, path: &Path) -> Result<()> {
    if let Some(found) = map.cut_to().map_err(Error::io("look at", path))? {
        let (input, expected) = (path.display().to_string(), map.len() as u64);
        return Err(Error::InputChanged { input, expected, found, unit: "bytes" });
    }
    if map.is_lost() {
        return Err(Error::io("read", path)(io::Error::other(LOST)));
    }
    Ok(())
}
