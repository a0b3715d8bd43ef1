//! Makes a run from the flags and the limits of the machine. Only this file decides defaults.

use super::args::{InvalidChoice, SortArgs};
use crate::cli::limits::{check_folder, check_tmpdir};
use crate::cli::names;
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::io::read::standard_input;
use crate::io::write::is_same_file;
use crate::kernel::sys::Machine;
use crate::kernel::use_at_most;
use crate::number::Notation;
use crate::set::SetFormat;
use crate::sort::plan::budget::Budget;
use crate::sort::{InvalidLines, Sort};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

impl SortArgs {
    /// The sort that the flags describe.
    pub(super) fn to_sort(&self, machine: &Machine) -> Result<Sort> {
        if let Some(output) = &self.output {
            names::only_set(output, self.to)?;
        }
        if let Some(rejects) = &self.rejects {
            names::only_lines(rejects)?;
        }
        let mut sort = Sort::new()
            .distinct(self.unique)
            .reverse(self.reverse)
            .counted(self.count)
            .repeated(self.repeated)
            .no_spill(self.no_spill)
            .merge(self.merge)
            .zero_terminated(self.zero_terminated)
            .from_format(self.from)
            .invalid(self.invalid_lines()?);
        sort = match self.output_format() {
            SetFormat::Values(format) => sort.to_format(format),
            SetFormat::Table(format) => sort.to_table(format),
            _ => sort, // the caller says what set it becomes
        };
        if let Some(rate) = self.bloom {
            sort = sort.table_filter(rate);
        }
        sort = sort.notation(self.notation()?);
        let files = self.inputs(machine)?;
        if self.rejects.is_some() || self.invalid == Some(InvalidChoice::Skip) {
            names::no_sets_as_lines(&files)?;
        }
        for file in files {
            sort = if is_stdin(&file) { sort.stdin() } else { sort.file(file) };
        }
        for folder in &self.temporary {
            check_folder("use", folder)?;
            sort = sort.temporary_folder(folder);
        }
        if self.temporary.is_empty() && !self.no_spill {
            check_tmpdir()?;
        }
        if let Some(limit) = self.mem {
            sort = sort.memory(limit.on(machine));
        }
        if let Some(threads) = self.threads {
            use_at_most(threads);
            sort = sort.threads(threads);
        }
        if let Some(strategy) = self.strategy {
            sort = sort.strategy(strategy);
        }
        Ok(self.columns.of(sort))
    }

    /// The notation of the output. With a set as output, a line may stand for several values; with
    /// duplicates, it may not, because a range would have to be taken apart.
    fn notation(&self) -> Result<Notation> {
        self.notation.check()?;
        if !matches!(self.output_format(), SetFormat::Values(_) | SetFormat::Table(_)) {
            return Ok(self.notation.set());
        }
        let notation = self.notation.output();
        // What ranges do not have at all, the sort refuses.
        let is_of_values = self.count
            || self.repeated
            || self.merge
            || self.reverse
            || self.zero_terminated
            || self.no_spill
            || self.strategy.is_some();
        let checks = self.check || self.check_silently;
        if notation.takes_ranges() && !self.unique && !is_of_values && !checks {
            return Err(Error::usage(
                "a range or a block has each value once: add -u, or write a set (-o FILE.bits)",
            ));
        }
        Ok(notation)
    }

    fn invalid_lines(&self) -> Result<InvalidLines> {
        Ok(match (&self.rejects, self.invalid) {
            (Some(_), Some(InvalidChoice::Fail)) => {
                return Err(Error::usage(
                    "--rejects goes on after a malformed line, and --invalid fail ends there: choose one",
                ));
            }
            // Standard output may be a file.
            (Some(path), _)
                if self.output.is_none()
                    && is_same_file(path, Path::new("/dev/stdout"))
                    && path.is_file() =>
            {
                let path = path.display();
                return Err(Error::usage(format!(
                    "rejected lines cannot go to {path}: it is the output"
                )));
            }
            (Some(path), _) => InvalidLines::Reject(path.clone()),
            (None, Some(InvalidChoice::Skip)) => InvalidLines::Skip,
            (None, Some(InvalidChoice::Fail) | None) => InvalidLines::Fail,
        })
    }

    fn inputs(&self, machine: &Machine) -> Result<Vec<PathBuf>> {
        let Some(list) = &self.files0_from else {
            let standard = vec![PathBuf::from("-")];
            return Ok(if self.files.is_empty() { standard } else { self.files.clone() });
        };
        if self.rejects.as_ref().is_some_and(|rejects| is_same_file(rejects, list)) {
            let name = list.display();
            return Err(Error::usage(format!(
                "rejected lines cannot go to {name}: it is the list of inputs"
            )));
        }
        let memory = Budget::in_force(self.mem.map(|limit| limit.on(machine)));
        if is_stdin(list) {
            return names_of(list, standard_input()?, memory.names());
        }
        let file = File::open(list).map_err(Error::io("open", list))?;
        names_of(list, file, memory.names())
    }
}

/// Most bytes of a path, with the NUL byte at its end, that Linux takes.
const MAX_PATH_BYTES: usize = 4096;

/// The bytes that the allocator takes for a short name.
const LEAST_BYTES: usize = 32;

/// The names of a list of files, each of which ends with a NUL byte. They may take `most_bytes` of
/// memory.
fn names_of(list: &Path, list_file: impl Read, most_bytes: u64) -> Result<Vec<PathBuf>> {
    let refuse = |what: String| Err(Error::usage(format!("{}: {what}", list.display())));
    let mut reader = BufReader::new(list_file);
    let (mut names, mut bytes) = (Vec::new(), 0);
    loop {
        let (mut name, number) = (Vec::new(), names.len() + 1);
        let read = reader.by_ref().take(MAX_PATH_BYTES as u64).read_until(0, &mut name);
        if read.map_err(Error::io("read", list))? == 0 {
            break;
        }
        let is_ended = name.pop_if(|last| *last == 0).is_some();
        let has_lines = number == 1 && !is_ended && name.contains(&b'\n');
        bytes += (name.len().max(LEAST_BYTES) + 4 * size_of::<PathBuf>()) as u64;
        match &name[..] {
            _ if name.len() == MAX_PATH_BYTES || has_lines => {
                let advice = "names end with NUL bytes, as find -print0 writes them";
                return refuse(format!("name {number} is no name of a file: {advice}"));
            }
            b"" => return refuse(format!("name {number} is an empty name")),
            b"-" if is_stdin(list) => {
                return Err(Error::usage("standard input cannot be a list and an input"));
            }
            _ if bytes > most_bytes => {
                let fit = names.len();
                return refuse(format!("no more than {fit} names fit in the memory limit"));
            }
            _ => names.push(PathBuf::from(OsString::from_vec(name))),
        }
    }
    if names.is_empty() { refuse("it names no file".to_owned()) } else { Ok(names) }
}
