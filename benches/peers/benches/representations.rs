//! Dense against roaring, by density; ours, the `roaring` crate and `CRoaring`.

use bitsort_peers::data::DENSITIES;
use bitsort_peers::harness::{self, Make, make};
use bitsort_peers::{CRoaring, Dense, MappedDense, MappedRoaring, Operation, Roaring};

const REPRESENTATIONS: [Make; 5] =
    [make::<Dense>, make::<MappedDense>, make::<MappedRoaring>, make::<Roaring>, make::<CRoaring>];

const OPERATIONS: [Operation; 6] = [
    Operation::Build,
    Operation::Contains,
    Operation::Iterate,
    Operation::And,
    Operation::Or,
    Operation::AndLen,
];

fn main() {
    let mut criterion = harness::criterion();
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    for data in harness::data(&DENSITIES) {
        let (all, path) = (&REPRESENTATIONS, folder.path());
        harness::measure(&mut criterion, &data, all, &OPERATIONS, path);
    }
    criterion.final_summary();
}
