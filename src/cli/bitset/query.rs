//! Questions with one answer or a list of answers.

use super::Answer;
use super::source::Source;
use super::target::Target;
use crate::cli::stdout::{buffered, print_line};
use crate::error::{Error, Result};
use crate::set::container::Op;
use crate::set::plan::Plan;
use crate::set::ranges::{BATCH, RunSource};
use crate::set::{Damage, SetFile};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Counts the values of sets, or those in a range: the last two operands are the range if they are
/// numbers and no files of these names exist.
pub(super) fn count(source: &Source, operands: &[PathBuf]) -> Result<()> {
    let number = |path: &PathBuf| {
        if path.exists() { None } else { source.notation().value(path.to_str()?).ok() }
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
            None => set.len(),
            Some((first, last)) => set.range_len(first..=last)?,
        };
        match sets {
            [_] => print_line(count)?,
            _ => print_line(format_args!("{}: {count}", path.display()))?,
        }
    }
    Ok(())
}

fn print_found(source: &Source, found: Option<u64>) -> Result<Answer> {
    if let Some(value) = found {
        print_line(source.notation().text(value)?)?;
    }
    Ok(found.is_some().into())
}

pub(super) fn min(source: &Source, path: &Path) -> Result<Answer> {
    print_found(source, source.open(path)?.min()?)
}

pub(super) fn max(source: &Source, path: &Path) -> Result<Answer> {
    print_found(source, source.open(path)?.max()?)
}

pub(super) fn rank(source: &Source, path: &Path, value: &str) -> Result<()> {
    let value = source.value(value)?;
    print_line(source.open(path)?.rank(value)?)
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
        (_, Some(share)) => nearest_rank(set.len(), share),
        (index, None) => index.unwrap_or(0),
    };
    print_found(source, set.select(index)?)
}

/// The nearest-rank quantile, counted from 0.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count"
)]
fn nearest_rank(count: u64, share: f64) -> u64 {
    if count < 1 << f64::MANTISSA_DIGITS {
        let rank = (share * count as f64).ceil() as u64;
        return rank.clamp(1, count.max(1)) - 1;
    }
    // A product of larger counts is not exact: multiply 2^53 parts of the whole instead.
    let parts = (share * (1_u64 << f64::MANTISSA_DIGITS) as f64).ceil() as u128;
    let rank = (parts * u128::from(count)).div_ceil(1 << f64::MANTISSA_DIGITS);
    u64::try_from(rank).unwrap_or(count).clamp(1, count) - 1
}

pub(super) fn range(source: &Source, path: &Path, first: &str, last: &str) -> Result<()> {
    let (first, last) = (source.value(first)?, source.value(last)?);
    print_range(source, &source.open(path)?, first, last)
}

fn print_range(source: &Source, set: &SetFile, first: u64, last: u64) -> Result<()> {
    let plans = vec![Plan::of(set), Plan::Range(first, last)];
    let plan = Plan::join(Op::And, plans);
    source.write(&Target::default(), |sink| plan.run(sink, source.progress()))
}

/// Prints gaps as ranges or blocks, if the notation has such lines; else their two ends.
pub(super) fn gaps(source: &Source, path: &Path, min_length: u64) -> Result<()> {
    let set = source.open(path)?;
    let mut gaps =
        Gaps { runs: set.view().runs(), before: None, least: min_length, set: &set, source };
    if source.notation().output().takes_ranges() {
        return source.write(&Target::default(), |sink| sink.runs(&mut gaps));
    }
    let mut out = buffered()?;
    let mut some = Vec::new();
    while gaps.next(&mut some)? {
        for gap in &some {
            let [first, last] = gap.map(|end| source.notation().text(end));
            writeln!(out, "{}\t{}", first?, last?).map_err(Error::io("write", "-"))?;
        }
    }
    out.flush().map_err(Error::io("write", "-"))
}

/// The gaps of at least so many values between the runs of a set.
struct Gaps<'a, R> {
    runs: R,
    /// The last value of the run before.
    before: Option<u64>,
    least: u64,
    set: &'a SetFile,
    source: &'a Source,
}

impl<R> RunSource for Gaps<'_, R>
where
    R: Iterator<Item = std::result::Result<(u64, u64), Damage>> + Send,
{
    fn next(&mut self, gaps: &mut Vec<[u64; 2]>) -> Result<bool> {
        gaps.clear();
        while gaps.len() < BATCH
            && let Some(run) = self.runs.next()
        {
            let (first, last) = run.map_err(self.set.damaged())?;
            self.check()?;
            if let Some(before) = self.before.replace(last)
                && first - before > self.least.max(1)
            {
                gaps.push([before + 1, first - 1]);
            }
        }
        Ok(!gaps.is_empty())
    }

    fn check(&self) -> Result<()> {
        self.source.check()
    }
}

pub(super) fn sample(source: &Source, path: &Path, wanted: u64, seed: u64) -> Result<()> {
    let set = source.open(path)?;
    let count = set.len();
    if wanted >= count {
        return print_range(source, &set, 0, u64::MAX);
    }
    let mut out = buffered()?;
    set.sample(wanted, seed, |value| {
        source.check()?;
        writeln!(out, "{}", source.notation().text(value)?).map_err(Error::io("write", "-"))
    })?;
    out.flush().map_err(Error::io("write", "-"))
}
