//! Changes of set files.

use super::Answer;
use super::args::UpdateArgs;
use super::choices::natural;
use super::source::Source;
use crate::cli::stdout::buffered;
use crate::error::{Error, Result};
use crate::io::read::{check_end, open_file};
use crate::kernel::decimal::{self, MAX_LINE, SLACK};
use crate::set::changes::union_of;
use crate::set::container::{Container, Op};
use crate::set::file::ValueSink;
use crate::set::file::in_order;
use crate::set::plan::Plan;
use crate::set::view::Cursor;
use crate::set::{AsSet, Changed, Changes, IntegerSet, SetFile};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, BufWriter, Stdout, Write};
use std::path::Path;

/// Values that were typed, those of files, or those of standard input. What reads as a
/// number is one; `./7` is a file.
fn values(source: &Source, operands: &[OsString]) -> Result<Box<dyn AsSet>> {
    if operands.is_empty() {
        return Ok(Box::new(source.open(Path::new("-"))?));
    }
    let mut typed = Vec::new();
    let mut sets: Vec<Box<dyn AsSet>> = Vec::new();
    for operand in operands {
        let path = Path::new(operand);
        let starts_as_number =
            |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '+');
        match operand.to_str().map(natural) {
            Some(Ok(value)) => typed.push(value),
            Some(Err(reason))
                if operand.to_str().is_some_and(starts_as_number) && !path.exists() =>
            {
                return Err(Error::usage(format!("\"{}\": {reason}", path.display())));
            }
            _ => sets.push(Box::new(source.open(path)?)),
        }
    }
    let typed: IntegerSet = typed.into_iter().collect();
    if !typed.is_empty() || sets.is_empty() {
        sets.push(Box::new(typed));
    }
    match sets.pop() {
        Some(only) if sets.is_empty() => Ok(only),
        last => {
            sets.extend(last);
            Ok(Box::new(union_of(&sets, source.folder())?))
        }
    }
}

fn change(source: &Source, set: &Path, removed: &dyn AsSet, added: &dyn AsSet) -> Result<()> {
    if SetFile::open_if_set(set)?.is_none() {
        let what = "is no set file: build one first, with `bitset build`";
        return Err(Error::usage(format!("{} {what}", set.display())));
    }
    let _bar = source.bar(true);
    let update = SetFile::update(set).remove(removed).add(added);
    update.temporary_folder(source.folder()).run_watched(source.progress()).map(drop)
}

pub(super) fn add(source: &Source, args: &UpdateArgs) -> Result<()> {
    change(source, &args.set, &IntegerSet::new(), &*values(source, &args.values)?)
}

pub(super) fn remove(source: &Source, args: &UpdateArgs) -> Result<()> {
    change(source, &args.set, &*values(source, &args.values)?, &IntegerSet::new())
}

/// Prints what turns one set into the other; says no if they differ.
pub(super) fn diff(source: &Source, a: &Path, b: &Path) -> Result<Answer> {
    let sets = source.open_all(&[a.to_path_buf(), b.to_path_buf()])?;
    let [old, new] = &sets[..] else { return Ok(Answer::Yes) };
    let plans = Plan::all([old, new]);
    let cursor = old.view().cursor();
    let mut printer =
        Printer { old, cursor, met: None, out: buffered()?, lows: Vec::new(), differ: false };
    Plan::join(Op::Xor, plans).run(&mut printer, source.progress())?;
    printer.out.flush().map_err(Error::io("write", "-"))?;
    Ok((!printer.differ).into())
}

/// Prints values that are in one of two sets, each with its sign.
struct Printer<'s> {
    old: &'s SetFile,
    cursor: Cursor<'s>,
    /// The key of the container that the cursor met.
    met: Option<u64>,
    out: BufWriter<Stdout>,
    lows: Vec<u32>,
    differ: bool,
}

impl ValueSink for Printer<'_> {
    fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
        in_order(container).map_err(Error::io("write", "-"))?;
        let count = container.positions(0, &mut self.lows);
        if count == 0 {
            return Ok(());
        }
        self.differ = true;
        if self.met.is_none_or(|met| met < key) {
            let sought = self.cursor.seek(key).and_then(|()| self.cursor.advance());
            self.met = sought.map_err(self.old.damaged())?;
        }
        let old = (self.met == Some(key)).then(|| self.cursor.here());
        let is_old = |low: u32| {
            let low = u16::try_from(low).unwrap_or(u16::MAX); // a position in a container
            old.is_some_and(|old| old.contains(low))
        };
        let mut line = [b'+'; 1 + MAX_LINE + SLACK];
        for &low in &self.lows[..count] {
            line[0] = if is_old(low) { b'-' } else { b'+' };
            let len = decimal::lines(key << 16, &[low], b'\n', &mut line[1..]);
            self.out.write_all(&line[..=len]).map_err(Error::io("write", "-"))?;
        }
        Ok(())
    }
}

/// Does what `diff` printed.
pub(super) fn apply(source: &Source, set: &Path, changes: Option<&Path>) -> Result<()> {
    let path = changes.unwrap_or(Path::new("-"));
    let (name, file) = (path.display(), open_file(path)?);
    let before = file.metadata().map_err(Error::io("read", path))?;
    let mut words = Changes::new(source.folder());
    let mut lines = BufReader::new(&file);
    let (mut line, mut offset) = (Vec::new(), 0);
    for number in 1_u64.. {
        line.clear();
        let bytes = lines.read_until(b'\n', &mut line).map_err(Error::io("read", path))? as u64;
        if bytes == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let wrong = || {
            let excerpt = text[..text.len().min(40)].escape_ascii();
            Error::usage(format!(
                "{name}:{number}: byte {offset}: expected +VALUE or -VALUE: \"{excerpt}\""
            ))
        };
        let (sign, digits) = text.split_first().ok_or_else(wrong)?;
        let digits = digits.iter().all(u8::is_ascii_digit).then(|| str::from_utf8(digits).ok());
        let value = digits.flatten().and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
        let comes = match sign {
            b'+' => true,
            b'-' => false,
            _ => return Err(wrong()),
        };
        offset += bytes;
        words.push(value, comes)?;
    }
    check_end(&file, &before, path)?;
    let Changed { removed, added } = words.finish()?;
    change(source, set, &removed, &added)
}
