//! `bitset bloom`: filters of lines.

mod args;
mod change;
mod describe;
mod index;
mod join;
mod plan;
mod screen;
mod size;

use super::bitset::{Answer, Source};
use super::exit::say;
use super::stdout::{refuse_as_input, stdout};
use crate::bloom::{FilterFile, Opened, Scheme, spark};
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::io::write::{Encoding, Writer};
use crate::lines::{Funnel, LineTools};
use args::{BloomCommand, KeyArgs, LineArgs, TargetArgs};
use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub(super) use args::{BloomArgs, rate};

/// Runs a command.
pub(super) fn run(source: &Source, args: BloomArgs) -> Result<Answer> {
    match args.command {
        BloomCommand::Index(command) => return index::run(source, command),
        BloomCommand::Plan(args) => plan::plan(source, &args)?,
        BloomCommand::Build { files, output, size, to, keys } => {
            change::build(source, files, &output, &size, to, keys)?;
        }
        BloomCommand::Add(args) => change::add(source, args)?,
        BloomCommand::Remove(args) => change::remove(source, args)?,
        BloomCommand::Contains(args) => return screen::contains(source, args),
        BloomCommand::Filter(args) => screen::filter(source, args)?,
        BloomCommand::Dedup { files, exact, keys, rate, design, seed, lines, target } => {
            let size = screen::DedupSize { keys: keys.map(|keys| keys.0), rate, design, seed };
            screen::dedup(source, files, (!exact).then_some(&size), lines, &target)?;
        }
        BloomCommand::Common { a, b, rate, count, explain, lines, target } => {
            let how = match (count, explain) {
                (_, true) => screen::How::Explain,
                (true, _) => screen::How::Count,
                _ => screen::How::Print,
            };
            screen::common(source, [a, b], rate, how, lines, &target)?;
        }
        BloomCommand::Merge(args) => join::merge(source, &args)?,
        BloomCommand::Intersect(args) => join::intersect(source, &args)?,
        BloomCommand::Convert { filter, output, to } => {
            join::convert(source, &filter, &output, to)?;
        }
        BloomCommand::Info { filter, json } => describe::info(&filter, json)?,
        BloomCommand::Verify { filter, rate, probes, seed, files, json, keys } => {
            let probing = describe::Probing { rate, probes: probes.map(|count| count.0), seed };
            return describe::verify(source, &filter, &probing, files, json, keys);
        }
    }
    Ok(Answer::Yes)
}

/// Opens a filter for questions.
fn open(filter: &Path) -> Result<FilterFile<Opened>> {
    check_is_file(filter)?;
    let file = FilterFile::open(filter)?;
    tell_of_version(&file, filter);
    Ok(file)
}

/// Prints a note if a filter is worse than it promises.
fn tell_of_version(file: &FilterFile<Opened>, path: &Path) {
    let keys = file.filter.key_count();
    if file.filter.spec().scheme() == Scheme::SparkV1 && keys > spark::MOST_KEYS_V1 {
        let keys = match keys {
            u64::MAX => "when they are full".to_owned(), // the estimate has no limit then
            keys => format!("with {keys} keys"),
        };
        say(&format!(
            "bitset: {} is of version 1 of Spark's filters, which {keys} have far more false \
             positives than they promise",
            path.display()
        ));
    }
}

/// Opens a filter and verifies its checksums, for commands that copy its words or report on it.
fn open_checked(filter: &Path) -> Result<FilterFile<Opened>> {
    let file = open(filter)?;
    file.filter.verify(filter)?;
    Ok(file)
}

fn check_is_file(filter: &Path) -> Result<()> {
    if is_stdin(filter) {
        return Err(Error::usage("a filter is a file, not standard input"));
    }
    Ok(())
}

/// The bytes of a key on the command line that filters hash.
fn typed_key(key: &OsStr, funnel: Funnel) -> Result<Vec<u8>> {
    let bytes = key.as_bytes();
    funnel.key(bytes).ok_or_else(|| {
        Error::usage(format!("expected {}: \"{}\"", funnel.expected(), bytes.escape_ascii()))
    })
}

/// The tools for lines, within the limits.
fn tools(source: &Source, keys: impl Into<KeyArgs>) -> LineTools {
    let KeyArgs { lines: LineArgs { zero, crlf, skip_empty }, funnel } = keys.into();
    let tools = source.line_tools().crlf(crlf).skip_empty(skip_empty).funnel(funnel);
    if zero { tools.terminator(0) } else { tools }
}

/// The output of lines: standard output, or a file that appears at the end.
struct Out(Writer<'static>);

impl Out {
    /// Opens the output of a command that reads `inputs` while it writes.
    fn open(source: &Source, target: &TargetArgs, inputs: &[PathBuf]) -> Result<Self> {
        let spool = source.spool();
        match &target.output {
            None => {
                refuse_as_input(inputs)?;
                Writer::stream(stdout()?, Encoding::Lines, &spool)
            }
            Some(path) => Writer::open(path, Encoding::Lines, &spool),
        }
        .map(Self)
    }

    /// Writes the next bytes.
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0
            .write_all(bytes)
            .and_then(|()| self.0.flush())
            .map_err(Error::io("write", self.0.path()))
    }

    fn commit(self, source: &Source) -> Result<()> {
        source.note("written_bytes", self.0.written_bytes());
        self.0.commit().map(drop)
    }
}
