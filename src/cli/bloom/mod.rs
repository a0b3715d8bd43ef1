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
use crate::bloom::{FilterFile, Opened, Scheme, spark};
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::lines::{Funnel, LineTools};
use args::{BloomCommand, KeyArgs, LineArgs};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

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
    let spec = file.filter.spec();
    // The estimate has no limit if all bits are set.
    let most = spec.cells() / u64::from(spec.hashes()).max(1);
    let keys = file.filter.key_count().min(most);
    if spec.scheme() == Scheme::SparkV1 && keys > spark::MOST_KEYS_V1 {
        say(&format!(
            "bitset: {} is of version 1 of Spark's filters, which with {keys} keys have far more \
             false positives than they promise",
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
