//! Sets from anywhere: set files, pipes and compressed files of them, and numbers.

use super::Sort;
use super::set::{collect, spool};
use crate::error::{Error, Result};
use crate::io::compression::{self, Compression, HEAD_BYTES};
use crate::io::read::open_file;
use crate::set::file::{SetFile, SetKind, Spool};
use crate::set::{SetFormat, write_to};
use crate::size::ByteSize;
use std::io::{self, Cursor, Read, Seek};
use std::path::Path;

/// Opens what may be a set file or a file of numbers, `-` for standard input. A set that
/// comes through a pipe, or is compressed, is copied to a nameless file in `folder`;
/// numbers are sorted into one.
///
/// # Errors
///
/// If it is neither, or cannot be read.
pub fn open_any(path: &Path, sort: impl FnOnce() -> Sort, folder: &Path) -> Result<SetFile> {
    let is_stdin = path == Path::new("-");
    if !is_stdin && let Some(set) = SetFile::open_if_set(path)? {
        return Ok(set);
    }
    let (sort, spool) = (sort(), spool(folder));
    let sort = if sort.reads_text() {
        match look(path, sort, &spool)? {
            Found::Set(set) => return Ok(set),
            Found::Numbers(sort) => sort,
        }
    } else if is_stdin {
        sort.stdin()
    } else {
        sort.file(path)
    };
    let file = spool.file()?;
    write_to(&file, path, SetFormat::RoaringBits, &spool, |sink| collect(sort, sink).map(drop))?;
    SetFile::from_file(&file, path)
}

/// As [`open_any`], but numbers are no set.
///
/// # Errors
///
/// If it is no set, or cannot be read.
#[cfg(feature = "cli")]
pub(crate) fn open_set(path: &Path, sort: impl FnOnce() -> Sort, folder: &Path) -> Result<SetFile> {
    if path != Path::new("-")
        && let Some(set) = SetFile::open_if_set(path)?
    {
        return Ok(set);
    }
    match look(path, sort(), &spool(folder))? {
        Found::Set(set) => Ok(set),
        Found::Numbers(_) if path != Path::new("-") && !path.is_file() => Err(Error::usage(
            format!("{} is no regular file, and no set comes from it", path.display()),
        )),
        Found::Numbers(_) => {
            let what = "neither a .bits file nor a portable roaring bitmap";
            Err(Error::Damaged { input: path.display().to_string(), offset: 0, what })
        }
    }
}

/// What an input turns out to be.
enum Found {
    Set(SetFile),
    /// A sort that has it as its input.
    Numbers(Sort),
}

/// Looks at the first bytes of what is no plain set file.
fn look(path: &Path, sort: Sort, spool: &Spool) -> Result<Found> {
    let failed = || Error::io("read", path);
    let mut file = open_file(path)?;
    let metadata = file.metadata().map_err(failed())?;
    let regular = metadata.is_file() && metadata.len() > 0;
    let start = if regular { file.stream_position().map_err(failed())? } else { 0 };
    let head = head_of(&mut file).map_err(failed())?;
    let packed = Compression::of_content(&head);
    if let (None, true) = (packed, SetKind::may_begin(&head)) {
        return copy(Cursor::new(head).chain(file), path, spool);
    }
    let is_stdin = path == Path::new("-");
    let name = path.display().to_string();
    let room = sort.unpack_room();
    let Some(format) = packed else {
        return Ok(Found::Numbers(match (regular, is_stdin) {
            (true, true) => {
                file.seek(io::SeekFrom::Start(start)).map_err(failed())?; // shared with the sort
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
            let sort = sort.reserve(ByteSize::from_bytes(decoder_bytes.min(room)));
            sort.reader(name, Cursor::new(head).chain(plain))
        }
    }))
}

/// The first bytes, fewer if it ends before.
fn head_of(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    reader.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// The set that `reader` reads, in a nameless file.
fn copy(mut reader: impl Read, path: &Path, spool: &Spool) -> Result<Found> {
    let mut file = spool.file()?;
    io::copy(&mut reader, &mut file).map_err(Error::io("read", path))?;
    SetFile::from_file(&file, path).map(Found::Set)
}
