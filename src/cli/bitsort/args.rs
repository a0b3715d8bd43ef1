//! The flags of `bitsort`.

use super::gnu::GnuArgs;
use crate::cli::bloom;
use crate::cli::choices;
use crate::cli::columns::ColumnArgs;
use crate::cli::generate::{self, Generate};
use crate::cli::limits::MemoryLimit;
use crate::cli::notation::NotationArgs;
use crate::cli::progress::When;
use crate::cli::stats::StatsFormat;
use crate::number::Format;
use crate::set::SetFormat;
use crate::sort::Strategy;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bitsort ids.txt -o sorted.txt --mem 2G      sort, duplicates kept
  bitsort -u -o ids.txt ids.txt               sort in place, each value once
  zcat ids.gz | bitsort --count | head        how often each value occurs
  bitsort --column id users.csv --stats       one column of a CSV file
  bitsort --as ipv4 --count ips.txt           how often each address occurs
  bitsort --rejects bad.txt ids.txt           put malformed lines in a file
  bitsort --check sorted.txt && echo sorted   exit 1 if it is not

A line is one natural number below 2^64. Blanks around it, leading zeros and
CRLF are accepted; every other line is malformed. Exit status: 0 done, 1 the
checked input is not sorted, 2 an error.";

/// What the user typed; opens no file and asks the machine nothing.
#[derive(Debug, clap::Parser)]
#[command(
    name = "bitsort",
    version,
    long_version = generate::version(),
    about = "Sort files of natural numbers within a memory limit",
    after_help = EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "flags are")]
pub(super) struct SortArgs {
    /// Files to sort; none or `-` is standard input
    #[arg(value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,

    /// Write to FILE, whole or not at all; FILE may be an input
    #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
    pub(super) output: Option<PathBuf>,

    /// Write each value once
    #[arg(short, long, overrides_with = "unique")]
    pub(super) unique: bool,

    /// Write the largest value first
    #[arg(short, long, overrides_with = "reverse")]
    pub(super) reverse: bool,

    #[command(flatten)]
    pub(super) gnu: GnuArgs,

    /// Write each value once, after the number of times that it occurs, as `uniq -c` does
    #[arg(long)]
    pub(super) count: bool,

    /// Write only values that occur more than once, each once
    #[arg(long)]
    pub(super) repeated: bool,

    /// Keep the peak memory of the process below SIZE (K, M, G, T or %); at least 64M
    #[arg(short = 'S', long, visible_alias = "buffer-size", value_name = "SIZE")]
    pub(super) mem: Option<MemoryLimit>,

    /// Write temporary files in DIR; may be given several times
    #[arg(short = 'T', long = "temporary-directory", value_name = "DIR")]
    pub(super) temporary: Vec<PathBuf>,

    /// Write no temporary files: read the input several times instead
    #[arg(long, conflicts_with = "temporary")]
    pub(super) no_spill: bool,

    /// Use at most N threads; N is at most 256
    #[arg(long, visible_alias = "parallel", value_name = "N")]
    pub(super) threads: Option<usize>,

    /// Check that the input is sorted, and print the first disorder; with -u, equal neighbours are disorder
    #[arg(short, long, conflicts_with_all = ["output", "merge", "check_silently", "count", "repeated", "to", "strategy", "explain", "rejects", "no_spill"])]
    pub(super) check: bool,

    /// Like --check, but print nothing
    #[arg(short = 'C', long, conflicts_with_all = ["output", "merge", "count", "repeated", "to", "strategy", "explain", "rejects", "no_spill"])]
    pub(super) check_silently: bool,

    /// Merge inputs that are sorted already
    #[arg(short, long, conflicts_with_all = ["strategy", "no_spill", "explain"])]
    pub(super) merge: bool,

    /// End lines with NUL, not newline, in inputs and output
    #[arg(short, long)]
    pub(super) zero_terminated: bool,

    /// Sort the files whose names are in F, each name ended by NUL; `-` is standard input
    #[arg(long, value_name = "F", conflicts_with = "files")]
    pub(super) files0_from: Option<PathBuf>,

    /// What to do with malformed lines: fail (the default) or skip
    #[arg(long, value_name = "WHAT")]
    pub(super) invalid: Option<InvalidChoice>,

    /// Write malformed lines to FILE with their places, and go on
    #[arg(long, value_name = "FILE", value_parser = choices::new_file())]
    pub(super) rejects: Option<PathBuf>,

    #[command(flatten)]
    pub(super) columns: ColumnArgs,

    /// Format of the inputs
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = choices::number_format())]
    pub(super) from: Format,

    /// Format of the output; a set has each value once [default: as FILE ends: .bits, .roaring,
    /// .parquet, .arrow or .feather; else text]
    #[arg(long, value_name = "FORMAT", value_parser = choices::set_format())]
    pub(super) to: Option<SetFormat>,

    /// Give each row group of a Parquet output a Bloom filter of its values, with this rate of
    /// false positives [default: 0.01]
    #[arg(long, value_name = "RATE", value_parser = bloom::rate, num_args = 0..=1, require_equals = true, default_missing_value = "0.01", conflicts_with_all = ["check", "check_silently"], hide = cfg!(not(feature = "columnar")))]
    pub(super) bloom: Option<f64>,

    #[command(flatten)]
    pub(super) notation: NotationArgs,

    /// Use this strategy instead of the planner's choice
    #[arg(long, value_name = "STRATEGY", value_parser = choices::strategy())]
    pub(super) strategy: Option<Strategy>,

    /// Print the plan and the reasons for it; sort nothing
    #[arg(long)]
    pub(super) explain: bool,

    /// Print counts, sizes and times to standard error when done
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text", conflicts_with = "explain")]
    pub(super) stats: Option<StatsFormat>,

    /// When to show a progress bar
    #[arg(long, value_name = "WHEN", default_value = "auto", conflicts_with = "quiet")]
    pub(super) progress: When,

    /// Show no progress bar
    #[arg(short, long)]
    pub(super) quiet: bool,

    /// Write a manual page, or completions for a shell, and do nothing else
    #[arg(long, value_name = "WHAT", exclusive = true)]
    pub(super) generate: Option<Generate>,
}

impl SortArgs {
    /// The format that `--to` names, or the name of the output suggests. Values and tables may have
    /// duplicates; all other formats are sets.
    pub(super) fn output_format(&self) -> SetFormat {
        let of_name = || self.output.as_deref().and_then(SetFormat::of_name);
        self.to.or_else(of_name).unwrap_or(SetFormat::Values(Format::Text))
    }
}

/// What to do with malformed lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum InvalidChoice {
    /// The first one ends the run
    Fail,
    /// They are counted
    Skip,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_flag_has_a_help_line() {
        SortArgs::command().help_expected(true).debug_assert();
    }

    #[test]
    fn an_output_has_any_format_of_sets() {
        let typed = |to| SortArgs::command().try_get_matches_from(["bitsort", "--to", to]);
        assert!(typed("doris").is_ok() && typed("bit").is_err());
    }
}
