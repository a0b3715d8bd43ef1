//! Features of files that only some systems have.
//!
//! Linux can create files without a name and name them later, and open an open file again. On other
//! systems these functions give none, and callers use a [`NamedFile`](super::NamedFile). With
//! `--cfg plain_unix` they give none on Linux too, so that tests can run without these features.

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_getfd};
use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use system::Nameless;
pub(super) use system::path_of;

/// Whether this process is one of the programs of this crate.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this process is one of the programs: the files that it has open are its own, but for
/// those that are not closed on exec, which whoever began it left open.
#[cfg(feature = "cli")]
pub(crate) fn begin_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
}

/// The file that is open under this number, to be written: with the same position. In a program, it
/// is one that whoever began it left open.
#[expect(unsafe_code, reason = "a number becomes a descriptor")]
pub(crate) fn duplicate(number: RawFd) -> io::Result<File> {
    if number < 0 {
        return Err(Errno::BADF.into());
    }
    // SAFETY: the number is not -1. The kernel only looks it up, and refuses one that is not open.
    let open = unsafe { BorrowedFd::borrow_raw(number) };
    let is_closed_on_exec = fcntl_getfd(open)?.contains(FdFlags::CLOEXEC);
    if is_closed_on_exec && IS_PROGRAM.load(Ordering::Relaxed) {
        return Err(Errno::BADF.into());
    }
    let file = File::from(fcntl_dupfd_cloexec(open, 3)?);
    match fcntl_getfl(&file)? & OFlags::RWMODE {
        OFlags::WRONLY | OFlags::RDWR => Ok(file),
        _ => Err(Errno::BADF.into()),
    }
}

#[cfg(all(target_os = "linux", not(plain_unix)))]
mod system {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use rustix::io::Errno;
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    /// A file that has no name yet: even a killed process leaves nothing of it.
    #[derive(Debug)]
    pub(crate) struct Nameless {
        file: File,
        /// See [`path_of`].
        path: PathBuf,
    }

    impl Nameless {
        /// A new file for `folder`, with the permissions `mode` without those that the process's
        /// mask removes. None if the file system has no such files, or the file could not get a
        /// name later.
        pub(crate) fn create_in(folder: &Path, mode: u32) -> io::Result<Option<Self>> {
            let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
            match rustix::fs::open(folder, flags, Mode::from_raw_mode(mode)) {
                Ok(descriptor) => {
                    let file = File::from(descriptor);
                    Ok(path_of(&file).map(|path| Self { file, path }))
                }
                // The file system, or a kernel before 3.11, does not know the flag.
                Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }

        /// The file.
        pub(crate) fn file(&self) -> &File {
            &self.file
        }

        /// Gives the file a name that no other file has.
        pub(crate) fn link(&self, name: &Path) -> io::Result<()> {
            Ok(rustix::fs::linkat(CWD, &self.path, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
        }
    }

    /// A path that opens the same file from its beginning, as long as it is open here; none if
    /// `/proc` is not mounted.
    pub(crate) fn path_of(file: &File) -> Option<PathBuf> {
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        path.exists().then_some(path)
    }
}

#[cfg(not(all(target_os = "linux", not(plain_unix))))]
mod system {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    /// There are no such files on this system.
    #[derive(Debug)]
    pub(crate) enum Nameless {}

    impl Nameless {
        #[expect(clippy::unnecessary_wraps, reason = "Linux may refuse")]
        pub(crate) fn create_in(_folder: &Path, _mode: u32) -> io::Result<Option<Self>> {
            Ok(None)
        }

        pub(crate) fn file(&self) -> &File {
            match *self {}
        }

        pub(crate) fn link(&self, _name: &Path) -> io::Result<()> {
            match *self {}
        }
    }

    /// `/dev/fd` opens the file at its present position, not at its beginning.
    pub(crate) fn path_of(_file: &File) -> Option<std::path::PathBuf> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};
    use std::os::fd::AsRawFd;
    use std::path::Path;

    #[test]
    fn a_nameless_file_says_why_it_cannot_be_made() {
        let created = Nameless::create_in(Path::new("/nonexistent/folder"), 0o600);
        assert!(created.is_err() || cfg!(any(not(target_os = "linux"), plain_unix)));
    }

    #[test]
    fn a_duplicate_goes_on_where_the_file_is() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"ab").unwrap();
        duplicate(file.as_raw_fd()).unwrap().write_all(b"c").unwrap();
        file.write_all(b"d").unwrap();
        file.rewind().unwrap();
        let mut found = String::new();
        file.read_to_string(&mut found).unwrap();
        assert_eq!(found, "abcd");
        let read_only = File::open("/dev/null").unwrap();
        for wrong in [-1, i32::MIN, i32::MAX, read_only.as_raw_fd()] {
            assert!(duplicate(wrong).is_err(), "{wrong}");
        }
    }
}
