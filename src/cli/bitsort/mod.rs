//! The program `bitsort`.

mod args;
mod job;

use super::exit::{NO, fail, say};
use super::progress::{Bar, When};
use super::signals::Signals;
use super::stats::render;
use crate::bits::Spool;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::set::{self, SetFormat, write_stream};
use crate::sort::{Report, Sort};
use crate::sys::{Machine, raise_file_limit};
pub(super) use args::MemoryLimit;
use args::{OutputFormat, SortArgs};
use clap::Parser;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

const PROGRAM: &str = "bitsort";

/// Runs the program with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let args = SortArgs::parse();
    let progress = Arc::new(Progress::default());
    let signals = match Signals::watch(&progress.cancel_flag()) {
        Ok(signals) => signals,
        Err(error) => return fail(PROGRAM, &error),
    };
    match run(&args, &progress) {
        Ok(code) => code,
        Err(error) => {
            if matches!(error, Error::Interrupted) {
                say(&format!("{PROGRAM}: interrupted; nothing was written"));
                signals.reraise();
            }
            fail(PROGRAM, &error)
        }
    }
}

/// Sorts into a set file.
fn to_set(args: &SortArgs, sort: Sort, format: SetFormat, output: Option<&Path>) -> Result<Report> {
    if args.count || args.repeated || args.reverse {
        return Err(Error::usage("a set has no counts, repeats or order"));
    }
    let folder = args.temporary.first().cloned().unwrap_or_else(std::env::temp_dir);
    if let Some(path) = output {
        return set::build(sort, path, format, &folder).map(|(_, report)| report);
    }
    let mut report = None;
    let spool = Spool { folder, ..Spool::default() };
    write_stream(io::stdout(), Path::new("-"), format, &spool, |sink| {
        report = Some(set::collect(sort, sink)?);
        Ok(())
    })?;
    report.ok_or_else(|| Error::usage("nothing was sorted"))
}

fn run(args: &SortArgs, progress: &Arc<Progress>) -> Result<ExitCode> {
    raise_file_limit();
    let machine = Machine::detect();
    let sort = args.to_sort(&machine)?.progress(Arc::clone(progress));
    if args.explain {
        let explanation = sort.explain()?;
        write!(io::stdout(), "{explanation}").map_err(Error::io("write", "-"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let when = if args.quiet { When::Never } else { args.progress };
    let bar = Bar::show(progress, when);
    if args.check || args.check_silently {
        let found = sort.check()?;
        drop(bar);
        let Some(disorder) = found else { return Ok(ExitCode::SUCCESS) };
        if !args.check_silently {
            say(&format!(
                "{PROGRAM}: {}:{}: disorder: {} follows {}",
                disorder.input, disorder.line, disorder.value, disorder.previous
            ));
        }
        return Ok(ExitCode::from(NO));
    }
    let report = match (args.to, &args.output) {
        (OutputFormat::Set(format), output) => to_set(args, sort, format, output.as_deref()),
        (_, Some(path)) => sort.to_file(path),
        (_, None) => sort.to_writer(io::stdout()),
    };
    drop(bar);
    let report = report?;
    if let Some(format) = args.stats {
        say(&render(&report, format));
    }
    Ok(ExitCode::SUCCESS)
}
