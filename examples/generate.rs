//! Makes files of natural numbers: the data of every benchmark, reproducible
//! from its arguments.
//!
//! ```console
//! $ cargo run --release --example generate -- --count 1000000 -o ids.txt
//! ```

use clap::{Parser, ValueEnum};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// How values are spread
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Distribution {
    /// Each value of the range alike
    Uniform,
    /// Every value from --min on once, shuffled
    Permutation,
    /// Rank r with a probability in proportion to r^-exponent
    Zipf,
    /// Short stretches of close values around random centres
    Clustered,
    /// A few distinct values
    Few,
    /// Ascending
    Sorted,
    /// Descending
    Reversed,
    /// One value, --max
    Equal,
    /// 64-bit ids of time, worker and sequence, nearly ascending
    Snowflake,
    /// Each 64-bit value alike
    U64,
}

/// Form of the output
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One number a line
    Text,
    /// 4 bytes, least significant first
    U32le,
    /// 4 bytes, most significant first
    U32be,
    /// 8 bytes, least significant first
    U64le,
    /// 8 bytes, most significant first
    U64be,
}

#[derive(Debug, Parser)]
#[command(about = "Make files of natural numbers")]
struct Args {
    /// Lines to make
    #[arg(long, default_value_t = 1_000_000)]
    count: u64,
    /// How values are spread
    #[arg(long, value_enum, default_value = "uniform")]
    distribution: Distribution,
    /// Smallest value
    #[arg(long, default_value_t = 0)]
    min: u64,
    /// Largest value
    #[arg(long, default_value_t = u32::MAX.into())]
    max: u64,
    /// Start of the random sequence
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Exponent of the Zipf distribution
    #[arg(long, default_value_t = 1.1)]
    exponent: f64,
    /// Distinct values of --distribution few
    #[arg(long, default_value_t = 2)]
    distinct: u64,
    /// Share of lines that repeat one of the last 1024 values
    #[arg(long, default_value_t = 0.0)]
    duplicates: f64,
    /// Share of lines that are no natural number
    #[arg(long, default_value_t = 0.0)]
    malformed: f64,
    /// Share of lines with nothing on them
    #[arg(long, default_value_t = 0.0)]
    blank: f64,
    /// End lines with CR and LF
    #[arg(long)]
    crlf: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    to: Form,
    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// `SplitMix64` (Steele, Lea and Flood, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Below `bound`, by multiplication (Lemire 2019, without the rejection:
    /// the bias is below 2^-32 for bounds below 2^32).
    fn below(&mut self, bound: u64) -> u64 {
        high_half(self.next(), bound)
    }

    /// In 0..1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[expect(clippy::cast_possible_truncation, reason = "the high half")]
fn high_half(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// Ranks 1..=n with probability in proportion to rank^-exponent, by
/// rejection-inversion (Hörmann and Derflinger 1996).
struct Zipf {
    exponent: f64,
    ranks: f64,
    at_one: f64,
    at_last: f64,
    shortcut: f64,
}

impl Zipf {
    #[expect(clippy::cast_precision_loss, reason = "ranks beyond 2^53 are rare")]
    fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipf =
            Self { exponent, ranks: ranks as f64, at_one: 0.0, at_last: 0.0, shortcut: 0.0 };
        zipf.at_one = zipf.integral(1.5) - 1.0;
        zipf.at_last = zipf.integral(zipf.ranks + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        log * expm1_over((1.0 - self.exponent) * log)
    }

    fn inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.exponent)).max(-1.0);
        (ln_1p_over(t) * x).exp()
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the ranks")]
    fn rank(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.at_last + random.unit() * (self.at_one - self.at_last);
            let x = self.inverse(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.ranks);
            if rank - x <= self.shortcut || u >= self.integral(rank + 0.5) - self.weight(rank) {
                return rank as u64;
            }
        }
    }
}

/// (e^x − 1) / x.
fn expm1_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x / 2.0 }
}

/// ln(1 + x) / x.
fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x / 2.0 }
}

/// A permutation of 0..count without a table: a Feistel network over the next
/// even power of two, walked until it falls inside (Black and Rogaway 2002).
fn permuted(index: u64, count: u64, seed: u64) -> u64 {
    let bits = (64 - count.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1 << bits) - 1;
    let mut value = index;
    loop {
        let (mut left, mut right) = (value >> bits, value & mask);
        for round in 0..4 {
            let key = mix(right ^ seed.wrapping_add(round << 56));
            (left, right) = (right, left ^ (key & mask));
        }
        value = left << bits | right;
        if value < count {
            return value;
        }
    }
}

/// The values, one after the other.
struct Values<'a> {
    args: &'a Args,
    random: Random,
    zipf: Zipf,
    index: u64,
    centre: u64,
    recent: Vec<u64>,
}

impl<'a> Values<'a> {
    fn new(args: &'a Args) -> Self {
        let ranks = (args.max - args.min).saturating_add(1);
        let zipf = Zipf::new(ranks, args.exponent);
        Self { args, random: Random(mix(args.seed)), zipf, index: 0, centre: 0, recent: vec![] }
    }

    fn next(&mut self) -> u64 {
        let Args { min, max, count, .. } = *self.args;
        let range = (max - min).saturating_add(1);
        let index = self.index;
        self.index += 1;
        if self.args.duplicates > 0.0 {
            let chance = self.random.unit();
            if chance < self.args.duplicates && !self.recent.is_empty() {
                let place = self.random.below(self.recent.len() as u64);
                return self.recent[usize::try_from(place).unwrap_or(0)];
            }
        }
        let evenly = |index: u64| {
            let place = u128::from(index) * u128::from(range) / u128::from(count.max(1));
            min + u64::try_from(place).unwrap_or(u64::MAX)
        };
        let value = match self.args.distribution {
            Distribution::Uniform => min + self.random.below(range),
            Distribution::Permutation => min + permuted(index, count, self.args.seed),
            Distribution::Zipf => min + self.zipf.rank(&mut self.random) - 1,
            Distribution::Clustered => {
                if index.is_multiple_of(1000) {
                    self.centre = self.random.below(range);
                }
                min + (self.centre + self.random.below(4000)).min(range - 1)
            }
            Distribution::Few => {
                let which = self.random.below(self.args.distinct.max(1));
                min + mix(which ^ self.args.seed) % range
            }
            Distribution::Sorted => {
                let jitter = self.random.below((range / count.max(1)).max(1));
                evenly(index) + jitter
            }
            Distribution::Reversed => {
                let jitter = self.random.below((range / count.max(1)).max(1));
                evenly(count - 1 - index) + jitter
            }
            Distribution::Equal => max,
            Distribution::Snowflake => {
                let time = 1_700_000_000_000 + index / 4096;
                time << 22 | self.random.below(32) << 12 | index % 4096
            }
            Distribution::U64 => self.random.next(),
        };
        if self.args.duplicates > 0.0 {
            if self.recent.len() < 1024 {
                self.recent.push(value);
            } else {
                let slot = usize::try_from(index % 1024).unwrap_or(0);
                self.recent[slot] = value;
            }
        }
        value
    }
}

const MALFORMED: [&str; 8] =
    ["12abc", "-3", "+5", "1e3", "1,000", "0x1F", "18446744073709551616", "abc"];

fn generate(args: &Args, out: &mut impl Write) -> io::Result<()> {
    let mut values = Values::new(args);
    let mut noise = Random(mix(args.seed ^ 0xBAD));
    let dirty = args.malformed > 0.0 || args.blank > 0.0;
    let end: &[u8] = if args.crlf { b"\r\n" } else { b"\n" };
    let mut line = [0_u8; 24];
    for _ in 0..args.count {
        let value = values.next();
        #[expect(clippy::cast_possible_truncation, reason = "--max was checked")]
        let narrow = value as u32;
        match args.to {
            Form::U32le => out.write_all(&narrow.to_le_bytes())?,
            Form::U32be => out.write_all(&narrow.to_be_bytes())?,
            Form::U64le => out.write_all(&value.to_le_bytes())?,
            Form::U64be => out.write_all(&value.to_be_bytes())?,
            Form::Text => {
                let chance = if dirty { noise.unit() } else { 1.0 };
                if chance < args.malformed {
                    let which = usize::try_from(noise.below(8)).unwrap_or(0);
                    out.write_all(MALFORMED[which].as_bytes())?;
                } else if chance >= args.malformed + args.blank {
                    let mut start = line.len();
                    let mut rest = value;
                    loop {
                        start -= 1;
                        line[start] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
                        rest /= 10;
                        if rest == 0 {
                            break;
                        }
                    }
                    out.write_all(&line[start..])?;
                }
                out.write_all(end)?;
            }
        }
    }
    out.flush()
}

fn run(args: &Args) -> io::Result<()> {
    let invalid = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what.to_owned()));
    if args.min > args.max {
        return invalid("--min is above --max");
    }
    let narrow = matches!(args.to, Form::U32le | Form::U32be);
    let wide = matches!(args.distribution, Distribution::U64 | Distribution::Snowflake);
    if narrow && (wide || args.max > u32::MAX.into()) {
        return invalid("these values do not fit in 32 bits");
    }
    match &args.output {
        Some(path) => generate(args, &mut BufWriter::with_capacity(1 << 20, File::create(path)?)),
        None => generate(args, &mut BufWriter::with_capacity(1 << 20, io::stdout().lock())),
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "generate: {error}"); // nobody may be there to hear it
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(words: &str) -> Vec<u64> {
        let args = Args::parse_from(std::iter::once("generate").chain(words.split_whitespace()));
        let mut out = Vec::new();
        generate(&args, &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn a_permutation_has_every_value_once() {
        let mut values = make("--count 10007 --distribution permutation --min 5");
        assert!(!values.is_sorted());
        values.sort_unstable();
        assert!(values.into_iter().eq(5..10_012));
    }

    #[test]
    fn zipf_ranks_are_as_frequent_as_they_should_be() {
        let values = make("--count 200000 --distribution zipf --max 999");
        let total: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-1.1)).sum();
        for rank in [1_u32, 2, 10, 100] {
            let found = values.iter().filter(|&&value| value == u64::from(rank - 1)).count();
            let expected = 200_000.0 * f64::from(rank).powf(-1.1) / total;
            let tolerance = 5.0 * expected.sqrt();
            assert!((f64::from(u32::try_from(found).unwrap()) - expected).abs() < tolerance);
        }
    }

    #[test]
    fn the_same_arguments_give_the_same_values() {
        for name in ["uniform", "clustered", "few", "sorted", "reversed", "snowflake", "u64"] {
            let words = format!("--count 1000 --distribution {name} --duplicates 0.1 --seed 3");
            assert_eq!(make(&words), make(&words), "{name}");
        }
        assert!(make("--count 1000 --distribution sorted").is_sorted());
        assert!(make("--count 1000 --distribution reversed").iter().rev().is_sorted());
    }
}
