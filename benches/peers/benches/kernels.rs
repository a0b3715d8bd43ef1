//! The vector kernels with every instruction set of this CPU, each by the name
//! `kernel/instructions/data/amount`, as `parse/avx512/uniform-u32/1M`.

use bitsort::benching::{Kernels, Parsed, Text};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use fastrand::Rng;
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

/// Values of `parse` and `decimal`.
const VALUES: usize = 1 << 20;
/// Words of `scan`: so many bits that no branch predictor learns them.
const SCAN_WORDS: usize = 1 << 18;
/// Words of `and`, `or` and `popcount`: three times 256 KiB, which the second-level cache of
/// most CPUs keeps, so that the loop is measured and not the memory.
const JOIN_WORDS: usize = 1 << 15;
const SEED: u64 = 0x0062_6974_736F_7274;

fn uniform(below: u64) -> Vec<u64> {
    let mut rng = Rng::with_seed(SEED);
    (0..VALUES).map(|_| rng.u64(..below)).collect()
}

fn lines(values: &[u64]) -> String {
    values.iter().flat_map(|value| [value.to_string(), "\n".to_owned()]).collect()
}

/// One word in which each bit is set with a chance of `percent`.
fn word(percent: u8, rng: &mut Rng) -> u64 {
    (0..64).fold(0, |word, bit| word | u64::from(rng.u8(..100) < percent) << bit)
}

fn words(count: usize, percent: u8, rng: &mut Rng) -> Vec<u64> {
    (0..count).map(|_| word(percent, rng)).collect()
}

fn group<'c>(
    criterion: &'c mut Criterion,
    kernel: &str,
    elements: usize,
    bytes: usize,
) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(kernel);
    let (elements, bytes) = (elements as u64, bytes as u64);
    group.throughput(Throughput::ElementsAndBytes { elements, bytes });
    group.sampling_mode(SamplingMode::Flat);
    group
}

/// Lines → values.
fn parse(criterion: &mut Criterion) {
    for (data, below) in [("uniform-u32", 1 << 32), ("uniform-u63", 1 << 63), ("below-1000", 1000)]
    {
        let values = uniform(below);
        let text = lines(&values);
        let padded = Text::new(&text);
        let sum = values.iter().fold(0, |sum: u64, &value| sum.wrapping_add(value));
        let expected = Parsed { values: VALUES as u64, sum, odd_lines: 0 };
        let mut group = group(criterion, "parse", VALUES, text.len());
        let id = |name| BenchmarkId::new(name, format!("{data}/1M"));
        for kernels in Kernels::available() {
            assert_eq!(kernels.parse(&padded), expected, "{}", kernels.name());
            group.bench_function(id(kernels.name()), |bencher| {
                bencher.iter(|| kernels.parse(black_box(&padded)));
            });
        }
        let std = |text: &str| {
            let values = text.lines().map(|line| line.parse().expect("a number"));
            values.fold(0, |sum: u64, value| sum.wrapping_add(value))
        };
        assert_eq!(std(&text), sum);
        group.bench_function(id("std"), |bencher| bencher.iter(|| std(black_box(&text))));
        group.finish();
    }
}

/// Sorted values → lines.
fn decimal(criterion: &mut Criterion) {
    // Neighbours share their high digits, or do not.
    for (data, below) in [("near-u32", 1 << 32), ("far-u64", u64::MAX)] {
        let mut values = uniform(below);
        values.sort_unstable();
        let expected = lines(&values);
        let mut group = group(criterion, "decimal", VALUES, expected.len());
        let id = |name| BenchmarkId::new(name, format!("{data}/1M"));
        let mut out = vec![0; Kernels::decimal_room(VALUES)];
        let len = Kernels::decimal(&values, &mut out);
        assert!(out[..len] == *expected.as_bytes());
        group.bench_function(id("table"), |bencher| {
            bencher.iter(|| Kernels::decimal(black_box(&values), &mut out));
        });
        let std = |text: &mut String| {
            text.clear();
            for value in black_box(&values) {
                writeln!(text, "{value}").expect("a string takes any text");
            }
        };
        let mut text = String::new();
        std(&mut text);
        assert!(text == expected);
        group.bench_function(id("std"), |bencher| bencher.iter(|| std(black_box(&mut text))));
        group.finish();
    }
}

/// Words → positions of their set bits.
fn scan(criterion: &mut Criterion) {
    for percent in [2, 10, 50] {
        let words = words(SCAN_WORDS, percent, &mut Rng::with_seed(SEED));
        let bits = (0_u32..64 * u32::try_from(SCAN_WORDS).expect("few words")).filter(|bit| {
            let word = words[usize::try_from(bit / 64).expect("few words")];
            word >> (bit % 64) & 1 == 1
        });
        let expected: Vec<u32> = bits.collect();
        let mut positions = vec![0; expected.len() + Kernels::POSITIONS_SLACK];
        let mut group = group(criterion, "scan", expected.len(), 8 * SCAN_WORDS);
        for kernels in Kernels::available() {
            let found = kernels.scan(&words, &mut positions);
            assert!(positions[..found] == expected, "{}", kernels.name());
            let id = BenchmarkId::new(kernels.name(), format!("density-{percent}%/16Mi-bits"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| kernels.scan(black_box(&words), &mut positions));
            });
        }
        group.finish();
    }
}

type Join = fn(Kernels, &[u64], &[u64], &mut [u64]);

/// Words of two bitmaps, joined.
fn join(criterion: &mut Criterion, name: &str, run: Join, expected: fn(u64, u64) -> u64) {
    let mut rng = Rng::with_seed(SEED);
    let (a, b) = (words(JOIN_WORDS, 50, &mut rng), words(JOIN_WORDS, 50, &mut rng));
    let expected: Vec<u64> = a.iter().zip(&b).map(|(&a, &b)| expected(a, b)).collect();
    let mut out = vec![0; JOIN_WORDS];
    let mut group = group(criterion, name, 64 * JOIN_WORDS, 3 * 8 * JOIN_WORDS);
    for kernels in Kernels::available() {
        out.fill(0);
        run(kernels, &a, &b, &mut out);
        assert!(out == expected, "{}", kernels.name());
        let id = BenchmarkId::new(kernels.name(), "density-50%/2Mi-bits");
        group.bench_function(id, |bencher| {
            bencher.iter(|| run(kernels, black_box(&a), &b, black_box(&mut out)));
        });
    }
    group.finish();
}

/// Set bits, counted.
fn popcount(criterion: &mut Criterion) {
    let words = words(JOIN_WORDS, 50, &mut Rng::with_seed(SEED));
    let expected: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
    let bytes: Vec<[u8; 8]> = words.iter().map(|word| word.to_le_bytes()).collect();
    let mut group = group(criterion, "popcount", 64 * JOIN_WORDS, 8 * JOIN_WORDS);
    for kernels in Kernels::available() {
        assert_eq!(kernels.popcount(&bytes), expected, "{}", kernels.name());
        let id = BenchmarkId::new(kernels.name(), "density-50%/2Mi-bits");
        group.bench_function(id, |bencher| {
            bencher.iter(|| kernels.popcount(black_box(&bytes)));
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(500))
        .nresamples(1000)
        .without_plots()
        .configure_from_args();
    parse(&mut criterion);
    scan(&mut criterion);
    decimal(&mut criterion);
    join(&mut criterion, "and", Kernels::and, |a, b| a & b);
    join(&mut criterion, "or", Kernels::or, |a, b| a | b);
    popcount(&mut criterion);
    criterion.final_summary();
}
