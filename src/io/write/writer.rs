//! One output: opens what its name leads to, packs its bytes, and shows it at the commit.

use super::atomic::{AtomicFile, Destination, end_of_links, open_destination};
use super::telling::Telling;
use crate::error::{Error, Result};
use crate::io::compression::{Compression, Pack, packer};
use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

/// The kind of an output, as far as its writer must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Lines or numbers, one after the other.
    Lines,
    /// A table of columns, one row group after the other.
    Table,
    /// A set file. Its head is written last.
    Set,
    /// A filter, from its first byte to its last.
    Filter,
    /// An index, which must be a regular file.
    Index,
    /// Malformed lines, which a run may drop and write again.
    Rejects,
    /// A picture.
    #[cfg(feature = "plot")]
    Picture,
}

impl Encoding {
    /// Why a file of this kind is never compressed as a whole; none if it may be compressed.
    fn why_never_packed(self) -> Option<&'static str> {
        match self {
            Self::Lines => None,
            Self::Table => Some("a table is read from any place"),
            Self::Set => Some("a set file is read in place"),
            Self::Filter => Some("a filter is read in place"),
            Self::Index => Some("an index is read in place"),
            Self::Rejects => Some("this file may be emptied and written again"),
            #[cfg(feature = "plot")]
            Self::Picture => Some("a picture is packed already"),
        }
    }

    /// Refuses the name of a file that promises a compression which it does not get.
    fn check_name(self, path: &Path) -> Result<()> {
        Compression::refuse_unknown(path).map_err(Error::usage)?;
        match self.why_never_packed() {
            Some(why) => Compression::refuse_name(path, why).map_err(Error::usage),
            None => Ok(()),
        }
    }

    /// Whether bytes that were written may change before the commit.
    fn goes_back(self) -> bool {
        matches!(self, Self::Set | Self::Index | Self::Rejects)
    }
}

/// What an output needs beside its values: memory and a folder for bytes that cannot be written at
/// once, and the name of a column.
#[derive(Debug, Clone)]
pub(crate) struct Spool {
    /// Bytes that may wait in memory.
    pub(crate) memory_bytes: usize,
    /// Memory for packing an output, or for encoding a table.
    pub(crate) pack_bytes: u64,
    pub(crate) folder: PathBuf,
    /// The name of the column of values in a table.
    pub(crate) column: Cow<'static, str>,
}

impl Spool {
    /// Memory for an output that waits for its place, if the caller sets no limit.
    pub(crate) const MEMORY_BYTES: usize = 4 << 20;
    /// The same for a packer, or for the encoder of a table.
    pub(crate) const PACK_BYTES: u64 = 16 << 20;
    /// The name of a column of values, if the input gives none.
    pub(crate) const COLUMN: Cow<'static, str> = Cow::Borrowed("value");

    /// A file without a name in the folder.
    pub(crate) fn file(&self) -> Result<File> {
        nameless_in(&self.folder)
    }

    /// The label of a file in the folder.
    pub(crate) fn label(&self) -> FileLabel {
        FileLabel { action: "write a temporary file in", path: self.folder.clone() }
    }
}

impl Default for Spool {
    fn default() -> Self {
        let (memory_bytes, pack_bytes) = (Self::MEMORY_BYTES, Self::PACK_BYTES);
        Self { memory_bytes, pack_bytes, folder: temporary_folder(), column: Self::COLUMN }
    }
}

/// A temporary file without a name in a folder. Even a killed process leaves nothing of it.
pub(crate) fn nameless_in(folder: &Path) -> Result<File> {
    tempfile::tempfile_in(folder).map_err(Error::io("create a temporary file in", folder))
}

/// How an error names the file that cannot be written.
#[derive(Debug, Clone)]
pub(crate) struct FileLabel {
    action: &'static str,
    path: PathBuf,
}

impl FileLabel {
    pub(crate) fn output(path: &Path) -> Self {
        Self { action: "write", path: path.into() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes an error of one of the system; for `map_err`.
    pub(crate) fn failed(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        Error::io(self.action, self.path.clone())
    }
}

/// The folder for temporary files if the caller names none: `TMPDIR`, or `/tmp` if that is not set or
/// empty.
pub(crate) fn temporary_folder() -> PathBuf {
    let folder = std::env::temp_dir();
    if folder.as_os_str().is_empty() { PathBuf::from("/tmp") } else { folder }
}

/// An open output. A regular file appears at the commit; without a commit, an older file of this
/// name stays.
pub(crate) struct Writer<'w> {
    path: PathBuf,
    to: To<'w>,
    is_durable: bool,
    /// Bytes that were written through [`Write`].
    written_bytes: u64,
}

enum To<'w> {
    Atomic(AtomicFile),
    Packed(Box<dyn Pack>, AtomicFile),
    /// A device, pipe or terminal, or a writer of the caller.
    Stream(Stream<'w>),
    /// A nameless file, with its label, which the commit copies to a stream.
    Copied(File, FileLabel, Stream<'w>),
}

type Stream<'w> = Box<dyn Write + Send + 'w>;

impl<'w> Writer<'w> {
    /// Opens the output `path`. A regular file of lines is compressed if its name says so; other
    /// names that promise compression are refused. Of a link, the name that it leads to says so.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or cannot be compressed as its name says.
    pub(crate) fn open(path: &Path, encoding: Encoding, spool: &Spool) -> Result<Self> {
        encoding.check_name(path)?;
        let no_index = || {
            let what = format!("{} is no regular file, as an index is", path.display());
            Err(Error::usage(what))
        };
        // To open a named pipe would wait for a reader.
        let is_pipe = |found: fs::Metadata| !found.is_file() && !found.is_dir();
        if encoding == Encoding::Index && fs::metadata(path).is_ok_and(is_pipe) {
            return no_index();
        }
        let new = match open_destination(path)? {
            Destination::Atomic(new) => new,
            Destination::Stream(_) if encoding == Encoding::Index => return no_index(),
            Destination::Stream(file) => return Self::over(Box::new(file), path, encoding, spool),
        };
        let path = new.path().to_path_buf();
        encoding.check_name(&path)?;
        let to = match Compression::of_name(&path) {
            Some(packing) => {
                let file = new.file().try_clone();
                let packer = file.and_then(|file| packer(packing, file, spool.pack_bytes));
                To::Packed(packer.map_err(Error::io("write", &path))?, new)
            }
            None => To::Atomic(new),
        };
        Ok(Self { path, to, is_durable: false, written_bytes: 0 })
    }

    /// Whether a file of lines called `path` is compressed.
    pub(crate) fn will_pack(path: &Path) -> bool {
        end_of_links(path).is_ok_and(|path| Compression::of_name(&path).is_some())
    }

    /// Writes to a stream, which messages call `-`.
    ///
    /// # Errors
    ///
    /// If it needs a temporary file and cannot create it.
    pub(crate) fn stream(
        out: impl Write + Send + 'w,
        encoding: Encoding,
        spool: &Spool,
    ) -> Result<Self> {
        Self::over(Box::new(out), Path::new("-"), encoding, spool)
    }

    fn over(out: Stream<'w>, path: &Path, encoding: Encoding, spool: &Spool) -> Result<Self> {
        let to = if encoding.goes_back() {
            To::Copied(spool.file()?, spool.label(), out)
        } else {
            To::Stream(out)
        };
        Ok(Self { path: path.into(), to, is_durable: false, written_bytes: 0 })
    }

    /// Whether bytes go on to their place at once, and not to a file that appears at the end.
    #[cfg(feature = "cli")]
    pub(crate) fn goes_on(&self) -> bool {
        matches!(self.to, To::Stream(_))
    }

    /// The name for messages.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How an error names what is written before the commit.
    pub(crate) fn label(&self) -> FileLabel {
        match &self.to {
            To::Copied(_, label, _) => label.clone(),
            To::Atomic(_) | To::Packed(..) | To::Stream(_) => FileLabel::output(&self.path),
        }
    }

    /// The file, if its bytes are the bytes of the output: then a caller may write them at any
    /// place. None for streams and packed files.
    pub(crate) fn file(&self) -> Option<&File> {
        match &self.to {
            To::Atomic(new) => Some(new.file()),
            To::Copied(file, ..) => Some(file),
            To::Packed(..) | To::Stream(_) => None,
        }
    }

    /// Bytes that were written one after the other, before packing.
    #[cfg(feature = "cli")]
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Whether the bytes are packed.
    pub(crate) fn packs(&self) -> bool {
        matches!(self.to, To::Packed(..))
    }

    /// Makes the commit wait until a regular file would survive a power cut.
    pub(crate) fn durable(self) -> Self {
        Self { is_durable: true, ..self }
    }

    /// Shows the whole output; gives its size in bytes.
    ///
    /// # Errors
    ///
    /// If it cannot be completed.
    pub(crate) fn commit(self) -> Result<u64> {
        self.finish()?.show()
    }

    /// Writes the last bytes. A stream is complete then; a file still needs its name.
    ///
    /// # Errors
    ///
    /// If it cannot be completed.
    pub(crate) fn finish(self) -> Result<Whole> {
        let Self { path, to, is_durable, written_bytes } = self;
        let failed = || Error::io("write", &path);
        let new = match to {
            To::Atomic(new) => new,
            To::Packed(packer, new) => {
                packer.finish().map_err(failed())?;
                new
            }
            To::Stream(mut out) => {
                out.flush().map_err(failed())?;
                return Ok(Whole { file: None, bytes: written_bytes });
            }
            To::Copied(mut file, label, mut out) => {
                let mut telling = Telling::new(&mut out);
                let copied = file.rewind().and_then(|()| io::copy(&mut file, &mut telling));
                let bytes = telling.told(copied.map_err(label.failed()), failed())?;
                out.flush().map_err(failed())?;
                return Ok(Whole { file: None, bytes });
            }
        };
        let bytes = new.file().metadata().map_err(failed())?.len();
        Ok(Whole { file: Some((new, is_durable)), bytes })
    }
}

/// An output that is written to its end.
#[must_use = "a file has no name yet"]
pub(crate) struct Whole {
    /// A regular file, and whether it must survive a power cut.
    file: Option<(AtomicFile, bool)>,
    bytes: u64,
}

impl Whole {
    /// Gives a file its name; gives the size of the output in bytes.
    ///
    /// # Errors
    ///
    /// If the system refuses it.
    pub(crate) fn show(self) -> Result<u64> {
        match self.file {
            Some((new, true)) => new.commit_durably()?,
            Some((new, false)) => new.commit()?,
            None => {}
        }
        Ok(self.bytes)
    }
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.to {
            To::Atomic(new) => new.file().write(bytes),
            To::Packed(packer, _) => packer.write(bytes),
            To::Stream(out) => out.write(bytes),
            To::Copied(file, ..) => file.write(bytes),
        }?;
        self.written_bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Stream(out) => out.flush(),
            To::Atomic(_) | To::Packed(..) | To::Copied(..) => Ok(()), // the commit does it
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_appears_at_the_commit_whatever_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        for encoding in [Encoding::Lines, Encoding::Table, Encoding::Set, Encoding::Filter] {
            let path = folder.path().join("out");
            let mut writer = Writer::open(&path, encoding, &Spool::default()).unwrap();
            writer.write_all(b"abc").unwrap();
            assert!(!path.exists(), "{encoding:?}");
            assert_eq!(writer.commit().unwrap(), 3);
            assert_eq!(std::fs::read(&path).unwrap(), b"abc");
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_stream_gets_nothing_of_what_may_still_change() {
        for (encoding, early) in [(Encoding::Lines, "abc"), (Encoding::Set, "")] {
            let (seen, mut kept) =
                tempfile::tempfile().map(|file| (file.try_clone(), file)).unwrap();
            let mut writer = Writer::stream(seen.unwrap(), encoding, &Spool::default()).unwrap();
            writer.write_all(b"abc").unwrap();
            let read = |kept: &mut File| {
                kept.rewind().unwrap();
                io::read_to_string(kept).unwrap()
            };
            assert_eq!(read(&mut kept), early, "{encoding:?}");
            kept.seek(io::SeekFrom::End(0)).unwrap();
            assert_eq!(writer.commit().unwrap(), 3);
            assert_eq!(read(&mut kept), "abc");
        }
    }

    #[test]
    fn names_that_promise_what_is_not_written_are_refused() {
        let refused = |name, encoding| Writer::open(Path::new(name), encoding, &Spool::default());
        for (name, encoding) in [
            ("x.lz4", Encoding::Lines),
            ("x.gz", Encoding::Set),
            ("x.gz", Encoding::Table),
            ("x.zst", Encoding::Filter),
            ("x.xz", Encoding::Index),
            ("/dev/null", Encoding::Index),
        ] {
            assert!(refused(name, encoding).is_err(), "{name} {encoding:?}");
        }
    }
}
