//! Updates of one file wait for each other.

use crate::error::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens the file at `path` when no other process updates it.
pub(crate) fn lock(path: &Path) -> Result<File> {
    let found = std::fs::metadata(path).map_err(Error::io("open", path))?;
    if !found.is_file() && !found.is_dir() {
        // To open a named pipe would wait for a writer.
        return Err(Error::usage(format!("{} is no regular file", path.display())));
    }
    loop {
        let file = File::open(path).map_err(Error::io("open", path))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| Error::io("lock", path)(error.into()))?;
        // The process that had the lock may have replaced the file.
        let ours = file.metadata().map_err(Error::io("read", path))?;
        let there = std::fs::metadata(path).map_err(Error::io("read", path))?;
        if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
            return Ok(file);
        }
    }
}
