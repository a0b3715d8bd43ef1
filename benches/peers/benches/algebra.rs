//! Roaring bitmaps in memory: through [`IntegerSet`](bitsort::set::IntegerSet), and directly.

use bitsort_peers::harness::{self, Make, make};
use bitsort_peers::{Integers, Operation, PlainRoaring, PlainTreemap, Roaring};

const REPRESENTATIONS: [Make; 4] =
    [make::<Integers>, make::<PlainTreemap>, make::<PlainRoaring>, make::<Roaring>];

/// Arrays, larger arrays, bitmaps.
const DENSITIES: [f64; 3] = [1e-3, 1e-2, 1e-1];

fn main() {
    let mut criterion = harness::criterion();
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    for data in harness::data(&DENSITIES) {
        let (all, path) = (&REPRESENTATIONS, folder.path());
        harness::measure(&mut criterion, &data, all, &Operation::ALL, path);
    }
    criterion.final_summary();
}
