//! Opens sets from anywhere: set files, pipes and compressed files of sets, or numbers.

use super::{Report, Sort};
use crate::error::{Error, Result};
use crate::io::compression::{self, Compression, HEAD_BYTES};
#[cfg(feature = "cli")]
use crate::io::page;
use crate::io::read::{is_stdin, open_file};
use crate::io::roaring;
use crate::io::write::Telling;
use crate::set::file::{SetFile, SetKind, Spool};
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

impl Sort {
    /// Opens a set from anywhere, `-` for standard input: a set file is mapped; a set
    /// that comes through a pipe, or is compressed, is copied to a nameless file in the
    /// temporary folder; numbers are sorted into one. If the sort reads [binary
    /// numbers](Self::from_format), a file that begins as a roaring bitmap does has such numbers.
    /// The sort has no inputs of its own.
    /// The report is empty where nothing was sorted.
    ///
    /// # Errors
    ///
    /// If it is neither a set nor numbers, or cannot be read.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitsort::sort::Sort;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("ids.txt");
    /// std::fs::write(&path, "40\n7\n")?;
    /// let (set, report) = Sort::new().open_as_set(&path)?;
    /// assert!(set.view().contains(40)? && report.lines == 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_as_set(self, path: impl AsRef<Path>) -> Result<(SetFile, Report)> {
        let path = path.as_ref();
        self.find(path)?.set_and_report(path)
    }

    /// Opens a set from anywhere, or numbers, which are not sorted yet.
    pub(crate) fn find(self, path: &Path) -> Result<Found> {
        let is_stdin = is_stdin(path);
        let is_text = self.reads_text();
        let open = if is_text { SetFile::open_if_set } else { SetFile::open_if_sure };
        if !is_stdin && let Some(set) = open(path)? {
            return Ok(Found::Set(set));
        }
        if is_text {
            return look(path, self);
        }
        Ok(Found::Numbers(if is_stdin { self.stdin() } else { self.file(path) }))
    }

    /// Opens a set as [`open_as_set`](Self::open_as_set) does, but refuses numbers.
    #[cfg(feature = "cli")]
    pub(crate) fn open_set(self, path: &Path) -> Result<SetFile> {
        if !is_stdin(path)
            && let Some(set) = SetFile::open_if_set(path)?
        {
            return Ok(set);
        }
        match look(path, self)? {
            Found::Set(set) => Ok(set),
            Found::Numbers(_) if !is_stdin(path) && !path.is_file() => Err(Error::usage(format!(
                "{} is no regular file, and no set comes from it",
                path.display()
            ))),
            Found::Numbers(_) => {
                let damage = page::Damage::of(crate::set::file::NO_SET);
                Err(page::damaged(path)(damage))
            }
        }
    }
}

/// A set, or numbers that can become one.
#[expect(clippy::large_enum_variant, reason = "there are a few at a time")]
pub(crate) enum Found {
    Set(SetFile),
    /// A sort with the numbers as its input.
    Numbers(Sort),
}

impl Found {
    /// The set. Messages call the set of sorted numbers `name`.
    #[cfg(feature = "cli")]
    pub(crate) fn set(self, name: &Path) -> Result<SetFile> {
        self.set_and_report(name).map(|(set, _)| set)
    }

    /// The same, and what sorting it told.
    fn set_and_report(self, name: &Path) -> Result<(SetFile, Report)> {
        match self {
            Self::Set(set) => Ok((set, Report::default())),
            Self::Numbers(sort) => sort.into_temporary_set(name),
        }
    }
}

/// Looks at the first bytes of an input that is no plain set file.
fn look(path: &Path, sort: Sort) -> Result<Found> {
    let spool = &sort.spool();
    let failed = || Error::io("read", path);
    let mut file = open_file(path)?;
    let metadata = file.metadata().map_err(failed())?;
    let regular = metadata.is_file() && metadata.len() > 0;
    let start = if regular { file.stream_position().map_err(failed())? } else { 0 };
    let head = head_of(&mut file).map_err(failed())?;
    let name = path.display().to_string();
    let packed = sort.open_options().compression(&name, &head);
    let is_stdin = is_stdin(path);
    if packed.is_none() && SetKind::may_begin(&head) {
        return copy(Cursor::new(head).chain(file), path, spool);
    }
    let room = sort.budget().unpacking();
    let Some(format) = packed else {
        return Ok(Found::Numbers(match (regular, is_stdin) {
            (true, true) => {
                file.seek(io::SeekFrom::Start(start)).map_err(failed())?; // the sort reads from the same position
                sort.stdin()
            }
            (true, false) => sort.file(path),
            (false, _) => sort.stream(name, Cursor::new(head).chain(file)),
        }));
    };
    let decoder_bytes = format.decoder_bytes(&head);
    let mut again = if regular { Some(file.try_clone().map_err(failed())?) } else { None };
    let whole = Box::new(Cursor::new(head).chain(file));
    let mut plain = compression::unpacked(format, whole, room).map_err(failed())?;
    let head = head_of(&mut plain).map_err(failed())?;
    if SetKind::may_begin(&head) {
        return copy(Cursor::new(head).chain(plain), path, spool);
    }
    Ok(Found::Numbers(match &mut again {
        Some(file) if is_stdin => {
            file.seek(io::SeekFrom::Start(start)).map_err(failed())?;
            sort.stdin()
        }
        Some(_) => sort.file(path),
        None => {
            let mut sort = sort;
            // A further frame or stream may need more than the first one.
            let has_others = matches!(format, Compression::Zstd | Compression::Xz);
            sort.beside.unpacking = if has_others { room } else { decoder_bytes.min(room) };
            sort.reader(name, Cursor::new(head).chain(plain))
        }
    }))
}

/// The first bytes; fewer if the reader ends before.
fn head_of(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    let more = roaring::wanted(&head) - head.len();
    reader.take(more as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Copies the set that `reader` reads into a nameless file.
fn copy(mut reader: impl Read, path: &Path, spool: &Spool) -> Result<Found> {
    let mut file = spool.file()?;
    let mut out = Telling::new(&mut file);
    let copied = io::copy(&mut reader, &mut out).map_err(Error::io("read", path));
    out.told(copied, spool.label().failed())?;
    SetFile::from_file(&file, path).map(Found::Set)
}
