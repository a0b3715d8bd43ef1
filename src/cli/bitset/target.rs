//! The limits of a command, and the place of its result.

use crate::cli::choices;
use crate::cli::limits::MemoryLimit;
use crate::cli::names;
use crate::cli::progress::When;
use crate::cli::stats::StatsFormat;
use crate::error::Result;
use crate::number::Format;
use crate::set::SetFormat;
use std::num::NonZero;
use std::path::{Path, PathBuf};

/// Limits for sorting and writing.
#[derive(Debug, clap::Args)]
pub(super) struct Limits {
    /// Keep the peak memory below SIZE (K, M, G, T or %); sets and filters are not counted
    #[arg(short = 'S', long, value_name = "SIZE", global = true)]
    pub(super) mem: Option<MemoryLimit>,

    /// Write temporary files in DIR
    #[arg(short = 'T', long = "temporary-directory", value_name = "DIR", global = true)]
    pub(super) temporary: Option<PathBuf>,

    /// Use at most N threads
    #[arg(long, value_name = "N", global = true)]
    pub(super) threads: Option<usize>,

    /// Print counts, sizes and times to standard error when done
    #[arg(
        long,
        value_name = "FORMAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "text",
        global = true
    )]
    pub(super) stats: Option<StatsFormat>,

    /// When to show a progress bar, where a file is written
    #[arg(
        long,
        value_name = "WHEN",
        default_value = "auto",
        conflicts_with = "quiet",
        global = true
    )]
    pub(super) progress: When,

    /// Show no progress bar
    #[arg(short, long, global = true)]
    pub(super) quiet: bool,
}

// Where a resulting set goes.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Target {
    /// Write to FILE, whole or not at all; FILE may be an input
    #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
    pub(super) output: Option<PathBuf>,

    /// Write this format. Without it: text on standard output; in FILE, what the end of its name says:
    /// .txt, .csv, .tsv, .gz, .zst, .bz2, .xz (text), .roaring, .parquet, .arrow, .feather; else bits
    #[arg(long, value_name = "FORMAT", value_parser = choices::set_format())]
    pub(super) to: Option<SetFormat>,

    /// Make FILE a folder of up to N .bits files (at most 16384, however large N is), which have about as many values each
    #[arg(long, value_name = "N", requires = "output", conflicts_with = "to", value_parser = choices::parts)]
    pub(super) parts: Option<NonZero<usize>>,
}

impl Target {
    /// The format that `--to` names, or the name of the file suggests.
    pub(super) fn format(&self) -> Result<SetFormat> {
        let Some(path) = &self.output else {
            return Ok(self.to.unwrap_or(SetFormat::Values(Format::Text)));
        };
        names::only_set(path, self.to)?;
        if self.parts.is_some() {
            names::only_folder(path)?;
            return Ok(SetFormat::Bits);
        }
        Ok(self.to.or_else(|| SetFormat::of_name(path)).unwrap_or(SetFormat::Bits))
    }

    /// The `.sets` file that the command writes, if `-o` says so.
    pub(super) fn sets(&self) -> Option<&Path> {
        let is_named = |path: &&Path| names::is_of_keys(path);
        self.output
            .as_deref()
            .filter(|_| self.to.is_none() && self.parts.is_none())
            .filter(is_named)
    }
}
