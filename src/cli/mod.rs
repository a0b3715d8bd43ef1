//! The command-line programs: the only room that prints and exits.
//!
//! Flow: arguments → `args` → jobs of the library → answers on standard output; errors → `hints`,
//! `exit`. Read `bitsort/job.rs` and `bitset/mod.rs` first.

// Circle: `exit`, `signals`: a run watches signals, and what ends by one says so.

pub mod bitset;
pub mod bitsort;
mod bloom;
mod columns;
mod exit;
mod generate;
mod hints;
mod limits;
mod notation;
mod progress;
mod set_format;
mod signals;
mod stats;
mod stdout;
