//! Standard output: what cannot be written there is an error, as of any file.

use crate::error::{Error, Result};
use crate::kernel::sys::Standard;
use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write};

/// Standard output.
///
/// # Errors
///
/// If it was closed when the program began.
pub(super) fn stdout() -> Result<Stdout> {
    Standard::Output.check().map_err(Error::io("write", "-"))?;
    Ok(io::stdout())
}

/// Prints text that has its newlines.
pub(super) fn print(text: impl Display) -> Result<()> {
    write!(stdout()?, "{text}").map_err(Error::io("write", "-"))
}

/// Prints a line.
pub(super) fn print_line(line: impl Display) -> Result<()> {
    print(format_args!("{line}\n"))
}

/// For lines of any number; what is left is to be flushed.
pub(super) fn buffered() -> Result<BufWriter<Stdout>> {
    Ok(BufWriter::with_capacity(1 << 16, stdout()?))
}
