//! The subcommands and flags of `bitset bloom`.

use super::index::IndexCommand;
use crate::bloom::FilterKind;
use crate::cli::choices;
use crate::cli::columns::{COPIED_HEADER, ColumnArgs};
use crate::cli::output::TargetArgs;
use crate::error::{Error, Result};
use crate::lines::Funnel;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  bitset bloom plan -n 1G -p 0.01,0.001        size of a filter of 10^9 keys
  bitset bloom build seen.txt -o seen.bloom    a filter of the lines of a file
  bitset bloom contains seen.bloom fox         true or false, exit 0 or 1
  bitset bloom filter -v seen.bloom new.txt    lines that were certainly not seen
  bitset bloom dedup --exact < urls.txt        each line once, in order
  bitset bloom common a.txt b.txt              lines that both files have, exactly
  bitset bloom verify seen.bloom               measure the rate; exit 1 if it is too high

A key is a line without its newline, of any length and any bytes; an empty line
is a key. A FILTER is a .bloom file, or one of Guava, of DCSO's bloom or of Spark.";

// Commands on filters.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct BloomArgs {
    #[command(subcommand)]
    pub(super) command: BloomCommand,
}

#[derive(Debug, clap::Subcommand)]
#[command(defer = true)]
pub(super) enum BloomCommand {
    /// Find the lines of keys in a large file without reading it all
    #[command(subcommand)]
    Index(IndexCommand),
    /// Print sizes of filters for numbers of keys and rates
    Plan(PlanArgs),
    /// Make a filter of the lines of files
    Build {
        /// Files of keys; none or `-` is standard input
        files: Vec<PathBuf>,
        /// Write to FILE, whole or not at all
        #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
        output: PathBuf,
        #[command(flatten)]
        size: SizeArgs,
        /// Kind of the new file
        #[arg(long, value_name = "KIND", default_value = "bloom")]
        #[arg(value_parser = choices::filter_kind())]
        to: FilterKind,
        #[command(flatten)]
        keys: KeyArgs,
    },
    /// Add keys to a filter file
    Add(ChangeArgs),
    /// Remove keys, each once, from a file of a counting filter
    ///
    /// Remove only keys that were added. A key that was never added may seem to be in the filter. If you
    /// remove it, counters of other keys fall, and the filter may then answer false for these. A full counter
    /// stays full. If all counters of a key are full, the key stays in the filter.
    Remove(ChangeArgs),
    /// Say whether keys may be in a filter; false is certain
    Contains(ContainsArgs),
    /// Copy the lines that may be in a filter
    Filter(FilterArgs),
    /// Copy each line the first time that it occurs
    Dedup {
        /// Files of lines; none or `-` is standard input
        files: Vec<PathBuf>,
        /// Drop no new line by mistake: compare lines, in temporary files if they do not fit in memory
        #[arg(long, conflicts_with_all = ["keys", "rate", "design", "seed"])]
        exact: bool,
        /// Make room for N different lines at first; the filter grows if there are more
        #[arg(short = 'n', long, allow_negative_numbers = true, value_name = "N")]
        keys: Option<Count>,
        /// Drop at most this share of the new lines by mistake
        #[arg(short = 'p', long, allow_negative_numbers = true, value_name = "RATE", value_parser = rate, default_value_t = DEDUP_RATE)]
        rate: f64,
        /// Where the bits of a line lie
        #[arg(long, value_name = "DESIGN", default_value = "blocked")]
        design: PlainChoice,
        /// Seed of the hash function
        #[arg(long, value_name = "SEED", default_value_t = 0)]
        seed: u64,
        #[command(flatten)]
        lines: LineArgs,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Print the lines that two files share, each once, in the order of A
    ///
    /// With --crlf the command prints lines without their carriage returns.
    Common {
        /// A file of lines
        a: PathBuf,
        /// Another
        b: PathBuf,
        /// Rate of false positives of the filter before the comparison; it changes the speed, not the result
        #[arg(short = 'p', long, allow_negative_numbers = true, value_name = "RATE", value_parser = rate, default_value_t = 0.01)]
        rate: f64,
        /// Print the number of lines only
        #[arg(long)]
        count: bool,
        /// Print the plan and its cost; compare nothing, and write no FILE
        #[arg(long, conflicts_with = "count")]
        explain: bool,
        #[command(flatten)]
        lines: LineArgs,
        #[command(flatten)]
        target: TargetArgs,
    },
    /// Join filters: the keys of every one
    Merge(JoinArgs),
    /// Join filters: the keys that all of them have, and maybe others
    Intersect(JoinArgs),
    /// Describe a filter: size, fill, estimated keys, expected rate
    Info {
        /// A .bloom file, or one of Guava, of DCSO's bloom or of Spark
        filter: PathBuf,
        /// One JSON object
        #[arg(long)]
        json: bool,
    },
    /// Check a filter file and measure its rate of false positives
    Verify {
        /// A .bloom file, or one of Guava, of DCSO's bloom or of Spark
        filter: PathBuf,
        /// The promised rate; by default the rate in the file
        #[arg(short = 'p', long, allow_negative_numbers = true, value_name = "RATE", value_parser = rate)]
        rate: Option<f64>,
        /// Ask for N random keys; by default as many as the promise needs, at most 200 million
        #[arg(long, value_name = "N")]
        probes: Option<Count>,
        /// Seed of the random keys
        #[arg(long, value_name = "SEED", default_value_t = 1)]
        seed: u64,
        /// Check that all lines of FILE are in the filter
        #[arg(short, long = "file", value_name = "FILE")]
        files: Vec<PathBuf>,
        /// One JSON object
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        keys: KeyArgs,
    },
    /// Write a filter as a file of another program, or read one
    Convert {
        /// A .bloom file, or one of Guava, of DCSO's bloom or of Spark
        filter: PathBuf,
        /// Write to FILE, whole or not at all
        #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
        output: PathBuf,
        /// Kind of the new file
        #[arg(long, value_name = "KIND", default_value = "bloom")]
        #[arg(value_parser = choices::filter_kind())]
        to: FilterKind,
    },
}

/// At most one line in a million is lost.
pub(super) const DEDUP_RATE: f64 = 1e-6;

/// A rate, as a number or in percent.
pub(in crate::cli) fn rate(text: &str) -> Result<f64, &'static str> {
    let (number, whole) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let rate = number.trim_end().parse::<f64>();
    rate.map(|rate| rate / whole).map_err(|_| "expected a share, such as 0.01 or 1%")
}

#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {
    /// Numbers of keys, such as 1000000, 50M or 1e9
    #[arg(
        short = 'n',
        long,
        allow_negative_numbers = true,
        value_name = "N,…",
        value_delimiter = ',',
        required = true
    )]
    pub(super) keys: Vec<Count>,
    /// Rates of false positives
    #[arg(short = 'p', long, allow_negative_numbers = true, value_name = "RATE,…", value_parser = rate, value_delimiter = ',', default_value = "0.01")]
    pub(super) rate: Vec<f64>,
    /// Bits a key instead of rates
    #[arg(
        long,
        allow_negative_numbers = true,
        value_name = "BITS,…",
        value_delimiter = ',',
        conflicts_with = "rate"
    )]
    pub(super) bits_per_key: Vec<f64>,
    /// Only this design
    #[arg(long, value_name = "DESIGN")]
    pub(super) design: Option<DesignChoice>,
    /// Bits of a counter: 2, 4 or 8
    #[arg(long, allow_negative_numbers = true, value_name = "BITS")]
    pub(super) counter_bits: Option<u32>,
    /// Print the cost of `common` for two files of N lines each, within --mem
    #[arg(long, conflicts_with_all = ["design", "bits_per_key", "counter_bits", "json"])]
    pub(super) common: bool,
    /// Bytes of a line, for --common
    #[arg(long, value_name = "BYTES", default_value = "64", requires = "common")]
    pub(super) line_bytes: Count,
    /// One JSON object a row, in an array
    #[arg(long)]
    pub(super) json: bool,
}

// How large a filter is.
#[derive(Debug, clap::Args)]
pub(super) struct SizeArgs {
    /// Number of different keys; by default the command counts the lines first
    #[arg(short = 'n', long, allow_negative_numbers = true, value_name = "N")]
    pub(super) keys: Option<Count>,
    /// Rate of false positives once all keys are in the filter [default: 0.01; 0.03 with --to guava or spark]
    #[arg(short = 'p', long, allow_negative_numbers = true, value_name = "RATE", value_parser = rate)]
    pub(super) rate: Option<f64>,
    /// Bits, or counters, a key instead of a rate
    #[arg(long, allow_negative_numbers = true, value_name = "BITS", conflicts_with = "rate")]
    pub(super) bits_per_key: Option<f64>,
    /// Where the bits of a key lie
    #[arg(long, value_name = "DESIGN", default_value = "standard")]
    pub(super) design: DesignChoice,
    /// Bits of a counter: 2, 4 or 8
    #[arg(long, allow_negative_numbers = true, value_name = "BITS")]
    pub(super) counter_bits: Option<u32>,
    /// Number of hash functions; by default the best number
    #[arg(long, value_name = "K")]
    pub(super) hashes: Option<u32>,
    /// Seed of the hash function; filters of one seed can be joined
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(super) seed: u64,
}

// What of a line is a key.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct LineArgs {
    /// Lines end in a NUL byte
    #[arg(short = 'z', long = "zero-terminated")]
    pub(super) zero: bool,
    /// Remove a carriage return at the end of a line from the key
    #[arg(long)]
    pub(super) crlf: bool,
    /// Leave out lines whose key is empty: empty lines, and rows whose field is empty
    #[arg(long)]
    pub(super) skip_empty: bool,
}

// What of a line is hashed.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct KeyArgs {
    #[command(flatten)]
    pub(super) lines: LineArgs,
    /// How a key becomes the bytes that are hashed: as in the program that shares the filter. A
    /// filter file does not say it, so give every command the same FUNNEL
    #[arg(long, value_name = "FUNNEL", default_value = "bytes")]
    #[arg(value_parser = choices::funnel())]
    pub(super) funnel: Funnel,
}

impl From<LineArgs> for KeyArgs {
    fn from(lines: LineArgs) -> Self {
        Self { lines, funnel: Funnel::Bytes }
    }
}

impl KeyArgs {
    /// Refuses a funnel that the other program of a filter file never uses: it would never find
    /// such a key.
    pub(super) fn check_kind(self, kind: FilterKind) -> Result<()> {
        match (kind, self.funnel) {
            (FilterKind::Dcso, funnel) if funnel != Funnel::Bytes => {
                Err(Error::usage("DCSO's bloom hashes the bytes of lines: leave out --funnel"))
            }
            (FilterKind::Spark, Funnel::Int | Funnel::Chars) => {
                Err(Error::usage("Spark hashes bytes or longs: --funnel bytes or long"))
            }
            _ => Ok(()),
        }
    }

    /// Refuses options for lines if keys are given as operands.
    pub(super) fn check_typed(self, typed: bool) -> Result<()> {
        if typed && (self.lines.crlf || self.lines.skip_empty) {
            return Err(Error::usage("--crlf and --skip-empty are for lines, not for typed keys"));
        }
        Ok(())
    }

    /// Whether no option for keys was given.
    pub(super) fn is_default(self) -> bool {
        let LineArgs { zero, crlf, skip_empty } = self.lines;
        !(zero || crlf || skip_empty) && self.funnel == Funnel::Bytes
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct ContainsArgs {
    /// A .bloom file, or one of Guava, of DCSO's bloom or of Spark; or a Parquet file
    pub(super) filter: PathBuf,
    /// Keys; if none is given, the lines of standard input
    #[arg(allow_negative_numbers = true)]
    pub(super) keys: Vec<OsString>,
    /// Ask for the lines of FILE
    #[arg(short, long = "file", value_name = "FILE", conflicts_with = "keys")]
    pub(super) files: Vec<PathBuf>,
    /// Ask the Bloom filters of this column of a Parquet file: a number from 1, or a name
    #[arg(long, value_name = "COLUMN", hide = cfg!(not(feature = "columnar")))]
    pub(super) column: Option<String>,
    #[command(flatten)]
    pub(super) kind: KeyArgs,
}

#[derive(Debug, clap::Args)]
#[command(mut_arg("column", |arg| arg.help(
    "Ask for this column of delimited text, and copy whole rows: a number from 1, or a name"
)), mut_arg("header", |arg| arg.requires("column").help(COPIED_HEADER)))]
pub(super) struct FilterArgs {
    /// A .bloom file, or one of Guava, of DCSO's bloom or of Spark
    pub(super) filter: PathBuf,
    /// Files of keys; none or `-` is standard input
    pub(super) files: Vec<PathBuf>,
    /// Copy the lines that are certainly not in the filter
    #[arg(short = 'v', long)]
    pub(super) invert: bool,
    #[command(flatten)]
    pub(super) columns: ColumnArgs,
    #[command(flatten)]
    pub(super) keys: KeyArgs,
    #[command(flatten)]
    pub(super) target: TargetArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct ChangeArgs {
    /// A .bloom file, or one of Guava, of DCSO's bloom or of Spark; `remove` needs a counting filter
    pub(super) filter: PathBuf,
    /// Keys; none means the lines of standard input
    #[arg(allow_negative_numbers = true)]
    pub(super) keys: Vec<OsString>,
    /// Take the lines of FILE
    #[arg(short, long = "file", value_name = "FILE", conflicts_with = "keys")]
    pub(super) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) kind: KeyArgs,
}

#[derive(Debug, clap::Args)]
pub(super) struct JoinArgs {
    /// Filters that were made with the same -n, -p, --design, --hashes and --seed
    #[arg(required = true)]
    pub(super) filters: Vec<PathBuf>,
    /// Write to FILE, whole or not at all; FILE may be an input
    #[arg(short, long, value_name = "FILE", value_parser = choices::new_file())]
    pub(super) output: PathBuf,
}

/// Where the bits of a key lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DesignChoice {
    /// Anywhere: the smallest
    Standard,
    /// In one cache line: the fastest
    Blocked,
    /// Counters for bits: keys can be removed
    Counting,
}

/// Designs whose cells are bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum PlainChoice {
    /// Anywhere: the smallest
    Standard,
    /// In one cache line: the fastest
    Blocked,
}

/// A number of keys: digits, maybe with K, M, G or T for powers of a thousand, or in the form 1e9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl FromStr for Count {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected a number such as 1000000, 50M or 1e9";
        let (number, unit) = match text.chars().last().map(|last| last.to_ascii_uppercase()) {
            Some('K') => (&text[..text.len() - 1], 1_000),
            Some('M') => (&text[..text.len() - 1], 1_000_000),
            Some('G') => (&text[..text.len() - 1], 1_000_000_000),
            Some('T') => (&text[..text.len() - 1], 1_000_000_000_000),
            _ => (text, 1_u64),
        };
        if let Ok(whole) = number.parse::<u64>() {
            return whole.checked_mul(unit).map(Self).ok_or(WRONG);
        }
        if !number.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return Err(WRONG);
        }
        let real: f64 = number.parse().map_err(|_| WRONG)?;
        #[expect(clippy::cast_precision_loss, reason = "units are exact")]
        let real = real * unit as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
        if (0.0..1.8e19).contains(&real) && real.fract() == 0.0 {
            Ok(Self(real as u64))
        } else {
            Err(WRONG)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_typed_in_several_ways() {
        for (text, count) in
            [("0", 0), ("7", 7), ("50M", 50_000_000), ("1e9", 1_000_000_000), ("1.5k", 1500)]
        {
            assert_eq!(text.parse(), Ok(Count(count)), "{text}");
        }
        for text in ["", "-1", "M", "1.5", "1e30", "inf", "NaN", "ä", "99T9", "99999999999T"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }
}
