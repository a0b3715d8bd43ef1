//! Questions with one answer or a list of answers.

use super::Answer;
use super::source::{Source, check_stdin};
use super::target::Target;
use crate::cli::hints;
use crate::cli::stdout::{print_line, stdout};
use crate::error::{Error, Result};
use crate::number::Format;
use crate::set::container::Op;
use crate::set::keyed::KeyName;
use crate::set::plan::Plan;
use crate::set::ranges::{BATCH, RunSource};
use crate::set::{Damage, SetFile};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Counts the values of sets, or those in a range: the last two operands are the range if they are
/// numbers, unless files of both names exist.
pub(super) fn count(source: &Source, operands: &[PathBuf]) -> Result<()> {
    let number = |path: &PathBuf| source.notation().value(path.to_str()?).ok();
    let (sets, range) = match operands {
        [_, .., first, last] if first.exists() && last.exists() => (operands, None),
        [sets @ .., first, last] if !sets.is_empty() => match number(first).zip(number(last)) {
            Some(range) => (sets, Some(range)),
            None => (operands, None),
        },
        _ => (operands, None),
    };
    check_stdin(sets)?;
    let count = |path: &PathBuf| {
        let set = source.open(path).map_err(|error| {
            let of_range =
                number(path).map(|_| "a range is two numbers below 2^64 behind the sets");
            match of_range.or_else(|| path.to_str().and_then(hints::notation)) {
                Some(hint) if error.is_no_file() => {
                    Error::usage(format!("there is no file \"{}\"; {hint}", path.display()))
                }
                _ => error,
            }
        })?;
        match range {
            None => Ok(set.len()),
            Some((first, last)) => set.range_len(first..=last),
        }
    };
    // Before any is printed: a wrong operand must leave no answer to another question.
    let counts = sets.iter().map(count).collect::<Result<Vec<_>>>()?;
    for (path, count) in sets.iter().zip(counts) {
        if let [_] = sets {
            print_line(count)?;
        } else {
            let name = KeyName(path.as_os_str().as_bytes()); // it stays on one line
            print_line(format_args!("{name}: {count}"))?;
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

/// Prints the ranks of values: of several, each behind its value.
pub(super) fn rank(source: &Source, path: &Path, values: &[String]) -> Result<()> {
    let typed = values.iter().map(|value| source.value(value)).collect::<Result<Vec<_>>>()?;
    let set = source.open(path)?;
    let ranks = typed.iter().map(|&value| set.rank(value)).collect::<Result<Vec<_>>>()?;
    if let [rank] = ranks[..] {
        return print_line(rank);
    }
    for (value, rank) in typed.into_iter().zip(ranks) {
        print_line(format_args!("{}\t{rank}", source.notation().text(value)?))?;
    }
    Ok(())
}

/// Prints the values at indices, or quantiles: of several, each behind its index, or behind the share
/// as it was typed. The answer is no if an index has no value.
pub(super) fn select(
    source: &Source,
    path: &Path,
    indices: &[u64],
    quantiles: &[Share],
) -> Result<Answer> {
    let set = source.open(path)?;
    let indices = indices.iter().map(|index| (index.to_string(), *index));
    let shares = quantiles.iter().map(|share| (share.typed.clone(), share.nearest_rank(set.len())));
    let found = indices.chain(shares).map(|(typed, index)| Ok((typed, set.select(index)?)));
    let found = found.collect::<Result<Vec<_>>>()?;
    if let [(_, found)] = found[..] {
        return print_found(source, found);
    }
    for (typed, found) in &found {
        match found {
            Some(value) => print_line(format_args!("{typed}\t{}", source.notation().text(*value)?)),
            None => print_line(format_args!("{typed}\tnone")),
        }?;
    }
    Ok(found.iter().all(|(_, found)| found.is_some()).into())
}

/// A share from 0 to 1, as it was typed. A float is not the same: 0.55 of 100 is more than 55 then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Share {
    typed: String,
    /// Digits behind the point; none for 1.
    digits: Option<Vec<u8>>,
}

/// The message for a text that is no number from 0 to 1.
const NO_SHARE: &str = "a quantile is from 0 to 1";

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        /// Behind so many zeros, a share of any count is the first value.
        const MOST_ZEROS: usize = 64;
        let (number, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let exponent: i64 = exponent.parse().map_err(|_| NO_SHARE)?;
        let number = number.strip_prefix('+').unwrap_or(number);
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits = [whole, decimals].concat();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NO_SHARE);
        }
        let trimmed = digits.trim_start_matches('0');
        // The share is 0.DIGITS times ten to the power of `point`.
        let zeros = i64::try_from(digits.len() - trimmed.len()).map_err(|_| NO_SHARE)?;
        let whole = i64::try_from(whole.len()).map_err(|_| NO_SHARE)?;
        let point = whole.saturating_sub(zeros).saturating_add(exponent);
        let digits = match (trimmed.trim_end_matches('0'), point) {
            ("", _) => Some(Vec::new()),
            ("1", 1) => None,
            (_, 1..) => return Err(NO_SHARE),
            (digits, point) => {
                let zeros = usize::try_from(point.unsigned_abs()).unwrap_or(MOST_ZEROS);
                let zeros = std::iter::repeat_n(0, zeros.min(MOST_ZEROS));
                Some(zeros.chain(digits.bytes().map(|digit| digit - b'0')).collect())
            }
        };
        Ok(Self { typed: text.to_owned(), digits })
    }
}

impl Share {
    /// The index of the value whose rank is this share of `count`, rounded up.
    fn nearest_rank(&self, count: u64) -> u64 {
        let rank = match &self.digits {
            None => count,
            Some(digits) => {
                let (mut product, mut is_exact) = (0_u128, true);
                for &digit in digits.iter().rev() {
                    product += u128::from(digit) * u128::from(count);
                    is_exact &= product.is_multiple_of(10);
                    product /= 10;
                }
                u64::try_from(product + u128::from(!is_exact)).unwrap_or(count)
            }
        };
        rank.clamp(1, count.max(1)) - 1
    }
}

pub(super) fn range(source: &Source, path: &Path, first: &str, last: &str) -> Result<()> {
    let (first, last) = (source.value(first)?, source.value(last)?);
    print_range(source, &source.open(path)?, first, last)
}

fn print_range(source: &Source, set: &SetFile, first: u64, last: u64) -> Result<()> {
    let plans = vec![Plan::of(set), Plan::range(first, last)];
    let plan = Plan::join(Op::And, plans);
    source.write(&Target::default(), |sink| plan.run(sink, source.progress()))
}

/// Prints gaps as ranges or blocks, if the notation has such lines; else their two ends.
pub(super) fn gaps(source: &Source, path: &Path, min_length: u64) -> Result<()> {
    /// Bytes of room for a number.
    const ROOM: usize = 64;
    let set = source.open(path)?;
    let mut gaps =
        Gaps { runs: set.view().runs(), before: None, least: min_length, set: &set, source };
    if source.notation().output().takes_ranges() {
        return source.write(&Target::default(), |sink| sink.runs(&mut gaps));
    }
    let format = Format::text_in(source.notation().output());
    let mut out = stdout()?;
    let (mut some, mut lines) = (Vec::new(), Vec::new());
    while gaps.next(&mut some)? {
        lines.resize(some.len() * 2 * ROOM, 0);
        let mut end = 0;
        for (number, behind) in
            some.iter().flat_map(|&[first, last]| [(first, b'\t'), (last, b'\n')])
        {
            let written = format.encode(number, &[0_u32], behind, &mut lines[end..]);
            end +=
                written.map_err(|value| Error::ValueTooLarge { value, format: format.name() })?;
        }
        out.write_all(&lines[..end]).map_err(Error::io("write", "-"))?;
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
    source.write(&Target::default(), |sink| {
        let mut batch = Vec::with_capacity(BATCH);
        set.sample(wanted, seed, |value| {
            batch.push(value);
            if batch.len() < BATCH {
                return Ok(());
            }
            source.check()?;
            sink.values(&batch).map(|()| batch.clear())
        })?;
        sink.values(&batch)
    })
}
