//! Tests streams of lines with filters, and compares files of lines.

use super::args::{ContainsArgs, FilterArgs, KeyArgs, LineArgs, PlainChoice};
use super::{check_is_file, open, plan, tools, typed_key};
use crate::bloom::parquet::ParquetFilter;
use crate::bloom::{Blocked, Builder, Filter, FilterFile, Opened, Plain, Standard};
use crate::cli::bitset::{Answer, Source, or_stdin};
use crate::cli::columns::typed_column;
use crate::cli::exit::known;
use crate::cli::names;
use crate::cli::output::{Out, TargetArgs};
use crate::cli::stdout::print;
use crate::error::{Error, Result};
use crate::io::read::map;
use crate::io::table::TableFormat;
use crate::lines::keys::Batch;
use crate::lines::{Funnel, Keep, LineTools};
use crate::number::Column;
use memchr::memchr_iter;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The filter or filters that are asked.
enum Asked {
    /// A filter of a file of its own.
    Filter(FilterFile<Opened>),
    /// The filters of a column of a Parquet file.
    Column(ParquetFilter),
}

impl Asked {
    fn open(path: &Path, column: Option<&Column>, keys: KeyArgs) -> Result<Self> {
        let is_table = || -> Result<bool> {
            check_is_file(path)?;
            Ok(TableFormat::of_content(&map(path)?) == Some(TableFormat::Parquet))
        };
        match (is_table()?, column) {
            (true, _) => {}
            (false, None) => {
                let file = open(path)?;
                keys.check_kind(file.kind())?;
                return Ok(Self::Filter(file));
            }
            (false, Some(_)) => {
                let path = path.display();
                return Err(Error::usage(format!(
                    "--column needs a Parquet file, and {path} is none"
                )));
            }
        }
        if keys.funnel != Funnel::Bytes {
            return Err(Error::usage("the type of a column says how keys are hashed: no --funnel"));
        }
        ParquetFilter::open(path, column).map(Self::Column)
    }

    /// The answer for a key on the command line.
    fn typed(&self, key: &OsStr, funnel: Funnel) -> Result<bool> {
        match self {
            Self::Filter(file) => Ok(file.filter.contains(&typed_key(key, funnel)?)),
            Self::Column(filter) => filter.contains_text(key.as_bytes()).ok_or_else(|| {
                let key = key.as_bytes().escape_ascii();
                Error::usage(format!("expected {}: \"{key}\"", filter.expected()))
            }),
        }
    }

    /// The answers for the keys of lines.
    fn batch(&self, batch: &Batch<'_>, funnel: Funnel, found: &mut Vec<bool>) -> Result<()> {
        match self {
            Self::Filter(file) => {
                batch.hashed(funnel, |keys| file.filter.contains_many(keys, found))
            }
            Self::Column(filter) => {
                found.clear();
                for (index, key) in batch.keys.iter().enumerate() {
                    let answer = filter.contains_text(key);
                    found.push(answer.ok_or_else(|| batch.no_key(index, filter.expected()))?);
                }
                Ok(())
            }
        }
    }
}

/// Prints whether keys may be in the filter, or in a column of a Parquet file.
pub(super) fn contains(source: &Source, args: ContainsArgs) -> Result<Answer> {
    let ContainsArgs { filter, keys, files, column, kind } = args;
    let column = column.as_deref().map(typed_column);
    let filter = Asked::open(&filter, column.as_ref(), kind)?;
    let files = if keys.is_empty() { or_stdin(files) } else { files };
    let mut out = Out::open(source, &TargetArgs::default(), &files)?;
    kind.check_typed(!keys.is_empty())?;
    let end = if kind.lines.zero { "\0" } else { "\n" };
    if let [key] = &keys[..] {
        let found = filter.typed(key, kind.funnel)?;
        known(out.write(format!("{found}{end}").as_bytes()), !found)?;
        return Ok(found.into());
    }
    if !keys.is_empty() {
        let mut all = true;
        let mut told = Vec::new();
        for key in &keys {
            let found = filter.typed(key, kind.funnel)?;
            all &= found;
            tell(key.as_bytes(), found, end, &mut told);
        }
        known(out.write(&told), !all)?;
        return Ok(all.into());
    }
    let tools = tools(source, kind);
    let job = tools.job();
    let all = AtomicBool::new(true);
    let work = |bytes: &[u8], told: &mut Vec<u8>| {
        let mut found = Vec::new();
        job.rules.batches(bytes, |batch| {
            filter.batch(batch, job.rules.funnel, &mut found)?;
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
    let told = job.run(files, work, |told| out.write(told));
    let all = all.into_inner();
    known(told, !all)?;
    known(out.commit(source), !all)?;
    Ok(all.into())
}

fn tell(key: &[u8], found: bool, end: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(key);
    out.extend_from_slice(if found { b"\ttrue" } else { b"\tfalse" });
    out.extend_from_slice(end.as_bytes());
}

/// Copies the lines that may be in the filter if `wanted`, else the lines that are certainly not.
/// With a column, a line is a record, and the key is its field there.
pub(super) fn filter(source: &Source, args: FilterArgs) -> Result<()> {
    let FilterArgs { filter, files, invert, columns, keys, target } = args;
    let tools = columns.of_lines(tools(source, keys));
    if let Some(output) = &target.output {
        names::no_input([&filter], output)?;
    }
    let file = open(&filter)?;
    keys.check_kind(file.kind())?;
    let filter = file.filter;
    let files = or_stdin(files);
    let mut out = Out::open(source, &target, &files)?;
    let _bar = source.bar(target.output.is_some());
    let mut count = 0;
    let keep = if invert { Keep::Unknown } else { Keep::Known };
    tools.filter(files, &filter, keep, |copied| {
        count += copied_lines(source, &tools, copied);
        out.write(copied)
    })?;
    source.note("written", count);
    out.commit(source)
}

/// Number of lines that were copied, also those inside of a record, for `--stats`; 0 if it is not asked
/// for.
fn copied_lines(source: &Source, tools: &LineTools, bytes: &[u8]) -> u64 {
    let count = || memchr_iter(tools.job().rules.terminator, bytes).count() as u64;
    if source.stats().is_some() { count() } else { 0 }
}

/// The size of the filter of `dedup`.
pub(super) struct DedupSize {
    pub(super) keys: Option<u64>,
    pub(super) rate: f64,
    pub(super) design: PlainChoice,
    pub(super) seed: u64,
}

/// Copies each line the first time that it comes, by a filter of this size or exactly.
pub(super) fn dedup(
    source: &Source,
    files: Vec<PathBuf>,
    size: Option<&DedupSize>,
    lines: LineArgs,
    target: &TargetArgs,
) -> Result<()> {
    let files = or_stdin(files);
    let tools = tools(source, lines);
    let mut out = Out::open(source, target, &files)?;
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

/// The output of `common`.
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
    if how == How::Explain {
        let memory = tools.memory_beside(&files);
        let facts = tools.common_lines(files, rate)?.facts();
        return print(plan::explain_common(facts, rate, memory, source.memory())?);
    }
    let mut out = Out::open(source, target, &files)?;
    let _bar = source.bar(target.output.is_some());
    let common = tools.common_lines(files, rate)?;
    let (mut count, terminator) = (0, tools.job().rules.terminator);
    common.run(|lines| {
        // The lines are keys already, without carriage returns.
        count += memchr_iter(terminator, lines).count() as u64;
        if how == How::Print { out.write(lines) } else { Ok(()) }
    })?;
    source.note("common", count);
    if how == How::Count {
        out.write(format!("{count}\n").as_bytes())?;
    }
    out.commit(source)
}
