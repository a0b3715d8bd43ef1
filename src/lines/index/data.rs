//! The file that is indexed.

use crate::error::{Error, Result};
use crate::io::compression::Compression;
use crate::io::read::refuse_others;
use crate::kernel::sys::{Map, map_file};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A file of keys, mapped.
#[derive(Debug)]
pub(super) struct Data {
    path: PathBuf,
    file: File,
    bytes: Map,
    /// The time at which it had been written last when it was opened.
    opened: SystemTime,
}

fn modified(file: &File, path: &Path) -> Result<SystemTime> {
    file.metadata().and_then(|found| found.modified()).map_err(Error::io("read", path))
}

/// Refuses a folder, and a named pipe, whose opening would wait for a writer.
pub(crate) fn check_is_file(path: &Path) -> Result<()> {
    if fs::metadata(path).map_err(Error::io("open", path))?.is_file() {
        return Ok(());
    }
    let what = "is no regular file: only these can be indexed";
    Err(Error::usage(format!("{} {what}", path.display())))
}

impl Data {
    pub(super) fn open(path: &Path) -> Result<Self> {
        check_is_file(path)?;
        let file = File::open(path).map_err(Error::io("open", path))?;
        let opened = modified(&file, path)?;
        let bytes = map_file(&file).map_err(Error::io("map", path))?;
        refuse_others(&path.display().to_string(), &bytes)?;
        if Compression::of_content(&bytes).is_some() {
            let what = "is compressed: its lines cannot be read one by one; unpack it first";
            return Err(Error::usage(format!("{} {what}", path.display())));
        }
        Ok(Self { path: path.into(), file, bytes, opened })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The time at which it was last written.
    pub(super) fn modified(&self) -> Result<SystemTime> {
        modified(&self.file, &self.path)
    }

    /// Fails if somebody wrote to the file since it was opened, unless rows were appended to it.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        let metadata = self.file.metadata().map_err(Error::io("read", &self.path))?;
        let is_longer = metadata.len() > self.bytes.len() as u64;
        if is_longer || self.modified()? == self.opened {
            return Ok(());
        }
        Err(Error::InputRewritten { input: self.path.display().to_string() })
    }

    /// Fails if somebody has cut the file. Called before its lost bytes are read, because the
    /// kernel ends processes that read these.
    pub(super) fn check_length(&self) -> Result<()> {
        let found = self.file.metadata().map_err(Error::io("read", &self.path))?.len();
        let expected = self.bytes.len() as u64;
        if found >= expected {
            return Ok(());
        }
        let input = self.path.display().to_string();
        Err(Error::InputChanged { input, expected, found, unit: "bytes" })
    }
}
