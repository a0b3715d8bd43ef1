//! Sets of natural numbers as files, queried without loading them.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    // One file is both programs where there is no room for two: in the Python package.
    let called = std::env::args_os().next();
    if called.is_some_and(|called| Path::new(&called).file_name() == Some("bitsort".as_ref())) {
        return bitsort::cli::bitsort::main();
    }
    bitsort::cli::bitset::main()
}
