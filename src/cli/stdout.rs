//! Standard output. As with any file, it is an error if it cannot be written.

use crate::error::{Error, Result};
use crate::kernel::sys::Standard;
use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write};

/// Standard output.
///
/// # Errors
///
/// If it was closed when the program started.
pub(super) fn stdout() -> Result<Stdout> {
    Standard::Output.check().map_err(Error::io("write", "-"))?;
    Ok(io::stdout())
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
