//! Prints errors, and gives the exit status.

use super::generate;
use super::hints::hint;
use super::signals::Signals;
use super::stdout::print_line;
use crate::error::{Error, Result};
use crate::io::caught::abort_on_other_panics;
use crate::kernel::sys::{Standard, begin_program, give_back_large_blocks};
use crate::progress::Progress;
use std::borrow::Cow;
use std::error::Error as _;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

/// The answer is no: for example, an input is not sorted, or a set lacks a value.
pub(super) const NO: u8 = 1;
/// The run failed.
pub(super) const TROUBLE: u8 = 2;

/// Parses the arguments. If they ask for help or are wrong, prints a text and gives the exit
/// status.
pub(super) fn parse<A: clap::Parser>(program: &str) -> Result<A, ExitCode> {
    parse_with(program, |_| None)
}

/// The same, with advice for wrong arguments.
pub(super) fn parse_with<A: clap::Parser>(
    program: &str,
    advice: impl FnOnce(&clap::Error) -> Option<&'static str>,
) -> Result<A, ExitCode> {
    // `--version` alone needs no table of all commands and flags, which takes a millisecond.
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == "--version") && words.next().is_none() {
        let told = print_line(format_args!("{program} {}", generate::version()));
        return Err(told.map_or_else(|error| fail(program, &error), |()| ExitCode::SUCCESS));
    }
    A::try_parse().map_err(|told| {
        // Help goes to standard output, which may be closed.
        let open = if told.use_stderr() { Ok(()) } else { Standard::Output.check() };
        match open.and_then(|()| told.print()).and_then(|()| io::stdout().flush()) {
            Err(cause) if !told.use_stderr() => fail(program, &Error::io("write", "-")(cause)),
            _ if told.use_stderr() => {
                if let Some(advice) = advice(&told) {
                    say(&format!("hint: {advice}"));
                }
                ExitCode::from(TROUBLE)
            }
            _ => ExitCode::SUCCESS,
        }
    })
}

/// Lets this process open as many files as the system allows: many inputs are open at once.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    /// The maximum of macOS, which it does not report.
    const OPEN_MAX: u64 = 10_240;
    let limit = getrlimit(Resource::Nofile);
    let raise_to = |files| setrlimit(Resource::Nofile, Rlimit { current: files, ..limit });
    if raise_to(limit.maximum).is_err() && limit.current.is_some_and(|now| now < OPEN_MAX) {
        // A refusal shows later, when a file cannot be opened.
        let _ = raise_to(Some(OPEN_MAX));
    }
}

/// Runs `job`, which a signal ends like an error; gives the exit status.
pub(super) fn run(
    program: &'static str,
    job: impl FnOnce(&Arc<Progress>) -> Result<ExitCode>,
) -> ExitCode {
    abort_on_other_panics();
    give_back_large_blocks();
    raise_file_limit();
    begin_program();
    let progress = Arc::new(Progress::default());
    let signals = match Signals::watch(program, &progress.cancel_flag()) {
        Ok(signals) => signals,
        Err(error) => return fail(program, &error),
    };
    match job(&progress) {
        Ok(code) => code,
        Err(error) => {
            if matches!(error, Error::Interrupted) {
                signals.end();
            }
            fail(program, &error)
        }
    }
}

/// Prints an error; gives the exit status. It is no error if the reader of the output has gone.
fn fail(program: &str, error: &Error) -> ExitCode {
    if error.is_closed_pipe() {
        return ExitCode::SUCCESS;
    }
    tell_error(program, error);
    ExitCode::from(TROUBLE)
}

/// The result of printing what an answer follows from, if the reader of it has gone: "no" is known for
/// sure if the part that was printed says so.
pub(super) fn known(printed: Result<()>, is_no: bool) -> Result<()> {
    match printed {
        Err(error) if is_no && error.is_closed_pipe() => Ok(()),
        other => other,
    }
}

/// Prints an error on one line, and a hint if there is one.
pub(super) fn tell_error(program: &str, error: &Error) {
    let mut parts = vec![format!("{program}: {error}")];
    let mut cause = error.source();
    while let Some(source) = cause {
        parts.push(source.to_string());
        cause = source.source();
    }
    say(&parts.join(": "));
    if let Some(hint) = hint(program, error) {
        say(&format!("hint: {hint}"));
    }
}

/// Prints to standard error. If that fails, nothing more can be done. Control characters, which a
/// name of a file may have, are escaped: a terminal would obey them.
pub(super) fn say(message: &str) {
    let _ = writeln!(io::stderr(), "{}", escaped(message));
}

fn escaped(message: &str) -> Cow<'_, str> {
    let is_harmless = |shown: char| shown == '\n' || shown == '\t' || !shown.is_control();
    if message.chars().all(is_harmless) {
        return message.into();
    }
    let mut text = String::new();
    for shown in message.chars() {
        if is_harmless(shown) {
            text.push(shown);
        } else {
            text.extend(shown.escape_default());
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        assert_eq!(escaped("a\tb\nä"), "a\tb\nä");
        assert_eq!(escaped("\u{1b}[31mred\r\u{9b}"), r"\u{1b}[31mred\r\u{9b}");
    }
}
