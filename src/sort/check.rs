//! Checks whether an input is sorted.

use super::options::Sort;
use super::plan::budget::{CHECK_BLOCK_BYTES, RECORD_BLOCK_BYTES};
use super::rejects::InvalidLines;
use crate::error::{Error, Result};
use crate::io::read::{Input, Invalid, Opened, Ordered, open_all};
use std::sync::Arc;

/// The first value that is out of order.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disorder {
    /// Name of the input as the caller gave it.
    pub input: String,
    /// Number of its line, from 1; in binary formats, number of the value.
    pub line: u64,
    /// The value before it.
    pub previous: u64,
    /// The value.
    pub value: u64,
}

/// The first value that must not follow the one before it, and its index. `previous` is the value
/// before all of them.
pub(super) fn first_disorder(
    previous: Option<u64>,
    values: &[u64],
    reverse: bool,
    strict: bool,
) -> Option<(usize, u64)> {
    let wrong = |a: u64, b: u64| {
        let (low, high) = if reverse { (b, a) } else { (a, b) };
        low > high || (strict && low == high)
    };
    if let (Some(previous), Some(&first)) = (previous, values.first())
        && wrong(previous, first)
    {
        return Some((0, previous));
    }
    let before = values.windows(2).position(|pair| wrong(pair[0], pair[1]))?;
    Some((before + 1, values[before]))
}

/// The first place where the input of a sort is out of order.
pub(super) fn check(mut sort: Sort) -> Result<Option<Disorder>> {
    let inputs = std::mem::take(&mut sort.inputs);
    let mut opened = open_all(inputs, sort.open_options())?;
    let (Some(input), true) = (opened.pop(), opened.is_empty()) else {
        return Err(Error::usage("exactly one input can be checked"));
    };
    if matches!(sort.invalid, InvalidLines::Reject(_)) {
        return Err(Error::usage("a check collects no rejected lines"));
    }
    input.pass()?;
    disorder(&sort, &input, sort.selection.distinct)
}

/// Refuses inputs that are not sorted, when a merge does not read them side by side.
pub(super) fn check_each(sort: &Sort) -> Result<()> {
    for input in &sort.inputs {
        let Some(input) = again(input)? else { continue };
        for opened in open_all(vec![input], sort.open_options())? {
            if let Some(Disorder { input, line, previous, value }) = disorder(sort, &opened, false)?
            {
                let notation = sort.from.notation().unwrap_or_default();
                return Err(Error::Unsorted { input, line, previous, value, notation });
            }
        }
    }
    Ok(())
}

/// The input once more, to be read beside the first; none if its order needs no check.
///
/// # Errors
///
/// If it can be read only once.
pub(super) fn again(input: &Input) -> Result<Option<Input>> {
    let name = match input {
        Input::Path(path) if path.is_file() => return Ok(Some(Input::Path(path.clone()))),
        // Opening a missing input fails later, with its own error.
        Input::Path(path) if !path.exists() => return Ok(None),
        set if set.is_set() => return Ok(None),
        Input::Pieces(source) => return Ok(Some(Input::Pieces(Arc::clone(source)))),
        Input::Path(path) | Input::Split(path, _) => path.display().to_string(),
        Input::Stdin => "-".into(),
        Input::Values(_) => "values".into(),
        Input::Reader(name, _) | Input::Stream(name, _) => name.clone(),
    };
    Err(Error::CannotReread { input: name })
}

/// The first place where an input is out of order. With `strict`, equal neighbours are out of order
/// too.
fn disorder(sort: &Sort, input: &Opened, strict: bool) -> Result<Option<Disorder>> {
    let block_bytes = sort.tuning.block_bytes.unwrap_or(match sort.column {
        Some(_) => RECORD_BLOCK_BYTES,
        None => CHECK_BLOCK_BYTES,
    });
    let block_format = sort.block_format(block_bytes.next_multiple_of(8)); // a whole number of values
    let options = sort.scan_options(&block_format);
    sort.progress.enter(crate::progress::Phase::Load, input.len().unwrap_or(0));
    let fails = sort.invalid == InvalidLines::Fail;
    let invalid = if fails { Invalid::Fail } else { Invalid::Skip };
    let mut ordered = Ordered::new(input, &options, invalid);
    let mut values = Vec::new();
    let mut previous = None;
    let reverse = sort.selection.reverse;
    while ordered.next(&mut values)? {
        if let Some((index, previous)) = first_disorder(previous, &values, reverse, strict) {
            return Ok(Some(Disorder {
                input: ordered.name().to_owned(),
                line: ordered.line_of(index),
                previous,
                value: values[index],
            }));
        }
        previous = values.last().copied();
    }
    Ok(None)
}
