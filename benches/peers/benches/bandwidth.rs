//! AND of two plain bitmaps of 512 MiB beside what the machine's memory gives.
//!
//! Throughput counts two streams read and one written, 1.5 GiB, for all.

use bitsort::Bitmap;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, SamplingMode, Throughput};
use std::hint::black_box;
use std::time::Duration;

const BYTES: usize = 512 << 20;
const WORDS: usize = BYTES / 8;
const UNIVERSE: u64 = 8 * BYTES as u64;
/// Distance of values: one is in every cache line, so that every page is there.
const STEP: usize = 509;
/// One in so many values of the first set is in the second, too.
const SHARED: usize = 4096;

fn first() -> impl Iterator<Item = u64> {
    (3..UNIVERSE).step_by(STEP)
}

fn shared() -> impl Iterator<Item = u64> {
    first().step_by(SHARED)
}

fn second() -> impl Iterator<Item = u64> {
    (5..UNIVERSE).step_by(STEP).chain(shared())
}

fn bitmap(values: impl Iterator<Item = u64>) -> Bitmap {
    let mut bitmap = Bitmap::new(UNIVERSE);
    for value in values {
        bitmap.insert(value);
    }
    bitmap
}

fn triad(a: &[u64], b: &[u64], c: &mut [u64]) {
    for ((c, &a), &b) in c.iter_mut().zip(a).zip(b) {
        *c = a & b;
    }
}

fn triad_of_threads(threads: usize, a: &[u64], b: &[u64], c: &mut [u64]) {
    let part = WORDS / threads;
    std::thread::scope(|scope| {
        for ((a, b), c) in a.chunks(part).zip(b.chunks(part)).zip(c.chunks_mut(part)) {
            scope.spawn(move || triad(a, b, c));
        }
    });
}

fn into_new_memory(a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(&a, &b)| a & b).collect()
}

fn in_place(words: &mut [u64], other: &[u64]) {
    for (word, &other) in words.iter_mut().zip(other) {
        *word &= other;
    }
}

/// Asserts that `words` hold the shared values, and no others.
fn check(words: &[u64]) {
    let found: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
    assert_eq!(found, shared().count() as u64);
    let is_in = |value: u64| words[usize::try_from(value / 64).expect("64 bits")] >> (value % 64);
    assert!(shared().all(|value| is_in(value) & 1 == 1));
}

fn id(name: &str) -> BenchmarkId {
    BenchmarkId::new(name, "dense/512MiB")
}

fn loops(group: &mut BenchmarkGroup<'_, WallTime>, a: &[u64], b: &[u64]) {
    let mut c = vec![1; WORDS];
    triad(a, b, &mut c);
    check(&c);
    group.bench_function(id("loop-1-thread"), |bencher| {
        bencher.iter(|| triad(black_box(a), b, black_box(&mut c)));
    });
    c.fill(1);
    triad_of_threads(2, a, b, &mut c);
    check(&c);
    group.bench_function(id("loop-2-threads"), |bencher| {
        bencher.iter(|| triad_of_threads(2, black_box(a), b, black_box(&mut c)));
    });
    drop(c);
    check(&into_new_memory(a, b));
    group.bench_function(id("loop-into-new-memory"), |bencher| {
        bencher.iter(|| into_new_memory(black_box(a), b));
    });
    let mut words = a.to_vec();
    in_place(&mut words, b);
    check(&words);
    group.bench_function(id("loop-in-place"), |bencher| {
        bencher.iter(|| in_place(black_box(&mut words), b));
    });
}

fn bitmaps(group: &mut BenchmarkGroup<'_, WallTime>, a: &Bitmap, b: &Bitmap) {
    let mut changed = a.clone();
    changed.intersection_assign(b);
    check(changed.as_words());
    group.bench_function(id("bitmap-intersection-assign"), |bencher| {
        bencher.iter(|| black_box(&mut changed).intersection_assign(b));
    });
    assert_eq!(a.intersection_len(b), shared().count() as u64);
    group.bench_function(id("bitmap-intersection-len"), |bencher| {
        bencher.iter(|| black_box(a).intersection_len(b));
    });
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(3))
        .nresamples(1000)
        .without_plots()
        .configure_from_args();
    let mut group = criterion.benchmark_group("and");
    group.throughput(Throughput::Bytes(3 * BYTES as u64));
    group.sampling_mode(SamplingMode::Flat);
    {
        let (a, b) = (bitmap(first()), bitmap(second()));
        loops(&mut group, a.as_words(), b.as_words());
        bitmaps(&mut group, &a, &b);
    }
    group.finish();
    criterion.final_summary();
}
