//! The commands of `bitset bloom`.

mod index;

use crate::error::Result;
use crate::progress::Progress;
use index::IndexCommand;
use std::sync::Arc;

/// What the user typed.
#[derive(Debug, clap::Subcommand)]
pub(in crate::cli) enum BloomCommand {
    /// Find the lines of keys in a large file without reading it all
    #[command(subcommand)]
    Index(IndexCommand),
}

impl BloomCommand {
    /// Whether it reads much and prints nothing meanwhile.
    pub(in crate::cli) fn writes_file(&self) -> bool {
        match self {
            Self::Index(command) => command.writes_file(),
        }
    }
}

/// Runs a command; tells whether the answer is yes.
pub(in crate::cli) fn run(
    command: BloomCommand,
    threads: usize,
    progress: &Arc<Progress>,
) -> Result<bool> {
    match command {
        BloomCommand::Index(command) => index::run(command, threads, progress),
    }
}
