//! Writes sets with ascending keys as a `.sets` file.

use super::format::{Entry, Head, Header};
use crate::error::{Error, Result};
use crate::io::page::{HEADER_BYTES, Section};
use crate::io::write::{Deferred, FileLabel, Spool, Summed, Telling, append_checksums};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The sizes of a `.sets` file that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct WrittenSets {
    /// Number of sets.
    pub sets: u64,
    /// Number of values; a value counts in each of its sets.
    pub values: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// Writes bodies to the file as they come. Keys and entries wait in memory, or in temporary files
/// when they are many. The file is invalid before [`finish`](Self::finish).
pub(crate) struct KeyedWriter<'f> {
    file: &'f File,
    path: PathBuf,
    out: Summed<'f>,
    /// Keys and directory wait there.
    deferred: FileLabel,
    keys: Deferred,
    directory: Deferred,
    count: u64,
    values: u64,
    body_end: u64,
    key_end: u64,
    before: Option<Vec<u8>>,
}

impl<'f> KeyedWriter<'f> {
    /// Writes into an empty file; `path` is for messages.
    pub(crate) fn new(file: &'f File, path: &Path, spool: &Spool) -> Self {
        let deferred = || Deferred::new(spool.memory_bytes / 2, &spool.folder);
        Self {
            file,
            path: path.into(),
            out: Summed::new(file, HEADER_BYTES as u64),
            deferred: spool.label(),
            keys: deferred(),
            directory: deferred(),
            count: 0,
            values: 0,
            body_end: 0,
            key_end: 0,
            before: None,
        }
    }

    /// Appends a set whose bytes `write` writes; keys must ascend.
    pub(crate) fn push(
        &mut self,
        key: &[u8],
        write: impl FnOnce(&mut dyn Write) -> Result<Head>,
    ) -> Result<()> {
        if self.before.as_deref().is_some_and(|before| before >= key) {
            return Err(Error::Accounting { what: "keys of sets do not ascend".into() });
        }
        let before = self.before.get_or_insert_default();
        before.clear();
        before.extend_from_slice(key);
        let mut out = Telling::new(&mut self.out);
        let written = write(&mut out);
        let told = out.told(written, Error::io("write", &self.path));
        let Head { bytes, representation, cardinality } = told?;
        self.body_end += bytes;
        self.key_end += key.len() as u64;
        self.count += 1;
        self.values = self.values.saturating_add(cardinality);
        let (key_end, body_end) = (self.key_end, self.body_end);
        let entry = Entry { key_end, body_end, representation, cardinality };
        let mut append = || {
            let entry = entry.to_bytes().ok_or(io::ErrorKind::FileTooLarge)?;
            self.keys.write_all(key)?;
            self.directory.write_all(&entry)
        };
        append().map_err(self.deferred.failed())
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<WrittenSets> {
        let (sets, values) = (self.count, self.values);
        let Self { file, path, mut out, keys, directory, count, body_end, key_end, .. } = self;
        let finish = || -> io::Result<u64> {
            let bodies = Section { offset: HEADER_BYTES as u64, len: body_end };
            let keys_at = Section { offset: bodies.end(), len: key_end };
            let mut directory_at = Section { offset: keys_at.end(), len: 0 };
            keys.append_to(&mut out)?;
            directory_at.len = directory.append_to(&mut out)?;
            out.flush()?;
            let checksums = append_checksums(file, directory_at.end(), &out.take_sums())?;
            file.set_len(checksums.end())?;
            let header =
                Header { count, bodies, keys: keys_at, directory: directory_at, checksums };
            let page = header.to_bytes().ok_or(io::ErrorKind::InvalidData)?;
            file.write_all_at(&page, 0)?;
            Ok(checksums.end())
        };
        let bytes = finish().map_err(Error::io("write", &path))?;
        Ok(WrittenSets { sets, values, bytes })
    }
}
