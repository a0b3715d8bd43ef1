//! The programs `bitsort` and `bitset`. Their launchers in the wheel load this library and call
//! these functions: so a wheel has the code only once.

use std::process::{ExitCode, exit};

// SAFETY: no other library has functions of these names.
#[unsafe(no_mangle)]
extern "C" fn bitsort_main() {
    run(bitsort::cli::bitsort::main);
}

// SAFETY: as above.
#[unsafe(no_mangle)]
extern "C" fn bitset_main() {
    run(bitsort::cli::bitset::main);
}

/// Runs a program, and ends the process as the standard library does after `main`.
fn run(main: fn() -> ExitCode) {
    let code = main();
    // Only the standard library can see the number in an exit code.
    let status = (0..=u8::MAX).find(|status| ExitCode::from(*status) == code);
    exit(status.map_or(2, i32::from));
}
