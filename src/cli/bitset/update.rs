//! Changes of set files.

use super::Answer;
use super::args::UpdateArgs;
use super::source::Source;
use crate::cli::stdout::buffered;
use crate::error::{Error, Result};
use crate::input::{check_end, open_file};
use crate::set::{IntegerSet, SetFile, update_watched};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

/// Values that were typed, or those of standard input.
fn values(source: &Source, typed: &[u64]) -> Result<IntegerSet> {
    if typed.is_empty() {
        return source.open(Path::new("-")).map(IntegerSet::from);
    }
    Ok(typed.iter().copied().collect())
}

fn change(source: &Source, set: &Path, removed: &IntegerSet, added: &IntegerSet) -> Result<()> {
    if SetFile::open_if_set(set)?.is_none() {
        let what = "is no set file: build one first, with `bitset build`";
        return Err(Error::usage(format!("{} {what}", set.display())));
    }
    let _bar = source.bar(true);
    update_watched(set, removed, added, source.folder(), source.progress()).map(drop)
}

pub(super) fn add(source: &Source, args: &UpdateArgs) -> Result<()> {
    change(source, &args.set, &IntegerSet::new(), &values(source, &args.values)?)
}

pub(super) fn remove(source: &Source, args: &UpdateArgs) -> Result<()> {
    change(source, &args.set, &values(source, &args.values)?, &IntegerSet::new())
}

/// Prints what turns one set into the other; says no if they differ.
pub(super) fn diff(source: &Source, a: &Path, b: &Path) -> Result<Answer> {
    let sets = source.open_all(&[a.to_path_buf(), b.to_path_buf()])?;
    let [old, new] = &sets[..] else { return Ok(Answer::Yes) };
    let mut out = buffered()?;
    let (mut before, mut after) = (old.view().iter(), new.view().iter());
    let mut next_old = before.next().transpose().map_err(old.damaged())?;
    let mut next_new = after.next().transpose().map_err(new.damaged())?;
    let mut differ = false;
    loop {
        source.check()?;
        let (sign, value) = match (next_old, next_new) {
            (None, None) => break,
            (Some(value), other) if other.is_none_or(|other| value < other) => {
                next_old = before.next().transpose().map_err(old.damaged())?;
                ('-', value)
            }
            (other, Some(value)) if other.is_none_or(|other| value < other) => {
                next_new = after.next().transpose().map_err(new.damaged())?;
                ('+', value)
            }
            _ => {
                next_old = before.next().transpose().map_err(old.damaged())?;
                next_new = after.next().transpose().map_err(new.damaged())?;
                continue;
            }
        };
        differ = true;
        writeln!(out, "{sign}{value}").map_err(Error::io("write", "-"))?;
    }
    out.flush().map_err(Error::io("write", "-"))?;
    Ok((!differ).into())
}

/// Does what `diff` printed.
pub(super) fn apply(source: &Source, set: &Path, changes: Option<&Path>) -> Result<()> {
    let path = changes.unwrap_or(Path::new("-"));
    let (name, file) = (path.display(), open_file(path)?);
    let before = file.metadata().map_err(Error::io("read", path))?;
    let (mut added, mut removed) = (IntegerSet::new(), IntegerSet::new());
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
        // The last word on a value counts.
        let (into, out_of) = match sign {
            b'+' => (&mut added, &mut removed),
            b'-' => (&mut removed, &mut added),
            _ => return Err(wrong()),
        };
        offset += bytes;
        into.insert(value)?;
        out_of.remove(value)?;
    }
    check_end(&file, &before, path)?;
    change(source, set, &removed, &added)
}
