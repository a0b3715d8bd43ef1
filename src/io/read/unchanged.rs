//! Files that are read more than once must not change meanwhile.

use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::Seek;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Properties that change when somebody writes to a file or replaces it.
pub(crate) type Mark = (u64, u64, u64, i64, i64);

/// The state of regular files when they were first looked at.
pub(crate) struct Unchanged(Vec<(PathBuf, Mark)>);

/// The state of a regular file; none for anything else.
pub(crate) fn mark(path: &Path) -> Option<Mark> {
    mark_of(&fs::metadata(path).ok()?)
}

/// The same of a file that is open.
pub(super) fn mark_of(found: &fs::Metadata) -> Option<Mark> {
    let mark = (found.dev(), found.ino(), found.len(), found.mtime(), found.mtime_nsec());
    found.is_file().then_some(mark)
}

impl Unchanged {
    /// Takes note of the regular files among these.
    pub(crate) fn of<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Self {
        let marked = |path: &PathBuf| Some((path.clone(), mark(path)?));
        Self(paths.into_iter().filter_map(marked).collect())
    }

    /// Refuses a result if one of the files changed meanwhile.
    pub(crate) fn check(&self) -> Result<()> {
        match self.0.iter().find(|(path, before)| mark(path).as_ref() != Some(before)) {
            None => Ok(()),
            Some((path, _)) => Err(Error::InputRewritten { input: path.display().to_string() }),
        }
    }
}

/// Refuses a regular file that now ends before the place that was read: somebody shortened it, and
/// its last line may be cut. `before` is its state when it was opened. Files of /proc always say
/// that they are empty; they are not refused.
pub(crate) fn check_end(file: &File, before: &fs::Metadata, path: &Path) -> Result<()> {
    let now = file.metadata().map_err(Error::io("read", path))?;
    let at = |mut file: &File| file.stream_position().map_err(Error::io("read", path));
    if before.is_file() && before.len() > 0 && now.len() < at(file)? {
        return Err(Error::InputRewritten { input: path.display().to_string() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_that_grows_or_is_replaced_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let paths = [path.clone(), folder.path().join("missing"), folder.path().into()];
        fs::write(&path, "a\n").unwrap();
        let unchanged = Unchanged::of(&paths);
        assert!(unchanged.check().is_ok());
        fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"b\n").unwrap();
        assert!(matches!(unchanged.check(), Err(Error::InputRewritten { .. })));
        let unchanged = Unchanged::of(&paths);
        fs::write(folder.path().join("other"), "c\nd\n").unwrap();
        fs::rename(folder.path().join("other"), &path).unwrap();
        assert!(unchanged.check().is_err());
        let unchanged = Unchanged::of(&paths);
        fs::remove_file(&path).unwrap();
        assert!(unchanged.check().is_err());
    }

    #[test]
    fn an_end_before_what_was_read_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        fs::write(&path, "a\nb\n").unwrap();
        let read = |path: &Path| {
            let file = File::open(path).unwrap();
            let before = file.metadata().unwrap();
            std::io::copy(&mut &file, &mut std::io::sink()).unwrap();
            (file, before)
        };
        let (file, before) = read(&path);
        assert!(check_end(&file, &before, &path).is_ok());
        for len in [3, 0] {
            fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
            let found = check_end(&file, &before, &path);
            assert!(matches!(found, Err(Error::InputRewritten { .. })));
        }
        let (file, before) = read(Path::new("/proc/self/stat"));
        assert!(check_end(&file, &before, &path).is_ok());
    }
}
