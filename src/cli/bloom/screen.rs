//! Streams of lines held against filters, and against each other.

use super::args::{FilterArgs, KeyArgs, LineArgs, PlainChoice, TargetArgs};
use super::{Out, open, plan, tools, typed_key};
use crate::bloom::{Blocked, Builder, Filter, Plain, Standard};
use crate::cli::bitset::{Answer, Source, or_stdin};
use crate::error::Result;
use crate::lines::{Keep, LineTools};
use memchr::memchr_iter;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Says whether keys may be in the filter.
pub(super) fn contains(
    source: &Source,
    path: &Path,
    keys: &[OsString],
    files: Vec<PathBuf>,
    kind: KeyArgs,
) -> Result<Answer> {
    let filter = open(path)?.filter;
    let mut out = Out::open(source, &TargetArgs { output: None })?;
    kind.check_typed(!keys.is_empty())?;
    let end = if kind.lines.zero { "\0" } else { "\n" };
    if let [key] = keys {
        let found = filter.contains(&typed_key(key, kind.funnel)?);
        out.write(format!("{found}{end}").as_bytes())?;
        return Ok(found.into());
    }
    if !keys.is_empty() {
        let mut all = true;
        let mut told = Vec::new();
        for key in keys {
            let found = filter.contains(&typed_key(key, kind.funnel)?);
            all &= found;
            tell(key.as_bytes(), found, end, &mut told);
        }
        out.write(&told)?;
        return Ok(all.into());
    }
    let tools = tools(source, kind);
    let job = tools.job();
    let all = AtomicBool::new(true);
    let work = |bytes: &[u8], told: &mut Vec<u8>| {
        let mut found = Vec::new();
        job.rules.batches(bytes, |batch| {
            batch.hashed(job.rules.funnel, |keys| filter.contains_many(keys, &mut found))?;
            for (key, &found) in batch.keys.iter().zip(&found) {
                tell(key, found, end, told);
            }
            if found.contains(&false) {
                all.store(false, Ordering::Relaxed);
            }
            Ok(())
        })
    };
    let _bar = source.bar(false);
    job.run(or_stdin(files), work, |told| out.write(told))?;
    out.commit(source)?;
    Ok(all.into_inner().into())
}

fn tell(key: &[u8], found: bool, end: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(key);
    out.extend_from_slice(if found { b"\ttrue" } else { b"\tfalse" });
    out.extend_from_slice(end.as_bytes());
}

/// Copies the lines that may be in the filter, if these are `wanted`, or those that
/// are not. With a column a line is a record, and its field there is the key.
pub(super) fn filter(source: &Source, args: FilterArgs) -> Result<()> {
    let FilterArgs { filter, files, invert, columns, keys, target } = args;
    let tools = columns.of_lines(tools(source, keys));
    let filter = open(&filter)?.filter;
    let mut out = Out::open(source, &target)?;
    let _bar = source.bar(target.output.is_some());
    let mut count = 0;
    let keep = if invert { Keep::Unknown } else { Keep::Known };
    tools.filter(or_stdin(files), &filter, keep, |copied| {
        count += copied_lines(source, &tools, copied);
        out.write(copied)
    })?;
    source.note("written", count);
    out.commit(source)
}

/// Lines that were copied, if somebody wants to know.
fn copied_lines(source: &Source, tools: &LineTools, bytes: &[u8]) -> u64 {
    if source.stats().is_some() { tools.job().rules.count(bytes) } else { 0 }
}

/// How large the filter of `dedup` is.
pub(super) struct DedupSize {
    pub(super) keys: Option<u64>,
    pub(super) rate: f64,
    pub(super) design: PlainChoice,
    pub(super) seed: u64,
}

/// Copies each line the first time that it comes: by a filter of that size, or
/// exactly.
pub(super) fn dedup(
    source: &Source,
    files: Vec<PathBuf>,
    size: Option<&DedupSize>,
    lines: LineArgs,
    target: &TargetArgs,
) -> Result<()> {
    let files = or_stdin(files);
    let tools = tools(source, lines);
    let mut out = Out::open(source, target)?;
    let _bar = source.bar(target.output.is_some());
    let mut count = 0;
    let take = |lines: &[u8]| {
        count += copied_lines(source, &tools, lines);
        out.write(lines)
    };
    match size {
        None => tools.distinct(files, take)?,
        Some(size) => match size.design {
            PlainChoice::Standard => {
                tools.distinct_by_filter(files, size.builder::<Standard>(), take)?;
            }
            PlainChoice::Blocked => {
                tools.distinct_by_filter(files, size.builder::<Blocked>(), take)?;
            }
        },
    }
    source.note("written", count);
    out.commit(source)
}

impl DedupSize {
    fn builder<D: Plain>(&self) -> Builder<D> {
        let builder = Filter::builder().rate(self.rate).seed(self.seed);
        match self.keys {
            Some(keys) => builder.keys(keys),
            None => builder,
        }
    }
}

/// What `common` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Print,
    Count,
    Explain,
}

/// Prints the lines that two files share.
pub(super) fn common(
    source: &Source,
    files: [PathBuf; 2],
    rate: f64,
    how: How,
    lines: LineArgs,
    target: &TargetArgs,
) -> Result<()> {
    let tools = tools(source, lines);
    let mut out = Out::open(source, target)?;
    let _bar = source.bar(target.output.is_some());
    let common = tools.common_lines(files, rate)?;
    if how == How::Explain {
        let explained = plan::explain_common(common.facts(), rate, source.memory())?;
        out.write(explained.as_bytes())?;
        return out.commit(source);
    }
    let (mut count, terminator) = (0, tools.job().rules.terminator);
    common.run(|lines| {
        // Keys already, of which carriage returns are gone.
        count += memchr_iter(terminator, lines).count() as u64;
        if how == How::Print { out.write(lines) } else { Ok(()) }
    })?;
    source.note("common", count);
    if how == How::Count {
        out.write(format!("{count}\n").as_bytes())?;
    }
    out.commit(source)
}
