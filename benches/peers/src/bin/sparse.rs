//! Measures sets of values that are far apart, as CSV: joined in memory and into files, and asked
//! for random values.
//!
//! `cargo run --release --bin sparse -- VALUES BITS`: sets of so many random values below 2^BITS,
//! half of which are in both. Files are made in the folder of temporary files; a figure is the
//! fastest of three.

use bitsort::set::{self, AsSet, IntegerSet, SetFile, SetFormat};
use fastrand::Rng;
use roaring::RoaringTreemap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

const ROUNDS: usize = 3;
const PROBES: usize = 10_000_000;

/// The values of two sets, ascending.
struct Data {
    a: Vec<u64>,
    b: Vec<u64>,
    bits: u32,
}

impl Data {
    fn new(values: usize, bits: u32) -> Self {
        let mut rng = Rng::with_seed(7);
        let mut draw =
            |count: usize| -> Vec<u64> { (0..count).map(|_| rng.u64(..) >> (64 - bits)).collect() };
        let (both, mut a, mut b) = (draw(values / 2), draw(values / 2), draw(values / 2));
        for set in [&mut a, &mut b] {
            set.extend_from_slice(&both);
            set.sort_unstable();
            set.dedup();
        }
        Self { a, b, bits }
    }

    /// Half of them are in the first set.
    fn probes(&self) -> Vec<u64> {
        let mut rng = Rng::with_seed(8);
        let mut probe = |number: usize| match number % 2 {
            0 => self.a[rng.usize(..self.a.len())],
            _ => rng.u64(..) >> (64 - self.bits),
        };
        (0..PROBES).map(&mut probe).collect()
    }
}

/// Prints the fastest of some rounds; `work` gives a number that does not change.
fn row(data: &Data, operation: &str, name: &str, each: usize, mut work: impl FnMut() -> u64) {
    let (mut fastest, mut found) = (f64::INFINITY, None);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let now = work();
        fastest = fastest.min(started.elapsed().as_secs_f64());
        assert_eq!(now, *found.get_or_insert(now), "each round finds the same");
    }
    let (values, bits, found) = (data.a.len(), data.bits, found.unwrap_or(0));
    #[expect(clippy::cast_precision_loss, reason = "to be read")]
    let nanoseconds = fastest * 1e9 / each as f64;
    println!("{operation},{name},{values},{bits},{found},{fastest:.4},{nanoseconds:.2}");
}

fn treemaps(data: &Data, folder: &Path) {
    let [a, b] = [&data.a, &data.b].map(|values| {
        RoaringTreemap::from_sorted_iter(values.iter().copied()).expect("the values ascend")
    });
    let values = data.a.len() + data.b.len();
    row(data, "and", "RoaringTreemap", values, || (&a & &b).len());
    row(data, "and to a file", "RoaringTreemap", values, || {
        let joined = &a & &b;
        let file = File::create(folder.join("joined.roaring")).expect("the folder has room");
        joined.serialize_into(BufWriter::new(file)).expect("the folder has room");
        joined.len()
    });
}

fn in_memory(data: &Data, folder: &Path) {
    let [a, b]: [IntegerSet; 2] = [&data.a, &data.b].map(|values| values.iter().copied().collect());
    let values = data.a.len() + data.b.len();
    row(data, "and", "IntegerSet", values, || (&a & &b).len());
    row(data, "and to a file", "IntegerSet", values, || {
        let joined = set::and(&[&a, &b]).write(folder.join("joined.bits"));
        joined.expect("the folder has room").cardinality
    });
}

fn mapped(data: &Data, format: SetFormat, name: &str, joins: bool, folder: &Path) {
    let [a, b] = [(&data.a, "a"), (&data.b, "b")].map(|(values, file)| {
        let path = folder.join(format!("{file}.bits"));
        let set: IntegerSet = values.iter().copied().collect();
        set.write_as(&path, format).expect("the folder has room");
        SetFile::open(&path).expect("what was written can be opened")
    });
    let values = data.a.len() + data.b.len();
    let sets: [&dyn AsSet; 2] = [&a, &b];
    if joins {
        row(data, "and", name, values, || {
            set::and(&sets).to_set().expect("the files are sound").len()
        });
        row(data, "count of and", name, values, || {
            set::and(&sets).count().expect("the files are sound")
        });
        row(data, "and to a file", name, values, || {
            let joined = set::and(&sets).write(folder.join("joined.bits"));
            joined.expect("the folder has room").cardinality
        });
    }
    let (probes, view) = (data.probes(), a.view());
    row(data, "contains", name, PROBES, || {
        let is_in = |&value: &u64| view.contains(value).expect("the file is sound");
        probes.iter().map(|value| u64::from(is_in(value))).sum()
    });
    let mut found = vec![false; PROBES];
    row(data, "contains_many", name, PROBES, || {
        view.contains_many(&probes, &mut found).expect("the file is sound");
        found.iter().map(|&is_in| u64::from(is_in)).sum()
    });
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let mut next = |default: usize| match arguments.next() {
        Some(number) => number.expect("VALUES and BITS are numbers"),
        None => default,
    };
    let (values, bits) = (next(10_000_000), next(64));
    let bits = u32::try_from(bits).ok().filter(|bits| (1..=64).contains(bits));
    let data = Data::new(values, bits.expect("BITS is from 1 to 64"));
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    println!("operation,representation,values,bits,found,seconds,ns");
    mapped(&data, SetFormat::SparseBits, "sparse, mapped", true, folder.path());
    if data.bits <= 32 {
        mapped(&data, SetFormat::RoaringBits, "roaring, mapped", false, folder.path());
    }
    in_memory(&data, folder.path());
    treemaps(&data, folder.path());
}
