//! Streams copied to temporary files, to be read more than once.

use super::lines::LineJob;
use crate::error::{Error, Result};
use crate::input::{check_end, open_file};
use memchr::memchr_iter;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A temporary file without a name, so that not even a kill leaves it behind.
#[derive(Debug)]
pub(crate) struct Spooled(File);

impl Spooled {
    /// Copies what `path` names, unless it is a regular file: that can be read
    /// again. `-` is standard input.
    pub(crate) fn of(path: &Path, folder: &Path, job: &LineJob<'_>) -> Result<Option<Self>> {
        let mut input = open_file(path)?;
        let before = input.metadata().map_err(Error::io("read", path))?;
        if before.is_file() && path != Path::new("-") {
            return Ok(None);
        }
        let mut copy = tempfile::tempfile_in(folder)
            .map_err(Error::io("create a temporary file in", folder))?;
        let mut buffer = vec![0; job.chunks.chunk_bytes];
        loop {
            if job.chunks.progress.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let read = match input.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read.map_err(Error::io("read", path))?,
            };
            if read == 0 {
                check_end(&input, &before, path)?;
                return Ok(Some(Self(copy)));
            }
            copy.write_all(&buffer[..read])
                .map_err(Error::io("write a temporary file in", folder))?;
        }
    }

    /// A path under which this process can open it, from its beginning.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// Pieces of a file that are looked at, and their size.
const PIECES: u64 = 32;
const PIECE_BYTES: u64 = 1 << 15;

/// About how many lines a regular file has; 0 of what is none, or cannot be
/// opened: reading it says why.
pub(crate) fn estimated_lines(path: &Path, job: &LineJob<'_>) -> Result<u64> {
    let Ok(file) = File::open(path) else { return Ok(0) };
    let metadata = file.metadata().map_err(Error::io("read", path))?;
    if !metadata.is_file() {
        return Ok(0);
    }
    let len = metadata.len();
    let pieces = if len <= PIECES * PIECE_BYTES { len.div_ceil(PIECE_BYTES) } else { PIECES };
    let step = if pieces == PIECES { len / PIECES } else { PIECE_BYTES };
    let mut buffer = vec![0; 1 << 15];
    let (mut bytes, mut lines) = (0, 0);
    for piece in 0..pieces {
        let read = file.read_at(&mut buffer, piece * step).map_err(Error::io("read", path))?;
        bytes += read as u64;
        lines += memchr_iter(job.rules.terminator, &buffer[..read]).count() as u64;
    }
    let estimate = u128::from(lines) * u128::from(len) / u128::from(bytes.max(1));
    Ok(u64::try_from(estimate).unwrap_or(u64::MAX) + u64::from(len > 0))
}
