//! The output of a command that prints lines while it reads others.

use super::bitset::Source;
use super::choices;
use super::names;
use super::stdout::stdout;
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::io::write::{Encoding, Writer};
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

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
                let input = inputs.iter().find(|input| names::leads_to(input, path));
                match input.filter(|_| writer.goes_on()) {
                    Some(input) => return Err(own_input(input)),
                    None => Ok(writer),
                }
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
            return Err(own_input(path));
        }
    }
    Ok(())
}

fn own_input(path: &Path) -> Error {
    Error::usage(format!("{}: the input is also the output", path.display()))
}
