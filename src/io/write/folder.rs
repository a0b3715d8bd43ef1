//! Folders that appear whole or not at all.

use super::atomic::folder_of;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs;
use std::io;
use std::path::Path;

/// Gives the folder `temporary` the name `destination`. A folder that has this name is replaced:
/// its content is under the temporary name afterwards, or gone.
///
/// # Errors
///
/// If the system refuses. Both folders are then as they were before. If the system also refuses to
/// undo a step, the old content stays in a folder beside it, whose name begins with `.bitsort-`.
pub(crate) fn publish_folder(temporary: &Path, destination: &Path) -> io::Result<()> {
    match fs::rename(temporary, destination) {
        Err(error) if is_taken(&error) => {}
        other => return other,
    }
    if renameat_with(CWD, temporary, CWD, destination, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    // The file system cannot exchange names: for a moment, no folder has the name.
    let aside = tempfile::Builder::new().prefix(".bitsort-").tempdir_in(folder_of(destination))?;
    fs::rename(destination, aside.path())?;
    let renamed = fs::rename(temporary, destination);
    if renamed.is_err() && fs::rename(aside.path(), destination).is_err() {
        let _ = aside.keep(); // keep the folder, and so the old content
    }
    renamed
}

/// Whether the name belongs to a folder that is not empty.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_takes_the_place_of_another_in_one_step() {
        let root = tempfile::tempdir().unwrap();
        let destination = root.path().join("out");
        for content in ["first", "second", "third"] {
            let temporary = tempfile::tempdir_in(root.path()).unwrap();
            fs::write(temporary.path().join("file"), content).unwrap();
            publish_folder(temporary.path(), &destination).unwrap();
            assert_eq!(fs::read_to_string(destination.join("file")).unwrap(), content);
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
        let missing = root.path().join("no folder/out");
        let temporary = tempfile::tempdir_in(root.path()).unwrap();
        assert!(publish_folder(temporary.path(), &missing).is_err());
        assert!(temporary.path().is_dir());
    }
}
