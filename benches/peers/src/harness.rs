//! How criterion runs the operations, each by the name
//! `operation/implementation/data/amount`, as `and/croaring/uniform-1e-3/128Mi`:
//! the data are a distribution and a density, the amount is the universe.

use crate::data::{self, Distribution, PROBES, UNIVERSE};
use crate::{Data, Operation, Pair, Representation, Subject};
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use std::path::Path;
use std::time::Duration;

/// Makes the sets of a representation.
pub type Make = for<'f> fn(&Data, &'f Path) -> Box<dyn Subject + 'f>;

/// `R`'s.
#[must_use]
pub fn make<'f, R: Representation + 'static>(
    data: &Data,
    folder: &'f Path,
) -> Box<dyn Subject + 'f> {
    Box::new(Pair::<R>::new(data, folder))
}

/// Settings that keep hundreds of benchmarks short.
#[must_use]
pub fn criterion() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(250))
        .nresamples(1000)
        .without_plots()
        .configure_from_args()
}

/// The densities of both distributions; only one of them if `BENCH_DATA` names
/// it, as `uniform-1e-2`.
pub fn data(densities: &[f64]) -> impl Iterator<Item = Data> {
    let wanted = std::env::var("BENCH_DATA").ok();
    let all = Distribution::ALL
        .into_iter()
        .flat_map(|distribution| densities.iter().map(move |&density| (distribution, density)));
    all.filter(move |&(distribution, density)| {
        wanted.as_ref().is_none_or(|wanted| *wanted == data::name(distribution, density))
    })
    .map(|(distribution, density)| Data::new(distribution, UNIVERSE, density, PROBES))
}

/// Measures the operations of all representations side by side; from the last
/// representation to the first if `BENCH_REVERSED` is set: what ran before
/// leaves its traces in memory.
pub fn measure(
    criterion: &mut Criterion,
    data: &Data,
    representations: &[Make],
    operations: &[Operation],
    folder: &Path,
) {
    let mut subjects: Vec<_> = representations.iter().map(|make| make(data, folder)).collect();
    if std::env::var_os("BENCH_REVERSED").is_some() {
        subjects.reverse();
    }
    let values = format!("{}/{}Mi", data.name(), data.universe >> 20);
    for &operation in operations {
        let mut group = criterion.benchmark_group(operation.name());
        group.throughput(Throughput::Elements(operation.values(data)));
        group.sampling_mode(SamplingMode::Flat);
        for subject in &subjects {
            let id = BenchmarkId::new(subject.name(), &values);
            let mut checked = false;
            group.bench_function(id, |bencher| {
                // In here, so that a filter leaves it out.
                if !std::mem::replace(&mut checked, true) {
                    subject.check(operation, data);
                }
                bencher.iter(|| subject.run(operation, data));
            });
        }
        group.finish();
    }
}
