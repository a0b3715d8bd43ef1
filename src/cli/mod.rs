//! The command-line programs: the only room that prints and exits.

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
mod signals;
mod stats;
mod stdout;
