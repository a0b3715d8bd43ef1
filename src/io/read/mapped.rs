//! Files that are mapped whole.

use crate::error::{Error, Result};
use crate::kernel::sys::map_file;
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;

/// Maps the file at `path`.
pub(crate) fn map(path: &Path) -> Result<Mmap> {
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
