//! Set algebra on files.

use super::args::JoinArgs;
use super::source::Source;
use super::target::Target;
use crate::cli::stdout::print_line;
use crate::container::Op;
use crate::error::{Error, Result};
use crate::set::plan::Plan;
use crate::set::{Expression, ParseExpressionError, SetFile, blamed};
use std::collections::HashMap;
use std::path::PathBuf;

/// How sets are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    And,
    Or,
    Xor,
    AndNot,
    AtLeast(usize),
}

/// Joins sets into the target, or counts what would be there.
pub(super) fn join(source: &Source, how: How, args: &JoinArgs) -> Result<()> {
    if how == How::AtLeast(0) {
        return Err(Error::usage("at least 0 sets have every value; K is 1 or more"));
    }
    let sets = source.open_all(&args.sets)?;
    let blames: Vec<_> = sets.iter().map(SetFile::damaged).collect();
    let plans = sets.iter().zip(&blames).map(|(set, blame)| Plan::set(set.view(), blame)).collect();
    let plan = match how {
        How::And => Plan::join(Op::And, plans),
        How::Or => Plan::join(Op::Or, plans),
        How::Xor => Plan::join(Op::Xor, plans),
        How::AndNot => Plan::join(Op::AndNot, plans),
        How::AtLeast(least) => Plan::at_least(least, plans),
    };
    deliver(source, &sets, plan, &args.target, args.count)
}

/// Evaluates an expression over named sets.
pub(super) fn eval(
    source: &Source,
    text: &str,
    bindings: &[(String, PathBuf)],
    target: &Target,
    count: bool,
) -> Result<()> {
    let expression: Expression = text.parse().map_err(|error| misunderstood(text, &error))?;
    let mut places = HashMap::new();
    for (place, (name, _)) in bindings.iter().enumerate() {
        if places.insert(name.as_str(), place).is_some() {
            return Err(Error::usage(format!("{name} is given twice")));
        }
    }
    for name in expression.names() {
        if !places.contains_key(name) {
            return Err(Error::usage(format!("no set is given for {name}: add {name}=FILE")));
        }
    }
    let paths: Vec<PathBuf> = bindings.iter().map(|(_, path)| path.clone()).collect();
    let sets = source.open_all(&paths)?;
    let blames: Vec<_> = sets.iter().map(SetFile::damaged).collect();
    let plan = expression.plan(&|name: &str| {
        let found = places.get(name).and_then(|&place| sets.get(place).zip(blames.get(place)));
        let (set, blame) = found.ok_or_else(|| Error::usage(format!("no set for {name}")))?;
        Ok::<_, Error>(Plan::set(set.view(), blame))
    })?;
    deliver(source, &sets, plan, target, count)
}

/// Quotes the place where an expression cannot be understood, not all of it.
fn misunderstood(text: &str, error: &ParseExpressionError) -> Error {
    const AROUND: usize = 20;
    let (before, behind) = text.split_at_checked(error.offset).unwrap_or((text, ""));
    let left = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let right = behind.char_indices().nth(AROUND).map_or(behind.len(), |(at, _)| at);
    let dots = |cut: bool| if cut { "…" } else { "" };
    Error::usage(format!(
        "{error}\n  {}{}<here>{}{}",
        dots(left > 0),
        before[left..].escape_debug(),
        behind[..right].escape_debug(),
        dots(right < behind.len()),
    ))
}

fn deliver(
    source: &Source,
    sets: &[SetFile],
    plan: Plan<'_>,
    target: &Target,
    count: bool,
) -> Result<()> {
    if count {
        let bar = source.bar(true);
        let count = plan.cardinality(source.progress())?;
        drop(bar);
        if let Ok(count) = u64::try_from(count) {
            source.note("values", count); // all numbers below 2^64 are one more than fits
        }
        return print_line(count);
    }
    let written = source.write(target, |sink| plan.run(sink, source.progress()));
    written.map_err(|error| blamed(error, sets))
}
