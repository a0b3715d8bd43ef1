//! Makes files of natural numbers: the data of every benchmark, reproducible
//! from its arguments.
//!
//! ```console
//! $ cargo run --release --example generate -- --count 1000000 -o ids.txt
//! ```

use clap::{Parser, ValueEnum};
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// How values are spread
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Distribution {
    /// Each value of the range alike
    Uniform,
    /// Every value from --min on once, --count of them, shuffled
    Permutation,
    /// Rank r with a probability in proportion to r^-exponent
    Zipf,
    /// Runs of 1000 close values around random centres
    Clustered,
    /// A few distinct values
    Few,
    /// Nondecreasing
    Sorted,
    /// Nonincreasing
    Reversed,
    /// One value, --max
    Equal,
    /// 64-bit ids of time, worker and sequence, nearly ascending
    Snowflake,
    /// Each 64-bit value alike
    U64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    U32le,
    U32be,
    U64le,
    U64be,
}

#[derive(Debug, Parser)]
#[command(about = "Make files of natural numbers")]
struct Args {
    /// Lines to make
    #[arg(long, default_value_t = 1_000_000, value_name = "LINES")]
    count: u64,
    /// How values are spread
    #[arg(long, value_enum, default_value = "uniform", value_name = "NAME")]
    distribution: Distribution,
    /// Smallest value
    #[arg(long, default_value_t = 0, value_name = "VALUE")]
    min: u64,
    /// Largest value
    #[arg(long, default_value_t = u32::MAX.into(), value_name = "VALUE")]
    max: u64,
    /// Start of the random sequence
    #[arg(long, default_value_t = 1, value_name = "NUMBER")]
    seed: u64,
    /// Exponent of --distribution zipf
    #[arg(long, default_value_t = 1.1, value_name = "FLOAT")]
    exponent: f64,
    /// Distinct values of --distribution few, as far as the range holds them
    #[arg(long, default_value_t = 2, value_name = "VALUES")]
    distinct: u64,
    /// Share of lines, 0 to 1, that repeat one of the last 1024 values
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    duplicates: f64,
    /// Share of lines, 0 to 1, that are no natural number below 2^64
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    malformed: f64,
    /// Share of lines, 0 to 1, with nothing on them
    #[arg(long, default_value_t = 0.0, value_name = "SHARE")]
    blank: f64,
    /// Put TEXT before every number
    #[arg(long, default_value = "", value_name = "TEXT")]
    prefix: String,
    /// End lines with CR and LF
    #[arg(long)]
    crlf: bool,
    /// Lines of text, or numbers of 4 or 8 bytes, least or most significant byte first
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
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

    /// In 0..=last, by multiplication (Lemire 2019) without the rejection: the
    /// bias is below 2^-32 where `last` is below 2^32.
    fn up_to(&mut self, last: u64) -> u64 {
        match last.checked_add(1) {
            Some(bound) => scaled(self.next(), bound, 1 << 64),
            None => self.next(),
        }
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

/// `a * b / divisor`, for an `a` below `divisor`.
#[expect(clippy::cast_possible_truncation, reason = "the quotient is below b")]
fn scaled(a: u64, b: u64, divisor: u128) -> u64 {
    (u128::from(a) * u128::from(b) / divisor) as u64
}

/// An index; all of ours are small.
fn place(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}

/// Ranks 1..=n with probability in proportion to rank^-exponent, by
/// rejection-inversion (Hörmann and Derflinger 1996). Its values rest on the
/// system's `exp` and `ln`, so another system may round a few to neighbours.
struct Zipf {
    /// 1 less the exponent.
    power: f64,
    ranks: f64,
    at_one: f64,
    at_last: f64,
    shortcut: f64,
}

impl Zipf {
    #[expect(clippy::cast_precision_loss, reason = "ranks beyond 2^53 are rare")]
    fn new(last: u64, exponent: f64) -> Self {
        // So near to 1, the difference would be lost in rounding.
        let power = if (1.0 - exponent).abs() < 1e-7 { 0.0 } else { 1.0 - exponent };
        let ranks = last as f64 + 1.0;
        let mut zipf = Self { power, ranks, at_one: 0.0, at_last: 0.0, shortcut: 0.0 };
        zipf.at_one = zipf.integral(1.5) - 1.0;
        zipf.at_last = zipf.integral(ranks + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        zipf
    }

    fn weight(&self, x: f64) -> f64 {
        ((self.power - 1.0) * x.ln()).exp()
    }

    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        if self.power == 0.0 { log } else { ((self.power * log).exp() - 1.0) / self.power }
    }

    fn inverse(&self, x: f64) -> f64 {
        if self.power == 0.0 { x.exp() } else { ((1.0 + x * self.power).ln() / self.power).exp() }
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

/// A permutation of 0..=last without a table: a Feistel network over the next
/// power of two, walked until it falls inside (Black and Rogaway 2002).
fn permuted(index: u64, last: u64, seed: u64) -> u64 {
    let bits = (64 - last.leading_zeros()).max(2);
    let low_bits = bits / 2;
    let (low_mask, high_mask) = ((1 << low_bits) - 1, (1 << (bits - low_bits)) - 1);
    let (mut low, mut high) = (index & low_mask, index >> low_bits);
    loop {
        for round in 0..2 {
            high ^= mix(low ^ seed.wrapping_add(round << 56)) & high_mask;
            low ^= mix(high ^ seed.wrapping_add((round + 2) << 56)) & low_mask;
        }
        let value = high << low_bits | low;
        if value <= last {
            return value;
        }
    }
}

const RUN_VALUES: u64 = 1000; // of --distribution clustered
const RUN_WIDTH: u64 = 4000; // four times as many places as values: close, but not dense

/// The values, one after the other.
struct Values<'a> {
    args: &'a Args,
    /// `--max` less `--min`.
    span: u64,
    random: Random,
    zipf: Zipf,
    index: u64,
    centre: u64,
    recent: Vec<u64>, // a ring, once it is full
}

impl<'a> Values<'a> {
    fn new(args: &'a Args) -> Self {
        let span = args.max.saturating_sub(args.min); // none where --max does not matter
        let (random, zipf) = (Random(mix(args.seed)), Zipf::new(span, args.exponent));
        Self { args, span, random, zipf, index: 0, centre: 0, recent: vec![] }
    }

    fn next(&mut self) -> u64 {
        let index = self.index;
        self.index += 1;
        if self.args.duplicates == 0.0 {
            return self.fresh(index);
        }
        let held = self.recent.len() as u64;
        if held > 0 && self.random.unit() < self.args.duplicates {
            return self.recent[place(self.random.up_to(held - 1))];
        }
        let value = self.fresh(index);
        // Only a repetition of the last value leaves an order as it is.
        let ordered = [Distribution::Sorted, Distribution::Reversed];
        let kept = if ordered.contains(&self.args.distribution) { 1 } else { 1024 };
        if held < kept {
            self.recent.push(value);
        } else {
            self.recent[place(index % kept)] = value;
        }
        value
    }

    fn fresh(&mut self, index: u64) -> u64 {
        let Args { min, max, count, seed, .. } = *self.args;
        let span = self.span;
        match self.args.distribution {
            Distribution::Uniform => min + self.random.up_to(span),
            Distribution::Permutation => min + permuted(index, count - 1, seed),
            Distribution::Zipf => min + (self.zipf.rank(&mut self.random) - 1).min(span),
            Distribution::Clustered => {
                if index.is_multiple_of(RUN_VALUES) {
                    self.centre = self.random.up_to(span.saturating_sub(RUN_WIDTH));
                }
                min + self.centre + self.random.up_to(RUN_WIDTH.min(span))
            }
            Distribution::Few => {
                let which = self.random.up_to(self.args.distinct.saturating_sub(1).min(span));
                min + permuted(which, span, seed)
            }
            Distribution::Sorted => min + self.step(index),
            Distribution::Reversed => min + self.step(count - 1 - index),
            Distribution::Equal => max,
            Distribution::Snowflake => {
                let milliseconds = 1_700_000_000_000 + index / 4096; // since 1970: November 2023
                (milliseconds << 22) | (self.random.up_to(31) << 12) | (index % 4096)
            }
            Distribution::U64 => self.random.next(),
        }
    }

    /// A random place in the `index`-th of `--count` equal steps.
    fn step(&mut self, index: u64) -> u64 {
        let count = self.args.count;
        let jitter = self.random.up_to((self.span / count).saturating_sub(1));
        scaled(index, self.span, count.into()) + jitter
    }
}

/// Eight decimal digits, the first in the lowest byte (Khuong, "How to print
/// integers really fast", 2017).
fn eight_digits(value: u64) -> u64 {
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7F_0000_007F;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    tens | ((twos - 10 * tens) << 8)
}

fn push_number(out: &mut Vec<u8>, value: u64) {
    const EIGHT: u64 = 100_000_000;
    const ASCII: u64 = 0x3030_3030_3030_3030;
    if value >= EIGHT {
        push_number(out, value / EIGHT);
        out.extend_from_slice(&(eight_digits(value % EIGHT) | ASCII).to_le_bytes());
    } else {
        let digits = eight_digits(value);
        let zeros = (digits | 1 << 56).trailing_zeros() / 8; // the last digit stays
        out.extend_from_slice(&((digits | ASCII) >> (8 * zeros)).to_le_bytes());
        out.truncate(out.len() - zeros as usize);
    }
}

const BUFFER_BYTES: usize = 1 << 20; // a write call each MiB costs nothing that shows
const MALFORMED: [&str; 8] =
    ["12abc", "-3", "+5", "1e3", "1,000", "0x1F", "18446744073709551616", "abc"];

fn generate(args: &Args, out: &mut impl Write) -> io::Result<()> {
    let mut values = Values::new(args);
    let mut noise = Random(mix(args.seed ^ 0xBAD)); // apart, so that noise moves no value
    let dirty = args.malformed > 0.0 || args.blank > 0.0;
    let end: &[u8] = if args.crlf { b"\r\n" } else { b"\n" };
    let mut lines = Vec::with_capacity(BUFFER_BYTES + 64);
    for _ in 0..args.count {
        let value = values.next();
        match args.to {
            Form::U32le => lines.extend_from_slice(&value.to_le_bytes()[..4]),
            Form::U32be => lines.extend_from_slice(&value.to_be_bytes()[4..]),
            Form::U64le => lines.extend_from_slice(&value.to_le_bytes()),
            Form::U64be => lines.extend_from_slice(&value.to_be_bytes()),
            Form::Text => {
                let chance = if dirty { noise.unit() } else { 1.0 };
                if chance < args.malformed {
                    lines.extend_from_slice(MALFORMED[place(noise.up_to(7))].as_bytes());
                } else if chance >= args.malformed + args.blank {
                    lines.extend_from_slice(args.prefix.as_bytes());
                    push_number(&mut lines, value);
                }
                lines.extend_from_slice(end);
            }
        }
        if lines.len() >= BUFFER_BYTES {
            out.write_all(&lines)?;
            lines.clear();
        }
    }
    out.write_all(&lines)?;
    out.flush()
}

/// What is wrong with these arguments, if anything.
fn objection(args: &Args) -> Option<&'static str> {
    let Args { min, max, count, .. } = *args;
    let largest = match args.distribution {
        Distribution::U64 | Distribution::Snowflake => Some(u64::MAX),
        Distribution::Permutation => min.checked_add(count.saturating_sub(1)),
        _ => Some(max),
    };
    let narrow = matches!(args.to, Form::U32le | Form::U32be);
    let too_large = largest.is_none_or(|largest| narrow && largest > u32::MAX.into());
    let shares = [args.duplicates, args.malformed, args.blank];
    let clean = args.malformed == 0.0 && args.blank == 0.0;
    let bare = clean && !args.crlf && args.prefix.is_empty();
    [
        (largest == Some(max) && min > max, "--min is above --max"),
        (too_large, "values do not fit in --to"),
        (
            !bare && args.to != Form::Text,
            "--malformed, --blank, --crlf and --prefix need --to text",
        ),
        (shares.iter().any(|share| !(0.0..=1.0).contains(share)), "a share is not from 0 to 1"),
        (args.malformed + args.blank > 1.0, "--malformed and --blank are more than all lines"),
        (!(0.0..=100.0).contains(&args.exponent), "--exponent is not from 0 to 100"),
    ]
    .into_iter()
    .find_map(|(wrong, what)| wrong.then_some(what))
}

fn run(args: &Args) -> io::Result<()> {
    if let Some(objection) = objection(args) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, objection));
    }
    match &args.output {
        Some(path) => {
            let say = |error| io::Error::other(format!("cannot write {}: {error}", path.display()));
            generate(args, &mut File::create(path).map_err(say)?).map_err(say)
        }
        None => generate(args, &mut io::stdout().lock()),
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

    fn bytes(words: &str) -> Vec<u8> {
        let args = Args::parse_from(std::iter::once("generate").chain(words.split_whitespace()));
        assert_eq!(objection(&args), None);
        let mut out = Vec::new();
        generate(&args, &mut out).unwrap();
        out
    }

    fn values(words: &str) -> Vec<u64> {
        let text = String::from_utf8(bytes(words)).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    #[test]
    fn decimal_lines_read_as_the_standard_library_writes_them() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        for value in powers.flat_map(|power| [power - 1, power, power + 1]).chain([u64::MAX]) {
            let mut out = Vec::new();
            push_number(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }

    #[test]
    fn a_permutation_has_every_value_once() {
        for count in [1, 2, 3, 1000, 1024, 10_007] {
            let mut found = values(&format!("--count {count} --distribution permutation --min 5"));
            assert!(count < 1000 || !found.is_sorted());
            found.sort_unstable();
            assert!(found.into_iter().eq(5..5 + count));
        }
        assert!(
            values("--count 9 --distribution permutation --min 18446744073709551607").len() == 9
        );
    }

    #[test]
    fn zipf_ranks_are_as_frequent_as_they_should_be() {
        for exponent in ["0.5", "1", "1.1"] {
            let words =
                format!("--count 99999 --distribution zipf --max 999 --exponent {exponent}");
            let (found, exponent) = (values(&words), exponent.parse::<f64>().unwrap());
            let total: f64 = (1..=1000_u32).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [1_u32, 2, 3, 10, 100] {
                let count = found.iter().filter(|&&value| value == u64::from(rank - 1)).count();
                let expected = 99_999.0 * f64::from(rank).powf(-exponent) / total;
                let difference = f64::from(u32::try_from(count).unwrap()) - expected;
                assert!(difference.abs() < 5.0 * expected.sqrt(), "{words}: {rank}");
            }
        }
    }

    #[test]
    fn the_same_arguments_give_the_same_bytes() {
        for distribution in Distribution::value_variants() {
            let name = distribution.to_possible_value().unwrap();
            let words = format!(
                "--count 9999 --duplicates 0.1 --blank 0.1 --distribution {}",
                name.get_name()
            );
            assert_eq!(bytes(&words), bytes(&words));
            assert_ne!(bytes(&words), bytes(&format!("{words} --seed 2")));
        }
    }

    #[test]
    fn lines_have_their_prefix() {
        let text = bytes("--count 2 --distribution equal --max 7 --prefix id= --crlf");
        assert_eq!(text, b"id=7\r\nid=7\r\n");
        let blank = bytes("--count 2 --prefix id= --blank 1");
        assert_eq!(blank, b"\n\n");
    }

    #[test]
    fn values_keep_to_their_order_and_range() {
        let range = "--count 5000 --min 7 --max 9000 --duplicates 0.1 --distribution";
        assert!(values(&format!("{range} sorted")).is_sorted());
        assert!(values(&format!("{range} reversed")).iter().rev().is_sorted());
        for name in ["uniform", "zipf", "clustered", "few", "sorted", "reversed", "equal"] {
            let found = values(&format!("{range} {name}"));
            assert!(found.iter().all(|value| (7..=9000).contains(value)), "{name}");
        }
    }
}
