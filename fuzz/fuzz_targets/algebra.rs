//! Operations and queries of two sets in whatever representations, against
//! ordered maps.
#![no_main]

use arbitrary::Arbitrary;
use bitsort::set::{IntegerSet, SetFile, SetFormat};
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
    Dense,
    DenseFile,
    RoaringFile,
    SmallerFile,
    PortableFile,
}

fn made(form: Form, model: &BTreeSet<u64>) -> IntegerSet {
    let appended: IntegerSet = model.iter().copied().collect();
    let ends = model.first().copied().zip(model.last().copied());
    // A plain bitmap of all that lies between would be too large.
    let is_near = ends.is_none_or(|(first, last)| last - first < 1 << 23);
    let format = match form {
        Form::Appended => return appended,
        Form::Inserted => {
            let mut set = IntegerSet::new();
            for &value in model.iter().rev() {
                assert!(set.insert(value).unwrap());
            }
            return set;
        }
        Form::Dense | Form::DenseFile if !is_near => return appended,
        Form::Dense => {
            let (first, last) = ends.unwrap_or((1 << 20, 1 << 20));
            let mut set = IntegerSet::dense(first, last);
            for &value in model {
                assert!(set.insert(value).unwrap());
            }
            return set;
        }
        Form::DenseFile => SetFormat::DenseBits,
        Form::RoaringFile => SetFormat::RoaringBits,
        Form::SmallerFile => SetFormat::Bits,
        Form::PortableFile => SetFormat::Roaring,
    };
    let path = folder().join("set");
    let written = appended.write_as(&path, format).unwrap();
    assert_eq!(written.cardinality, model.len() as u64);
    let file = SetFile::open(&path).unwrap();
    file.verify().unwrap();
    assert_eq!(file.file_bytes(), written.bytes);
    file.into()
}

fn values(set: &IntegerSet) -> BTreeSet<u64> {
    let values: Vec<u64> = set.iter().map(Result::unwrap).collect();
    assert!(values.is_sorted_by(|a, b| a < b));
    values.into_iter().collect()
}

/// Every query around `probe`.
fn ask(set: &IntegerSet, model: &BTreeSet<u64>, probe: u64) {
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
    assert_eq!(set.range_cardinality(probe, last).unwrap(), within);
    let from = set.iter_from(probe).map(Result::unwrap).take(3);
    assert!(from.eq(model.range(probe..).copied().take(3)));
    let neighbours = [probe, probe ^ 1, probe.wrapping_add(1 << 16), 0, u64::MAX, probe];
    let found = set.contains_many(&neighbours).unwrap();
    assert!(found.into_iter().eq(neighbours.iter().map(|value| model.contains(value))));
}

fuzz_target!(|case: Case| {
    let width = if case.wide { 64 } else { 32 };
    let (a, b) = (values_of(&case.a.1, width), values_of(&case.b.1, width));
    let (x, y) = (made(case.a.0, &a), made(case.b.0, &b));
    for (set, model) in [(&x, &a), (&y, &b)] {
        assert_eq!(values(set), *model);
        assert_eq!(set.cardinality().unwrap(), model.len() as u64);
        assert_eq!(set.is_empty().unwrap(), model.is_empty());
        let ends = (set.min().unwrap(), set.max().unwrap());
        assert_eq!(ends, (model.first().copied(), model.last().copied()));
        for probe in case.probes.into_iter().chain(a.iter().copied().step_by(1 + a.len() / 3)) {
            ask(set, model, probe);
        }
        assert!(set.to_roaring().unwrap() == *set);
    }

    let both: BTreeSet<u64> = &a & &b;
    let either: BTreeSet<u64> = &a | &b;
    let first: BTreeSet<u64> = &a - &b;
    let one: BTreeSet<u64> = &a ^ &b;
    assert_eq!(values(&x.intersection(&y).unwrap()), both);
    assert_eq!(values(&x.union(&y).unwrap()), either);
    assert_eq!(values(&x.difference(&y).unwrap()), first);
    assert_eq!(values(&x.symmetric_difference(&y).unwrap()), one);
    assert_eq!(x.intersection_len(&y).unwrap(), both.len() as u64);
    assert_eq!(x.union_len(&y).unwrap(), either.len() as u64);
    assert_eq!(x.difference_len(&y).unwrap(), first.len() as u64);
    assert_eq!(x.symmetric_difference_len(&y).unwrap(), one.len() as u64);
    assert_eq!(x.is_subset(&y).unwrap(), a.is_subset(&b));
    assert_eq!(x.is_disjoint(&y).unwrap(), a.is_disjoint(&b));
    assert_eq!(x == y, a == b);
    let jaccard = if either.is_empty() { 1.0 } else { both.len() as f64 / either.len() as f64 };
    assert!((x.jaccard(&y).unwrap() - jaccard).abs() < 1e-12);

    let sets = [&x, &y, &x];
    assert_eq!(values(&IntegerSet::at_least(2, &sets).unwrap()), a);
    assert_eq!(values(&IntegerSet::intersection_of(&sets).unwrap()), both);
    assert_eq!(values(&IntegerSet::union_of(&sets).unwrap()), either);
    let span = case.probes[3] % if case.probes[3].is_multiple_of(8) { 70_000 } else { 500 };
    let (low, high) = (case.probes[0], case.probes[0].saturating_add(span));
    let outside: BTreeSet<u64> = (low..=high).filter(|value| !a.contains(value)).collect();
    assert_eq!(values(&x.complement(low, high).unwrap()), outside);
    let offset = i128::from(case.probes[1]) - i128::from(case.probes[2]);
    let moved = a.iter().filter_map(|&value| u64::try_from(i128::from(value) + offset).ok());
    assert_eq!(values(&x.add_offset(offset).unwrap()), moved.collect());

    let mut changed = x.to_roaring().unwrap();
    let mut model = a;
    for &probe in &case.probes {
        assert_eq!(changed.insert(probe).unwrap(), model.insert(probe));
        let end = probe.saturating_add(500);
        changed.insert_range(probe, end).unwrap();
        model.extend(probe..=end);
        assert_eq!(changed.remove(probe).unwrap(), model.remove(&probe));
    }
    changed.optimize();
    assert_eq!(values(&changed), model);
});
