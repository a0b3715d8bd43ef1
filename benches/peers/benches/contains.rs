//! 10 million random probes in 100 million values: mapped, and in memory.

use bitsort_peers::data::{Data, Distribution};
use bitsort_peers::{CRoaring, MappedRoaring, Representation, Roaring};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use std::path::Path;
use std::time::Duration;

const UNIVERSE: u64 = 1 << 32;
const VALUES: f64 = 1e8;
const PROBES: usize = 10_000_000;

type Case<'a> = (&'static str, Box<dyn Fn() -> u64 + 'a>);

fn run(criterion: &mut Criterion, distribution: Distribution, folder: &Path) {
    #[expect(clippy::cast_precision_loss, reason = "a power of two")]
    let data = Data::new(distribution, UNIVERSE, VALUES / UNIVERSE as f64, PROBES);
    let mapped = MappedRoaring::build(&data, false, folder);
    let roaring = Roaring::build(&data, false, folder);
    let croaring = CRoaring::build(&data, false, folder);
    let wide: Vec<u64> = data.probes.iter().map(|&value| value.into()).collect();
    let probes = &data.probes;
    let one = |batch| move |mapped: &MappedRoaring, wide: &[u64]| mapped.hits_of_many(wide, batch);
    let (some, all) = (one(10_000), one(PROBES));

    let mut cases: Vec<Case<'_>> = vec![
        ("mapped-roaring", Box::new(|| mapped.hits(probes))),
        ("mapped-roaring-10000-at-once", Box::new(|| some(&mapped, &wide))),
        ("mapped-roaring-all-at-once", Box::new(|| all(&mapped, &wide))),
        ("roaring", Box::new(|| roaring.hits(probes))),
        ("croaring", Box::new(|| croaring.hits(probes))),
    ];
    if std::env::var_os("BENCH_REVERSED").is_some() {
        cases.reverse();
    }
    let mut group = criterion.benchmark_group("contains");
    group.throughput(Throughput::Elements(PROBES as u64));
    group.sampling_mode(SamplingMode::Flat);
    for (name, case) in &cases {
        assert_eq!(case(), data.hits, "{name}");
        group.bench_function(BenchmarkId::new(*name, format!("{distribution}/100M")), |bencher| {
            bencher.iter(case);
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_secs(1))
        .nresamples(1000)
        .without_plots()
        .configure_from_args();
    let folder = tempfile::tempdir().expect("there is a folder for temporary files");
    run(&mut criterion, Distribution::Uniform, folder.path());
    criterion.final_summary();
}
