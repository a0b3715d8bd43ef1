//! Streams of values asked against a set.

use super::Answer;
use super::join::print;
use super::source::Source;
use crate::error::{Error, Result};
use crate::set::SetFile;
use crate::set::filter::{Filter, LineAnswer, MAX_CHUNK_BYTES, MEMORY_FACTOR};
use std::io;
use std::path::{Path, PathBuf};

/// Says whether values are in the set.
pub(super) fn contains(source: &Source, path: &Path, values: &[u64]) -> Result<Answer> {
    let set = source.open(path)?;
    let (view, damaged) = (set.view(), set.damaged());
    if let [value] = values {
        let found = view.contains(*value).map_err(damaged)?;
        print(found)?;
        return Ok(found.into());
    }
    let mut all = true;
    if !values.is_empty() {
        for &value in values {
            let found = view.contains(value).map_err(&damaged)?;
            all &= found;
            print(format_args!("{value}\t{found}"))?;
        }
        return Ok(all.into());
    }
    answer(source, &set, LineAnswer::Tell, false, vec![PathBuf::from("-")])
}

/// Copies the lines that are in the set, or those that are not.
pub(super) fn filter(
    source: &Source,
    path: &Path,
    files: Vec<PathBuf>,
    invert: bool,
    skip_invalid: bool,
) -> Result<Answer> {
    let files = if files.is_empty() { vec![PathBuf::from("-")] } else { files };
    if path == Path::new("-") && files.iter().any(|file| file == Path::new("-")) {
        return Err(Error::usage("standard input has the lines, so it cannot be the set"));
    }
    let set = source.open(path)?;
    answer(source, &set, LineAnswer::Copy { wanted: !invert }, skip_invalid, files)?;
    Ok(Answer::Yes)
}

fn answer(
    source: &Source,
    set: &SetFile,
    answer: LineAnswer,
    skip_invalid: bool,
    files: Vec<PathBuf>,
) -> Result<Answer> {
    let threads = source.threads();
    let share = source.memory_bytes() / (MEMORY_FACTOR * threads) as u64;
    let chunk_bytes = usize::try_from(share).unwrap_or(usize::MAX).min(MAX_CHUNK_BYTES);
    let progress = source.progress();
    let filter = Filter { set, answer, skip_invalid, threads, chunk_bytes, progress };
    filter.run(files, io::stdout()).map(Answer::from)
}
