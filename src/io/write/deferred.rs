//! Bytes that wait until everything before them in a file is written.

use std::io::{self, BufReader, BufWriter, IntoInnerError, Read, Seek, Write};
use std::path::Path;
use tempfile::SpooledTempFile;

/// Takes bytes from the first to the last, and then gives them back.
#[derive(Debug)]
pub(crate) struct Deferred(BufWriter<SpooledTempFile>);

impl Deferred {
    /// Up to `memory_bytes` wait in memory, more in a temporary file in `folder`.
    pub(crate) fn new(memory_bytes: usize, folder: &Path) -> Self {
        Self(BufWriter::new(tempfile::spooled_tempfile_in(memory_bytes, folder)))
    }

    /// Reads the bytes that came.
    pub(crate) fn reader(self) -> io::Result<io::Take<BufReader<SpooledTempFile>>> {
        let mut file = self.0.into_inner().map_err(IntoInnerError::into_error)?;
        let len = file.stream_position()?;
        file.rewind()?;
        Ok(BufReader::new(file).take(len))
    }

    /// Appends the bytes to `out`; gives how many there are.
    pub(crate) fn append_to(self, out: &mut impl Write) -> io::Result<u64> {
        io::copy(&mut self.reader()?, out)
    }
}

impl Write for Deferred {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
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
        assert!(nowhere.write_all(&vec![0; 100_000]).is_err());
    }
}
