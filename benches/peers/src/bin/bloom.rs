//! Bloom filters by size, rate and speed, beside `fastbloom` and a hash set, as CSV.
//!
//! ```text
//! cargo run --release --bin bloom -- rates
//! cargo run --release --bin bloom -- speed KEYS ROUNDS
//! cargo run --release --bin bloom -- large
//! ```
//!
//! Columns: section, subject, operation, x, round, value. Keys are numbers, spread
//! by a mixer; all filters hash them with xxh3, and all have the same bits and
//! number of hash functions.

#![expect(clippy::cast_precision_loss, reason = "figures for people")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of probes")]

use bitsort::bloom::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, Scheme, dcso, guava, params,
};
use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::hint::black_box;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    println!("section,subject,operation,x,round,value");
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["rates"] => rates(),
        ["speed", keys, rounds] => {
            let (keys, rounds) =
                (keys.parse().expect("a number"), rounds.parse().expect("a number"));
            for round in 1..=rounds {
                speed(keys, round);
            }
        }
        ["large"] => large(),
        _ => panic!("usage: bloom rates | bloom speed KEYS ROUNDS | bloom large"),
    }
}

fn row(section: &str, subject: &str, operation: &str, x: f64, round: u32, value: f64) {
    println!("{section},\"{subject}\",\"{operation}\",{x:e},{round},{value:e}");
}

/// Numbers that differ, in no order.
fn key(index: u64) -> u64 {
    let x = (index ^ index >> 31).wrapping_mul(0x7FB5_D329_728E_A185);
    let x = (x ^ x >> 27).wrapping_mul(0x81DA_DEF4_BC2D_D44D);
    x ^ x >> 33
}

/// Keys that are in no filter.
const ABSENT: u64 = 1 << 40;

#[derive(Default, Clone)]
struct Xxh3(u64);

impl Hasher for Xxh3 {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl BuildHasher for Xxh3 {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self::default()
    }
}

/// Share of absent keys that are found, at a rate of about `rate`: of so many
/// that one in a hundred more or less is no accident.
fn share(rate: f64, is_in: impl Fn(u64) -> bool) -> f64 {
    let probes = (40_000.0 / rate).clamp(4e6, 4e8) as u64;
    let found = (0..probes).filter(|&index| is_in(key(ABSENT + index))).count();
    found as f64 / probes as f64
}

/// What rate is promised, and what is measured.
fn rates() {
    const KEYS: u64 = 1_000_000;
    let keys = || (0..KEYS).map(key);
    let m = 8 * KEYS;
    for k in 1..=16_u32 {
        let x = f64::from(k);
        let p = params::rate(m, KEYS, k);
        row("k", "standard", "formula", x, 1, p);
        row("k", "blocked", "formula", x, 1, params::rate_blocked(m, KEYS, k));
        let mut filter = BloomFilter::with_bits(m, k).expect("a size");
        filter.extend(keys());
        row("k", "standard", "measured", x, 1, share(p, |key| filter.contains(&key)));
        let mut filter = BlockedBloomFilter::with_bits(m, k).expect("a size");
        filter.extend(keys());
        row("k", "blocked", "measured", x, 1, share(p, |key| filter.contains(&key)));
    }
    for tenths in 10..=60 {
        let p = 10_f64.powf(-f64::from(tenths) / 10.0);
        row("bits", "standard", "formula", p, 1, params::bits_per_key(p));
        row("bits", "blocked", "formula", p, 1, params::bits_per_key_blocked(p));
        row("bits", "split block", "formula", p, 1, params::bits_per_key_split_block(p));
    }
    for p in [0.1, 0.03, 0.01, 0.003, 0.001, 0.000_1] {
        let said = |subject: &str, expected: f64, measured: f64| {
            row("rate", subject, "expected", p, 1, expected);
            row("rate", subject, "measured", p, 1, measured);
        };
        let mut filter = BloomFilter::new(KEYS, p).expect("a size");
        filter.extend(keys());
        let measured = share(p, |key| filter.contains(&key));
        said("standard", filter.rate_with(KEYS), measured);
        let peer = fastbloom::BloomFilter::with_num_bits(filter.cells() as usize);
        let mut peer = peer.hasher(Xxh3::default()).hashes(filter.hashes());
        keys().for_each(|key| {
            peer.insert(&key);
        });
        let expected = params::rate(peer.num_bits() as u64, KEYS, peer.num_hashes());
        said("fastbloom", expected, share(p, |key| peer.contains(&key)));
        let mut filter = BlockedBloomFilter::new(KEYS, p).expect("a size");
        filter.extend(keys());
        said("blocked", filter.rate_with(KEYS), share(p, |key| filter.contains(&key)));
        let mut filter = CountingBloomFilter::new(KEYS, p).expect("a size");
        filter.extend(keys());
        said("counting", filter.rate_with(KEYS), share(p, |key| filter.contains(&key)));
        let mut filter = guava::filter(KEYS, p, guava::Options::default()).expect("a size");
        assert_eq!(filter.scheme(), Scheme::GuavaMitz64);
        filter.extend(keys());
        said("Guava's", filter.rate_with(KEYS), share(p, |key| filter.contains(&key)));
        let mut filter = dcso::filter(KEYS, p).expect("a size");
        filter.extend(keys());
        said("DCSO's", filter.rate_with(KEYS), share(p, |key| filter.contains(&key)));
    }
}

/// What a filter of a billion keys promises, and what is measured.
fn large() {
    const KEYS: u64 = 1_000_000_000;
    const P: f64 = 0.01;
    macro_rules! measured {
        ($subject:literal, $new:expr) => {{
            let mut filter = $new;
            let mut keys = Vec::new();
            let mut seconds = 0.0;
            for first in (0..KEYS).step_by(1 << 16) {
                keys.clear();
                keys.extend((first..KEYS.min(first + (1 << 16))).map(key));
                let started = Instant::now();
                black_box(filter.insert_many(&keys));
                seconds += started.elapsed().as_secs_f64();
            }
            let x = KEYS as f64;
            row("large", $subject, "bytes", x, 1, filter.size_bytes() as f64);
            row("large", $subject, "insert, many", x, 1, seconds * 1e9 / x);
            row("large", $subject, "expected", x, 1, filter.rate_with(KEYS));
            row("large", $subject, "measured", x, 1, share(P, |key| filter.contains(&key)));
        }};
    }
    measured!("standard", BloomFilter::new(KEYS, P).expect("a size"));
    measured!("blocked", BlockedBloomFilter::new(KEYS, P).expect("a size"));
}

/// One key after the other, in a loop of its own for each subject: what is around it
/// would decide what the compiler keeps in registers. The loop borrows its subject, as
/// a function of a user does: what never changes need not be read again for each key.
#[inline(never)]
fn ask_each<F>(filter: &F, keys: &[u64], ask: impl Fn(&F, &u64) -> bool) {
    for key in keys {
        black_box(ask(filter, key));
    }
}

/// The same for what changes its subject.
#[inline(never)]
fn insert_each<F>(filter: &mut F, keys: &[u64], insert: impl Fn(&mut F, &u64) -> bool) {
    for key in keys {
        black_box(insert(filter, key));
    }
}

/// Nanoseconds a key, and bytes.
fn speed(n: u64, round: u32) {
    let (keys, absent): (Vec<u64>, Vec<u64>) =
        (0..n).map(|index| (key(index), key(ABSENT + index))).unzip();
    // Either half of the time, in an order that no branch predictor learns.
    let mixed: Vec<u64> = (0..n as usize)
        .map(|index| if key(!(index as u64)) >> 63 == 0 { keys[index] } else { absent[index] })
        .collect();
    let m = params::bits(n, 0.01);
    let k = params::hashes_for_rate(0.01);
    let x = n as f64;
    let timed = |subject: &str, operation: &str, job: &mut dyn FnMut()| {
        // In the cache, as far as they fit, whatever ran before.
        black_box(keys.iter().chain(&absent).fold(0, |all, key| all ^ key));
        let started = Instant::now();
        job();
        row("speed", subject, operation, x, round, started.elapsed().as_secs_f64() * 1e9 / x);
    };
    let asked =
        [("contains, present", &keys), ("contains, absent", &absent), ("contains, mixed", &mixed)];
    macro_rules! ours {
        ($subject:literal, $many:literal, $new:expr) => {{
            let mut filter = $new;
            row("bytes", $subject, "memory", x, round, filter.size_bytes() as f64 / x);
            timed($subject, "insert", &mut || {
                insert_each(&mut filter, &keys, |f, key| f.insert(key))
            });
            for (operation, keys) in asked {
                timed($subject, operation, &mut || {
                    ask_each(&filter, keys, |f, key| f.contains(key))
                });
            }
            for (operation, keys) in asked {
                let mut found = Vec::new();
                timed($many, operation, &mut || {
                    for keys in keys.chunks(1 << 16) {
                        filter.contains_many(keys, &mut found);
                        black_box(&found);
                    }
                });
            }
            filter.clear();
            timed($many, "insert", &mut || {
                for keys in keys.chunks(1 << 16) {
                    black_box(filter.insert_many(keys));
                }
            });
        }};
    }
    ours!("standard", "standard, many", BloomFilter::with_bits(m, k).expect("a size"));
    ours!("blocked", "blocked, many", BlockedBloomFilter::with_bits(m, k).expect("a size"));
    {
        let peer = fastbloom::BloomFilter::with_num_bits(m as usize);
        let mut peer = peer.hasher(Xxh3::default()).hashes(k);
        row("bytes", "fastbloom", "memory", x, round, peer.num_bits() as f64 / 8.0 / x);
        timed("fastbloom", "insert", &mut || {
            insert_each(&mut peer, &keys, fastbloom::BloomFilter::insert);
        });
        for (operation, keys) in asked {
            timed("fastbloom", operation, &mut || {
                ask_each(&peer, keys, fastbloom::BloomFilter::contains);
            });
        }
    }
    let mut set: HashSet<u64, Xxh3> =
        HashSet::with_capacity_and_hasher(n as usize, Xxh3::default());
    // One control byte and one slot each (hashbrown).
    let slots = (set.capacity() as f64 * 8.0 / 7.0).log2().ceil().exp2();
    row("bytes", "HashSet", "memory", x, round, slots * 9.0 / x);
    timed("HashSet", "insert", &mut || insert_each(&mut set, &keys, |f, &key| f.insert(key)));
    for (operation, keys) in asked {
        timed("HashSet", operation, &mut || ask_each(&set, keys, HashSet::contains));
    }
}
