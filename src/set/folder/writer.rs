//! Writes folders that appear whole or not at all.

use super::manifest::{MANIFEST, MAX_MANIFEST_BYTES, Manifest, Part};
use super::piece::{ask, check_count, ends_within, window_of};
use crate::error::{Error, FolderFault, Result};
use crate::io::write::{
    Access, Encoding, FileLabel, Writer, end_of_links, folder_of, publish_folder,
};
use crate::progress::Progress;
use crate::set::file::{SetFile, Spool};
use crate::set::keyed::no_set_inside;
use crate::set::operand::AsSet;
use crate::set::sink::write_bits;
use crate::set::view::SetView;
use crate::set::{Joined, SetFormat, Written};
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::num::NonZero;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

/// Most parts of a folder. A reader maps each of them, and Linux lets a process have some 65,000 maps.
const MAX_PARTS: u64 = 1 << 14;

/// Writes a folder. Parts go into a temporary folder beside its place; the [`commit`](Self::commit)
/// gives that folder the name. Without a commit, nothing is left.
///
/// # Examples
///
/// ```
/// use bitsort::set::{self, FolderWriter, IntegerSet, SetFile};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ids");
/// let writer = FolderWriter::create(&path)?;
/// let (low, high) = (IntegerSet::from([3, 40]), IntegerSet::from([1 << 40]));
/// let parts = [&low, &high].into_iter().enumerate().map(|(number, set)| {
///     set::or(&[set]).write_part(writer.folder(), number)
/// });
/// let parts = parts.collect::<Result<Vec<_>, _>>()?;
/// writer.commit(parts.into_iter().flatten().collect())?;
/// assert_eq!(SetFile::open(&path)?.to_set()?, [3, 40, 1 << 40].into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FolderWriter {
    destination: PathBuf,
    temporary: TempDir,
}

impl FolderWriter {
    /// Begins a folder that will be at `path`. If there is a folder already, the commit replaces
    /// it; it must be empty or a set in parts.
    ///
    /// # Errors
    ///
    /// If `path` is empty, names a set inside a `.sets` file, something else is there, or the system refuses the temporary folder.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.as_os_str().is_empty() {
            return Err(Error::usage("the name of the folder is empty"));
        }
        no_set_inside(path)?;
        check_replaceable(path)?;
        // A link stays a link, and a later change of the current folder changes nothing. This also
        // removes a `/` at the end of the path.
        let destination = if let Ok(found) = fs::canonicalize(path) {
            found
        } else {
            let whole = std::path::absolute(path).map_err(Error::io("create", path))?;
            end_of_links(&whole.components().collect::<PathBuf>())?
        };
        if std::env::current_dir().is_ok_and(|here| here == destination) {
            let what = "a set in parts cannot replace the folder in which this program runs";
            return Err(Error::usage(format!("{}: {what}", path.display())));
        }
        let temporary = tempfile::Builder::new()
            .prefix(".bitsort-")
            .permissions(Permissions::from_mode(0o777)) // without those bits that the mask of the process has
            .tempdir_in(folder_of(&destination))
            .map_err(Error::io("create", path))?;
        if let Some(old) = Access::of(&destination).map_err(Error::io("read", &destination))? {
            old.guard(temporary.path()).map_err(Error::io("write", &destination))?;
        }
        Ok(Self { destination, temporary })
    }

    /// The temporary folder, in which callers put the parts.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.temporary.path()
    }

    /// Writes the manifest of these parts, which are in [`folder`](Self::folder), and gives the
    /// folder its name. It removes all other files in the folder, for example those of an abandoned
    /// task.
    ///
    /// # Errors
    ///
    /// If parts overlap, if one is missing or does not have the bytes that its row says, or if the
    /// system refuses. What was at the path is untouched then.
    pub fn commit(self, parts: Vec<Part>) -> Result<Written> {
        let Self { destination, temporary } = self;
        let manifest = Manifest::of(&destination, parts)?;
        for part in &manifest.parts {
            let found = fs::metadata(temporary.path().join(&part.name));
            let found =
                found.map_err(|_| FolderFault::Missing(part.name.clone()).of(&destination))?;
            if found.len() != part.bytes {
                let (name, expected, found) = (part.name.clone(), part.bytes, found.len());
                return Err(FolderFault::Bytes { name, expected, found }.of(&destination));
            }
        }
        remove_others(temporary.path(), &manifest).map_err(Error::io("write", &destination))?;
        let bytes = manifest.to_bytes();
        if bytes.len() > MAX_MANIFEST_BYTES {
            let (name, parts) = (destination.display(), manifest.parts.len());
            return Err(Error::usage(format!("{name}: {parts} parts are too many for one folder")));
        }
        write_manifest(temporary.path(), &bytes)?;
        check_replaceable(&destination)?;
        keep_access(&destination, temporary.path(), &manifest)
            .map_err(Error::io("write", &destination))?;
        let published = publish_folder(temporary.path(), &destination);
        published.map_err(Error::io("create", &destination))?;
        let parts_bytes: u64 = manifest.parts.iter().map(|part| part.bytes).sum();
        let bytes = parts_bytes + bytes.len() as u64;
        Ok(Written { cardinality: manifest.cardinality, bytes })
    }
}

/// Gives a folder, its parts and its manifest the access to those that they replace. The parts get
/// that to the old manifest.
fn keep_access(old: &Path, new: &Path, manifest: &Manifest) -> io::Result<()> {
    if let Some(of_files) = Access::of(&old.join(MANIFEST))? {
        let names = manifest.parts.iter().map(|part| part.name.as_str()).chain([MANIFEST]);
        for name in names {
            of_files.give_to(&File::open(new.join(name))?)?;
        }
    }
    let of_folder = Access::of(old)?;
    of_folder.map_or(Ok(()), |access| access.give_to(&File::open(new)?))
}

impl Joined<'_> {
    /// Writes the set as part `number` of a folder; gives its row of the manifest. A set without
    /// values gives no row and no file. A part of this number is replaced in one step, so two tasks
    /// may write the same part.
    ///
    /// # Errors
    ///
    /// As [`write`](Self::write), or if the folder has a manifest with a part of this number.
    pub fn write_part(self, folder: impl AsRef<Path>, number: usize) -> Result<Option<Part>> {
        write_part(folder.as_ref(), number, &Spool::default(), self)
    }
}

fn write_part(
    folder: &Path,
    number: usize,
    spool: &Spool,
    values: Joined<'_>,
) -> Result<Option<Part>> {
    let name = Part::name_of(number);
    let path = folder.join(&name);
    if let Some(published) = folder_of_part(&path)? {
        return Err(FolderFault::Fixed.of(&published));
    }
    let writer = Writer::open(&path, Encoding::Set, spool)?;
    let Some(file) = writer.file() else {
        return Err(Error::usage(format!("{} is no regular file", path.display())));
    };
    write_bits(file, &FileLabel::output(&path), SetFormat::Bits, spool, |sink| values.run(sink))?;
    let set = SetFile::from_file(file, &path)?;
    let Some((first, last)) = ends_within(&set, 0, u64::MAX)? else { return Ok(None) };
    let (cardinality, xxh3) = (set.len(), xxh3_64(set.bytes()));
    drop(set);
    let bytes = writer.commit()?;
    Ok(Some(Part { name, first, last, cardinality, bytes, xxh3 }))
}

/// Writes a set as a folder of up to `parts` parts with about the same number of values each.
///
/// # Errors
///
/// If the set is damaged, if something other than a set in parts is at `path`, or if the system
/// refuses.
///
/// # Examples
///
/// ```
/// use bitsort::set::{self, IntegerSet, SetFile};
/// use std::num::NonZero;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("ids");
/// let (ids, parts) = (IntegerSet::from_iter(0..1_000_000), NonZero::new(4).unwrap());
/// assert_eq!(set::write_folder(&ids, &path, parts)?.cardinality, 1_000_000);
/// assert_eq!(std::fs::read_dir(&path)?.count(), 4 + 1);
/// assert_eq!(SetFile::open(&path)?.to_set()?, ids);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_folder(
    set: &dyn AsSet,
    path: impl AsRef<Path>,
    parts: NonZero<usize>,
) -> Result<Written> {
    write_folder_with(set, path, parts, &Arc::default())
}

/// The same with progress, which can also cancel it.
///
/// # Errors
///
/// As [`write_folder`], or if it is cancelled.
pub fn write_folder_with(
    set: &dyn AsSet,
    path: impl AsRef<Path>,
    parts: NonZero<usize>,
    progress: &Arc<Progress>,
) -> Result<Written> {
    set.as_set().verify_bytes(progress)?;
    write_folder_in(set, path.as_ref(), parts, &Spool::default(), progress)
}

/// The same with the memory and the folder of a spool.
pub(crate) fn write_folder_in(
    set: &dyn AsSet,
    path: &Path,
    parts: NonZero<usize>,
    spool: &Spool,
    progress: &Arc<Progress>,
) -> Result<Written> {
    let writer = FolderWriter::create(path)?;
    let (mut rows, mut from) = (Vec::new(), Some(0));
    let len = ask(set, SetView::len)?;
    let ends = ends_within(set, 0, u64::MAX)?;
    // A part has at least the values of one container.
    let containers = ends.map_or(0, |(min, max)| (max >> 16) - (min >> 16) + 1);
    let parts = (parts.get() as u64).min(MAX_PARTS).min(containers).min(len);
    for number in 0..parts {
        let Some(first) = from else { break };
        Error::if_cancelled(progress)?;
        // The first value of the next part, rounded down to the start of a container.
        let rank = u128::from(len) * u128::from(number + 1) / u128::from(parts);
        let next = match u64::try_from(rank).ok().filter(|&rank| rank < len) {
            Some(rank) => ask(set, |view| view.select(rank))?.map(|value| value & !0xFFFF),
            None => None,
        };
        from = match next {
            Some(next) if next <= first => continue,
            next => next,
        };
        let values = window_of(set, first, next.map_or(u64::MAX, |next| next - 1))?;
        let values = values.progress(Arc::clone(progress));
        rows.extend(write_part(writer.folder(), rows.len(), spool, values)?);
    }
    check_count(set, rows.iter().map(|part| part.cardinality).sum())?;
    writer.commit(rows)
}

/// Fails if a folder must not replace what is at `path`.
fn check_replaceable(path: &Path) -> Result<()> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(Error::io("read", path))?,
    };
    if !metadata.is_dir() {
        let source = io::Error::from(io::ErrorKind::NotADirectory);
        return Err(Error::Io { action: "write", path: path.into(), source });
    }
    // Else the old parts would stay beside the new folder, under another name.
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK)
        .map_err(|error| Error::io("write", path)(error.into()))?;
    let (mut names, mut others) = (0, None);
    let mut has_manifest = false;
    for entry in fs::read_dir(path).map_err(Error::io("read", path))? {
        let entry = entry.map_err(Error::io("read", path))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        names += 1;
        let is_ours = if name == MANIFEST {
            has_manifest = manifest_of(path)?.is_some_and(|bytes| Manifest::read(&bytes).is_ok());
            has_manifest
        } else {
            Part::is_name(&name) && entry.path().is_file()
        };
        if !is_ours {
            others.get_or_insert_with(|| name.into_owned());
        }
    }
    match others {
        Some(other) => Err(FolderFault::Foreign(other).of(path)),
        None if names == 0 || has_manifest => Ok(()),
        None => Err(FolderFault::NoManifest.of(path)),
    }
}

/// The bytes of the manifest of a folder, if it has such a file.
fn manifest_of(folder: &Path) -> Result<Option<Vec<u8>>> {
    let path = folder.join(MANIFEST);
    if !path.is_file() {
        return Ok(None);
    }
    // A longer file is no manifest, and is not read whole.
    let (mut bytes, most) = (Vec::new(), MAX_MANIFEST_BYTES as u64 + 1);
    let read = File::open(&path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(Error::io("read", path))?;
    Ok(Some(bytes))
}

/// The folder to which the file at `path` belongs, as its manifest or as a part. Links are followed.
pub(in crate::set) fn folder_of_part(path: &Path) -> Result<Option<PathBuf>> {
    let end = end_of_links(path)?;
    let behind = (end != path).then_some(&*end);
    for path in [Some(path), behind].into_iter().flatten() {
        let folder = folder_of(path);
        let name = path.file_name().and_then(OsStr::to_str);
        let is_ours = |name: &&str| *name == MANIFEST || Part::is_name(name);
        let Some(name) = name.filter(is_ours) else { continue };
        let Some(bytes) = manifest_of(folder)? else { continue };
        let manifest = match Manifest::read(&bytes) {
            Ok(_) if name == MANIFEST => return Ok(Some(folder.to_path_buf())),
            Err(_) if name == MANIFEST => continue, // a file of somebody else
            manifest => manifest.map_err(|fault| fault.of(folder))?,
        };
        if manifest.parts.iter().any(|part| part.name == name) {
            return Ok(Some(folder.to_path_buf()));
        }
    }
    Ok(None)
}

/// Removes the files that the manifest does not name.
fn remove_others(folder: &Path, manifest: &Manifest) -> io::Result<()> {
    let named: HashSet<&OsStr> = manifest.parts.iter().map(|part| part.name.as_ref()).collect();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !named.contains(&*entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes the manifest under another name, then renames it.
fn write_manifest(folder: &Path, bytes: &[u8]) -> Result<()> {
    let path = folder.join(MANIFEST);
    let mut writer = Writer::open(&path, Encoding::Set, &Spool::default())?;
    writer.write_all(bytes).map_err(Error::io("write", &path))?;
    writer.commit().map(drop)
}
