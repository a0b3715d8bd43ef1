//! Streams of lines held against filters, and against each other.

use super::args::{FilterArgs, KeyArgs, LineArgs, PlainChoice, TargetArgs};
use super::{Out, job, open, plan, typed_key};
use crate::bloom::growing::Growing;
use crate::bloom::{Blocked, Plain, Standard, check_rate};
use crate::cli::bitset::{Answer, Source, is_stdin, or_stdin};
use crate::error::{Error, Result};
use crate::io::read::Unchanged;
use crate::lines::common_lines::{CommonLines, Facts};
use crate::lines::distinct::Distinct;
use crate::lines::keys::LineJob;
use crate::lines::spool::rereadable;
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
    let mut out = Out::open(&TargetArgs { output: None })?;
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
    let job = job(source, kind);
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
    let column = columns.selector();
    if keys.lines.zero && column.is_some() {
        return Err(Error::usage("records of delimited text end in a newline, not in NUL"));
    }
    let filter = open(&filter)?.filter;
    let mut out = Out::open(&target)?;
    let _bar = source.bar(target.output.is_some());
    let job = job(source, keys);
    let ask = |keys: &[&[u8]], found: &mut Vec<bool>| filter.contains_many(keys, found);
    let mut count = 0;
    let consume = |copied: &[u8]| {
        count += copied_lines(source, &job, copied);
        out.write(copied)
    };
    match &column {
        Some(selector) => job.copy_records(or_stdin(files), selector, !invert, ask, consume)?,
        None => job.copy_lines(or_stdin(files), !invert, ask, consume)?,
    }
    source.note("written", count);
    out.commit(source)
}

/// Lines that were copied, if somebody wants to know.
fn copied_lines(source: &Source, job: &LineJob<'_>, bytes: &[u8]) -> u64 {
    if source.stats().is_some() { job.rules.count(bytes) } else { 0 }
}

/// How large the filter of `dedup` is.
pub(super) struct DedupSize {
    pub(super) keys: Option<u64>,
    pub(super) rate: f64,
    pub(super) design: PlainChoice,
    pub(super) seed: u64,
}

/// Keys that a stream of unknown length begins with.
const FIRST_KEYS: u64 = 1 << 20;

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
    let job = job(source, lines);
    let mut out = Out::open(target)?;
    let _bar = source.bar(target.output.is_some());
    match size {
        None => {
            let memory_bytes = source.memory_bytes();
            let distinct = Distinct { job, memory_bytes, folder: source.folder() };
            let mut count = 0;
            distinct.run(files, |lines| {
                count += copied_lines(source, &job, lines);
                out.write(lines)
            })?;
            source.note("written", count);
        }
        Some(size) => match size.design {
            PlainChoice::Standard => dedup_by::<Standard>(source, &job, files, size, &mut out)?,
            PlainChoice::Blocked => dedup_by::<Blocked>(source, &job, files, size, &mut out)?,
        },
    }
    out.commit(source)
}

fn dedup_by<D: Plain>(
    source: &Source,
    job: &LineJob<'_>,
    files: Vec<PathBuf>,
    size: &DedupSize,
    out: &mut Out,
) -> Result<()> {
    let guess = || -> Result<u64> {
        let counts = files.iter().map(|file| job.rules.estimated_lines(file));
        let sum = counts.sum::<Result<u64>>()?;
        Ok(sum.max(FIRST_KEYS))
    };
    let keys = size.keys.map_or_else(guess, Ok)?;
    let mut seen = Growing::<D>::new(keys, size.rate, size.seed, source.memory_bytes())?;
    let (mut copied, mut count) = (Vec::new(), 0);
    job.each(files, |bytes| {
        copied.clear();
        job.rules.copy(bytes, true, &mut copied, |keys, new| seen.insert_each(keys, new))?;
        count += copied_lines(source, job, &copied);
        out.write(&copied)
    })?;
    source.note("written", count);
    Ok(())
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
    if files.iter().all(|file| is_stdin(file)) {
        return Err(Error::usage("standard input can be one file only"));
    }
    check_rate(rate)?;
    let job = job(source, lines);
    let mut out = Out::open(target)?;
    let _bar = source.bar(target.output.is_some());
    let (paths, _copies) = rereadable(files.into(), source.folder(), &job)?;
    let [a, b] = &paths[..] else { return Ok(()) };
    let unchanged = Unchanged::of(&paths); // both are read twice
    let facts = [Facts::of(a, &job)?, Facts::of(b, &job)?];
    let memory_bytes = source.memory_bytes();
    if how == How::Explain {
        out.write(plan::explain_common(facts, rate, memory_bytes)?.as_bytes())?;
        return out.commit(source);
    }
    let common = CommonLines { job, memory_bytes, rate, folder: source.folder() };
    let mut count = 0;
    common.run([a, b], facts, |lines| {
        // Keys already, of which carriage returns are gone.
        count += memchr_iter(job.rules.terminator, lines).count() as u64;
        if how == How::Print { out.write(lines) } else { Ok(()) }
    })?;
    unchanged.check()?;
    source.note("common", count);
    if how == How::Count {
        out.write(format!("{count}\n").as_bytes())?;
    }
    out.commit(source)
}
