//! AND of two plain bitmaps of 512 MiB beside what the machine's memory gives.
//!
//! Throughput counts two streams read and one written, 1.5 GiB, for all.

use bitsort::Bitmap;
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use std::hint::black_box;
use std::time::Duration;

const BYTES: usize = 512 << 20;
const WORDS: usize = BYTES / 8;
const UNIVERSE: u64 = 8 * BYTES as u64;

/// Values in every cache line, so that every page is there.
fn values(first: u64) -> impl Iterator<Item = u64> {
    (first..UNIVERSE).step_by(509)
}

fn bitmap(first: u64) -> Bitmap {
    let mut bitmap = Bitmap::new(UNIVERSE);
    for value in values(first) {
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

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(3))
        .nresamples(1000)
        .without_plots()
        .configure_from_args();
    let mut group = criterion.benchmark_group("and of 512 MiB");
    group.throughput(Throughput::Bytes(3 * BYTES as u64));
    group.sampling_mode(SamplingMode::Flat);
    let id = |name: &str| BenchmarkId::new(name, "dense");
    {
        let (a, b) = (bitmap(3), bitmap(5));
        let mut c = vec![1_u64; WORDS];
        group.bench_function(id("loop, 1 thread"), |bencher| {
            bencher.iter(|| triad(black_box(a.as_words()), b.as_words(), black_box(&mut c)));
        });
        group.bench_function(id("loop, 2 threads"), |bencher| {
            bencher.iter(|| {
                triad_of_threads(2, black_box(a.as_words()), b.as_words(), black_box(&mut c));
            });
        });
        drop(c);
        group.bench_function(id("loop into new memory"), |bencher| {
            bencher.iter(|| {
                let both = black_box(a.as_words()).iter().zip(b.as_words());
                both.map(|(&a, &b)| a & b).collect::<Vec<u64>>()
            });
        });
        group.bench_function(id("Bitmap::intersection"), |bencher| {
            bencher.iter(|| black_box(&a).intersection(&b));
        });
        let mut changed = a.clone();
        let mut words = a.as_words().to_vec();
        group.bench_function(id("loop in place"), |bencher| {
            bencher.iter(|| {
                for (word, &other) in black_box(&mut words).iter_mut().zip(b.as_words()) {
                    *word &= other;
                }
            });
        });
        drop(words);
        group.bench_function(id("Bitmap::intersection_assign"), |bencher| {
            bencher.iter(|| black_box(&mut changed).intersection_assign(&b));
        });
        group.bench_function(id("Bitmap::intersection_len"), |bencher| {
            bencher.iter(|| black_box(&a).intersection_len(&b));
        });
    }
    group.finish();
    criterion.final_summary();
}
