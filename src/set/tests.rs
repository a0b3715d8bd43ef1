use super::*;
use crate::io::page::fix_checksums;
use crate::kernel::in_usize;
use crate::number::Format;
use crate::progress::Progress;
use crate::set::container::Op;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::num::NonZero;
use std::sync::Arc;

fn values() -> impl Strategy<Value = BTreeSet<u64>> {
    let high = prop_oneof![6 => Just(0_u64), 1 => Just(1 << 32), 1 => Just(u64::MAX << 20)];
    let singles = prop::collection::vec((high.clone(), 0_u64..300_000), 0..80);
    let length = prop_oneof![4 => 0_u64..20_000, 1 => 60_000_u64..140_000]; // whole containers
    let runs = prop::collection::vec((high, 0_u64..200_000, length), 0..3);
    let near = (singles, runs).prop_map(|(singles, runs)| {
        let mut set: BTreeSet<u64> = singles.into_iter().map(|(high, low)| high | low).collect();
        for (high, start, length) in runs {
            set.extend((start..=start + length).map(|low| high | low));
        }
        set
    });
    prop_oneof![4 => near, 2 => far()]
}

/// Values all over the 64 bits: random, evenly spaced, in clusters, and the ends.
fn far() -> impl Strategy<Value = BTreeSet<u64>> {
    let random = prop::collection::btree_set(any::<u64>(), 0..200);
    let even = (1_u64..3000, any::<u64>()).prop_map(|(count, first)| {
        let step = (u64::MAX - first) / count;
        (0..=count).map(|index| first + index * step).collect()
    });
    let clusters = prop::collection::vec((any::<u64>(), 0_u64..500, 1_u64..9), 1..5);
    let clusters = clusters.prop_map(|clusters| {
        let values = clusters.into_iter().flat_map(|(first, count, step)| {
            (0..count).filter_map(move |index| first.checked_add(index * step))
        });
        values.collect()
    });
    let ends = prop::sample::subsequence(vec![0, 1, u64::MAX - 1, u64::MAX], 0..=4);
    (prop_oneof![random, even, clusters], ends)
        .prop_map(|(set, ends): (BTreeSet<u64>, _)| set.into_iter().chain(ends).collect())
}

/// Sets in memory whose containers took their forms in different ways.
fn in_memory(set: &BTreeSet<u64>) -> Vec<IntegerSet> {
    let appended: IntegerSet = set.iter().copied().collect();
    let mut inserted = IntegerSet::new();
    for &value in set.iter().rev() {
        assert!(inserted.insert(value) && !inserted.insert(value));
    }
    let mut removed = appended.clone();
    let singles: Vec<u64> = set.iter().copied().step_by(50).collect();
    for &value in &singles {
        assert!(removed.remove(value) && !removed.remove(value));
    }
    for &value in &singles {
        assert!(removed.insert(value));
    }
    // Bitmaps, whatever the values are.
    let even: IntegerSet = (0..u64::from(u32::MAX) / 4096).map(|n| 2 * n).collect();
    let full = &(&appended | &even) - &(&even - &appended);
    vec![appended, inserted, removed, full]
}

/// Files of the set in every format that can hold it.
fn files(set: &BTreeSet<u64>, folder: &std::path::Path, name: &str) -> Vec<SetFile> {
    let memory: IntegerSet = set.iter().copied().collect();
    let mut all = Vec::new();
    let ends = set.first().copied().zip(set.last().copied());
    let dense = ends.is_none_or(|(first, last)| last < 1 << 33 || last - first < 1 << 23);
    let formats = [
        SetFormat::RoaringBits,
        SetFormat::Roaring,
        SetFormat::Bits,
        SetFormat::SparseBits,
        SetFormat::RunBits,
        SetFormat::DenseBits,
    ];
    for (number, format) in formats.into_iter().enumerate() {
        if format == SetFormat::DenseBits && !dense {
            continue;
        }
        let path = folder.join(format!("{name}-{number}"));
        let written = memory.write_as(&path, format).unwrap();
        assert_eq!(written.cardinality, set.len() as u64);
        assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
        let file = SetFile::open(&path).unwrap();
        file.verify().unwrap();
        all.push(file);
    }
    for parts in [1, 4] {
        let path = folder.join(format!("{name}-parts-{parts}"));
        let written = write_folder(&memory, &path, NonZero::new(parts).unwrap()).unwrap();
        assert_eq!(written.cardinality, set.len() as u64);
        let file = SetFile::open(&path).unwrap();
        file.verify().unwrap();
        assert_eq!(file.file_bytes(), written.bytes);
        all.push(file);
    }
    all
}

/// The set in every representation.
fn representations(
    set: &BTreeSet<u64>,
    folder: &std::path::Path,
    name: &str,
) -> Vec<Box<dyn AsSet>> {
    let files = files(set, folder, name).into_iter().map(|file| Box::new(file) as Box<dyn AsSet>);
    files.chain(in_memory(set).into_iter().map(|set| Box::new(set) as Box<dyn AsSet>)).collect()
}

/// Some sets end within the first block of another one, which was taken for the end of all.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn many_sparse_sets_are_joined_as_the_model_says() {
    let mut random = fastrand::Rng::with_seed(4);
    let folder = tempfile::tempdir().unwrap();
    for round in 0..60 {
        let universe = 1 << random.u32(18..40);
        let common: Vec<u64> = (0..random.usize(..400)).map(|_| random.u64(..universe)).collect();
        let models: Vec<BTreeSet<u64>> = (0..random.usize(3..6))
            .map(|_| {
                let last = random.u64(1..=universe);
                let own = (0..random.usize(..3000)).map(|_| random.u64(..last)).collect::<Vec<_>>();
                common.iter().copied().filter(|&value| value < last).chain(own).collect()
            })
            .collect();
        let files: Vec<SetFile> = models
            .iter()
            .enumerate()
            .map(|(number, model)| {
                let path = folder.path().join(number.to_string());
                let set: IntegerSet = model.iter().copied().collect();
                set.write_as(&path, SetFormat::SparseBits).unwrap();
                SetFile::open(&path).unwrap()
            })
            .collect();
        let once: Vec<&dyn AsSet> = files.iter().map(|file| file as &dyn AsSet).collect();
        let first_twice = [&once[..], &once[..1]].concat();
        for sets in [&once, &first_twice] {
            let copies = |value: u64| models.iter().filter(|model| model.contains(&value)).count();
            let all: BTreeSet<u64> = models.iter().flatten().copied().collect();
            let of = |keep: &dyn Fn(u64) -> bool| -> BTreeSet<u64> {
                all.iter().copied().filter(|&value| keep(value)).collect()
            };
            let in_all = of(&|value| copies(value) == models.len());
            assert_eq!(found(&and(sets).to_set().unwrap()), in_all, "{round}");
            assert_eq!(and(sets).count().unwrap(), in_all.len() as u64, "{round}");
            assert_eq!(found(&or(sets).to_set().unwrap()), all, "{round}");
            let is_only_in_first = |value: u64| models[0].contains(&value) && copies(value) == 1;
            let only_first = of(&|value| sets.len() == models.len() && is_only_in_first(value));
            assert_eq!(found(&andnot(sets).to_set().unwrap()), only_first, "{round}");
        }
    }
}

/// So many questions that each piece of the set is turned into a bitmap, or all but some pieces.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn very_many_questions_are_answered_as_the_model_says() {
    let mut random = fastrand::Rng::with_seed(9);
    let folder = tempfile::tempdir().unwrap();
    for (base, bits) in [(0, 22), ((1 << 40) + 77_777, 23), (u64::MAX - (1 << 24) + 1, 24)] {
        let values = (0..30_000).map(|_| base + (random.u64(..) >> (64 - bits)));
        let run = base + (1 << 21)..base + (1 << 21) + 100_000;
        let set: BTreeSet<u64> = values.chain(run).collect();
        let sorted: Vec<u64> = set.iter().copied().collect();
        let asked: Vec<u64> = (0..40_000)
            .map(|number| match number % 8 {
                0 => random.u64(..),
                1..4 => base + (random.u64(..) >> (64 - bits)),
                // More than others from the front: some pieces are asked for less than half.
                4 => sorted[random.usize(..sorted.len())].wrapping_add(1),
                _ => sorted[random.usize(..sorted.len() / 3)],
            })
            .collect();
        let expected: Vec<bool> = asked.iter().map(|value| set.contains(value)).collect();
        for x in representations(&set, folder.path(), "x") {
            for count in [asked.len(), 5000] {
                let mut is_in = vec![false; count];
                x.as_set().view().contains_many(&asked[..count], &mut is_in).unwrap();
                assert!(is_in == expected[..count], "{bits} bits, {count} values");
            }
        }
    }
}

/// Containers of one value, of which most are not asked for.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn few_questions_to_many_containers_are_answered_as_the_model_says() {
    let mut random = fastrand::Rng::with_seed(3);
    let folder = tempfile::tempdir().unwrap();
    for base in [0, (1 << 40) + 12_345, u64::MAX - (12_000 << 16)] {
        let value = |number: u64| base + (number << 16) + number * 7 % 50;
        let set: BTreeSet<u64> = (0..12_000).filter(|number| number % 5 != 3).map(value).collect();
        for count in [100, 1000, 10_000] {
            let asked: Vec<u64> = (0..count)
                .map(|_| value(random.u64(..12_000)) + u64::from(random.u8(..) < 50))
                .collect();
            let expected: Vec<bool> = asked.iter().map(|value| set.contains(value)).collect();
            for x in representations(&set, folder.path(), "x") {
                let mut is_in = vec![false; asked.len()];
                x.as_set().view().contains_many(&asked, &mut is_in).unwrap();
                assert!(is_in == expected, "{count} values from {base} on");
            }
        }
    }
}

fn found(set: &IntegerSet) -> BTreeSet<u64> {
    set.iter().collect()
}

fn jaccard(and: &BTreeSet<u64>, or: &BTreeSet<u64>) -> f64 {
    let len = |set: &BTreeSet<u64>| f64::from(u32::try_from(set.len()).unwrap());
    if or.is_empty() { 1.0 } else { len(and) / len(or) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn operations_on_every_pair_of_representations_agree_with_the_model(a in values(), b in values()) {
        let folder = tempfile::tempdir().unwrap();
        let (lefts, rights) = (
            representations(&a, folder.path(), "a"),
            representations(&b, folder.path(), "b"),
        );
        let (ands, ors, xors, nots) = (&a & &b, &a | &b, &a ^ &b, &a - &b);
        for x in &lefts {
            for y in &rights {
                let pair: [&dyn AsSet; 2] = [x, y];
                prop_assert_eq!(&found(&and(&pair).to_set().unwrap()), &ands);
                prop_assert_eq!(&found(&or(&pair).to_set().unwrap()), &ors);
                prop_assert_eq!(&found(&xor(&pair).to_set().unwrap()), &xors);
                prop_assert_eq!(&found(&andnot(&pair).to_set().unwrap()), &nots);
                prop_assert_eq!(and(&pair).count().unwrap(), ands.len() as u64);
                prop_assert_eq!(or(&pair).count().unwrap(), ors.len() as u64);
                prop_assert_eq!(xor(&pair).count().unwrap(), xors.len() as u64);
                prop_assert_eq!(andnot(&pair).count().unwrap(), nots.len() as u64);
            }
        }
        for x in files(&a, folder.path(), "c") {
            for y in &rights {
                prop_assert_eq!(x.intersection_len(y).unwrap(), ands.len() as u64);
                prop_assert_eq!(x.union_len(y).unwrap(), ors.len() as u64);
                prop_assert_eq!(x.symmetric_difference_len(y).unwrap(), xors.len() as u64);
                prop_assert_eq!(x.difference_len(y).unwrap(), nots.len() as u64);
                prop_assert_eq!(x.is_subset(y).unwrap(), a.is_subset(&b));
                prop_assert_eq!(x.is_superset(y).unwrap(), a.is_superset(&b));
                prop_assert_eq!(x.is_disjoint(y).unwrap(), a.is_disjoint(&b));
                prop_assert!((x.jaccard(y).unwrap() - jaccard(&ands, &ors)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn operators_on_sets_in_memory_agree_with_the_model(a in values(), b in values()) {
        let (ands, ors, xors, nots) = (&a & &b, &a | &b, &a ^ &b, &a - &b);
        for x in &in_memory(&a) {
            for y in &in_memory(&b) {
                let changed = |change: fn(&mut IntegerSet, &IntegerSet)| {
                    let mut set = x.clone();
                    change(&mut set, y);
                    found(&set)
                };
                prop_assert_eq!(&changed(|x, y| *x &= y), &ands);
                prop_assert_eq!(&changed(|x, y| *x &= y.clone()), &ands);
                prop_assert_eq!(&changed(|x, y| *x |= y), &ors);
                prop_assert_eq!(&changed(|x, y| *x |= y.clone()), &ors);
                prop_assert_eq!(&changed(|x, y| *x ^= y), &xors);
                prop_assert_eq!(&changed(|x, y| *x ^= y.clone()), &xors);
                prop_assert_eq!(&changed(|x, y| *x -= y), &nots);
                prop_assert_eq!(&changed(|x, y| *x -= y.clone()), &nots);
                prop_assert_eq!(&found(&(x & y)), &ands);
                prop_assert_eq!(&found(&(x | y)), &ors);
                prop_assert_eq!(&found(&(x ^ y)), &xors);
                prop_assert_eq!(&found(&(x - y)), &nots);
                prop_assert_eq!(x.intersection_len(y), ands.len() as u64);
                prop_assert_eq!(x.union_len(y), ors.len() as u64);
                prop_assert_eq!(x.symmetric_difference_len(y), xors.len() as u64);
                prop_assert_eq!(x.difference_len(y), nots.len() as u64);
                prop_assert_eq!(x.is_subset(y), a.is_subset(&b));
                prop_assert_eq!(x.is_superset(y), a.is_superset(&b));
                prop_assert_eq!(x.is_disjoint(y), a.is_disjoint(&b));
                prop_assert_eq!(x == y, a == b);
                prop_assert!((x.jaccard(y) - jaccard(&ands, &ors)).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn queries_of_every_representation_agree_with_the_model(
        set in values(),
        probes in prop::collection::vec(any::<u64>(), 10),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let sorted: Vec<u64> = set.iter().copied().collect();
        for x in representations(&set, folder.path(), "x") {
            let x = x.as_set().view();
            prop_assert_eq!(x.len().unwrap(), set.len() as u64);
            prop_assert_eq!(x.is_empty().unwrap(), set.is_empty());
            prop_assert_eq!((x.min().unwrap(), x.max().unwrap()), (set.first().copied(), set.last().copied()));
            prop_assert!(x.iter().rev().map(Result::unwrap).eq(set.iter().rev().copied()));
            for &probe in probes.iter().chain(&[0, 65_535, 65_536, (1 << 32) - 1, 1 << 32, u64::MAX]).chain(sorted.iter().take(9)) {
                prop_assert_eq!(x.contains(probe).unwrap(), set.contains(&probe));
                prop_assert_eq!(x.rank(probe).unwrap(), set.range(..=probe).count() as u64);
                prop_assert_eq!(x.next(probe).unwrap(), set.range(probe..).next().copied());
                prop_assert_eq!(x.previous(probe).unwrap(), set.range(..=probe).next_back().copied());
                let index = probe % (set.len() as u64 + 1);
                prop_assert_eq!(x.select(index).unwrap(), sorted.get(usize::try_from(index).unwrap()).copied());
                let last = probe.saturating_add(70_000);
                prop_assert_eq!(x.range_len(probe..=last).unwrap(), set.range(probe..=last).count() as u64);
                prop_assert!(x.range(probe..).map(Result::unwrap).eq(set.range(probe..).copied()));
                prop_assert!(x.range(probe..=last).rev().map(Result::unwrap).eq(set.range(probe..=last).rev().copied()));
                prop_assert!(x.range(..probe).rev().take(9).map(Result::unwrap).eq(set.range(..probe).rev().take(9).copied()));
            }
            let mut is_in = vec![false; sorted.len()];
            x.contains_many(&sorted, &mut is_in).unwrap();
            prop_assert_eq!(is_in, vec![true; sorted.len()]);
            let holes: BTreeSet<u64> = (1000..100_000).filter(|value| !set.contains(value)).collect();
            let memory = x.to_set().unwrap();
            prop_assert_eq!(found(&memory.complement(1000..100_000)), holes);
            let moved: BTreeSet<u64> = set.iter().filter_map(|value| value.checked_add(77)).collect();
            prop_assert_eq!(found(&memory.add_offset(77)), moved);
        }
    }

    #[test]
    fn values_are_taken_from_both_ends_as_the_model_says(
        set in values(), backwards in prop::collection::vec(any::<bool>(), 200), end in 0_u64..400_000,
    ) {
        for x in in_memory(&set) {
            let (mut ours, mut owned) = (x.range(..end), x.clone().into_iter());
            let (mut model, mut all) = (set.range(..end).copied(), set.iter().copied());
            for (step, &back) in backwards.iter().enumerate() {
                let skip = match step % 20 {
                    0 => 30_000,
                    10 => 70_000,
                    _ => 0,
                };
                if step % 10 == 0 {
                    let (left, all_left) = (model.clone().count(), all.clone().count());
                    prop_assert_eq!(ours.size_hint(), (left, Some(left)));
                    prop_assert_eq!(owned.size_hint(), (all_left, Some(all_left)));
                    prop_assert_eq!(ours.clone().count(), left);
                    prop_assert_eq!(ours.clone().last(), model.clone().last());
                    prop_assert_eq!(ours.clone().min(), model.clone().min());
                }
                if back {
                    prop_assert_eq!(ours.nth_back(skip), model.nth_back(skip));
                    prop_assert_eq!(owned.nth_back(skip), all.nth_back(skip));
                } else {
                    prop_assert_eq!(ours.nth(skip), model.nth(skip));
                    prop_assert_eq!(owned.nth(skip), all.nth(skip));
                }
            }
            prop_assert!(ours.eq(model) && owned.eq(all));
        }
    }

    #[test]
    fn many_small_containers_are_decoded_together_at_both_ends(
        values in prop::collection::btree_set((0_u64..400, 0_u64..4), 1..600),
        (start, step) in prop_oneof![Just((0, 1)), Just((0, 900)), Just((u64::MAX >> 16, 1)), Just((1 << 40, 1 << 14))],
        (first, last) in (0_u64..400, 0_u64..400),
        backwards in prop::collection::vec(any::<bool>(), 900),
    ) {
        let key = |place: u64| if start == u64::MAX >> 16 { start - place } else { start + place * step };
        let set: BTreeSet<u64> =
            values.iter().map(|&(place, low)| key(place) << 16 | (low << 14 | place)).collect();
        let (first, last) = (key(first) << 16 | 0x2000, key(last) << 16 | 0x9000);
        let (first, last) = (first.min(last), first.max(last));
        let ours: IntegerSet = set.iter().copied().collect();
        for (first, last) in [(0, u64::MAX), (first, last)] {
            let (mut ours, mut model) = (ours.range(first..=last), set.range(first..=last).copied());
            for &back in &backwards {
                let found = if back { (ours.next_back(), model.next_back()) } else { (ours.next(), model.next()) };
                prop_assert_eq!(found.0, found.1);
                prop_assert_eq!(ours.size_hint().0, model.clone().count());
            }
            prop_assert!(ours.rev().eq(model.rev()));
        }
        prop_assert!(ours.iter().rev().eq(set.iter().rev().copied()));
    }

    #[test]
    fn changes_agree_with_the_model(
        start in values(),
        changes in prop::collection::vec((0..4, 0_u64..300_000, 0_u64..140_000, any::<bool>()), 0..30),
    ) {
        for mut set in in_memory(&start) {
            let mut model = start.clone();
            for &(change, value, more, high) in &changes {
                let value = value + if high { 1 << 32 } else { 0 };
                match change {
                    0 => prop_assert_eq!(set.insert(value), model.insert(value)),
                    1 => prop_assert_eq!(set.remove(value), model.remove(&value)),
                    2 => {
                        set.insert_range(value..value + more);
                        model.extend(value..value + more);
                    }
                    _ => {
                        set.remove_range(value..value + more);
                        model.retain(|kept| !(value..value + more).contains(kept));
                    }
                }
                prop_assert_eq!(set.len(), model.len() as u64);
                prop_assert_eq!(set.contains(value), model.contains(&value));
                prop_assert_eq!(set.rank(value), model.range(..=value).count() as u64);
            }
            prop_assert_eq!(&found(&set), &model);
            set.optimize();
            prop_assert_eq!(&found(&set), &model);
            let theirs: roaring::RoaringTreemap = model.iter().copied().collect();
            let bytes = set.to_roaring_bytes();
            prop_assert_eq!(&roaring::RoaringTreemap::deserialize_from(&bytes[..]).unwrap(), &theirs);
            prop_assert_eq!(found(&IntegerSet::from_roaring_bytes(&bytes).unwrap()), model);
        }
    }

    #[test]
    fn sets_are_cut_and_put_together_as_the_model_says(start in values(), cut: u64, step in 1_u64..5) {
        // One of the values, or any number.
        let cuts = [Some(cut), start.iter().nth(start.len() / 2).copied(), Some(0), Some(u64::MAX)];
        for set in in_memory(&start) {
            for cut in cuts.into_iter().flatten() {
                let (mut below, mut model) = (set.clone(), start.clone());
                let (mut behind, mut moved) = (below.split_off(cut), model.split_off(&cut));
                prop_assert_eq!((found(&below), found(&behind)), (model.clone(), moved.clone()));
                prop_assert_eq!((below.pop_first(), behind.pop_last()), (model.pop_first(), moved.pop_last()));
                behind.append(&mut below);
                moved.append(&mut model);
                prop_assert_eq!((found(&behind), below.len()), (moved.clone(), 0));
                behind.retain(|value| value % step == 0);
                moved.retain(|value| value % step == 0);
                prop_assert_eq!(found(&behind), moved.clone());
                below.append(&mut behind);
                prop_assert_eq!((found(&below), behind.pop_first()), (moved, None));
            }
        }
    }

    #[test]
    fn many_sets_are_joined_as_the_model_says(sets in prop::collection::vec(values(), 1..5), least in 1_usize..5) {
        let integer_sets: Vec<IntegerSet> =
            sets.iter().map(|set| set.iter().copied().collect()).collect();
        let refs: Vec<&dyn AsSet> = integer_sets.iter().map(|set| set as &dyn AsSet).collect();
        let every: BTreeSet<u64> = sets.iter().flatten().copied().collect();
        let count = |value: &u64| sets.iter().filter(|set| set.contains(value)).count();
        let expected: BTreeSet<u64> = every.iter().copied().filter(|v| count(v) >= least).collect();
        prop_assert_eq!(found(&at_least(least, &refs).to_set().unwrap()), expected);
        let all: BTreeSet<u64> = every.iter().copied().filter(|v| count(v) == sets.len()).collect();
        prop_assert_eq!(found(&and(&refs).to_set().unwrap()), all);
        prop_assert_eq!(found(&or(&refs).to_set().unwrap()), every);
    }

    #[test]
    fn sets_are_read_by_the_roaring_crate_and_the_other_way_round(set in values()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.roaring");
        let memory: IntegerSet = set.iter().copied().collect();
        memory.write_as(&path, SetFormat::Roaring).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        if set.last().is_none_or(|&last| last <= u32::MAX.into()) {
            let theirs = roaring::RoaringBitmap::deserialize_from(&bytes[..]).unwrap();
            prop_assert!(theirs.iter().map(u64::from).eq(set.iter().copied()));
        } else {
            let theirs = roaring::RoaringTreemap::deserialize_from(&bytes[..]).unwrap();
            prop_assert!(theirs.iter().eq(set.iter().copied()));
        }
        let text = folder.path().join("x.txt");
        memory.write_as(&text, SetFormat::Values(Format::Text)).unwrap();
        let expected: Vec<String> = set.iter().map(|value| format!("{value}\n")).collect();
        prop_assert_eq!(std::fs::read_to_string(&text).unwrap(), expected.concat());
    }
}

#[test]
fn values_in_any_order_make_the_same_set() {
    let model: BTreeSet<u64> =
        (0..200_000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let dense = (0..3_000_000_u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44);
    let falling = model.iter().rev().copied();
    for mut values in
        [model.iter().copied().collect::<Vec<_>>(), falling.collect(), dense.collect()]
    {
        let expected: BTreeSet<u64> = values.iter().copied().collect();
        let cut = values.len() / 3;
        values.rotate_left(cut);
        let set: IntegerSet = values.iter().collect();
        assert!(set.iter().eq(expected.iter().copied()));
        let mut set: IntegerSet = values[..cut].iter().collect();
        set.extend(values[cut..].iter().rev());
        assert!(set.into_iter().rev().eq(expected.iter().rev().copied()));
    }
}

#[test]
fn a_set_splits_between_any_two_values() {
    let values = [0, 5, 0xFFFF, 0x1_0000, 0x1_0005, 1 << 40, u64::MAX];
    for first in values.into_iter().flat_map(|value| [value, value.wrapping_add(1)]) {
        let mut set = IntegerSet::from(values);
        let moved = set.split_off(first);
        assert!(set.iter().eq(values.into_iter().filter(|&value| value < first)));
        assert!(moved.iter().eq(values.into_iter().filter(|&value| value >= first)));
        assert_eq!(&set | moved, IntegerSet::from(values));
    }
}

#[test]
fn all_numbers_are_refused_however_they_come_together() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("a.bits"), folder.path().join("out.bits"));
    let most: Expression = "0..18446744073709551614".parse().unwrap();
    most.eval(|_| None::<&IntegerSet>).unwrap().write(&path).unwrap();
    let (file, last) = (SetFile::open(&path).unwrap(), IntegerSet::from([u64::MAX]));
    assert!(or(&[&file, &last]).write(&out).is_err() && !out.exists());
    assert!(SetFile::update(&path).add(&last).run().is_err());
    assert_eq!(SetFile::open(&path).unwrap().len(), u64::MAX);
}

#[test]
fn flipped_bits_of_a_file_are_found_and_no_cut_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let sets: [Vec<u64>; 4] = [
        (0..70_000).step_by(3).collect(),
        vec![1, 2, 3, 70_000],
        vec![5, 1 << 40, 1 << 50],
        (0..300).map(|index| (index << 33) | (index * index)).chain([1 << 50]).collect(),
    ];
    for set in sets {
        let memory: IntegerSet = set.iter().copied().collect();
        let formats = ["roaring-bits", "sparse", "runs", "dense"].map(|name| name.parse().unwrap());
        for format in formats {
            let is_far = set.contains(&(1 << 50));
            if format == SetFormat::DenseBits && is_far
                || format == SetFormat::SparseBits && !is_far
            {
                continue;
            }
            memory.write_as(&path, format).unwrap();
            let whole = std::fs::read(&path).unwrap();
            let step = (whole.len() / 700).max(1);
            for place in (0..whole.len()).filter(|place| *place < 200 || place % step == 0) {
                let mut bytes = whole.clone();
                bytes[place] ^= 1 << (place % 8);
                std::fs::write(&path, &bytes).unwrap();
                let opened = SetFile::open(&path);
                let verified = opened.and_then(|file| {
                    let view = file.view();
                    let _ = (view.contains(3), view.rank(1 << 45), view.select(2), view.max());
                    let _ = view.iter().take(100_000).count();
                    file.verify()
                });
                assert!(verified.is_err(), "byte {place} of {}", whole.len());
            }
            let is_taken =
                |cut: &usize| cut.is_multiple_of(step) || *cut < 200 || (4000..4300).contains(cut);
            for length in (0..whole.len()).filter(is_taken) {
                std::fs::write(&path, &whole[..length]).unwrap();
                assert!(SetFile::open(&path).is_err(), "cut at {length}");
            }
        }
    }
}

#[test]
fn values_in_disorder_are_neither_copied_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("x.roaring"), folder.path().join("out.bits"));
    // One container of two values: an array that falls, and runs that overlap.
    let array = [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 40, 0, 35, 0];
    let runs = [59, 48, 0, 0, 1, 0, 0, 1, 0, 2, 0, 7, 0, 3, 0, 7, 0, 3, 0];
    for bytes in [&array[..], &runs] {
        std::fs::write(&path, bytes).unwrap();
        let set = SetFile::open(&path).unwrap();
        let other = IntegerSet::from_iter([1 << 20]);
        assert!(set.to_set().is_err(), "{bytes:?}");
        // Joins may make sense of runs that overlap.
        if let Ok(either) = or(&[&set, &other]).to_set() {
            assert_eq!(found(&either), [7, 8, 9, 10, 1 << 20].into());
        }
        for format in [
            SetFormat::Bits,
            SetFormat::RoaringBits,
            SetFormat::SparseBits,
            SetFormat::RunBits,
            SetFormat::DenseBits,
            SetFormat::Roaring,
            SetFormat::Values(Format::Text),
        ] {
            assert!(or(&[&set]).write_as(&out, format).is_err() && !out.exists(), "{format:?}");
        }
        assert!(set.iter().any(|value| value.is_err()), "{bytes:?}");
    }
}

#[test]
fn a_header_that_lies_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let sets = [vec![], vec![1, 2, 3, 70_000], vec![5, 1 << 40, 1 << 50]];
    for set in sets {
        for format in [SetFormat::RoaringBits, SetFormat::RunBits, SetFormat::DenseBits] {
            if format == SetFormat::DenseBits && set.contains(&(1 << 50)) {
                continue;
            }
            set.iter().copied().collect::<IntegerSet>().write_as(&path, format).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let unknown = "the header says what this program does not know";
            let based = match format {
                SetFormat::DenseBits => "base, bits and size of the bitmap do not fit together",
                _ => "only a plain bitmap has a base and bits",
            };
            for (at, said) in [
                (16, based),
                (32, "the number of values is not that of the set"),
                (14, unknown),
                (128, unknown),
                (4087, unknown),
            ] {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1;
                fix_checksums(&mut bytes);
                std::fs::write(&path, &bytes).unwrap();
                let error = SetFile::open(&path).unwrap_err().to_string();
                assert!(error.ends_with(&format!("byte {at}: {said}")), "{error}");
            }
        }
    }
}

#[test]
fn containers_that_lie_of_their_sizes_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let set = IntegerSet::from_ranges([5..=20_000, 100_000..=120_000]);
    set.write_as(&path, SetFormat::RoaringBits).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    // A cookie, a flag for each container, and then the keys and the sizes, less 1.
    let [first, second] = [4096 + 7, 4096 + 11];
    let size = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let sizes = [size(first) - 9000, size(second) + 9000];
    for (at, size) in [first, second].into_iter().zip(sizes) {
        bytes[at..at + 2].copy_from_slice(&size.to_le_bytes());
    }
    fix_checksums(&mut bytes);
    std::fs::write(&path, &bytes).unwrap();
    let error = SetFile::open(&path).unwrap().verify().unwrap_err().to_string();
    assert!(error.ends_with("the number of values of a container is wrong"), "{error}");
}

#[test]
fn numbers_of_values_that_lie_are_no_answers() {
    let far = |n: u64| n * 100_000_000_000;
    let set = IntegerSet::from_ranges((1..=10).map(|n| far(n)..=far(n) + 99));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    set.write_as(&path, SetFormat::RunBits).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    // The number of values before the sixth run, which is 500.
    for before in [1_u64 << 40, 550, 0] {
        let mut bytes = bytes.clone();
        bytes[4096 + 24 * 5 + 16..][..8].copy_from_slice(&before.to_le_bytes());
        let set = SetFile::from_bytes(&bytes).unwrap();
        let answers = [set.select(499), set.select(500), set.select(520), set.select(599)];
        let wrong = answers.into_iter().zip([499, 500, 520, 599]).filter(|(answer, rank)| {
            let value = far(rank / 100 + 1) + rank % 100;
            answer.as_ref().is_ok_and(|&found| found != Some(value))
        });
        let near =
            (0..3).filter(|n| set.next(far(6) + n).is_ok_and(|found| found != Some(far(6) + n)));
        assert!(before == 550 || (wrong.count(), near.count()) == (0, 0), "{before}");
        assert!(set.select(520).is_err(), "{before}");
        let runs: Vec<_> = set.view().runs().collect();
        assert!(runs.iter().rev().skip(1).all(Result::is_ok), "an iterator ends with an error");
        assert!(set.max().is_err() || set.max().unwrap() == Some(far(10) + 99));
    }
    let dense: IntegerSet = (0..400_000).step_by(3).collect();
    dense.write_as(&path, SetFormat::DenseBits).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let ranks = in_usize(u64::from_le_bytes(bytes[88..96].try_into().unwrap()));
    bytes[ranks + 8 * 3 + 1] ^= 2; // 512 more values before the fourth piece
    let set = SetFile::from_bytes(&bytes).unwrap();
    for value in [260_886, 262_000] {
        assert!(set.previous(value).is_err() || set.previous(value).unwrap() <= Some(value));
    }
}

#[test]
fn counts_are_not_made_up_of_what_contradicts_itself() {
    let folder = tempfile::tempdir().unwrap();
    let [bad, good] = ["bad.roaring", "good.bits"].map(|name| folder.path().join(name));
    // An array that has a value thrice, beside a plain bitmap of that value.
    let array = [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 16, 0, 0, 0, 7, 0, 7, 0, 7, 0];
    std::fs::write(&bad, array).unwrap();
    IntegerSet::from([7]).write_as(&good, SetFormat::DenseBits).unwrap();
    let [bad, good] = [bad, good].map(|path| SetFile::open(path).unwrap());
    for joined in [andnot(&[&good, &bad]), xor(&[&good, &bad])] {
        let found = joined.count().unwrap_err().to_string();
        assert!(found.contains("bad.roaring: byte 16: the values of an array"), "{found}");
    }
}

#[test]
fn values_leave_by_any_offset() {
    let set = IntegerSet::from([0, 5, u64::MAX]);
    for offset in [i128::MAX, i128::MIN, 1 << 64, -(1 << 64)] {
        assert!(set.add_offset(offset).is_empty(), "{offset}");
    }
    assert_eq!(set.add_offset(-5).iter().collect::<BTreeSet<u64>>(), [0, u64::MAX - 5].into());
    // Long and short runs, across containers and both ends of all values.
    let ranges =
        [(0, 9), (12, 12), (60_000, 200_000), (200_002, 200_300), (u64::MAX - 400, u64::MAX)];
    let set = IntegerSet::from_ranges(ranges.map(|(first, last)| first..=last));
    for offset in [0_i128, 1, -1, 7, -5, 65_536, -65_536, -60_100, 123_456, 1 << 64, -(1 << 63)] {
        let moved = set.iter().map(|value| i128::from(value) + offset);
        let model: BTreeSet<u64> = moved.filter_map(|value| u64::try_from(value).ok()).collect();
        assert_eq!(set.add_offset(offset).iter().collect::<BTreeSet<u64>>(), model, "{offset}");
    }
}

#[test]
fn full_containers_and_lone_values_are_read() {
    let lone = (1 << 20..1 << 21).step_by(7);
    let values: BTreeSet<u64> = (100..300_000).chain(lone).chain([u64::MAX]).collect();
    let mut set: IntegerSet = values.iter().copied().collect();
    for _ in 0..2 {
        assert!(set.iter().eq(values.iter().copied()));
        assert_eq!(set.iter().fold(0, |count, _| count + 1), values.len());
        assert!(set.range(65_536..).eq(values.range(65_536..).copied()));
        set = values.iter().rev().copied().collect(); // inserted one by one
        assert!(set == values.iter().copied().collect());
    }
    assert!(!set.optimize(), "nothing is left to be done");
}

#[test]
fn an_update_replaces_the_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    IntegerSet::from_iter([1, 2, 3]).write(&path).unwrap();
    let old = SetFile::open(&path).unwrap();
    let (removed, added) = (IntegerSet::from_iter([2]), IntegerSet::from_iter([9, 1 << 40]));
    SetFile::update(&path).remove(&removed).add(&added).temporary_folder(&folder).run().unwrap();
    let new = SetFile::open(&path).unwrap();
    let values = |file: &SetFile| file.view().iter().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(values(&old), [1, 2, 3]);
    assert_eq!(values(&new), [1, 3, 9, 1 << 40]);
}

#[test]
fn a_large_roaring_bitmap_is_written_as_it_comes_and_may_turn_out_wide() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let folder = folder.path().into();
    let spool = crate::set::file::Spool { memory_bytes: 1000, folder, ..Default::default() };
    for last in [None, Some(1 << 40)] {
        let set: BTreeSet<u64> = (0..400_000).step_by(3).chain(last).collect();
        let memory: IntegerSet = set.iter().copied().collect();
        let plan = plan::Plan::of(&memory);
        sink::write_file(&path, SetFormat::RoaringBits, &spool, false, |sink| {
            plan.run(sink, &Progress::default())
        })
        .unwrap();
        let written = SetFile::open(&path).unwrap();
        written.verify().unwrap();
        assert!(written.view().iter().map(Result::unwrap).eq(set));
    }
}

#[test]
fn all_values_choose_the_representation_and_not_the_first_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let far = |first: u64, count: u64| -> IntegerSet {
        (0..count).map(|index| first + (index << 30) + index * index % 7919).collect()
    };
    let run = |first: u64| {
        let mut run = IntegerSet::new();
        run.insert_range(first..first + 9_000_000);
        run
    };
    for (set, expected) in [
        (far(0, 100_000), Representation::Sparse),
        (&far(0, 70_000) | &run(1 << 50), Representation::Treemap),
        (&run(0) | &far(1 << 33, 70_000), Representation::Treemap),
        ((0..100_000).map(|index| 3 * index).collect(), Representation::Dense),
        (
            &(0..100_000).map(|index| 3 * index).collect() | &far(1 << 33, 70_000),
            Representation::Sparse,
        ),
    ] {
        let written = set.write(&path).unwrap();
        let file = SetFile::open(&path).unwrap();
        file.verify().unwrap();
        assert_eq!(file.representation(), expected, "{} bytes", written.bytes);
        assert_eq!((file.len(), written.bytes), (set.len(), file.file_bytes()));
        assert!(file.is_subset(&set).unwrap());
        for format in [SetFormat::RoaringBits, SetFormat::SparseBits] {
            let other = folder.path().join("other.bits");
            let bytes = set.write_as(&other, format).unwrap().bytes;
            let is_small =
                written.bytes * 5 < bytes * 4 || file.representation() != Representation::Sparse;
            assert!(written.bytes <= bytes || format == SetFormat::SparseBits);
            assert!(is_small || format == SetFormat::SparseBits, "{bytes}, not {}", written.bytes);
        }
    }
}

#[test]
fn an_iteration_over_a_file_that_was_cut_ends_with_an_error() {
    crate::guard_mapped_files().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ids: IntegerSet = (0..1_u64 << 20).filter(|id| id % 3 != 0).collect();
    for format in [SetFormat::DenseBits, SetFormat::RoaringBits, SetFormat::SparseBits] {
        for (read_before, from_end) in [(0, false), (0, true), (1, false), (1, true)] {
            let path = folder.path().join("ids.bits");
            ids.write_as(&path, format).unwrap();
            let file = SetFile::open(&path).unwrap();
            let mut values = file.iter();
            let mut next = || if from_end { values.next_back() } else { values.next() };
            for _ in 0..read_before {
                assert!(next().unwrap().is_ok());
            }
            std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(4096).unwrap();
            let error = std::iter::from_fn(&mut next).find(Result::is_err);
            assert!(error.is_some(), "{format:?} {read_before} {from_end}");
            assert!(next().is_none(), "nothing follows an error");
        }
    }
}

#[test]
fn pieces_of_a_damaged_set_end() {
    let ids: IntegerSet = (0..1_u64 << 22).step_by(3).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ids.bits");
    ids.write_as(&path, SetFormat::DenseBits).unwrap();
    let sound = std::fs::read(&path).unwrap();
    // Behind the header and the words lies the table of ranks.
    for at in (4096 + (1 << 22) / 8..sound.len()).step_by(7) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        if let Ok(damaged) = SetFile::from_bytes(&bytes) {
            for most_bytes in [1000, 20_000] {
                let _ = crate::set::pieces(&damaged, &[1 << 17], most_bytes, &Arc::default()); // it ends
            }
        }
    }
}

/// Runs that ascend and do not touch, of any width.
fn wide_runs() -> impl Strategy<Value = Vec<[u64; 2]>> {
    let bits = prop_oneof![0_u32..20, 20_u32..40, 40_u32..62];
    let near = prop_oneof![Just(0_u64), Just(0xFFFF), Just(0x1_0000), any::<u64>()];
    let run = (bits.clone(), near, bits, any::<u64>()).prop_map(|(gap, low, width, more)| {
        [(1 << gap) | low & ((1 << gap) - 1), (1 << width) - 1 + (more & 1)]
    });
    prop::collection::vec(run, 0..6).prop_map(|steps| {
        let mut runs: Vec<[u64; 2]> = Vec::new();
        for [gap, more] in steps {
            let first = runs.last().map_or(Some(gap - 1), |last| (last[1] + 1).checked_add(gap));
            let run = first.and_then(|first| Some([first, first.checked_add(more)?]));
            runs.extend(run.filter(|run| run[1] < u64::MAX));
        }
        runs
    })
}

/// The runs of the values that `has` takes: it is told which models have them.
fn runs_where(models: &[Vec<[u64; 2]>], has: impl Fn(&[bool]) -> bool) -> Vec<(u64, u64)> {
    let ends = models.iter().flatten().flat_map(|run| [run[0], run[1] + 1]);
    let ends: BTreeSet<u64> = ends.chain([0]).collect();
    let ends: Vec<u64> = ends.into_iter().collect();
    let mut found: Vec<(u64, u64)> = Vec::new();
    for (index, &first) in ends.iter().enumerate() {
        let last = ends.get(index + 1).map_or(u64::MAX, |next| next - 1);
        let is_in =
            |runs: &Vec<[u64; 2]>| runs.iter().any(|run| run[0] <= first && first <= run[1]);
        if !has(&models.iter().map(is_in).collect::<Vec<_>>()) {
            continue;
        }
        match found.last_mut() {
            Some(run) if run.1 + 1 == first => run.1 = last,
            _ => found.push((first, last)),
        }
    }
    found
}

fn len_of(runs: &[(u64, u64)]) -> u64 {
    runs.iter().map(|(first, last)| last - first + 1).sum()
}

/// A file of the runs, and the set in memory if it has few values.
fn forms_of(runs: &[[u64; 2]], path: &std::path::Path) -> Vec<Box<dyn AsSet>> {
    let spool = file::Spool::default();
    write_file(path, SetFormat::Bits, &spool, false, |sink| {
        sink.runs(&mut ranges::tests::Given::new(runs))
    })
    .unwrap();
    let file = SetFile::open(path).unwrap();
    file.verify().unwrap();
    let mut forms: Vec<Box<dyn AsSet>> = Vec::new();
    if file.len() < 1 << 26 {
        forms.push(Box::new(file.to_set().unwrap()));
    }
    forms.push(Box::new(file));
    forms
}

/// Every question around the ends of the runs, to a set of these runs.
fn check_runs(set: &SetFile, runs: &[(u64, u64)]) {
    let found: Vec<(u64, u64)> = set.view().runs().map(Result::unwrap).collect();
    assert_eq!(found, runs);
    assert_eq!(set.len(), len_of(runs));
    let mut before = 0;
    for &(first, last) in runs {
        let (next, end) = (set.next(last.saturating_add(1)).unwrap(), before + (last - first));
        assert!(next.is_none_or(|next| next > last + 1));
        assert_eq!(set.previous(last.saturating_add(1)).unwrap(), Some(last));
        assert_eq!([set.rank(first).unwrap(), set.rank(last).unwrap()], [before + 1, end + 1]);
        assert_eq!(set.select(before).unwrap(), Some(first));
        assert_eq!(set.select(end).unwrap(), Some(last));
        let asked = [first, last, first.wrapping_sub(1), last.wrapping_add(1)];
        assert_eq!(set.contains_many(&asked).unwrap(), [true, true, false, false]);
        let values: Vec<u64> = set.range(first..).take(3).map(Result::unwrap).collect();
        assert_eq!(values[..1], [first]);
        let values: Vec<u64> = set.range(..=last).rev().take(3).map(Result::unwrap).collect();
        assert_eq!(values[0], last);
        before = end + 1;
    }
    assert_eq!(set.select(before).unwrap(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 24 }))]

    /// Their containers are never all made.
    #[test]
    fn sets_of_runs_of_any_width_are_joined_as_the_model_says(
        models in prop::collection::vec(wide_runs(), 1..5),
        least in 1_usize..4,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let forms: Vec<_> = models.iter().map(|runs| forms_of(runs, &path("operand"))).collect();
        for form in 0..2 {
            let sets: Vec<&dyn AsSet> =
                forms.iter().map(|forms| &*forms[form.min(forms.len() - 1)]).collect();
            let gather = || plan::Plan::at_least(least, plan::Plan::all(sets.iter().copied()));
            let count = |has: &[bool]| has.iter().filter(|&&has| has).count();
            let all = sets.len();
            let cases = [
                (Some(Op::And), runs_where(&models, |has| count(has) == all)),
                (Some(Op::Or), runs_where(&models, |has| count(has) > 0)),
                (Some(Op::Xor), runs_where(&models, |has| count(has) % 2 == 1)),
                (Some(Op::AndNot), runs_where(&models, |has| has[0] && count(has) == 1)),
                (None, runs_where(&models, |has| count(has) >= least)),
            ];
            for (op, expected) in cases {
                let plan = || op.map_or_else(gather, |op| plan_of(&sets, op));
                Joined::of(plan()).write(path("result")).unwrap();
                let result = SetFile::open(path("result")).unwrap();
                result.verify().unwrap();
                check_runs(&result, &expected);
                let count = plan().count(&Progress::default()).unwrap();
                prop_assert_eq!(count, len_of(&expected), "{:?}", op);
                if count < 1 << 26 {
                    let memory = Joined::of(plan()).to_set().unwrap();
                    let runs: Result<Vec<_>, _> = memory.view().runs().collect();
                    prop_assert_eq!(runs.unwrap(), expected, "{:?}", op);
                }
            }
            if let [a, b, ..] = sets[..] {
                let pair = &models[..2];
                let [only_a, both] = [
                    runs_where(pair, |has| has[0] && !has[1]),
                    runs_where(pair, |has| has[0] && has[1]),
                ];
                let plans = || (plan::Plan::of(a), plan::Plan::of(b));
                let (x, y) = plans();
                prop_assert_eq!(plan::Plan::is_subset(x, y).unwrap(), only_a.is_empty());
                let (x, y) = plans();
                prop_assert_eq!(plan::Plan::is_disjoint(x, y).unwrap(), both.is_empty());
            }
        }
    }
}

fn plan_of<'a>(sets: &[&'a dyn AsSet], op: Op) -> plan::Plan<'a> {
    plan::Plan::join(op, plan::Plan::all(sets.iter().copied()))
}

/// Values whose containers have few of them: many neighbouring keys, and some that are far apart.
fn few_a_container() -> impl Strategy<Value = BTreeSet<u64>> {
    let key = prop_oneof![
        20 => 0_u64..2500,
        1 => (1_u64 << 16) - 3..(1 << 16) + 3,
        1 => (1_u64 << 40)..(1 << 40) + 900,
        1 => (u64::MAX >> 16) - 3..=u64::MAX >> 16,
    ];
    let low = prop_oneof![4 => 0_u64..3, 1 => 0_u64..1 << 16, 1 => Just(0xFFFF)];
    let lone = (key, low).prop_map(|(key, low)| key << 16 | low);
    let many = (0_u64..2500).prop_map(|key| key << 16);
    (prop::collection::btree_set(lone, 0..3000), prop::option::of(many)).prop_map(
        |(mut values, many)| {
            values.extend(many.into_iter().flat_map(|first| first..first + 40));
            values
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    #[test]
    fn iterators_over_few_values_a_container_agree_with_the_model(
        model in few_a_container(),
        ends in prop::option::of((0_u64..2500 << 16, 0_u64..2500 << 16)),
        steps in prop::collection::vec((any::<bool>(), 0_usize..700), 0..12),
    ) {
        let set: IntegerSet = model.iter().copied().collect();
        let (first, last) = ends.map_or((0, u64::MAX), |(a, b)| (a.min(b), a.max(b)));
        let (mut values, mut expected) = (set.range(first..=last), model.range(first..=last));
        for (from_end, count) in steps {
            for _ in 0..count {
                let (found, wanted) = if from_end {
                    (values.next_back(), expected.next_back())
                } else {
                    (values.next(), expected.next())
                };
                prop_assert_eq!(found, wanted.copied());
            }
            let left = expected.clone().count();
            prop_assert_eq!(values.size_hint(), (left, Some(left)));
            prop_assert_eq!(values.clone().fold(0, u64::wrapping_add),
                expected.clone().fold(0_u64, |sum, value| sum.wrapping_add(*value)));
        }
        prop_assert!(values.eq(expected.copied()));
    }

    #[test]
    fn sets_of_few_values_a_container_are_joined_as_the_model_says(
        a in few_a_container(),
        b in few_a_container(),
        step in prop_oneof![Just(1_usize), 2_usize..400],
    ) {
        let model = |b: &BTreeSet<u64>| {
            let [x, y]: [IntegerSet; 2] = [&a, b].map(|values| values.iter().copied().collect());
            let common: Vec<u64> = a.intersection(b).copied().collect();
            prop_assert!((&x & &y).iter().eq(common.iter().copied()));
            prop_assert!((&y & &x).iter().eq(common.iter().copied()));
            prop_assert_eq!(x.intersection_len(&y), common.len() as u64);
            prop_assert_eq!(y.intersection_len(&x), common.len() as u64);
            prop_assert!((&x | &y).iter().eq(a.union(b).copied()));
            prop_assert!((&x - &y).iter().eq(a.difference(b).copied()));
            prop_assert!((&x ^ &y).iter().eq(a.symmetric_difference(b).copied()));
            prop_assert_eq!(x.is_disjoint(&y), common.is_empty());
            prop_assert_eq!((x.is_subset(&y), y.is_subset(&x)), (a.is_subset(b), b.is_subset(&a)));
            Ok(())
        };
        model(&b)?;
        model(&b.iter().copied().step_by(step).collect())?;
        model(&a.iter().copied().step_by(step).collect())?;
        model(&a.iter().filter_map(|value| value.checked_add(1 << 16)).collect())?;
        model(&a.iter().map(|value| value ^ 8).filter(|value| !a.contains(value)).collect())?;
    }
}

#[test]
fn debug_shows_few_of_the_values() {
    let folder = tempfile::tempdir().unwrap();
    let set: IntegerSet = (0..100_000).map(|value| value * 3).collect();
    for (number, format) in [SetFormat::RoaringBits, SetFormat::DenseBits, SetFormat::SparseBits]
        .into_iter()
        .enumerate()
    {
        let path = folder.path().join(number.to_string());
        set.write_as(&path, format).unwrap();
        let file = SetFile::open(&path).unwrap();
        let prober = Prober::new(file.view()).unwrap();
        for shown in [
            format!("{file:?}"),
            format!("{:?}", file.view()),
            format!("{:?}", file.view().iter()),
            format!("{:?}", file.view().runs()),
            format!("{:?}", file.as_set()),
            format!("{prober:?}"),
            format!("{set:?}"),
            format!("{:?}", set.iter()),
            format!("{:?}", set.clone().into_iter()),
            format!("{:?}", SetFile::update(&path).add(&set)),
        ] {
            assert!(shown.len() < 1000, "{}", &shown[..1000]);
        }
    }
}

/// The values of the result, from so many windows.
fn of_windows(plan: plan::Plan<'_>, count: u64) -> crate::Result<(usize, Vec<u64>)> {
    let progress = Progress::default();
    let (mut values, mut pool) = (Vec::new(), pieces::Pool::default());
    let mut walk = |mut steps: plan::Steps<'_, '_>| -> crate::Result<()> {
        while let Some((first, last)) = steps.next()? {
            let piece = steps.plan.piece(first, &mut pool)?;
            steps.check(true)?;
            for key in first..=last {
                piece.container().append_to(key, &mut Vec::new(), &mut values);
            }
            pool.give(piece);
        }
        Ok(())
    };
    let windows = match plan.cut(count) {
        pipeline::Cut::Whole(plan) => {
            walk(plan::Steps::new(plan, &progress))?;
            1
        }
        pipeline::Cut::Windows(windows) => {
            for index in 0..windows.len() {
                walk(windows.get(index, &progress)?)?;
            }
            windows.len()
        }
    };
    Ok((windows, values))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 60 }))]

    #[test]
    fn windows_have_each_value_of_the_result_once(
        a in values(), b in values(), count in 1_u64..40,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let (files_a, files_b) = (files(&a, folder.path(), "a"), files(&b, folder.path(), "b"));
        for (index, a_file) in files_a.iter().enumerate() {
            let b_file = &files_b[index % files_b.len()];
            for (op, expected) in [
                (Op::And, &a & &b),
                (Op::Or, &a | &b),
                (Op::Xor, &a ^ &b),
                (Op::AndNot, &a - &b),
            ] {
                let (_, found) = of_windows(plan_of(&[a_file, b_file], op), count).unwrap();
                prop_assert!(found.iter().eq(&expected), "{} {op:?}", a_file.representation().name());
            }
            let whole: BTreeSet<u64> = a.iter().copied().filter(|value| (70_000..=250_000).contains(value)).collect();
            let range = plan::Plan::range(70_000, 250_000);
            let cut = plan::Plan::join(Op::And, vec![range, plan::Plan::of(a_file)]);
            let (_, found) = of_windows(cut, count).unwrap();
            prop_assert!(found.iter().eq(&whole));
        }
    }

    #[test]
    fn windows_of_a_damaged_set_say_no_more_than_one_does(
        step in 20_u64..3000,
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1_u8..), 1..4),
        count in 2_u64..30,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let memory: IntegerSet = (0..3000).map(|n| n * step + n * n % 17).collect();
        for format in [SetFormat::Roaring, SetFormat::RoaringBits, SetFormat::SparseBits] {
            let path = folder.path().join("set");
            memory.write_as(&path, format).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            // The heads of containers, and whatever follows.
            let from = if format == SetFormat::Roaring { 8 } else { 4096 };
            let end = bytes.len().min(from + 1500);
            for (place, value) in &flips {
                bytes[from..end][place.index(end - from)] ^= value;
            }
            fix_checksums(&mut bytes);
            std::fs::write(&path, &bytes).unwrap();
            let Ok(file) = SetFile::open(&path) else { continue };
            let one = of_windows(plan::Plan::of(&file), 1);
            let many = of_windows(plan::Plan::of(&file), count);
            if let (Ok((_, one)), Ok((_, many))) = (&one, &many) {
                prop_assert_eq!(one, many);
            } else {
                // Whatever one window finds, the others find.
                prop_assert!(one.is_ok() || many.is_err(), "{}", format.name());
            }
        }
    }
}

#[test]
fn large_sets_are_cut_into_windows() {
    let folder = tempfile::tempdir().unwrap();
    let set: BTreeSet<u64> = (0..200_000).map(|n| n * 40 + n % 7).collect();
    for file in files(&set, folder.path(), "a") {
        let (windows, found) = of_windows(plan::Plan::of(&file), 10).unwrap();
        let is_cut = matches!(
            (file.kind(), file.representation()),
            (
                SetKind::Bits | SetKind::Roaring,
                Representation::Roaring | Representation::Dense | Representation::Sparse
            )
        );
        assert_eq!(windows, if is_cut { 10 } else { 1 });
        assert!(found.into_iter().eq(set.iter().copied()));
    }
}
