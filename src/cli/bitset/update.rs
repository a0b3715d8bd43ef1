//! Changes set files.

use super::Answer;
use super::args::UpdateArgs;
use super::source::{Source, check_stdin};
use crate::cli::exit::known;
use crate::cli::hints;
use crate::cli::stdout::buffered;
use crate::error::{Error, Result, excerpt};
use crate::io::read::is_stdin;
use crate::kernel::decimal::{MAX_LINE, SLACK};
use crate::number::{Line, Malformed, Notation, RunText};
use crate::set::container::{Container, Op, Scratch, intervals};
use crate::set::file::ValueSink;
use crate::set::file::in_order;
use crate::set::keyed::is_sets_file;
use crate::set::plan::Plan;
use crate::set::view::Cursor;
use crate::set::{AsSet, Changed, Changes, SetFile, Update};
use std::ffi::OsString;
use std::io::{BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

/// Sets of the values of operands, or of standard input without operands. An operand that is a
/// number is a value; all others are files. `./7` is a file.
fn values(source: &Source, operands: &[OsString]) -> Result<Vec<Box<dyn AsSet>>> {
    if operands.is_empty() {
        return Ok(vec![Box::new(source.open(Path::new("-"))?)]);
    }
    check_stdin(&operands.iter().map(PathBuf::from).collect::<Vec<_>>())?;
    let mut typed = None;
    let mut sets: Vec<Box<dyn AsSet>> = Vec::new();
    for operand in operands {
        let path = Path::new(operand);
        let starts_as_number = |text: &str| {
            let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
            text.starts_with('+') || digits.starts_with(|c: char| c.is_ascii_digit())
        };
        match operand.to_str().map(|text| source.notation().range(text)) {
            Some(Ok([first, last])) => {
                let typed = typed.get_or_insert_with(|| Changes::new(source.folder()));
                typed.push_range(first, last, true)?;
            }
            Some(Err(reason)) if operand.to_str().is_some_and(starts_as_number) => {
                let set = source.open(path).map_err(|error| {
                    if !error.is_no_file() {
                        return error;
                    }
                    let name = path.display();
                    let hint =
                        operand.to_str().and_then(|text| hints::of_value("bitset", "", text));
                    let hint = hints::behind(hint);
                    Error::usage(format!("\"{name}\": {reason}, and there is no such file{hint}"))
                });
                sets.push(Box::new(set?));
            }
            _ => sets.push(Box::new(source.open(path)?)),
        }
    }
    if let Some(typed) = typed {
        sets.push(Box::new(typed.finish()?.added));
    }
    Ok(sets)
}

fn change<'a>(
    source: &Source,
    set: &'a Path,
    change: impl FnOnce(Update<'a>) -> Update<'a>,
) -> Result<()> {
    if is_stdin(set) {
        return Err(Error::usage("- is standard input: name the set file that changes"));
    }
    if is_sets_file(set) {
        let what = "has sets by key, none of which changes alone: group their rows again";
        return Err(Error::usage(format!("{} {what}", set.display())));
    }
    if SetFile::open_if_set(set)?.is_none() {
        let what = "is no set file: make one first, with `bitset build` or `convert`";
        return Err(Error::usage(format!("{} {what}", set.display())));
    }
    let _bar = source.bar(true);
    let update = change(SetFile::update(set)).temporary_folder(source.folder());
    update.run_watched(source.progress()).map(drop)
}

pub(super) fn add(source: &Source, args: &UpdateArgs) -> Result<()> {
    let sets = values(source, &args.values)?;
    change(source, &args.set, |update| sets.iter().fold(update, |update, set| update.add(&**set)))
}

pub(super) fn remove(source: &Source, args: &UpdateArgs) -> Result<()> {
    let sets = values(source, &args.values)?;
    change(source, &args.set, |update| {
        sets.iter().fold(update, |update, set| update.remove(&**set))
    })
}

/// Prints the changes that turn one set into the other. The answer is no if there are any.
pub(super) fn diff(source: &Source, a: &Path, b: &Path) -> Result<Answer> {
    let sets = source.open_all(&[a.to_path_buf(), b.to_path_buf()])?;
    let [old, new] = &sets[..] else { return Ok(Answer::Yes) };
    let plans = Plan::all([old, new]);
    let lines = SignedLines::new(source.notation().output())?;
    let mut printer = Printer { old, cursor: old.view().cursor(), met: None, lines, differ: false };
    let walked = Plan::join(Op::Xor, plans).run(&mut printer, source.progress());
    known(walked, printer.differ)?;
    known(printer.lines.finish(), printer.differ)?;
    Ok((!printer.differ).into())
}

/// Values whose lines are encoded together.
const LINES: usize = 1 << 10;

/// Writes lines to standard output, each with a sign before it.
struct SignedLines {
    notation: Notation,
    out: BufWriter<Stdout>,
    lows: Vec<u32>,
    gone_lows: Vec<u32>,
    /// Only if lines stand for ranges or blocks: their text, and their sign.
    runs: Option<(RunText, u8)>,
    /// The text of a line, or of the lines of a run.
    text: Vec<u8>,
    /// The same with signs.
    signed: Vec<u8>,
    gone: Scratch,
    new: Scratch,
}

impl SignedLines {
    fn new(notation: Notation) -> Result<Self> {
        Ok(Self {
            notation,
            out: buffered()?,
            lows: Vec::new(),
            gone_lows: Vec::new(),
            runs: RunText::new(notation).map(|text| (text, b'+')),
            text: vec![0; RunText::ROOM.max(LINES * MAX_LINE + SLACK)],
            signed: Vec::new(),
            gone: Scratch::default(),
            new: Scratch::default(),
        })
    }

    /// Prints the last run.
    fn finish(mut self) -> Result<()> {
        if let Some((text, sign)) = &mut self.runs {
            let (encoded, sign) = (text.finish(&mut self.text), *sign);
            self.print(sign, encoded)?;
        }
        self.out.flush().map_err(Error::io("write", "-"))
    }

    /// Prints lines that were encoded.
    fn print(&mut self, sign: u8, encoded: std::result::Result<usize, u64>) -> Result<()> {
        let bytes = encoded.map_err(|value| too_large(value, self.notation))?;
        for line in self.text[..bytes].split_inclusive(|&byte| byte == b'\n') {
            let written = self.out.write_all(&[sign]).and_then(|()| self.out.write_all(line));
            written.map_err(Error::io("write", "-"))?;
        }
        Ok(())
    }

    fn print_run(&mut self, sign: u8, run: [u64; 2]) -> Result<()> {
        let Some((text, before)) = &mut self.runs else { return Ok(()) };
        let before = std::mem::replace(before, sign);
        let ended = if before == sign { Ok(0) } else { text.finish(&mut self.text) };
        self.print(before, ended)?;
        let Some((text, _)) = &mut self.runs else { return Ok(()) };
        let encoded = text.push(run, &mut self.text);
        self.print(sign, encoded)
    }

    /// Prints the runs of the values in `differs`.
    fn print_runs(&mut self, key: u64, differs: Container<'_>, old: Container<'_>) -> Result<()> {
        self.gone.join(Op::And, differs, old);
        self.new.join(Op::AndNot, differs, old);
        let mut signed = Vec::new();
        let mut scratch = Scratch::default();
        for (sign, container) in [(b'-', self.gone.container()), (b'+', self.new.container())] {
            if let Container::Runs(runs) = scratch.runs_of(container) {
                signed.extend(intervals(runs).map(|run| (run, sign)));
            }
        }
        signed.sort_unstable();
        for ((first, last), sign) in signed {
            self.print_run(sign, [first, last].map(|low| key << 16 | u64::from(low)))?;
        }
        Ok(())
    }

    /// Prints the values in `differs`.
    fn print_values(&mut self, key: u64, differs: Container<'_>, old: Container<'_>) -> Result<()> {
        self.gone.join(Op::And, differs, old);
        let gone = self.gone.container().positions(0, &mut self.gone_lows);
        let mut gone = self.gone_lows[..gone].iter().peekable();
        let count = differs.positions(0, &mut self.lows);
        for lows in self.lows[..count].chunks(LINES) {
            let encoded = self.notation.encode(key << 16, lows, b'\n', &mut self.text);
            let bytes = encoded.map_err(|value| too_large(value, self.notation))?;
            self.signed.clear();
            let lines = self.text[..bytes].split_inclusive(|&byte| byte == b'\n');
            for (line, low) in lines.zip(lows) {
                self.signed.push(if gone.next_if_eq(&low).is_some() { b'-' } else { b'+' });
                self.signed.extend_from_slice(line);
            }
            self.out.write_all(&self.signed).map_err(Error::io("write", "-"))?;
        }
        Ok(())
    }
}

fn too_large(value: u64, notation: Notation) -> Error {
    Error::ValueTooLarge { value, format: notation.name() }
}

/// Prints the values that are in exactly one of two sets.
struct Printer<'s> {
    old: &'s SetFile,
    cursor: Cursor<'s>,
    /// The key of the container at which the cursor is.
    met: Option<u64>,
    lines: SignedLines,
    differ: bool,
}

impl Printer<'_> {
    /// Moves to the container of `key` in the old set; gives whether there is one.
    fn seek(&mut self, key: u64) -> Result<bool> {
        if self.met.is_none_or(|met| met < key) {
            let sought = self.cursor.seek(key).and_then(|()| self.cursor.advance());
            self.met = sought.map_err(self.old.damaged())?;
        }
        Ok(self.met == Some(key))
    }
}

impl ValueSink for Printer<'_> {
    fn begin_stretches(&mut self) -> bool {
        self.lines.runs.is_some()
    }

    fn stretch(&mut self, run: [u64; 2]) -> Result<()> {
        self.differ = true;
        let sign = if self.seek(run[0] >> 16)? { b'-' } else { b'+' };
        self.lines.print_run(sign, run)
    }

    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        in_order(container).map_err(Error::io("write", "-"))?;
        if container.len() == 0 {
            return Ok(());
        }
        self.differ = true;
        let old = if self.seek(key)? { self.cursor.here() } else { Container::Array(&[]) };
        match self.lines.runs {
            Some(_) => self.lines.print_runs(key, container, old),
            None => self.lines.print_values(key, container, old),
        }
    }
}

/// Makes the changes that `diff` printed.
pub(super) fn apply(source: &Source, set: &Path, changes: Option<&Path>) -> Result<()> {
    let path = changes.unwrap_or(Path::new("-"));
    let mut changes = ChangeLines::new(source);
    source.line_tools().job().each_line(path, |number, at, text| {
        let read = changes.read(text).map_err(|(reason, place)| {
            let (name, excerpt, byte) = (path.display(), excerpt(text), at + place);
            let line = String::from_utf8_lossy(text);
            let value = line.strip_prefix(['+', '-']);
            let hint = value.map_or_else(
                || hints::notation(&line),
                |value| hints::of_value("bitset", "", value),
            );
            let hint = hints::behind(hint);
            Error::usage(format!("{name}:{number}: byte {byte}: {reason}: \"{excerpt}\"{hint}"))
        })?;
        read.map_or(Ok(()), |(range, comes)| changes.push(range, comes))
    })?;
    let Changed { removed, added } = changes.changes.finish()?;
    change(source, set, |update| update.remove(&removed).add(&added))
}

/// The lines that `diff` prints, each a sign and what a line of a set has.
struct ChangeLines {
    notation: Notation,
    changes: Changes,
    /// Whether a line had a range. A change between single values and ranges costs a temporary file.
    has_ranges: bool,
}

impl ChangeLines {
    fn new(source: &Source) -> Self {
        let notation = source.notation();
        let has_ranges = notation.output().takes_ranges();
        let changes = Changes::new(source.folder()).memory(source.memory().bytes());
        Self { notation: notation.set(), changes, has_ranges }
    }

    /// The range of a line, and whether it comes; none if the line is blank. An error has what is
    /// wrong, and the place of the first bad byte.
    fn read(&self, text: &[u8]) -> std::result::Result<Option<Signed>, (String, u64)> {
        let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let comes = match text.get(blanks) {
            Some(b'+') => true,
            Some(b'-') => false,
            _ if self.notation.parse_line(text) == Line::Blank => return Ok(None),
            _ => return Err(("expected +VALUE or -VALUE".into(), blanks as u64)),
        };
        let start = blanks + 1;
        let (reason, place) = match self.notation.parse_line(&text[start..]) {
            Line::Value(value) => return Ok(Some(([value, value], comes))),
            Line::Range { first, last } => return Ok(Some(([first, last], comes))),
            Line::Blank => (Malformed::ExpectedDigit, 0),
            Line::Malformed { reason, offset } => (reason, offset),
        };
        Err((reason.to_string(), start as u64 + place))
    }

    fn push(&mut self, [first, last]: [u64; 2], comes: bool) -> Result<()> {
        self.has_ranges |= first < last;
        if self.has_ranges {
            self.changes.push_range(first, last, comes)
        } else {
            self.changes.push(first, comes)
        }
    }
}

/// A range, and whether it comes or goes.
type Signed = ([u64; 2], bool);
