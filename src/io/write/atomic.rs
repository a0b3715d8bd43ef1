//! Files that appear whole or not at all.

use super::access::Access;
use crate::error::{Error, Result};
use crate::kernel::sys::{NamedFile, Nameless, Standard, duplicate};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Where the bytes of an output go.
#[derive(Debug)]
pub(crate) enum Destination {
    /// A regular file, new or not: it is written beside its place and then moved.
    Atomic(AtomicFile),
    /// A device, pipe or terminal: it is written directly.
    Stream(File),
}

/// Opens `path` for writing. A file of this name stays as it is until the commit.
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
        Ok(_) => {
            // A link stays a link: the commit replaces the file that it names.
            let path = fs::canonicalize(path).map_err(Error::io("find", path))?;
            // A user who may not write the file must not replace it either.
            OpenOptions::new().write(true).open(&path).map_err(Error::io("write", &path))?;
            let access = Access::of(&path).map_err(Error::io("read", &path))?;
            AtomicFile::create(path, access.as_ref()).map(Destination::Atomic)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let end = end_of_links(path)?;
            // No file can ever have such a name. Found only at the end, that would cost the whole run.
            if end.as_os_str().is_empty() || end.as_os_str().as_bytes().ends_with(b"/") {
                return Err(Error::io("create", end)(error));
            }
            AtomicFile::create(end, None).map(Destination::Atomic)
        }
        Err(error) => Err(Error::io("create", path)(error)),
    }
}

/// The file that this process has open under a name such as `/dev/stdout`, or under one that leads
/// there. It must not be replaced, because others may write to it.
fn open_descriptor(path: &Path) -> Option<io::Result<File>> {
    let own = fs::canonicalize("/proc/self/fd").ok();
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let folder = fs::canonicalize(folder_of(&path)).ok()?;
        let name = path.file_name()?;
        let number = match name.to_str() {
            Some("stdout") if folder == Path::new("/dev") => "1",
            Some("stderr") if folder == Path::new("/dev") => "2",
            Some(number) if folder == Path::new("/dev/fd") || Some(&folder) == own.as_ref() => {
                number
            }
            _ => {
                path = folder.join(fs::read_link(&path).ok()?);
                continue;
            }
        };
        let number: i32 = number.parse().ok()?;
        let mut standard = [Standard::Input, Standard::Output, Standard::Error].into_iter();
        let open = standard.find(|stream| *stream as i32 == number).map_or(Ok(()), Standard::check);
        // Opened anew, it would have a position of its own.
        return Some(open.and_then(|()| duplicate(number)));
    }
    None
}

/// Most links in a chain to a name that does not exist yet.
const MAX_LINKS: usize = 40;

/// The name at the end of a chain of links; there may be no file of this name.
pub(crate) fn end_of_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = folder_of(&path).join(target);
    }
    let source = io::Error::from_raw_os_error(Errno::LOOP.raw_os_error());
    Err(Error::Io { action: "create", path, source })
}

/// Device and number of a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u64, u64);

impl Place {
    /// Where a name leads; none if that is no regular file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().and_then(|found| Self::of_file(&found))
    }

    /// What an open stream is; none if it is no regular file.
    pub(crate) fn of_stream(stream: impl AsFd) -> Option<Self> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        Self::of_file(&file.metadata().ok()?)
    }

    fn of_file(found: &fs::Metadata) -> Option<Self> {
        found.is_file().then(|| Self(found.dev(), found.ino()))
    }
}

/// Whether a name leads to the regular file that is standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    Place::of(path).is_some_and(|place| Place::of_stream(io::stdin()) == Some(place))
}

/// Whether two names lead to one file, which may not exist yet.
pub(crate) fn is_same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| {
        fs::canonicalize(path).ok().or_else(|| {
            let path = end_of_links(path).ok()?;
            Some(fs::canonicalize(folder_of(&path)).ok()?.join(path.file_name()?))
        })
    };
    a == b || place(a).is_some_and(|place_of_a| place(b) == Some(place_of_a))
}

/// A file without a name, or with a temporary one. A commit gives it the name of its destination;
/// without a commit it leaves nothing.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    destination: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// Leaves nothing if the process is killed before the commit.
    Nameless(Nameless),
    /// For systems and file systems that have no nameless files.
    Named(NamedFile),
}

/// Permissions of a new file, before the mask of the process.
const NEW_MODE: u32 = 0o666;

impl AtomicFile {
    /// A new file, with the access to an old one that it replaces.
    fn create(destination: PathBuf, old: Option<&Access>) -> Result<Self> {
        let folder = folder_of(&destination);
        let nameless = Nameless::create_in(folder, NEW_MODE);
        let nameless = nameless.map_err(Error::io("create", &destination))?;
        match nameless {
            Some(file) => Self::of(destination, Content::Nameless(file), old),
            None => Self::create_named(destination, old),
        }
    }

    fn create_named(destination: PathBuf, old: Option<&Access>) -> Result<Self> {
        let file = NamedFile::create_in(folder_of(&destination), NEW_MODE)
            .map_err(Error::io("create", &destination))?;
        Self::of(destination, Content::Named(file), old)
    }

    fn of(destination: PathBuf, content: Content, old: Option<&Access>) -> Result<Self> {
        let new = Self { destination, content };
        if let Some(old) = old {
            old.give_to(new.file()).map_err(Error::io("write", new.path()))?;
        }
        Ok(new)
    }

    /// The file to write.
    pub(crate) fn file(&self) -> &File {
        match &self.content {
            Content::Nameless(file) => file.file(),
            Content::Named(file) => file.file(),
        }
    }

    /// The name that the file will have.
    pub(crate) fn path(&self) -> &Path {
        &self.destination
    }

    /// Commits as [`commit`](Self::commit) does, and returns only when file and name would survive
    /// a power cut.
    pub(crate) fn commit_durably(self) -> Result<()> {
        let destination = self.destination.clone();
        // The bytes must be safe before the name is.
        self.file().sync_all().map_err(Error::io("write", &destination))?;
        self.commit()?;
        let folder = folder_of(&destination);
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("write", folder))
    }

    /// Gives the file its name. It replaces the file that had this name.
    pub(crate) fn commit(self) -> Result<()> {
        let destination = self.destination;
        match self.content {
            Content::Nameless(file) => publish(&file, &destination),
            Content::Named(file) => file.rename(&destination),
        }
        .map_err(Error::io("create", &destination))
    }
}

/// The folder of a file, taken from its name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Links a nameless file to `destination`. A link cannot replace a file: if there is one, the file
/// gets a second name first, and a rename replaces the old file.
fn publish(file: &Nameless, destination: &Path) -> io::Result<()> {
    match file.link(destination) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let beside = tempfile::Builder::new()
        .prefix(".bitsort-")
        .make_in(folder_of(destination), |name| file.link(name))?;
    beside.into_temp_path().persist(destination).map_err(|refused| refused.error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

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
    fn a_file_with_a_temporary_name_appears_at_the_commit_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for content in ["first", "second"] {
            let old = Access::of(&path).unwrap();
            let new = AtomicFile::create_named(path.clone(), old.as_ref()).unwrap();
            new.file().write_all(content.as_bytes()).unwrap();
            assert_ne!(fs::read_to_string(&path).unwrap_or_default(), content);
            new.commit_durably().unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        }
        drop(AtomicFile::create_named(path.clone(), None).unwrap());
        assert_eq!(names(folder.path()), ["out"]);
        let plain = AtomicFile::create(folder.path().join("plain"), None).unwrap();
        plain.commit().unwrap();
        AtomicFile::create_named(folder.path().join("named"), None).unwrap().commit().unwrap();
        let mode = |name| fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("named"), mode("plain"));
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
