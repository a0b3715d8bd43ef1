//! Opens and writes the sets of a command.

use super::target::{Limits, Target};
use crate::cli::columns::NumberArgs;
use crate::cli::exit::say;
use crate::cli::hints;
use crate::cli::limits::{check_folder, check_tmpdir};
use crate::cli::names;
use crate::cli::notation::NotationArgs;
use crate::cli::progress::Bar;
use crate::cli::stats::{StatsFormat, Work, render};
use crate::cli::stdout::stdout;
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::io::write::temporary_folder;
use crate::kernel::sys::Machine;
use crate::kernel::{processors, use_at_most};
use crate::lines::{Group, LineTools};
use crate::number::Format;
use crate::progress::Progress;
use crate::set::file::{Spool, ValueSink};
use crate::set::{SetFile, SetFormat, temporary_bits, write_file, write_folder_in, write_stream};
use crate::size::ByteSize;
use crate::sort::plan::budget::{Budget, MAX_THREADS};
use crate::sort::{Found, InvalidLines, Report, Sort, check_threads};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The files, or standard input if none are named.
pub(in crate::cli) fn or_stdin(files: Vec<PathBuf>) -> Vec<PathBuf> {
    if files.is_empty() { vec![PathBuf::from("-")] } else { files }
}

/// Refuses standard input as more than one of the sets.
pub(super) fn check_stdin(paths: &[PathBuf]) -> Result<()> {
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Error::usage("standard input can be one set only"));
    }
    Ok(())
}

/// Opens sets of any kind within the limits, and writes them.
pub(in crate::cli) struct Source {
    limits: Limits,
    numbers: NumberArgs,
    folder: PathBuf,
    progress: Arc<Progress>,
    started: Instant,
    done: Mutex<Done>,
}

/// Facts about the work of a command, for `--stats`.
#[derive(Default)]
struct Done {
    /// The report of a sort, if the command only sorts.
    report: Option<Report>,
    counts: Vec<(&'static str, u64)>,
    /// Whether the command has printed a text of its own instead.
    is_told: bool,
}

impl Source {
    pub(super) fn new(
        limits: Limits,
        numbers: NumberArgs,
        progress: Arc<Progress>,
    ) -> Result<Self> {
        check_threads(limits.threads)?;
        if let Some(threads) = limits.threads {
            use_at_most(threads);
        }
        numbers.format.notation.check()?;
        match &limits.temporary {
            Some(folder) => check_folder("use", folder)?,
            None => check_tmpdir()?,
        }
        let folder = limits.temporary.clone().unwrap_or_else(temporary_folder);
        let (started, done) = (Instant::now(), Mutex::default());
        let source = Self { limits, numbers, folder, progress, started, done };
        if source.limits.mem.is_some() {
            use_at_most(source.whole_memory().join_threads(processors()));
        }
        Ok(source)
    }

    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a count for `--stats`.
    pub(in crate::cli) fn note(&self, what: &'static str, count: u64) {
        self.done().counts.push((what, count));
    }

    /// Notes the size of a file that was written, for `--stats`.
    pub(in crate::cli) fn note_file(&self, path: &Path) {
        if let Ok(metadata) = std::fs::metadata(path) {
            self.note("written_bytes", metadata.len());
        }
    }

    /// Prints a text instead of the noted counts.
    pub(in crate::cli) fn tell_as(&self, words: &str) {
        say(words);
        self.done().is_told = true;
    }

    /// How statistics were asked for.
    pub(in crate::cli) fn stats(&self) -> Option<StatsFormat> {
        self.limits.stats
    }

    /// Prints the noted counts, if `--stats` was given.
    pub(super) fn tell(&self) {
        let Some(format) = self.limits.stats else { return };
        let Done { report, counts, is_told } = std::mem::take(&mut *self.done());
        if is_told {
            return;
        }
        say(&match report {
            Some(report) => render(&report, format),
            None => Work {
                counts,
                read_bytes: self.progress.read_bytes(),
                memory_limit_bytes: self.memory_limit_bytes(),
                threads: self.threads(),
                time: self.started.elapsed(),
            }
            .render(format),
        });
    }

    /// How numbers are written as text.
    pub(super) fn notation(&self) -> NotationArgs {
        self.numbers.format.notation
    }

    /// Parses a value of the command line.
    pub(super) fn value(&self, text: &str) -> Result<u64> {
        let value = self.notation().value(text);
        value.map_err(|reason| {
            let hint = hints::and_notation(text);
            Error::usage(format!("invalid value \"{}\": {reason}{hint}", text.escape_debug()))
        })
    }

    /// The format for a target, text in the notation of the command.
    pub(super) fn format(&self, target: &Target) -> Result<SetFormat> {
        Ok(match target.format()? {
            SetFormat::Values(format) if format.is_text() => {
                SetFormat::Values(Format::text_in(self.notation().output()))
            }
            other => other,
        })
    }

    /// The folder for temporary files.
    pub(in crate::cli) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A sort within the limits.
    pub(super) fn sort(&self) -> Sort {
        let mut sort = self.numbers.of(Sort::new().temporary_folder(&self.folder));
        sort = sort.progress(Arc::clone(&self.progress));
        if let Some(limit) = self.limits.mem {
            sort = sort.memory(limit.on(&Machine::detect()));
        }
        match self.limits.threads {
            Some(threads) => sort.threads(threads),
            None => sort,
        }
    }

    /// Groups rows within the limits.
    pub(super) fn group(&self, skip_invalid: bool) -> Group {
        let group = Group::within(self.sort()).notation(self.notation().set());
        if skip_invalid { group.invalid(InvalidLines::Skip) } else { group }
    }

    /// Memory for a command that is no sort.
    pub(in crate::cli) fn memory(&self) -> Budget {
        self.whole_memory().command()
    }

    /// The memory of the whole process.
    pub(super) fn whole_memory(&self) -> Budget {
        Budget::of(ByteSize::from_bytes(self.memory_limit_bytes()))
    }

    fn memory_limit_bytes(&self) -> u64 {
        let machine = Machine::detect();
        Budget::in_force(self.limits.mem.map(|limit| limit.on(&machine))).bytes()
    }

    /// Number of threads for work other than a sort.
    pub(in crate::cli) fn threads(&self) -> usize {
        self.limits.threads.unwrap_or_else(|| Machine::detect().threads).clamp(1, MAX_THREADS)
    }

    /// The tools for lines, within the limits.
    pub(in crate::cli) fn line_tools(&self) -> LineTools {
        LineTools::new()
            .threads(self.threads())
            .memory(ByteSize::from_bytes(self.memory().bytes()))
            .temporary_folder(&self.folder)
            .notation(self.notation().output())
            .progress(Arc::clone(&self.progress))
    }

    /// Opens a set file, or sorts a file of numbers.
    pub(super) fn open(&self, path: &Path) -> Result<SetFile> {
        self.find(path)?.set(path)
    }

    /// Opens a set file, or sorts a file of numbers, each on a line of its own: values that are looked
    /// up one by one.
    pub(super) fn open_values(&self, path: &Path) -> Result<SetFile> {
        let single = Format::text_in(self.notation().output().without_ranges());
        let is_text = self.numbers.format.from.is_none_or(Format::is_text);
        let sort = if is_text { self.sort().from_format(single) } else { self.sort() };
        sort.find(path)?.set(path)
    }

    /// Opens a set file, or finds numbers that are not sorted yet.
    pub(super) fn find(&self, path: &Path) -> Result<Found> {
        self.sort().find(path)
    }

    /// Opens a set file, or a set that comes through a pipe or is compressed.
    pub(super) fn open_set(&self, path: &Path) -> Result<SetFile> {
        self.sort().open_set(path)
    }

    /// Opens all of these sets. Standard input can be only one of them.
    pub(super) fn open_all(&self, paths: &[PathBuf]) -> Result<Vec<SetFile>> {
        check_stdin(paths)?;
        paths.iter().map(|path| self.open(path)).collect()
    }

    /// Sorts files of numbers into a set.
    pub(super) fn build(
        &self,
        files: Vec<PathBuf>,
        target: &Target,
        skip_invalid: bool,
    ) -> Result<()> {
        let (mut sort, format) = (self.sort(), self.format(target)?);
        if skip_invalid {
            names::no_sets_as_lines(&files)?;
            sort = sort.invalid(InvalidLines::Skip);
        }
        for file in or_stdin(files) {
            sort = if is_stdin(&file) { sort.stdin() } else { sort.file(file) };
        }
        let _bar = self.bar(target.output.is_some());
        let (_, report) = match (&target.output, target.parts) {
            (Some(path), Some(parts)) => sort.to_folder(path, parts),
            (Some(path), None) => sort.to_set(path, format),
            (None, _) => sort.into_set_stream(stdout()?, format),
        }?;
        self.done().report = Some(report);
        Ok(())
    }

    /// The progress of the command, which can also cancel it.
    pub(in crate::cli) fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// A progress bar, unless it would mix with lines that are written to a terminal.
    pub(in crate::cli) fn bar(&self, into_file: bool) -> Option<Bar> {
        let Limits { quiet, progress, .. } = self.limits;
        let shown = !quiet && (into_file || !io::stdout().is_terminal());
        if shown { Bar::show(&self.progress, progress) } else { None }
    }

    /// Ends a long answer after a signal.
    pub(in crate::cli) fn check(&self) -> Result<()> {
        Error::if_cancelled(&self.progress)
    }

    /// What the output of a command needs that does not sort.
    pub(in crate::cli) fn spool(&self) -> Spool {
        let column = self.sort().column_name();
        Spool { column, ..self.memory().command_spool(self.folder.clone()) }
    }

    /// Writes the set that `produce` makes.
    pub(super) fn write(
        &self,
        target: &Target,
        produce: impl FnOnce(&mut dyn ValueSink) -> Result<()>,
    ) -> Result<()> {
        let (format, spool) = (self.format(target)?, self.spool());
        let _bar = self.bar(target.output.is_some());
        let written = match &target.output {
            Some(path) if let Some(parts) = target.parts => {
                let set = temporary_bits(path, &spool, produce)?;
                write_folder_in(&set, path, parts, &spool, &self.progress)
            }
            Some(path) => write_file(path, format, &spool, false, produce),
            None => write_stream(stdout()?, format, &spool, produce),
        }?;
        self.note("written", written.cardinality);
        self.note("written_bytes", written.bytes);
        Ok(())
    }
}
