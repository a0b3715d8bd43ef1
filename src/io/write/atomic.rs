//! Files that appear whole or not at all.

use crate::error::{Error, Result};
use crate::kernel::sys::Standard;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What the name of an output stands for.
#[derive(Debug)]
pub(crate) enum Destination {
    /// A regular file, there or not: written beside its place, then moved.
    Atomic(AtomicFile),
    /// A device, pipe or terminal: written as it is.
    Stream(File),
}

/// Opens `path` for writing; what is there now stays until the commit.
pub(crate) fn open_destination(path: &Path) -> Result<Destination> {
    if let Some(file) = open_descriptor(path) {
        return file.map(Destination::Stream).map_err(Error::io("open", path));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(Error::directory("write", path)),
        Ok(found) if !found.is_file() => {
            let file =
                OpenOptions::new().write(true).open(path).map_err(Error::io("open", path))?;
            Ok(Destination::Stream(file))
        }
        Ok(found) => {
            // A link stays a link: the file it names is replaced.
            let path = fs::canonicalize(path).map_err(Error::io("find", path))?;
            // Whoever may not write the file shall not replace it either.
            OpenOptions::new().write(true).open(&path).map_err(Error::io("write", &path))?;
            AtomicFile::create(path, Some(&found)).map(Destination::Atomic)
        }
        Err(_) => AtomicFile::create(end_of_links(path)?, None).map(Destination::Atomic),
    }
}

/// The file that this process has open under a name such as `/dev/stdout`: what
/// others write there shall not be replaced.
fn open_descriptor(path: &Path) -> Option<io::Result<File>> {
    let number = match path.to_str()? {
        "/dev/stdout" => "1",
        "/dev/stderr" => "2",
        other => other.strip_prefix("/dev/fd/").or_else(|| other.strip_prefix("/proc/self/fd/"))?,
    };
    Some(match number {
        "1" => {
            let open = Standard::Output.check();
            open.and_then(|()| io::stdout().as_fd().try_clone_to_owned()).map(File::from)
        }
        "2" => io::stderr().as_fd().try_clone_to_owned().map(File::from),
        _ => OpenOptions::new().append(true).open(path),
    })
}

/// Links followed to one that leads nowhere yet.
const MAX_LINKS: usize = 40;

/// Where the last of a chain of links points to, there or not.
fn end_of_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = folder_of(&path).join(target);
    }
    let source = io::Error::from_raw_os_error(Errno::LOOP.raw_os_error());
    Err(Error::Io { action: "create", path, source })
}

/// Whether two names stand for one file, there or not.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        fs::canonicalize(path).ok().or_else(|| {
            let path = end_of_links(path).ok()?;
            Some(fs::canonicalize(folder_of(&path)).ok()?.join(path.file_name()?))
        })
    };
    a == b || place(a).is_some_and(|place_of_a| place(b) == Some(place_of_a))
}

/// A file without a name, or with a temporary one, that a commit moves to its
/// destination. Dropped without a commit it leaves nothing.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    destination: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// Not even a kill leaves anything.
    Nameless(File),
    /// For file systems that have no nameless files.
    Named(NamedTempFile),
}

impl AtomicFile {
    /// A file that takes owner and permissions of `old`.
    fn create(destination: PathBuf, old: Option<&fs::Metadata>) -> Result<Self> {
        let folder = folder_of(&destination);
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let content = match rustix::fs::open(folder, flags, Mode::from_raw_mode(0o666)) {
            Ok(descriptor) => Content::Nameless(descriptor.into()),
            Err(error) if !matches!(error, Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
                return Err(Error::io("create", &destination)(error.into()));
            }
            Err(_) => Content::Named(
                tempfile::Builder::new()
                    .prefix(".bitsort-")
                    .permissions(fs::Permissions::from_mode(0o666))
                    .tempfile_in(folder)
                    .map_err(Error::io("create", &destination))?,
            ),
        };
        let new = Self { destination, content };
        if let Some(old) = old {
            let mut mode = old.permissions().mode();
            if fchown(new.file(), Some(old.uid()), Some(old.gid())).is_err() {
                mode &= 0o777; // nothing that runs as another owner's
            }
            let permissions = fs::Permissions::from_mode(mode);
            new.file().set_permissions(permissions).map_err(Error::io("write", new.path()))?;
        }
        Ok(new)
    }

    /// The file to write.
    pub(crate) fn file(&self) -> &File {
        match &self.content {
            Content::Nameless(file) => file,
            Content::Named(file) => file.as_file(),
        }
    }

    /// The name it will have.
    pub(crate) fn path(&self) -> &Path {
        &self.destination
    }

    /// As [`commit`](Self::commit), and does not return before file and name
    /// are safe from a power cut.
    pub(crate) fn commit_durably(self) -> Result<()> {
        let destination = self.destination.clone();
        // The bytes before the name: never a name without them.
        self.file().sync_all().map_err(Error::io("write", &destination))?;
        self.commit()?;
        let folder = folder_of(&destination);
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("write", folder))
    }

    /// Gives the file its name, in place of what had it before.
    pub(crate) fn commit(self) -> Result<()> {
        let destination = self.destination;
        match self.content {
            Content::Nameless(file) => {
                publish(&file, &destination).map_err(Error::io("create", &destination))
            }
            Content::Named(file) => file
                .persist(&destination)
                .map(drop)
                .map_err(|refused| Error::io("create", &destination)(refused.error)),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Links a nameless file to `destination`. A link cannot replace a file, so
/// one that is there is replaced by renaming a second name over it.
fn publish(file: &File, destination: &Path) -> io::Result<()> {
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |name: &Path| -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, &source, CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    };
    match link(destination) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let beside = tempfile::Builder::new()
        .prefix(".bitsort-")
        .make_in(folder_of(destination), |name| link(name))?;
    beside.into_temp_path().persist(destination).map_err(|refused| refused.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_at_the_commit_and_not_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for content in ["first", "second"] {
            let Destination::Atomic(new) = open_destination(&path).unwrap() else { panic!() };
            new.file().write_all(content.as_bytes()).unwrap();
            assert_ne!(fs::read_to_string(&path).unwrap_or_default(), content);
            new.commit().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn without_a_commit_nothing_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::write(&path, "old").unwrap();
        let Destination::Atomic(new) = open_destination(&path).unwrap() else { panic!() };
        new.file().write_all(b"new").unwrap();
        drop(new);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn links_and_permissions_survive_a_replacement() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink("out", &link).unwrap();
        let Destination::Atomic(new) = open_destination(&link).unwrap() else { panic!() };
        new.file().write_all(b"new").unwrap();
        new.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_that_leads_nowhere_yet_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("out"), folder.path().join("link"));
        std::os::unix::fs::symlink("out", &link).unwrap();
        assert!(is_same_file(&path, &link) && !is_same_file(&path, folder.path()));
        let Destination::Atomic(new) = open_destination(&link).unwrap() else { panic!() };
        new.file().write_all(b"new").unwrap();
        new.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["link", "out"]);
        std::os::unix::fs::symlink("round", folder.path().join("round")).unwrap();
        assert!(open_destination(&folder.path().join("round")).is_err());
    }

    #[test]
    fn the_streams_of_this_process_are_not_replaced() {
        for name in ["/dev/stdout", "/dev/stderr", "/dev/fd/1", "/proc/self/fd/2"] {
            let opened = open_destination(Path::new(name)).unwrap();
            assert!(matches!(opened, Destination::Stream(_)), "{name}");
        }
    }

    #[test]
    fn a_device_is_written_as_it_is() {
        assert!(matches!(open_destination(Path::new("/dev/null")), Ok(Destination::Stream(_))));
    }
}
