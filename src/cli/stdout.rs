//! Standard output: what cannot be written there is an error, as of any file.

use crate::error::{Error, Result};
use std::fmt::Display;
use std::io::{self, BufWriter, Stdout, Write};

/// Prints text that has its newlines.
pub(super) fn print(text: impl Display) -> Result<()> {
    write!(io::stdout(), "{text}").map_err(Error::io("write", "-"))
}

/// Prints a line.
pub(super) fn print_line(line: impl Display) -> Result<()> {
    print(format_args!("{line}\n"))
}

/// For lines of any number; what is left is to be flushed.
pub(super) fn buffered() -> BufWriter<Stdout> {
    BufWriter::with_capacity(1 << 16, io::stdout())
}
