//! Copies streams to temporary files, so that they can be read more than once.

use super::keys::LineJob;
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::io::read::{check_end, open_file};
use crate::kernel::sys::TemporaryFile;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The copy of a stream. It is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Spooled(TemporaryFile);

impl Spooled {
    /// Copies the input that `path` names, `-` for standard input. It copies no regular file,
    /// because such a file can be read again.
    fn of(path: &Path, folder: &Path, job: &LineJob<'_>) -> Result<Option<Self>> {
        let mut input = open_file(path)?;
        let before = input.metadata().map_err(Error::io("read", path))?;
        if before.is_file() && !is_stdin(path) {
            return Ok(None);
        }
        let copy = TemporaryFile::create_in(folder)
            .map_err(Error::io("create a temporary file in", folder))?;
        let mut buffer = vec![0; job.chunks.share.chunk_bytes];
        loop {
            Error::if_cancelled(job.chunks.progress)?;
            let read = match input.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(Error::io("read", path))?,
            };
            if read == 0 {
                check_end(&input, &before, path)?;
                return Ok(Some(Self(copy)));
            }
            copy.file()
                .write_all(&buffer[..read])
                .map_err(Error::io("write a temporary file in", folder))?;
        }
    }

    /// A path under which this process can open the copy from its beginning.
    fn path(&self) -> PathBuf {
        self.0.path().into()
    }
}

/// Puts the name that the user gave into an error, instead of the name of the copy.
pub(crate) fn named_as_typed(mut error: Error, read: &[PathBuf], typed: &[PathBuf]) -> Error {
    for (read, typed) in read.iter().zip(typed).filter(|(read, typed)| read != typed) {
        let [copy, name] = [read, typed].map(|path| path.display().to_string());
        match &mut error {
            Error::NoKey { input, .. } | Error::LineTooLong { input, .. } if *input == copy => {
                *input = name;
            }
            Error::Io { path, .. } if path == read => path.clone_from(typed),
            Error::Usage { what } => *what = what.replace(&copy, &name),
            _ => {}
        }
    }
    error
}

/// Gives paths whose lines can be read more than once. A file keeps its path. A stream is copied to
/// a temporary file, which disappears when the copy is dropped.
pub(crate) fn rereadable(
    paths: Vec<PathBuf>,
    folder: &Path,
    job: &LineJob<'_>,
) -> Result<(Vec<PathBuf>, Vec<Spooled>)> {
    let mut copies = Vec::new();
    let paths = paths.into_iter().map(|path| {
        let copy = Spooled::of(&path, folder, job)?;
        let path = copy.as_ref().map_or(path, Spooled::path);
        copies.extend(copy);
        Ok(path)
    });
    Ok((paths.collect::<Result<_>>()?, copies))
}
