//! Temporary files that can be read more than once.

use super::files::path_of;
use super::named::NamedFile;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A temporary file that this process can open again by a path, from its beginning. It is removed
/// when this is dropped.
#[derive(Debug)]
pub(crate) enum TemporaryFile {
    /// Even a killed process leaves nothing.
    Nameless(File, PathBuf),
    /// For systems on which an open file has no path of its own.
    Named(NamedFile),
}

impl TemporaryFile {
    /// A new file in `folder`.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(crate) fn create_in(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        match path_of(&file) {
            Some(path) => Ok(Self::Nameless(file, path)),
            None => NamedFile::create_in(folder, 0o600).map(Self::Named),
        }
    }

    /// The file, for writing.
    pub(crate) fn file(&self) -> &File {
        match self {
            Self::Nameless(file, _) => file,
            Self::Named(file) => file.file(),
        }
    }

    /// A path that opens the file, as long as this lives.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Nameless(_, path) => path,
            Self::Named(file) => file.path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_temporary_file_is_read_from_its_beginning_twice() {
        let folder = tempfile::tempdir().unwrap();
        let named = NamedFile::create_in(folder.path(), 0o600).unwrap();
        for temporary in
            [TemporaryFile::create_in(folder.path()).unwrap(), TemporaryFile::Named(named)]
        {
            temporary.file().write_all(b"lines").unwrap();
            for _ in 0..2 {
                let mut found = String::new();
                File::open(temporary.path()).unwrap().read_to_string(&mut found).unwrap();
                assert_eq!(found, "lines");
            }
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
        assert!(TemporaryFile::create_in(Path::new("/nonexistent")).is_err());
    }
}
