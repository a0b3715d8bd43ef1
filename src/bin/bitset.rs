//! Sets of natural numbers as files, queried without loading them.

use std::process::ExitCode;

fn main() -> ExitCode {
    bitsort::cli::bitset::main()
}
