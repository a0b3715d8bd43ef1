//! Standard output. As with any file, it is an error if it cannot be written.

use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::kernel::sys::Standard;
use std::fmt::Display;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Stdout, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Standard output.
///
/// # Errors
///
/// If it was closed when the program started.
pub(super) fn stdout() -> Result<Stdout> {
    Standard::Output.check().map_err(Error::io("write", "-"))?;
    Ok(io::stdout())
}

/// Refuses files of which standard output is one; `-` is standard input. A command that prints while
/// it reads would read its own lines, and might never end.
///
/// # Errors
///
/// The first such file.
pub(super) fn refuse_as_input<'p>(files: impl IntoIterator<Item = &'p PathBuf>) -> Result<()> {
    fn place_of(stream: impl AsFd) -> Option<(u64, u64)> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        file.metadata().ok().filter(Metadata::is_file).map(|found| (found.dev(), found.ino()))
    }
    let Some(output) = place_of(io::stdout()) else { return Ok(()) };
    for path in files {
        let input = if is_stdin(path) {
            place_of(io::stdin())
        } else {
            std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
        };
        if input == Some(output) {
            let path = path.display();
            return Err(Error::usage(format!("{path}: the input is also the output")));
        }
    }
    Ok(())
}

/// Prints a text that has its own newlines.
pub(super) fn print(text: impl Display) -> Result<()> {
    write!(stdout()?, "{text}").map_err(Error::io("write", "-"))
}

/// Prints a line.
pub(super) fn print_line(line: impl Display) -> Result<()> {
    print(format_args!("{line}\n"))
}

/// A buffered output for many lines. The caller must flush it.
pub(super) fn buffered() -> Result<BufWriter<Stdout>> {
    Ok(BufWriter::with_capacity(1 << 16, stdout()?))
}
