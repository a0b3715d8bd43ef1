//! Set algebra on files.

use super::args::JoinArgs;
use super::keyed;
use super::source::{Source, check_stdin};
use super::target::Target;
use crate::cli::stdout::print_line;
use crate::error::{Error, Result};
use crate::set::batches::{Batches, Rule};
use crate::set::changes::computed;
use crate::set::container::Op;
use crate::set::keyed::{KeyName, KeyedSets, is_sets_file};
use crate::set::plan::Plan;
use crate::set::run_algebra::count_values;
use crate::set::{AsSet, Expression, ParseExpressionError, SetFile, SetFormat};
use crate::sort::{Found, Sort, joined};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// How sets are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    By(Op),
    AtLeast(usize),
    /// As by [`Op::Or`], but of a `.sets` file one set is named.
    Copied,
}

impl How {
    fn op(self) -> Option<Op> {
        match self {
            Self::By(op) => Some(op),
            Self::Copied => Some(Op::Or),
            Self::AtLeast(_) => None,
        }
    }
}

/// Joins sets into the target, or counts the values of the result.
pub(super) fn join(source: &Source, how: How, args: &JoinArgs) -> Result<()> {
    if how == How::AtLeast(0) {
        return Err(Error::usage("at least 0 sets have every value; K is 1 or more"));
    }
    let is_union = how.op() == Some(Op::Or);
    if is_union && !args.count && keyed::union(source, &args.sets, &args.target)? {
        return Ok(());
    }
    let found = match lists(source, how, &args.sets)? {
        Lists::Joined(op, sorts) => return deliver_lists(source, op, sorts, args),
        Lists::Found(found) => found,
    };
    // The checksums of one set are compared where it is delivered.
    let are_copied = how == How::Copied && found.len() > 1 && !args.count;
    if are_copied && makes_file(source, &args.target)? {
        verify_bytes(source, &found)?;
    }
    let (sets, how) = sets_of(source, how, found, &args.sets)?;
    let plans = Plan::all(&sets);
    let plan = match how {
        How::By(op) => Plan::join(op, plans),
        How::Copied => Plan::join(Op::Or, plans),
        How::AtLeast(least) => Plan::at_least(least, plans),
    };
    deliver(source, plan, &args.target, args.count)
}

/// The sets or numbers that a path stands for.
#[expect(clippy::large_enum_variant, reason = "there are a few at a time")]
enum Operand {
    One(Found),
    /// A `.sets` file, which stands for all of its sets.
    Many(KeyedSets),
}

fn find_all(source: &Source, how: How, paths: &[PathBuf]) -> Result<Vec<Operand>> {
    check_stdin(paths)?;
    let mut found = Vec::with_capacity(paths.len());
    for path in paths {
        found.push(match source.find(path) {
            Err(_) if how != How::Copied && is_sets_file(path) => {
                if how == How::By(Op::AndNot) && found.is_empty() {
                    let what =
                        "has sets by key, and the others are taken from one set: name it, FILE:KEY";
                    return Err(Error::usage(format!("{} {what}", path.display())));
                }
                Operand::Many(KeyedSets::open(path)?)
            }
            one => Operand::One(one?),
        });
    }
    Ok(found)
}

/// Checks that the files of sets are whole.
fn verify_bytes(source: &Source, found: &[Operand]) -> Result<()> {
    found.iter().try_for_each(|operand| match operand {
        Operand::One(Found::Set(set)) => set.verify_bytes(source.progress()),
        Operand::One(Found::Numbers(_)) | Operand::Many(_) => Ok(()),
    })
}

/// The sets of all operands, and how they are joined. Messages call the set of sorted numbers by its
/// path. If they do not fit in the memory together, results of batches in nameless files take their
/// place.
fn sets_of(
    source: &Source,
    how: How,
    found: Vec<Operand>,
    paths: &[PathBuf],
) -> Result<(Vec<SetFile>, How)> {
    let rule = match how {
        How::By(op @ (Op::Or | Op::And | Op::Xor)) => Rule::By(op),
        How::By(Op::AndNot) | How::Copied => Rule::By(Op::Or), // of those behind the first one
        How::AtLeast(least) => Rule::AtLeast(least),
    };
    let joined = Batches::new(rule);
    let mut sets =
        Gathered { source, apart: None, sets: Vec::new(), left_out: 0, walk_bytes: 0, joined };
    let mut operands = found.into_iter().zip(paths);
    match (how, operands.next()) {
        (How::By(Op::AndNot), Some((Operand::One(first), path))) => {
            sets.apart = Some(first.set(path)?);
        }
        (_, Some((first, path))) => sets.push_all(first, path)?,
        (_, None) => {}
    }
    operands.try_for_each(|(operand, path)| sets.push_all(operand, path))?;
    let (sets, is_joined) = sets.finish()?;
    let how = if is_joined && matches!(how, How::AtLeast(_)) { How::AtLeast(1) } else { how };
    Ok((sets, how))
}

/// Sets for a join, which are joined in batches if they do not fit in the memory together.
struct Gathered<'s> {
    source: &'s Source,
    /// A set from which the others are taken.
    apart: Option<SetFile>,
    /// The sets of the batch that is being gathered.
    sets: Vec<SetFile>,
    /// Sets that fit no more and cannot be joined in batches. They are counted, because the error
    /// tells the memory for all.
    left_out: usize,
    /// The bytes that a walk over all of these takes.
    walk_bytes: u64,
    /// The batches before.
    joined: Batches<SetFile>,
}

impl Gathered<'_> {
    fn push_all(&mut self, operand: Operand, path: &Path) -> Result<()> {
        match operand {
            // The run fails, and a list of numbers would first be sorted.
            Operand::One(Found::Numbers(_)) if self.left_out > 0 => {
                self.left_out += 1;
                Ok(())
            }
            Operand::One(found) => self.push(found.set(path)?),
            Operand::Many(keyed) => {
                (0..keyed.len()).try_for_each(|index| self.push(keyed.set(index)?))
            }
        }
    }

    fn push(&mut self, set: SetFile) -> Result<()> {
        self.source.check()?;
        let set_bytes = set.as_set().view().walk_bytes();
        self.walk_bytes = self.walk_bytes.saturating_add(set_bytes);
        self.sets.push(set);
        if self.check().is_ok() {
            return Ok(());
        }
        if !self.may_join() {
            self.left_out += self.sets.len();
            self.sets.clear();
            return Ok(());
        }
        let last = self.sets.pop();
        self.join()?;
        self.sets.extend(last);
        self.walk_bytes = set_bytes;
        Ok(())
    }

    /// Checks that all sets of the batch fit in the memory together.
    fn check(&self) -> Result<()> {
        let apart_bytes = self.apart.as_ref().map_or(0, |set| set.as_set().view().walk_bytes());
        let count = self.sets.len() + self.left_out + usize::from(self.apart.is_some());
        check_walks(self.source, count, self.walk_bytes.saturating_add(apart_bytes))
    }

    /// Whether batches of sets take less memory than all sets.
    fn may_join(&self) -> bool {
        /// Each batch has so many results.
        const MOST_LEAST: usize = 8;
        !matches!(self.joined.rule(), Rule::AtLeast(least) if least > MOST_LEAST)
    }

    /// Joins the sets that were gathered.
    fn join(&mut self) -> Result<()> {
        let sets = std::mem::take(&mut self.sets);
        self.joined.push(Plan::all(&sets), temporary(self.source))
    }

    /// The sets, and whether they are results of batches.
    fn finish(mut self) -> Result<(Vec<SetFile>, bool)> {
        self.check()?;
        let is_joined = !self.joined.is_empty();
        if is_joined {
            self.join()?;
            self.sets = self.joined.finish(temporary(self.source))?;
        }
        Ok((self.apart.into_iter().chain(self.sets).collect(), is_joined))
    }
}

/// Makes sets of plans, in nameless files.
fn temporary(source: &Source) -> impl Fn(Plan<'_>) -> Result<SetFile> {
    let spool = source.spool();
    move |plan| computed(&spool, plan, source.progress())
}

/// Checks that so many sets can be joined at once.
fn check_walks(source: &Source, sets: usize, walk_bytes: u64) -> Result<()> {
    /// So few sets take a few megabytes at most.
    const FEW: usize = 16;
    if sets <= FEW { Ok(()) } else { source.whole_memory().check_sets(sets, walk_bytes) }
}

/// Lists of ranges that are joined as ranges, or sets of any kind.
enum Lists {
    Joined(Op, Vec<Sort>),
    Found(Vec<Operand>),
}

/// With more lists, each would get too little memory.
const MOST_LISTS: usize = 16;

fn lists(source: &Source, how: How, paths: &[PathBuf]) -> Result<Lists> {
    let found = find_all(source, how, paths)?;
    let op = match how.op() {
        Some(op @ (Op::Or | Op::AndNot)) => Some(op),
        Some(Op::And) if paths.len() <= MOST_LISTS => Some(Op::And),
        _ => None,
    };
    let is_list = |operand: &Operand| match operand {
        Operand::One(Found::Numbers(sort)) => sort.takes_ranges(),
        Operand::One(Found::Set(_)) | Operand::Many(_) => false,
    };
    let Some(op) = op.filter(|_| found.iter().all(is_list)) else {
        return Ok(Lists::Found(found));
    };
    let sort = |operand| match operand {
        Operand::One(Found::Numbers(sort)) => Some(sort),
        Operand::One(Found::Set(_)) | Operand::Many(_) => None,
    };
    Ok(Lists::Joined(op, found.into_iter().filter_map(sort).collect()))
}

fn deliver_lists(source: &Source, op: Op, sorts: Vec<Sort>, args: &JoinArgs) -> Result<()> {
    if !args.count {
        return source.write(&args.target, |sink| joined(op, sorts, |runs| sink.runs(runs)));
    }
    let bar = source.bar(true);
    let count = joined(op, sorts, count_values)?;
    drop(bar);
    tell_count(source, count)
}

/// Evaluates an expression over named sets.
pub(super) fn eval(
    source: &Source,
    text: &str,
    bindings: &[(String, PathBuf)],
    target: &Target,
    count: bool,
) -> Result<()> {
    let expression = Expression::parse_in(text, source.notation().output());
    let expression = expression.map_err(|error| misunderstood(text, &error))?;
    // A `.sets` file has no name of its own.
    let (files, bindings): (Vec<_>, Vec<_>) =
        bindings.iter().partition(|(name, _)| name.is_empty());
    let files = files.iter().map(|(_, path)| KeyedSets::open(path)).collect::<Result<Vec<_>>>()?;
    let mut places = HashMap::new();
    for (place, (name, _)) in bindings.iter().enumerate() {
        if places.insert(name.as_str(), place).is_some() {
            return Err(Error::usage(format!("{} is given twice", KeyName(name.as_bytes()))));
        }
    }
    let mut keyed = Vec::new();
    for name in expression.names() {
        if places.contains_key(name) {
            continue;
        }
        let found = files.iter().map(|sets| sets.get(name)).collect::<Result<Vec<_>>>()?;
        let mut found = found.into_iter().flatten();
        let (Some(set), another) = (found.next(), found.next()) else {
            return Err(unknown(name, &files));
        };
        if another.is_some() {
            return Err(Error::usage(format!("two files have a set {}", KeyName(name.as_bytes()))));
        }
        places.insert(name, bindings.len() + keyed.len());
        keyed.push(set);
    }
    let paths: Vec<PathBuf> = bindings.iter().map(|(_, path)| path.clone()).collect();
    let mut sets = source.open_all(&paths)?;
    sets.append(&mut keyed);
    let joined = expression.eval(|name| places.get(name).and_then(|&place| sets.get(place)))?;
    deliver(source, joined.into(), target, count)
}

/// The error for a name without a set.
fn unknown(name: &str, files: &[KeyedSets]) -> Error {
    let shown = KeyName(name.as_bytes());
    Error::usage(match files {
        [] if name.contains('=') => {
            format!(
                "no set is given for {shown}: the NAME of NAME=FILE has no =, so take another one"
            )
        }
        [] if shown.to_string() == name && !name.contains(' ') => {
            format!("no set is given for {name}: add {name}=FILE")
        }
        [] => {
            format!("no set is given for {shown}: add NAME=FILE, in quotation marks of the shell")
        }
        [sets] => format!("{} has no set {shown}", sets.path().display()),
        _ => format!("no file has a set {shown}"),
    })
}

/// The error for an expression. It quotes the place of the error, not all of the text.
fn misunderstood(text: &str, error: &ParseExpressionError) -> Error {
    const AROUND: usize = 20;
    let (before, behind) = text.split_at_checked(error.offset).unwrap_or((text, ""));
    let left = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let right = behind.char_indices().nth(AROUND).map_or(behind.len(), |(at, _)| at);
    let dots = |cut: bool| if cut { "…" } else { "" };
    // Files are mostly typed with a suffix or a folder.
    let is_part = |found: char| found.is_alphanumeric() || found == '_';
    let name = before.rsplit(|found| !is_part(found)).next();
    let is_file = match name.and_then(|name| name.chars().next()) {
        Some(first) => !first.is_ascii_digit() && behind.starts_with(['.', '/']),
        None => ["/", "./", "../"].iter().any(|start| behind.starts_with(start)),
    };
    let hint = if is_file { "; files get names: eval 'a & b' a=FILE b=FILE" } else { "" };
    Error::usage(format!(
        "{error}{hint}\n  {}{}<here>{}{}",
        dots(left > 0),
        before[left..].escape_debug(),
        behind[..right].escape_debug(),
        dots(right < behind.len()),
    ))
}

fn deliver(source: &Source, plan: Plan<'_>, target: &Target, count: bool) -> Result<()> {
    let walks = plan.operands().into_iter().map(|set| set.view().walk_bytes());
    check_walks(source, walks.len(), walks.fold(0, u64::saturating_add))?;
    if count {
        let bar = source.bar(true);
        let count = plan.cardinality(source.progress())?;
        drop(bar);
        return tell_count(source, count);
    }
    if makes_file(source, target)? {
        plan.verify_bytes(source.progress())?;
    }
    source.write(target, |sink| plan.run(sink, source.progress()))
}

/// Whether the values go into a file, or are a set or a table on standard output.
fn makes_file(source: &Source, target: &Target) -> Result<bool> {
    Ok(target.output.is_some() || !matches!(source.format(target)?, SetFormat::Values(_)))
}

fn tell_count(source: &Source, count: u128) -> Result<()> {
    if let Ok(count) = u64::try_from(count) {
        source.note("values", count); // the count does not fit if the set has all numbers below 2^64
    }
    print_line(count)
}
