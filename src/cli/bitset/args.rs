//! The commands and flags of `bitset`.

use super::query::Share;
use super::target::{Limits, Target};
use crate::cli::bloom::BloomArgs;
use crate::cli::choices;
use crate::cli::columns::{COPIED_HEADER, ColumnArgs, FromArg, KeyColumnArgs, NumberArgs};
use crate::cli::generate::{self, Generate};
use crate::cli::notation::{NotationArgs, RANGES_OF_SET};
use crate::cli::output::TargetArgs;
use crate::set::foreign::Origin;
use crate::set::keyed::OverlapBy;
use clap::builder::{OsStringValueParser, TypedValueParser};
use std::ffi::OsString;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  bitset build ids.txt -o ids.bits            a set from unsorted numbers
  bitset contains ids.bits 12345              true or false, exit 0 or 1
  cut -f1 log | bitset filter ids.bits        the lines that are in the set
  bitset filter ids.bits users.csv --column id  the rows, and the header
  bitset and monday.bits tuesday.txt --count  how many were there on both days
  bitset eval 'a & (b | c) - d' a=A b=B c=C d=D -o out.bits
  bitset or drop.txt more.txt --as cidr       block lists joined, in the fewest blocks
  bitset build ids.txt --parts 8 -o ids       a folder of up to eight .bits files
  bitset info ids.bits                        sizes, density, a histogram
  bitset group tags.csv --key tag --column user -o tags.sets   a set a tag
  bitset eval 'sport & tokyo - churned' tags.sets --count
  bitset contains tags.sets:sport 12345       one set of many: FILE.sets:KEY
  bitset at-least 2 tags.sets                 the values of two tags or more
  bitset plot ids.bits -o map.png             a map of the universe
  bitset bloom --help                         filters of lines of any kind

A SET is a .bits file, a folder of them that --parts made, FILE.sets:KEY, a
portable roaring file of 32 or 64 bits, or a text file of numbers or a table;
`-` is standard input (but a set that changes, and what `convert` and
`identify` read, is a file). Exit status: 0 done or yes, 1 no, 2 an error.";

/// What the user typed.
#[derive(Debug, clap::Parser)]
#[command(
    name = "bitset",
    version,
    long_version = generate::version(),
    about = "Sets of natural numbers as files, queried without loading them",
    after_help = EXAMPLES
)]
pub(super) struct SetArgs {
    #[command(subcommand)]
    pub(super) command: Command,

    #[command(flatten)]
    pub(super) limits: Limits,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(super) enum Command {
    /// Make a set from files of numbers, in any order
    Build {
        /// Files of numbers; none or `-` is standard input
        files: Vec<PathBuf>,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        numbers: NumberArgs,
        /// Count malformed lines instead of failing
        #[arg(long)]
        skip_invalid: bool,
    },
    /// Say whether values are in a set
    Contains(ContainsArgs),
    /// Copy the lines that are in a set
    Filter(FilterArgs),
    /// Add values to a set file
    Add(UpdateArgs),
    /// Remove values from a set file
    Remove(UpdateArgs),
    /// Describe sets
    Info {
        /// Sets: .bits or roaring files, FILE.sets:KEY, texts of numbers or tables (bitset --help)
        #[arg(required = true)]
        sets: Vec<PathBuf>,
        /// One JSON object a set
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Draw a map of the universe along a Hilbert curve
    Plot {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        /// A .png or .svg file
        #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
        output: PathBuf,
        /// The map has 2^ORDER cells a side, at most 2^10, and not more than the universe has numbers
        /// [default: 9]. With 10, no lines are drawn over the cells
        #[arg(long)]
        order: Option<u32>,
        /// Show all IPv4 addresses, and label the map with addresses
        #[arg(long)]
        ipv4: bool,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Print the number of values, or of values from FIRST to LAST; one line for each of several sets
    #[command(override_usage = "bitset count [OPTIONS] <SET>... [FIRST LAST]")]
    Count {
        /// Sets: .bits or roaring files, FILE.sets:KEY, texts of numbers or tables; then FIRST and LAST, to count only the values from FIRST to LAST, which are none if LAST is below FIRST (sets, if files of both names exist)
        #[arg(required = true)]
        sets: Vec<PathBuf>,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Print the smallest value
    Min {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Print the largest value
    Max {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Print the number of values up to and including VALUE; of several, a line for each
    Rank {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        /// The values, in the set or not
        #[arg(value_name = "VALUE", required = true, allow_negative_numbers = true)]
        values: Vec<String>,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Print the value at INDEX, in ascending order; of several, a line for each
    Select {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        /// Indices of the values; the smallest value has index 0
        #[arg(
            value_name = "INDEX",
            required_unless_present = "quantiles",
            allow_negative_numbers = true
        )]
        indices: Vec<u64>,
        /// Print a quantile of the distinct values: 0 is the smallest, 0.5 the middle one, 1 the largest; several have commas between them
        #[arg(
            long = "quantile",
            value_name = "SHARE",
            value_delimiter = ',',
            conflicts_with = "indices"
        )]
        quantiles: Vec<Share>,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Print the values from FIRST to LAST
    Range {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        /// The first value of the range
        #[arg(allow_negative_numbers = true)]
        first: String,
        /// The last value of the range; if it is below FIRST, the range is empty
        #[arg(allow_negative_numbers = true)]
        last: String,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Values in all sets
    #[command(aliases = ["intersection", "intersect"])]
    And(JoinArgs),
    /// Values in any set
    #[command(alias = "union")]
    Or(JoinArgs),
    /// Values in an odd number of sets
    Xor(JoinArgs),
    /// Values of the first set that are in no other
    #[command(aliases = ["difference", "minus"])]
    Andnot(JoinArgs),
    /// Values in at least K of the sets
    AtLeast {
        /// Number of sets
        k: usize,
        #[command(flatten)]
        join: JoinArgs,
    },
    /// Evaluate an expression of names, FIRST..LAST, ( ) and - & ^ |, the strongest first
    Eval {
        /// Such as 'a & (b | c) - 10..20'; a name that is no word stands in quotes: '"new york" | "2024"'
        expression: String,
        /// NAME=SET for a name, or a .sets file, whose keys are names
        #[arg(value_name = "NAME=SET", value_parser = OsStringValueParser::new().try_map(|text| choices::binding(&text)))]
        sets: Vec<(String, PathBuf)>,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        numbers: NumberArgs,
        /// Print the number of values only
        #[arg(long, conflicts_with_all = ["output", "to", "parts"])]
        count: bool,
    },
    /// Print the sizes of two sets, of their intersection, and of the rest of each
    Compare {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        a: PathBuf,
        /// Another
        b: PathBuf,
        #[command(flatten)]
        numbers: NumberArgs,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print the changes that turn A into B: `+VALUE` or `-VALUE`, ascending; exit 1 if there are any
    Diff {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        a: PathBuf,
        /// Another
        b: PathBuf,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Make the changes that `diff` printed
    Apply {
        /// A .bits or roaring file
        set: PathBuf,
        /// Output of `diff`; if none is given, standard input
        changes: Option<PathBuf>,
        #[command(flatten)]
        notation: NotationArgs,
    },
    /// Print the values, or write them in another format
    Cat(JoinArgs),
    /// Read a set of another program, or any set but a table, and write it in another format
    Convert {
        /// A set file, or one of another program; its content shows its kind
        file: PathBuf,
        /// Kind of the file, if its content does not show it
        #[arg(long, value_name = "KIND", value_parser = choices::origin())]
        from: Option<Origin>,
        /// Value of the first bit of a raw bitmap, a multiple of 65536 [default: 0]
        #[arg(long)]
        base: Option<String>,
        /// Which of several deletion vectors in a file, counted from 1 [default: all together of a
        /// file of Delta Lake]
        #[arg(long, value_name = "N")]
        vector: Option<usize>,
        // `ClickHouse` in a comment would be shown with its quotes.
        #[arg(
            long,
            value_name = "BYTES",
            help = "Bytes of an integer in a state of ClickHouse: 1, 2, 4 or 8; the bytes of a small set do not say it [default: the width that fits the length of the file]"
        )]
        width: Option<usize>,
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        notation: NotationArgs,
    },
    /// Read whole set files and check them; exit 2 if one is damaged
    Verify {
        /// .bits, roaring or .sets files, or folders of .bits files
        #[arg(required = true)]
        sets: Vec<PathBuf>,
    },
    /// Write a manual page, or completions for a shell
    Generate {
        /// What to write
        what: Generate,
    },
    /// Say what kind of set a file holds
    Identify {
        /// Files of any content
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Print the ranges of missing values between the smallest and the largest value
    Gaps {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        /// Print only ranges of at least N values
        #[arg(long, value_name = "N", default_value_t = 1)]
        min_length: u64,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Print N values drawn without replacement, ascending
    Sample {
        /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
        set: PathBuf,
        /// Number of values to draw
        n: u64,
        /// Draw the same values for the same seed
        #[arg(long, default_value_t = 0)]
        seed: u64,
        #[command(flatten)]
        numbers: NumberArgs,
    },
    /// Make a set of each key of rows, all in one file
    Group(GroupArgs),
    /// Print the pairs of sets that have most in common: both names, the values in both, and the Jaccard index
    Overlap(OverlapArgs),
    /// Print the keys of the sets that have a value, of a file of sets by key
    KeysOf(KeysOfArgs),
    /// Bloom filters of lines: plan, build, ask, filter, deduplicate, join
    Bloom(BloomArgs),
}

impl Command {
    /// How numbers are found in those operands that are not sets.
    pub(super) fn numbers(&self) -> NumberArgs {
        match self {
            Self::Build { numbers, .. }
            | Self::Info { numbers, .. }
            | Self::Plot { numbers, .. }
            | Self::Count { numbers, .. }
            | Self::Min { numbers, .. }
            | Self::Max { numbers, .. }
            | Self::Rank { numbers, .. }
            | Self::Select { numbers, .. }
            | Self::Range { numbers, .. }
            | Self::Gaps { numbers, .. }
            | Self::Sample { numbers, .. }
            | Self::Eval { numbers, .. }
            | Self::Compare { numbers, .. }
            | Self::Diff { numbers, .. } => numbers.clone(),
            Self::And(join)
            | Self::Or(join)
            | Self::Xor(join)
            | Self::Andnot(join)
            | Self::Cat(join)
            | Self::AtLeast { join, .. } => join.numbers.clone(),
            Self::Add(update) | Self::Remove(update) => update.numbers.clone(),
            Self::Overlap(overlap) => overlap.numbers.clone(),
            Self::Filter(filter) => filter.format.clone().into(),
            Self::Contains(args) => args.format.clone().into(),
            Self::KeysOf(args) => args.format.clone().into(),
            Self::Apply { notation, .. } | Self::Convert { notation, .. } => (*notation).into(),
            Self::Group(group) => group.notation.into(),
            _ => NumberArgs::default(),
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("ranges", |arg| arg.help("Changes nothing here: a line has one value")))]
pub(super) struct KeysOfArgs {
    /// A .sets file
    pub(super) sets: PathBuf,
    /// Values; none means those on standard input
    #[arg(allow_negative_numbers = true)] // which are refused as values
    pub(super) values: Vec<String>,
    #[command(flatten)]
    pub(super) format: FromArg,
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("from", |arg| arg.help(
    "Read a set that is a file of numbers in this format, not standard input [default: text]"
)))]
#[command(mut_arg("ranges", |arg| arg.help(RANGES_OF_SET)))]
pub(super) struct ContainsArgs {
    /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
    pub(super) set: PathBuf,
    /// Values; none means those on standard input
    #[arg(allow_negative_numbers = true)] // which are refused as values
    pub(super) values: Vec<String>,
    #[command(flatten)]
    pub(super) format: FromArg,
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("column", |arg| arg.help(
    "Take the values from this column of delimited text: a number from 1, or a name; copy whole rows, and the header of each input if it names the column"
)), mut_arg("header", |arg| arg.requires("column").help(COPIED_HEADER)), mut_arg("from", |arg| arg.help(
    "Format of the set, if it is a file of numbers; the lines are always text [default: text]"
)), mut_arg("ranges", |arg| arg.help(RANGES_OF_SET)))]
pub(super) struct FilterArgs {
    /// A set: a .bits or roaring file, FILE.sets:KEY, a text of numbers or a table (bitset --help)
    pub(super) set: PathBuf,
    /// Text files of numbers, or of rows with --column; none or `-` is standard input
    pub(super) files: Vec<PathBuf>,
    /// Copy the lines whose numbers are not in the set; empty lines have none
    #[arg(short = 'v', long)]
    pub(super) invert: bool,
    #[command(flatten)]
    pub(super) columns: ColumnArgs,
    #[command(flatten)]
    pub(super) format: FromArg,
    /// Drop malformed lines instead of failing
    #[arg(long)]
    pub(super) skip_invalid: bool,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("ranges", |arg| arg.help("A number may be a range, FIRST-LAST")))]
pub(super) struct GroupArgs {
    /// Files of delimited text, Parquet or Arrow files; none or `-` is standard input, as text
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) columns: KeyColumnArgs,
    #[command(flatten)]
    pub(super) notation: NotationArgs,
    /// Write to FILE, whole or not at all
    #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
    pub(super) output: PathBuf,
    /// Count malformed rows instead of failing
    #[arg(long)]
    pub(super) skip_invalid: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct OverlapArgs {
    /// A .sets file; or sets: .bits or roaring files, FILE.sets:KEY, texts of numbers or tables
    #[arg(required = true)]
    pub(super) sets: Vec<PathBuf>,
    /// Print N pairs
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(super) top: usize,
    /// Order of the pairs, the best first
    #[arg(long, value_name = "MEASURE", default_value = "intersection")]
    #[arg(value_parser = choices::overlap_by())]
    pub(super) by: OverlapBy,
    /// Leave out pairs with fewer than N values in common; those with none are never printed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) min: u64,
    /// One JSON object a pair
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) numbers: NumberArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct UpdateArgs {
    /// A .bits or roaring file
    pub(super) set: PathBuf,
    /// Values, and files of numbers or sets; if none is given, standard input. A number is a value:
    /// write ./7 for a file called 7
    #[arg(allow_negative_numbers = true)] // which are refused as values
    pub(super) values: Vec<OsString>,
    #[command(flatten)]
    pub(super) numbers: NumberArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct JoinArgs {
    /// Sets: .bits or roaring files, FILE.sets:KEY, texts of numbers or tables (bitset --help)
    #[arg(required = true)]
    pub(super) sets: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) target: Target,
    #[command(flatten)]
    pub(super) numbers: NumberArgs,
    /// Print the number of values only
    #[arg(long, conflicts_with_all = ["output", "to", "parts"])]
    pub(super) count: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_flag_has_a_help_line() {
        SetArgs::command().help_expected(true).debug_assert();
    }

    // A doc comment of flattened arguments would take the place of a deferred command's.
    #[test]
    fn no_command_changes_its_description_when_it_is_built() {
        fn told(command: &clap::Command) -> Vec<String> {
            let commands = command.get_subcommands().filter(|sub| sub.get_name() != "help");
            let texts = commands.map(|sub| (format!("{sub} {:?}", sub.get_about()), told(sub)));
            texts.flat_map(|(text, inner)| [vec![text], inner].concat()).collect()
        }
        let mut built = SetArgs::command();
        let before = told(&built);
        built.build();
        assert!(!before.is_empty());
        let after = told(&built);
        assert!(before.iter().all(|text| after.contains(text)), "{before:?}, {after:?}");
    }
}
