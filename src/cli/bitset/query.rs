//! Questions with one answer, or a list of them.

use super::Answer;
use super::choices::natural;
use super::source::Source;
use super::target::Target;
use crate::cli::stdout::{buffered, print_line};
use crate::container::Op;
use crate::error::{Error, Result};
use crate::set::plan::Plan;
use crate::set::sample::draw;
use crate::set::{SetFile, blamed};
use crate::simd::Level;
use crate::simd::decimal::{self, MAX_LINE, SLACK};
use crate::view::Selection;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Counts the values of sets, or those in a range: two numbers behind the sets, unless
/// there are files of these names.
pub(super) fn count(source: &Source, operands: &[PathBuf]) -> Result<()> {
    let number = |path: &PathBuf| {
        if path.exists() { None } else { natural(path.to_str()?).ok() }
    };
    let (sets, range) = match operands {
        [sets @ .., first, last] if !sets.is_empty() => match number(first).zip(number(last)) {
            Some(range) => (sets, Some(range)),
            None => (operands, None),
        },
        _ => (operands, None),
    };
    for path in sets {
        let set = source.open(path)?;
        let count = match range {
            None => set.cardinality(),
            Some((first, last)) => {
                set.view().range_cardinality(first, last).map_err(set.damaged())?
            }
        };
        match sets {
            [_] => print_line(count)?,
            _ => print_line(format_args!("{}: {count}", path.display()))?,
        }
    }
    Ok(())
}

fn print_found(found: Option<u64>) -> Result<Answer> {
    if let Some(value) = found {
        print_line(value)?;
    }
    Ok(found.is_some().into())
}

pub(super) fn min(source: &Source, path: &Path) -> Result<Answer> {
    let set = source.open(path)?;
    print_found(set.view().min().map_err(set.damaged())?)
}

pub(super) fn max(source: &Source, path: &Path) -> Result<Answer> {
    let set = source.open(path)?;
    print_found(set.view().max().map_err(set.damaged())?)
}

pub(super) fn rank(source: &Source, path: &Path, value: u64) -> Result<()> {
    let set = source.open(path)?;
    print_line(set.view().rank(value).map_err(set.damaged())?)
}

pub(super) fn select(
    source: &Source,
    path: &Path,
    index: Option<u64>,
    quantile: Option<f64>,
) -> Result<Answer> {
    let set = source.open(path)?;
    let index = match (index, quantile) {
        (_, Some(share)) if !(0.0..=1.0).contains(&share) => {
            return Err(Error::usage("a quantile is from 0 to 1"));
        }
        (_, Some(share)) => nearest_rank(set.cardinality(), share),
        (index, None) => index.unwrap_or(0),
    };
    print_found(set.view().select(index).map_err(set.damaged())?)
}

/// The nearest-rank quantile, counted from 0.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count"
)]
fn nearest_rank(count: u64, share: f64) -> u64 {
    let rank = (share * count as f64).ceil() as u64;
    rank.clamp(1, count.max(1)) - 1
}

pub(super) fn range(source: &Source, path: &Path, first: u64, last: u64) -> Result<()> {
    print_range(source, &source.open(path)?, first, last)
}

fn print_range(source: &Source, set: &SetFile, first: u64, last: u64) -> Result<()> {
    let blame = set.damaged();
    let plans = vec![Plan::set(set.view(), &blame), Plan::Range(first, last)];
    let plan = Plan::join(Op::And, plans);
    let written = source.write(&Target::default(), |sink| plan.run(sink, source.progress()));
    written.map_err(|error| blamed(error, [set]))
}

pub(super) fn gaps(source: &Source, path: &Path, min_length: u64) -> Result<()> {
    let set = source.open(path)?;
    let mut out = buffered()?;
    let mut before = None;
    for run in set.view().runs() {
        let (first, last) = run.map_err(set.damaged())?;
        source.check()?;
        if let Some(before) = before.replace(last)
            && first - before > min_length.max(1)
        {
            writeln!(out, "{}\t{}", before + 1, first - 1).map_err(Error::io("write", "-"))?;
        }
    }
    out.flush().map_err(Error::io("write", "-"))
}

pub(super) fn sample(source: &Source, path: &Path, wanted: u64, seed: u64) -> Result<()> {
    let set = source.open(path)?;
    let count = set.cardinality();
    if wanted >= count {
        return print_range(source, &set, 0, u64::MAX);
    }
    let mut out = buffered()?;
    let mut selection = Selection::new(set.view());
    let mut ended = None;
    let mut line = [0; MAX_LINE + SLACK];
    let mut random = fastrand::Rng::with_seed(seed);
    let drawn = draw(&mut random, count, wanted, &mut |rank| {
        let printed = source.check().and_then(|()| {
            let value = selection.select(rank).map_err(set.damaged())?;
            let len = decimal::lines(Level::best(), value, &[0_u32], b'\n', &mut line);
            out.write_all(&line[..len]).map_err(Error::io("write", "-"))
        });
        match printed {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                ended = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let (ControlFlow::Break(()), Some(error)) = (drawn, ended) {
        return Err(error);
    }
    out.flush().map_err(Error::io("write", "-"))
}
