//! The output of a command that prints lines while it reads others.

use super::bitset::Source;
use super::choices;
use super::names;
use super::stdout::stdout;
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::io::write::{Encoding, Place, Writer};
use std::io::{self, Write};
use std::path::PathBuf;

// Where lines go.
#[derive(Debug, Default, clap::Args)]
pub(super) struct TargetArgs {
    /// Write to FILE, whole or not at all; FILE may be an input
    #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
    pub(super) output: Option<PathBuf>,
}

/// The output of lines: standard output, or a file that appears at the end.
pub(super) struct Out(Writer<'static>);

impl Out {
    /// Opens the output of a command that reads `inputs` while it writes.
    pub(super) fn open(source: &Source, target: &TargetArgs, inputs: &[PathBuf]) -> Result<Self> {
        let spool = source.spool();
        match &target.output {
            None => {
                refuse_as_input(inputs)?;
                Writer::stream(stdout()?, Encoding::Lines, &spool)
            }
            Some(path) => {
                names::only_lines(path)?;
                let writer = Writer::open(path, Encoding::Lines, &spool)?;
                if writer.goes_on() {
                    refuse_place(Place::of(path), inputs)?;
                }
                Ok(writer)
            }
        }
        .map(Self)
    }

    /// Writes the next bytes.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0
            .write_all(bytes)
            .and_then(|()| self.0.flush())
            .map_err(Error::io("write", self.0.path()))
    }

    pub(super) fn commit(self, source: &Source) -> Result<()> {
        source.note("written_bytes", self.0.written_bytes());
        self.0.commit().map(drop)
    }
}

/// Refuses files of which standard output is one; `-` is standard input. A command that prints while
/// it reads would read its own lines, and might never end.
///
/// # Errors
///
/// The first such file.
pub(super) fn refuse_as_input<'p>(files: impl IntoIterator<Item = &'p PathBuf>) -> Result<()> {
    refuse_place(Place::of_stream(io::stdout()), files)
}

/// The same for the regular file to which an output goes, if it is one.
fn refuse_place<'p>(
    output: Option<Place>,
    files: impl IntoIterator<Item = &'p PathBuf>,
) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    for path in files {
        let input = if is_stdin(path) { Place::of_stream(io::stdin()) } else { Place::of(path) };
        if input == Some(output) {
            let path = path.display();
            return Err(Error::usage(format!("{path}: the input is also the output")));
        }
    }
    Ok(())
}
