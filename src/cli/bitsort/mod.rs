//! The program `bitsort`.

mod args;
mod gnu;
mod job;

use super::exit::{self, NO, say};
use super::generate;
use super::progress::{Bar, When};
use super::stats::{StatsFormat, Work, render};
use super::stdout::{print, stdout};
use crate::error::{Error, Result};
use crate::kernel::sys::Machine;
use crate::progress::Progress;
use crate::set::SetFormat;
use crate::sort::plan::budget::Budget;
use crate::sort::{Explanation, Report, Sort};
use args::SortArgs;
use clap::CommandFactory;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const PROGRAM: &str = "bitsort";

/// Runs the program with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let args: SortArgs = match exit::parse_with(PROGRAM, gnu::advice) {
        Ok(args) => args,
        Err(code) => return code,
    };
    exit::run(PROGRAM, |progress| run(&args, progress))
}

/// Refuses options that a set has no use for.
fn check_set(args: &SortArgs) -> Result<()> {
    if args.count || args.repeated || args.reverse {
        let what =
            "a set has no counts, duplicates or order: leave out --count, --repeated and --reverse";
        let output = args.output.as_ref();
        let name = output.map_or(String::new(), |path| format!("{}: ", path.display()));
        return Err(Error::usage(format!("{name}{what}")));
    }
    Ok(())
}

/// Sorts into a set file.
fn to_set(args: &SortArgs, sort: Sort, format: SetFormat, output: Option<&Path>) -> Result<Report> {
    check_set(args)?;
    let built = match output {
        Some(path) => sort.to_set(path, format),
        None => sort.into_set_stream(stdout()?, format),
    };
    built.map(|(_, report)| report)
}

/// The plan of the sort, with the memory of its output.
fn explain(args: &SortArgs, sort: Sort) -> Result<Explanation> {
    match (args.output_format(), &args.output) {
        (SetFormat::Values(_) | SetFormat::Table(_), Some(path)) => sort.explain_to_file(path),
        (SetFormat::Table(_), None) => sort.explain_to_file("-"),
        (SetFormat::Values(_), None) => sort.explain(),
        (set, output) => {
            check_set(args)?;
            sort.explain_to_set(output.as_deref().unwrap_or(Path::new("-")), set)
        }
    }
}

fn run(args: &SortArgs, progress: &Arc<Progress>) -> Result<ExitCode> {
    if let Some(what) = args.generate {
        generate::write(SortArgs::command(), what)?;
        return Ok(ExitCode::SUCCESS);
    }
    let machine = Machine::detect();
    let sort = args.to_sort(&machine)?.progress(Arc::clone(progress));
    if args.explain {
        print(explain(args, sort)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let when = if args.quiet { When::Never } else { args.progress };
    let bar = Bar::show(progress, when);
    if args.check || args.check_silently {
        let started = Instant::now();
        let found = sort.check()?;
        drop(bar);
        if let Some(format) = args.stats {
            let limit = Budget::in_force(args.mem.map(|limit| limit.on(&machine)));
            let work = Work {
                counts: vec![("disorders", found.is_some().into())],
                read_bytes: progress.read_bytes(),
                memory_limit_bytes: limit.bytes(),
                threads: 1,
                time: started.elapsed(),
            };
            say(&work.render(format));
        }
        let Some(disorder) = found else { return Ok(ExitCode::SUCCESS) };
        if !args.check_silently {
            let text = |value| args.notation.text(value);
            let (value, previous) = (text(disorder.value)?, text(disorder.previous)?);
            let (input, line) = (disorder.input, disorder.line);
            say(&format!("{PROGRAM}: {input}:{line}: disorder: {value} follows {previous}"));
        }
        return Ok(ExitCode::from(NO));
    }
    let report = match (args.output_format(), &args.output) {
        (SetFormat::Values(_) | SetFormat::Table(_), Some(path)) => sort.to_file(path),
        (SetFormat::Values(_) | SetFormat::Table(_), None) => sort.to_writer(stdout()?),
        (set, output) => to_set(args, sort, set, output.as_deref()),
    };
    drop(bar);
    let report = report?;
    let has_nothing = report.values == 0 && report.rejected == 0 && report.blank > 0;
    // Statistics as JSON are one object on one line.
    if args.columns.column().is_some() && has_nothing && args.stats != Some(StatsFormat::Json) {
        say(&format!(
            "{PROGRAM}: no row has a value in this column; check --column, and in text --delimiter"
        ));
    }
    if let Some(format) = args.stats {
        say(&render(&report, format));
    }
    Ok(ExitCode::SUCCESS)
}
