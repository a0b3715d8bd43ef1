//! `bitsort` of the Python package: the program `bitset` beside it, called as `bitsort`.
//! This process becomes that one, so that nothing stands between.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let error = match env::current_exe() {
        Ok(here) => {
            let mut program = Command::new(here.with_file_name("bitset"));
            program.arg0("bitsort").args(env::args_os().skip(1)).exec()
        }
        Err(error) => error,
    };
    eprintln!("bitsort: the program bitset, which lies beside it, cannot be run: {error}");
    ExitCode::from(2)
}
