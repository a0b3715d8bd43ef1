//! The program `bitsort`.

mod args;
mod job;

use super::exit::{NO, fail, say};
use super::progress::{Bar, When};
use super::signals::Signals;
use super::stats::render;
use crate::error::{Error, Result};
use crate::progress::Progress;
use crate::sys::{Machine, raise_file_limit};
pub(super) use args::MemoryLimit;
use args::SortArgs;
use clap::Parser;
use std::io::{self, Write};
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
    let report = match &args.output {
        Some(path) => sort.to_file(path),
        None => sort.to_writer(io::stdout()),
    };
    drop(bar);
    let report = report?;
    if let Some(format) = args.stats {
        say(&render(&report, format));
    }
    Ok(ExitCode::SUCCESS)
}
