//! Sorts files of natural numbers within a memory limit.

use std::process::ExitCode;

fn main() -> ExitCode {
    bitsort::cli::bitsort::main()
}
