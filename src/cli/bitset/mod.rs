//! The program `bitset`.

mod args;
mod describe;
mod foreign;
mod join;
mod keyed;
mod plot;
mod probe;
mod query;
mod source;
mod target;
mod update;

use super::bloom;
use super::exit::{self, NO};
use super::generate;
use crate::error::Result;
use crate::progress::Progress;
use crate::set::container::Op;
use crate::set::foreign::Reading;
use args::{Command, SetArgs};
use clap::CommandFactory;
pub(super) use source::{Source, or_stdin};
use std::process::ExitCode;
use std::sync::Arc;

const PROGRAM: &str = "bitset";

/// Runs the program with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let args: SetArgs = match exit::parse(PROGRAM) {
        Ok(args) => args,
        Err(code) => return code,
    };
    exit::run(PROGRAM, |progress| run(args, progress).map(ExitCode::from))
}

/// The answer of a command, for the exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Done, or yes.
    Yes,
    No,
}

impl From<bool> for Answer {
    fn from(yes: bool) -> Self {
        if yes { Self::Yes } else { Self::No }
    }
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::from(NO),
        }
    }
}

fn run(args: SetArgs, progress: &Arc<Progress>) -> Result<Answer> {
    let source = Source::new(args.limits, args.command.numbers(), Arc::clone(progress))?;
    let answer = answer(&source, args.command)?;
    source.tell();
    Ok(answer)
}

fn answer(source: &Source, command: Command) -> Result<Answer> {
    match command {
        Command::Build { files, target, skip_invalid, .. } => {
            source.build(files, &target, skip_invalid)?;
        }
        Command::Contains(args) => return probe::contains(source, &args.set, &args.values),
        Command::Filter(args) => return probe::filter(source, args),
        Command::Add(args) => update::add(source, &args)?,
        Command::Remove(args) => update::remove(source, &args)?,
        Command::Apply { set, changes, .. } => update::apply(source, &set, changes.as_deref())?,
        Command::Diff { a, b, .. } => return update::diff(source, &a, &b),
        Command::Info { sets, json, .. } => describe::info(source, &sets, json)?,
        Command::Compare { a, b, json, .. } => describe::compare(source, &a, &b, json)?,
        Command::Verify { sets } => describe::verify(source, &sets)?,
        Command::Generate { what } => generate::write(SetArgs::command(), what)?,
        Command::Identify { files } => foreign::identify(&files)?,
        Command::Convert { file, from, base, vector, width, target, .. } => {
            let base = base.map(|text| source.value(&text)).transpose()?;
            let reading = Reading { from, base, vector, width };
            foreign::convert(source, &file, &reading, &target)?;
        }
        Command::Count { sets, .. } => query::count(source, &sets)?,
        Command::Plot { set, output, order, ipv4, .. } => {
            plot::plot(source, &set, &output, order, ipv4)?;
        }
        Command::Min { set, .. } => return query::min(source, &set),
        Command::Max { set, .. } => return query::max(source, &set),
        Command::Rank { set, values, .. } => query::rank(source, &set, &values)?,
        Command::Select { set, indices, quantiles, .. } => {
            return query::select(source, &set, &indices, &quantiles);
        }
        Command::Range { set, first, last, .. } => query::range(source, &set, &first, &last)?,
        Command::Gaps { set, min_length, .. } => query::gaps(source, &set, min_length)?,
        Command::Sample { set, n, seed, .. } => query::sample(source, &set, n, seed)?,
        Command::And(args) => join::join(source, join::How::By(Op::And), &args)?,
        Command::Or(args) => join::join(source, join::How::By(Op::Or), &args)?,
        Command::Cat(args) => join::join(source, join::How::Copied, &args)?,
        Command::Xor(args) => join::join(source, join::How::By(Op::Xor), &args)?,
        Command::Andnot(args) => join::join(source, join::How::By(Op::AndNot), &args)?,
        Command::AtLeast { k, join: args } => {
            join::join(source, join::How::AtLeast(k), &args)?;
        }
        Command::Group(args) => keyed::group(source, args)?,
        Command::Overlap(args) => keyed::overlap(source, &args)?,
        Command::KeysOf(args) => return keyed::keys_of(source, &args.sets, &args.values),
        Command::Bloom(args) => return bloom::run(source, args),
        Command::Eval { expression, sets, target, count, .. } => {
            join::eval(source, &expression, &sets, &target, count)?;
        }
    }
    Ok(Answer::Yes)
}
