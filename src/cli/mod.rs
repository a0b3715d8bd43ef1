//! The command-line programs: the only room that prints and exits.
//!
//! In: arguments. Out: answers on standard output, and an exit status. Flow: `args` → jobs of the
//! library → answers; errors → `hints`, `exit`. Read `bitsort/job.rs` and `bitset/mod.rs` first.

// Circle: `exit`, `signals`: a run watches for signals, and a signal ends a run with a message.

pub mod bitset;
pub mod bitsort;
mod bloom;
mod choices;
mod columns;
mod exit;
mod generate;
mod hints;
mod limits;
mod names;
mod notation;
mod output;
mod progress;
mod signals;
mod stats;
mod stdout;
