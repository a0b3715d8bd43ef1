//! The library against a model, and the program as its users meet it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "what was skipped or counted")]

mod architecture;
mod bloom;
mod bloom_commands;
mod bloom_index;
mod bloom_streams;
mod broken_records;
mod circles;
#[cfg(feature = "columnar")]
mod columnar;
mod command;
#[cfg(feature = "compression")]
mod compressed;
mod corners;
mod faults;
mod folders;
mod growth;
mod habits;
mod keyed;
mod library;
mod limits;
mod many_sets;
mod model;
mod notations;
mod options;
mod peers;
mod readme;
mod set_lines;
mod sets;
mod workspace;
