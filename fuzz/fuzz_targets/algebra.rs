//! Operations and queries of two sets in whatever representations, against
//! ordered maps.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::set::{self, AsSet, IntegerSet, SetFile, SetFormat, SetView};
use bitsort_fuzz::{Piece, folder, values_of};
use libfuzzer_sys::fuzz_target;
use std::collections::BTreeSet;

#[derive(Debug, Arbitrary)]
struct Case {
    a: (Form, Vec<Piece>),
    b: (Form, Vec<Piece>),
    wide: bool,
    probes: [u64; 4],
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Form {
    Appended,
    Inserted,
    Joined,
    DenseFile,
    RoaringFile,
    SparseFile,
    RunFile,
    SmallerFile,
    PortableFile,
}

fn made(form: Form, model: &BTreeSet<u64>) -> Box<dyn AsSet> {
    let appended: IntegerSet = model.iter().copied().collect();
    let ends = model.first().copied().zip(model.last().copied());
    // A plain bitmap of all that lies between would be too large.
    let is_near = ends.is_none_or(|(first, last)| last - first < 1 << 23);
    let format = match form {
        Form::Appended => return Box::new(appended),
        Form::Inserted => return Box::new(inserted(model)),
        // Twice as many values, and half of them taken out again.
        Form::Joined => {
            let others = IntegerSet::from_iter(model.iter().map(|value| value ^ 1));
            let either = &appended | &others;
            return Box::new(&either - &(&others - &appended));
        }
        Form::DenseFile if !is_near => return Box::new(appended),
        Form::DenseFile => SetFormat::DenseBits,
        Form::RoaringFile => SetFormat::RoaringBits,
        Form::SparseFile => SetFormat::SparseBits,
        Form::RunFile => SetFormat::RunBits,
        Form::SmallerFile => SetFormat::Bits,
        Form::PortableFile => SetFormat::Roaring,
    };
    let path = folder().join("set");
    let written = appended.write_as(&path, format).unwrap();
    assert_eq!(written.cardinality, model.len() as u64);
    let file = SetFile::open(&path).unwrap();
    file.verify().unwrap();
    assert_eq!(file.file_bytes(), written.bytes);
    Box::new(file)
}

fn inserted(model: &BTreeSet<u64>) -> IntegerSet {
    let mut set = IntegerSet::new();
    for &value in model.iter().rev() {
        assert!(set.insert(value));
    }
    set
}

fn values(set: SetView<'_>) -> BTreeSet<u64> {
    let values: Vec<u64> = set.iter().map(Result::unwrap).collect();
    assert!(set.iter().rev().map(Result::unwrap).eq(values.iter().rev().copied()));
    assert!(values.is_sorted_by(|a, b| a < b));
    values.into_iter().collect()
}

/// Every query around `probe`.
fn ask(set: SetView<'_>, model: &BTreeSet<u64>, probe: u64) {
    assert_eq!(set.contains(probe).unwrap(), model.contains(&probe));
    assert_eq!(set.next(probe).unwrap(), model.range(probe..).next().copied());
    assert_eq!(set.previous(probe).unwrap(), model.range(..=probe).next_back().copied());
    let rank = model.range(..=probe).count() as u64;
    assert_eq!(set.rank(probe).unwrap(), rank);
    assert_eq!(
        set.select(rank).unwrap(),
        probe.checked_add(1).and_then(|next| model.range(next..).next().copied())
    );
    let last = probe.saturating_add(70_000);
    let within = model.range(probe..=last).count() as u64;
    assert_eq!(set.range_len(probe..=last).unwrap(), within);
    let from = set.range(probe..).map(Result::unwrap).take(3);
    assert!(from.eq(model.range(probe..).copied().take(3)));
    let upto = set.range(..=probe).rev().map(Result::unwrap).take(3);
    assert!(upto.eq(model.range(..=probe).rev().copied().take(3)));
    let neighbours = [probe, probe ^ 1, probe.wrapping_add(1 << 16), 0, u64::MAX, probe];
    let mut found = [false; 6];
    set.contains_many(&neighbours, &mut found).unwrap();
    assert!(found.into_iter().eq(neighbours.iter().map(|value| model.contains(value))));
}

fuzz_target!(|case: Case| {
    let width = if case.wide { 64 } else { 32 };
    let (a, b) = (values_of(&case.a.1, width), values_of(&case.b.1, width));
    let (x, y) = (made(case.a.0, &a), made(case.b.0, &b));
    let sets = [x.as_set().view().to_set().unwrap(), y.as_set().view().to_set().unwrap()];
    for ((set, memory), model) in [&x, &y].into_iter().zip(&sets).zip([&a, &b]) {
        let set = set.as_set().view();
        assert_eq!(values(set), *model);
        assert_eq!(set.len().unwrap(), model.len() as u64);
        assert_eq!(set.is_empty().unwrap(), model.is_empty());
        let ends = (set.min().unwrap(), set.max().unwrap());
        assert_eq!(ends, (model.first().copied(), model.last().copied()));
        for probe in case.probes.into_iter().chain(a.iter().copied().step_by(1 + a.len() / 3)) {
            ask(set, model, probe);
        }
        assert_eq!(values(memory.view()), *model);
        assert_eq!(IntegerSet::from_roaring_bytes(&memory.to_roaring_bytes()).unwrap(), *memory);
    }

    let both: BTreeSet<u64> = &a & &b;
    let either: BTreeSet<u64> = &a | &b;
    let first: BTreeSet<u64> = &a - &b;
    let one: BTreeSet<u64> = &a ^ &b;
    let [m, n] = &sets;
    let same = |joined: set::Joined<'_>, operator: IntegerSet, expected: &BTreeSet<u64>| {
        let joined = joined.to_set().unwrap();
        assert_eq!(values(joined.view()), *expected);
        assert_eq!(joined, operator);
    };
    let pair: [&dyn AsSet; 2] = [&x, &y];
    same(set::and(&pair), m & n, &both);
    same(set::or(&pair), m | n, &either);
    same(set::andnot(&pair), m - n, &first);
    same(set::xor(&pair), m ^ n, &one);
    assert_eq!(set::and(&pair).count().unwrap(), both.len() as u64);
    assert_eq!(set::or(&pair).count().unwrap(), either.len() as u64);
    assert_eq!(set::andnot(&pair).count().unwrap(), first.len() as u64);
    assert_eq!(set::xor(&pair).count().unwrap(), one.len() as u64);
    assert_eq!(m.is_subset(n), a.is_subset(&b));
    assert_eq!(m.is_disjoint(n), a.is_disjoint(&b));
    assert_eq!(m == n, a == b);
    let jaccard = if either.is_empty() { 1.0 } else { both.len() as f64 / either.len() as f64 };
    assert!((m.jaccard(n) - jaccard).abs() < 1e-12);

    let three: [&dyn AsSet; 3] = [&x, &y, &x];
    assert_eq!(values(set::at_least(2, &three).to_set().unwrap().view()), a);
    assert_eq!(values(set::and(&three).to_set().unwrap().view()), both);
    assert_eq!(values(set::or(&three).to_set().unwrap().view()), either);
    let span = case.probes[3] % if case.probes[3].is_multiple_of(8) { 70_000 } else { 500 };
    let (low, high) = (case.probes[0], case.probes[0].saturating_add(span));
    let outside: BTreeSet<u64> = (low..=high).filter(|value| !a.contains(value)).collect();
    assert_eq!(values(m.complement(low..=high).view()), outside);
    let offset = i128::from(case.probes[1]) - i128::from(case.probes[2]);
    let moved = a.iter().filter_map(|&value| u64::try_from(i128::from(value) + offset).ok());
    assert_eq!(values(m.add_offset(offset).view()), moved.collect());

    let mut changed = m.clone();
    let mut model = a;
    for &probe in &case.probes {
        assert_eq!(changed.insert(probe), model.insert(probe));
        let end = probe.saturating_add(500);
        changed.insert_range(probe..=end);
        model.extend(probe..=end);
        assert_eq!(changed.remove(probe), model.remove(&probe));
    }
    changed.optimize();
    assert_eq!(values(changed.view()), model);
});
