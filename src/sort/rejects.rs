//! Writes malformed lines to their file.

use super::options::Sort;
use crate::error::{Error, Result};
use crate::io::read::{Input, Invalid};
use crate::io::write::{Encoding, Spool, Whole, Writer, is_same_file, is_standard_input};
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What happens to lines that are no natural number below 2^64.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum InvalidLines {
    /// The first one ends the run, before any output exists.
    #[default]
    Fail,
    /// They are counted.
    Skip,
    /// They are written to this file, one a line: name of the input, number of
    /// the line, offset of the first bad byte, what was expected, and the line
    /// itself (at most 4096 bytes of it, 256 of a text of a table), with tabs between. Newlines in a
    /// record or a name are written as `\n`, tabs in a name as `\t`.
    Reject(PathBuf),
}

/// The file of rejected lines while a run reads them.
#[must_use = "rejected lines are nowhere yet"]
pub(super) struct Rejects {
    file: Option<RejectsFile>,
    skip: bool,
}

/// The file of rejected lines with all of them. It has no name yet.
///
/// Call [`show`](Self::show) when the output has its last byte, and before it has its name. Then no
/// line is lost if either fails, also not of an input that the output replaces.
#[must_use = "rejected lines are nowhere yet"]
#[derive(Default)]
pub(super) struct Rejected(Option<Whole>);

impl Rejected {
    /// Gives the file its name.
    pub(super) fn show(self) -> Result<()> {
        self.0.map_or(Ok(()), |whole| whole.show().map(drop))
    }
}

struct RejectsFile {
    /// Writes to the file of `whole`. A second reading empties the file and starts again.
    writer: Mutex<BufWriter<File>>,
    whole: Writer<'static>,
    path: PathBuf,
}

/// Refuses to write rejected lines over an input or the output.
pub(super) fn check_destination(sort: &Sort, output: &Path) -> Result<()> {
    let InvalidLines::Reject(path) = &sort.invalid else { return Ok(()) };
    let refused = |what: &str| {
        Err(Error::usage(format!("rejected lines cannot go to {}: it is {what}", path.display())))
    };
    if is_same_file(path, output) && std::fs::metadata(path).map_or(true, |found| found.is_file()) {
        return refused("the output");
    }
    let is_input = |input: &Input| match input {
        Input::Path(name) | Input::Split(name, _) => is_same_file(path, name),
        Input::Stdin => is_standard_input(path),
        _ => false,
    };
    if sort.inputs.iter().any(is_input) {
        return refused("an input");
    }
    Ok(())
}

impl Rejects {
    pub(super) fn open(sort: &Sort) -> Result<Self> {
        let file = match &sort.invalid {
            InvalidLines::Reject(path) => Some(RejectsFile::open(path, &sort.spool())?),
            InvalidLines::Fail | InvalidLines::Skip => None,
        };
        Ok(Self { file, skip: sort.invalid == InvalidLines::Skip })
    }

    /// How a reader reports malformed lines. Several readers at a time may do so.
    pub(super) fn invalid(&self) -> Invalid<'_> {
        match &self.file {
            Some(file) => Invalid::Reject(Box::new(Locked(&file.writer)), file.path.clone()),
            None if self.skip => Invalid::Skip,
            None => Invalid::Fail,
        }
    }

    /// Empties the file of rejected lines, before a run reads its input again.
    pub(super) fn restart(&mut self) -> Result<()> {
        let Some(RejectsFile { writer, path, .. }) = &mut self.file else { return Ok(()) };
        let mut restart = || -> io::Result<()> {
            let writer = writer.get_mut().unwrap_or_else(PoisonError::into_inner);
            writer.rewind()?; // writes what the buffer still has
            writer.get_ref().set_len(0)
        };
        restart().map_err(Error::io("write", &*path))
    }

    /// Writes the rest of the rejected lines.
    pub(super) fn finish(self) -> Result<Rejected> {
        let Some(RejectsFile { writer, whole, path }) = self.file else {
            return Ok(Rejected::default());
        };
        Locked(&writer).flush().map_err(Error::io("write", &path))?;
        // A reader of rejected lines that went away is no reader of the output: the run has failed.
        let whole = whole.finish().map_err(|error| {
            let what = "nobody reads it any more";
            if error.is_closed_pipe() {
                Error::io("write", &path)(io::Error::other(what))
            } else {
                error
            }
        })?;
        Ok(Rejected(Some(whole)))
    }
}

impl RejectsFile {
    fn open(path: &Path, spool: &Spool) -> Result<Self> {
        let whole = Writer::open(path, Encoding::Rejects, spool)?;
        let file = whole.file().map(File::try_clone);
        let file = file.unwrap_or_else(|| Err(io::ErrorKind::Unsupported.into()));
        let writer = BufWriter::new(file.map_err(Error::io("write", path))?);
        Ok(Self { writer: Mutex::new(writer), whole, path: path.into() })
    }
}

struct Locked<'f>(&'f Mutex<BufWriter<File>>);

impl Locked<'_> {
    fn writer(&self) -> MutexGuard<'_, BufWriter<File>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for Locked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}
