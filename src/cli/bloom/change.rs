//! Makes and changes filters.

use super::args::{ChangeArgs, Count, KeyArgs, SizeArgs};
use super::describe::{tell_if_crowded, tell_if_full};
use super::{check_is_file, tools, typed_key};
use crate::bloom::{AnyFilter, CountingBloomFilter, FilterFile, FilterKind, Key};
use crate::cli::bitset::{Source, or_stdin};
use crate::cli::exit::say;
use crate::cli::names;
use crate::error::{Error, Result};
use crate::io::write::lock;
use std::path::{Path, PathBuf};

/// Makes a filter of the lines of files. Without a number of keys the lines are
/// counted first; streams are copied to a temporary file for that.
pub(super) fn build(
    source: &Source,
    files: Vec<PathBuf>,
    output: &Path,
    size: &SizeArgs,
    to: FilterKind,
    keys: KeyArgs,
) -> Result<()> {
    size.check(to)?;
    keys.check_kind(to)?;
    let files = or_stdin(files);
    names::no_input(&files, output)?;
    names::only_filter(output)?;
    let (_bar, tools) = (source.bar(true), tools(source, keys));
    let file = if let Some(Count(keys)) = size.keys {
        let mut file = size.filter(keys, to)?;
        tools.insert_into(&mut file.filter, files)?;
        tell_if_crowded(&file.filter, keys, size.goal(to), output);
        file
    } else {
        let make = |keys| size.filter(keys, to).map(|file| file.filter);
        FilterFile::new(tools.collect(files, make)?, to)
    };
    source.note("keys", file.filter.key_count());
    file.save(output, to)?;
    source.note_file(output);
    Ok(())
}

/// Where the keys of a change come from.
enum Keys {
    Typed(Vec<Vec<u8>>),
    Files(Vec<PathBuf>),
}

impl ChangeArgs {
    fn keys(self) -> Result<(PathBuf, Keys, KeyArgs)> {
        let Self { filter, keys, files, kind } = self;
        kind.check_typed(!keys.is_empty())?;
        if !keys.is_empty() && kind.lines.zero {
            return Err(Error::usage("-z is for lines, not for typed keys"));
        }
        let keys = if keys.is_empty() {
            Keys::Files(or_stdin(files))
        } else {
            let keys = keys.iter().map(|key| typed_key(key, kind.funnel));
            Keys::Typed(keys.collect::<Result<_>>()?)
        };
        Ok((filter, keys, kind))
    }
}

/// Adds keys to a filter file.
pub(super) fn add(source: &Source, args: ChangeArgs) -> Result<()> {
    let (path, keys, kind) = args.keys()?;
    change(source, &path, kind, |filter| match keys {
        Keys::Typed(keys) => {
            filter.insert_many(&keys);
            Ok(())
        }
        Keys::Files(files) => tools(source, kind).insert_into(filter, files),
    })
}

/// Removes keys from a file of a counting filter.
pub(super) fn remove(source: &Source, args: ChangeArgs) -> Result<()> {
    let (path, keys, kind) = args.keys()?;
    let mut missing = 0;
    change(source, &path, kind, |filter| {
        let AnyFilter::Counting(filter) = filter else {
            return Err(Error::usage(format!(
                "keys can be removed from counting filters only; {} is a {} one",
                path.display(),
                filter.design()
            )));
        };
        match keys {
            Keys::Typed(keys) => missing += remove_all(filter, &keys),
            Keys::Files(files) => {
                let tools = tools(source, kind);
                let job = tools.job();
                job.each(files, |bytes| {
                    job.rules.batches(bytes, |batch| {
                        missing +=
                            batch.hashed(job.rules.funnel, |keys| remove_all(filter, keys))?;
                        Ok(())
                    })
                })?;
            }
        }
        source.note("missing", missing);
        Ok(())
    })?;
    if missing > 0 {
        let what = if missing == 1 { "key that was" } else { "keys that were" };
        say(&format!("bitset: {} did not have {missing} {what} to be removed", path.display()));
    }
    Ok(())
}

/// Removes keys; gives how many were not in the filter.
fn remove_all<K: Key>(filter: &mut CountingBloomFilter, keys: &[K]) -> u64 {
    keys.iter().map(|key| u64::from(!filter.remove(key))).sum()
}

/// Changes a filter file: replaces it by a new one. Changes of one file wait for each other.
fn change(
    source: &Source,
    path: &Path,
    keys: KeyArgs,
    change: impl FnOnce(&mut AnyFilter) -> Result<()>,
) -> Result<()> {
    check_is_file(path)?;
    let _bar = source.bar(true);
    let _lock = lock(path)?;
    let mut file = FilterFile::load(path)?;
    keys.check_kind(file.kind())?;
    change(&mut file.filter)?;
    source.check()?;
    source.note("keys", file.filter.key_count());
    file.replace(path)?;
    tell_if_full(&file.filter, path);
    source.note_file(path);
    Ok(())
}
