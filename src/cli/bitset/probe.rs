//! Streams of values asked against a set.

use super::Answer;
use super::args::FilterArgs;
use super::source::{Source, is_stdin, or_stdin};
use crate::cli::stdout::{print_line, stdout};
use crate::error::{Error, Result};
use crate::io::read::ChunkJob;
use crate::lines::filter::{Filter, LineAnswer, MAX_CHUNK_BYTES, MEMORY_FACTOR};
use crate::number::Selector;
use crate::set::SetFile;
use std::path::{Path, PathBuf};

/// More threads would not keep to the limit.
const MEMORY_PER_THREAD: u64 = 24 << 20;

/// Says whether values are in the set.
pub(super) fn contains(source: &Source, path: &Path, values: &[u64]) -> Result<Answer> {
    let set = source.open(path)?;
    if let [value] = values {
        let found = set.contains(*value)?;
        print_line(found)?;
        return Ok(found.into());
    }
    let mut all = true;
    if !values.is_empty() {
        for &value in values {
            let found = set.contains(value)?;
            all &= found;
            print_line(format_args!("{value}\t{found}"))?;
        }
        return Ok(all.into());
    }
    let lines = Lines { files: or_stdin(Vec::new()), column: None, skip_invalid: false };
    answer(source, &set, LineAnswer::Tell, lines)
}

/// Lines to be asked for.
struct Lines {
    files: Vec<PathBuf>,
    column: Option<Selector>,
    skip_invalid: bool,
}

/// Copies the lines that are in the set, or those that are not.
pub(super) fn filter(source: &Source, args: FilterArgs) -> Result<Answer> {
    let FilterArgs { set, files, invert, columns, skip_invalid } = args;
    let lines = Lines { files: or_stdin(files), column: columns.selector(), skip_invalid };
    if is_stdin(&set) && lines.files.iter().any(|file| is_stdin(file)) {
        return Err(Error::usage("standard input has the lines, so it cannot be the set"));
    }
    let set = source.open(&set)?;
    answer(source, &set, LineAnswer::Copy { wanted: !invert }, lines)?;
    Ok(Answer::Yes)
}

fn answer(source: &Source, set: &SetFile, answer: LineAnswer, lines: Lines) -> Result<Answer> {
    let Lines { files, column, skip_invalid } = lines;
    // The rest is for what the allocator keeps of buffers that grew, in each thread.
    let memory_bytes = source.memory_bytes() / 8 * 5;
    // A line of a MiB is taken in any memory.
    let room = usize::try_from(memory_bytes / MEMORY_PER_THREAD).unwrap_or(usize::MAX);
    let threads = source.threads().min(room).max(1);
    let is_screened = matches!(answer, LineAnswer::Copy { .. });
    let screen_bytes = if is_screened { memory_bytes / 4 } else { 0 };
    let share = (memory_bytes - screen_bytes) / (MEMORY_FACTOR * threads) as u64;
    let line_bytes = usize::try_from(share).unwrap_or(usize::MAX);
    let chunk_bytes = line_bytes.min(MAX_CHUNK_BYTES);
    let chunks = ChunkJob { threads, chunk_bytes, line_bytes, progress: source.progress() };
    let screen_bytes = usize::try_from(screen_bytes).unwrap_or(usize::MAX);
    let filter = Filter { set, answer, column, skip_invalid, screen_bytes, chunks };
    let _bar = source.bar(false);
    let answered = filter.run(files, stdout()?)?;
    source.note("lines", answered.lines);
    source.note("found", answered.found);
    source.note("screen_bytes", answered.screen_bytes);
    Ok(answered.all.into())
}
