//! Asks a set for streams of values.

use super::Answer;
use super::args::FilterArgs;
use super::source::{Source, or_stdin};
use crate::cli::exit::known;
use crate::cli::names;
use crate::cli::output::{Out, TargetArgs};
use crate::cli::stdout::print_line;
use crate::error::{Error, Result};
use crate::io::read::is_stdin;
use crate::lines::{Answered, Keep};
use memchr::memmem;
use std::path::Path;

/// Prints whether values are in the set.
pub(super) fn contains(source: &Source, path: &Path, values: &[String]) -> Result<Answer> {
    let typed = values.iter().map(|text| source.value(text));
    let values = typed.collect::<Result<Vec<_>>>()?;
    if values.is_empty() && is_stdin(path) {
        return Err(Error::usage("standard input has the values, so it cannot be the set"));
    }
    let set = source.open(path)?;
    if let [value] = values[..] {
        let found = set.contains(value)?;
        known(print_line(found), !found)?;
        return Ok(found.into());
    }
    let mut all = true;
    if !values.is_empty() {
        for value in values {
            let found = set.contains(value)?;
            all &= found;
            let line = format!("{}\t{found}", source.notation().text(value)?);
            known(print_line(line), !all)?;
        }
        return Ok(all.into());
    }
    let files = or_stdin(Vec::new());
    let (out, _bar) = (Out::open(source, &TargetArgs::default(), &files)?, source.bar(false));
    let mut is_no = false;
    let answered = hand_over(source, out, |take| {
        source.line_tools().tell_by_set(files, &set, |lines| {
            is_no = is_no || memmem::find(lines, b"\tfalse\n").is_some();
            take(lines)
        })
    });
    match answered {
        Ok(answered) => Ok((answered.found == answered.values).into()),
        Err(error) => known(Err(error), is_no).map(|()| Answer::No),
    }
}

/// Copies the lines that are in the set, or those that are not.
pub(super) fn filter(source: &Source, args: FilterArgs) -> Result<Answer> {
    let FilterArgs { set, files, invert, columns, skip_invalid, target, .. } = args;
    let files = or_stdin(files);
    if is_stdin(&set) && files.iter().any(|file| is_stdin(file)) {
        return Err(Error::usage("standard input has the lines, so it cannot be the set"));
    }
    if let Some(output) = &target.output {
        names::no_input([&set], output)?;
    }
    if skip_invalid {
        names::no_sets_as_lines(&files)?;
    }
    let set = source.open(&set)?;
    let tools = columns.of_lines(source.line_tools().skip_invalid(skip_invalid));
    let keep = if invert { Keep::Unknown } else { Keep::Known };
    let out = Out::open(source, &target, &files)?;
    let _bar = source.bar(target.output.is_some());
    let Answered { values, found, .. } =
        hand_over(source, out, |take| tools.filter_by_set(files, &set, keep, take))?;
    source.note("written", if invert { values - found } else { found });
    Ok(Answer::Yes)
}

/// Writes the lines that `answer` hands over.
fn hand_over(
    source: &Source,
    mut out: Out,
    answer: impl FnOnce(&mut (dyn FnMut(&[u8]) -> Result<()> + Send)) -> Result<Answered>,
) -> Result<Answered> {
    let answered = answer(&mut |lines| out.write(lines))?;
    out.commit(source)?;
    source.note("lines", answered.lines);
    source.note("values", answered.values);
    source.note("found", answered.found);
    source.note("rejected", answered.rejected);
    source.note("screen_bytes", answered.screen_bytes);
    Ok(answered)
}
