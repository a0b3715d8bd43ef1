//! Bytes that wait until everything before them in a file is written.

use crate::error::Error;
use std::io::{self, BufReader, BufWriter, IntoInnerError, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use tempfile::SpooledTempFile;

/// Bytes that wait in memory, or in a temporary file if they are many. Its errors are errors of the
/// folder of that file: [`Error::io`] keeps them, so that no other file is blamed.
#[derive(Debug)]
pub(crate) struct Spooled {
    file: SpooledTempFile,
    folder: PathBuf,
    memory_bytes: usize,
}

impl Spooled {
    /// Up to `memory_bytes` wait in memory, more in a temporary file in `folder`.
    pub(crate) fn new(memory_bytes: usize, folder: &Path) -> Self {
        let file = tempfile::spooled_tempfile_in(memory_bytes, folder);
        Self { file, folder: folder.into(), memory_bytes }
    }

    /// Forgets the bytes. The next ones wait in memory again.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        if self.file.is_rolled() {
            *self = Self::new(self.memory_bytes, &self.folder);
            return Ok(());
        }
        self.file.rewind()?;
        self.file.set_len(0)
    }

    #[cfg(test)]
    pub(crate) fn is_rolled(&self) -> bool {
        self.file.is_rolled()
    }

    fn named<T>(&self, action: &'static str, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => io::Error::other(Error::io(action, &self.folder)(error)),
        })
    }
}

impl Write for Spooled {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes);
        self.named("write a temporary file in", written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for Spooled {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer);
        self.named("read a temporary file in", read)
    }
}

impl Seek for Spooled {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Takes bytes from the first to the last, and then gives them back.
#[derive(Debug)]
pub(crate) struct Deferred(BufWriter<Spooled>);

impl Deferred {
    /// Up to `memory_bytes` wait in memory, more in a temporary file in `folder`.
    pub(crate) fn new(memory_bytes: usize, folder: &Path) -> Self {
        Self(BufWriter::new(Spooled::new(memory_bytes, folder)))
    }

    /// The same in `memory_bytes` altogether: half of it is a buffer, so that a file is written and
    /// read in large pieces.
    pub(crate) fn buffered(memory_bytes: usize, folder: &Path) -> Self {
        let half = memory_bytes / 2;
        Self(BufWriter::with_capacity(half, Spooled::new(half, folder)))
    }

    /// Reads the bytes that came.
    pub(crate) fn reader(self) -> io::Result<io::Take<BufReader<Spooled>>> {
        let buffer_bytes = self.0.capacity();
        let mut file = self.0.into_inner().map_err(IntoInnerError::into_error)?;
        let len = file.stream_position()?;
        file.rewind()?;
        Ok(BufReader::with_capacity(buffer_bytes, file).take(len))
    }

    /// Appends the bytes to `out`; gives how many there are.
    pub(crate) fn append_to(self, out: &mut impl Write) -> io::Result<u64> {
        io::copy(&mut self.reader()?, out)
    }
}

impl Write for Deferred {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_memory_and_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        for (memory_bytes, len) in [(1 << 20, 100_000), (100, 100_000), (100, 0)] {
            let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(len).collect();
            let mut deferred = Deferred::new(memory_bytes, folder.path());
            bytes.chunks(77).for_each(|piece| deferred.write_all(piece).unwrap());
            let mut out = b"before ".to_vec();
            assert_eq!(deferred.append_to(&mut out).unwrap(), bytes.len() as u64);
            assert_eq!(out, [b"before ", &bytes[..]].concat());
        }
        let mut nowhere = Deferred::new(100, Path::new("/nowhere/at/all"));
        let error = nowhere.write_all(&vec![0; 100_000]).unwrap_err();
        let error = Error::io("write", "out")(error);
        assert_eq!(error.to_string(), "cannot write a temporary file in /nowhere/at/all");
    }
}
