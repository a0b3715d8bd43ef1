use super::plan::Plan;
use super::*;
use crate::container::Op;
use crate::error::Error;
use crate::format::Format;
use crate::progress::Progress;
use proptest::prelude::*;
use std::collections::BTreeSet;

fn values() -> impl Strategy<Value = BTreeSet<u64>> {
    let high = prop_oneof![6 => Just(0_u64), 1 => Just(1 << 32), 1 => Just(u64::MAX << 20)];
    let singles = prop::collection::vec((high.clone(), 0_u64..300_000), 0..80);
    let length = prop_oneof![4 => 0_u64..20_000, 1 => 60_000_u64..140_000]; // whole containers
    let runs = prop::collection::vec((high, 0_u64..200_000, length), 0..3);
    (singles, runs).prop_map(|(singles, runs)| {
        let mut set: BTreeSet<u64> = singles.into_iter().map(|(high, low)| high | low).collect();
        for (high, start, length) in runs {
            set.extend((start..=start + length).map(|low| high | low));
        }
        set
    })
}

/// The set in every representation that can hold it.
fn representations(set: &BTreeSet<u64>, folder: &std::path::Path, name: &str) -> Vec<IntegerSet> {
    let memory: IntegerSet = set.iter().copied().collect();
    let mut all = Vec::new();
    let dense = set.last().is_none_or(|&last| last < 1 << 33);
    let formats =
        [SetFormat::RoaringBits, SetFormat::Roaring, SetFormat::Bits, SetFormat::DenseBits];
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
        all.push(IntegerSet::from(file));
    }
    if set.last().is_none_or(|&last| last < 1 << 20) {
        let mut bits = IntegerSet::dense(0, 1 << 20);
        for &value in set {
            bits.insert(value).unwrap();
        }
        all.push(bits);
    }
    all.push(memory);
    all
}

fn found(set: &IntegerSet) -> BTreeSet<u64> {
    set.iter().map(Result::unwrap).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn operations_on_every_pair_of_representations_agree_with_the_model(a in values(), b in values()) {
        let folder = tempfile::tempdir().unwrap();
        let (lefts, rights) = (
            representations(&a, folder.path(), "a"),
            representations(&b, folder.path(), "b"),
        );
        let and: BTreeSet<u64> = a.intersection(&b).copied().collect();
        let or: BTreeSet<u64> = a.union(&b).copied().collect();
        let xor: BTreeSet<u64> = a.symmetric_difference(&b).copied().collect();
        let not: BTreeSet<u64> = a.difference(&b).copied().collect();
        for x in &lefts {
            for y in &rights {
                let changed = |change: fn(&mut IntegerSet, &IntegerSet) -> crate::Result<()>| {
                    let mut set = x.clone();
                    change(&mut set, y).unwrap();
                    found(&set)
                };
                prop_assert_eq!(&changed(IntegerSet::intersection_assign), &and);
                prop_assert_eq!(&changed(IntegerSet::union_assign), &or);
                prop_assert_eq!(&changed(IntegerSet::symmetric_difference_assign), &xor);
                prop_assert_eq!(&changed(IntegerSet::difference_assign), &not);
                prop_assert_eq!(&found(&x.intersection(y).unwrap()), &and);
                prop_assert_eq!(&found(&x.union(y).unwrap()), &or);
                prop_assert_eq!(&found(&x.symmetric_difference(y).unwrap()), &xor);
                prop_assert_eq!(&found(&x.difference(y).unwrap()), &not);
                prop_assert_eq!(x.intersection_len(y).unwrap(), and.len() as u64);
                prop_assert_eq!(x.union_len(y).unwrap(), or.len() as u64);
                prop_assert_eq!(x.symmetric_difference_len(y).unwrap(), xor.len() as u64);
                prop_assert_eq!(x.difference_len(y).unwrap(), not.len() as u64);
                prop_assert_eq!(x.is_subset(y).unwrap(), a.is_subset(&b));
                prop_assert_eq!(x.is_disjoint(y).unwrap(), a.is_disjoint(&b));
                prop_assert_eq!(x == y, a == b);
                let either = f64::from(u32::try_from(or.len()).unwrap());
                let both = f64::from(u32::try_from(and.len()).unwrap());
                let jaccard = if or.is_empty() { 1.0 } else { both / either };
                prop_assert!((x.jaccard(y).unwrap() - jaccard).abs() < 1e-12);
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
            prop_assert_eq!(x.cardinality().unwrap(), set.len() as u64);
            prop_assert_eq!((x.min().unwrap(), x.max().unwrap()), (set.first().copied(), set.last().copied()));
            for &probe in probes.iter().chain(&[0, 65_535, 65_536, (1 << 32) - 1, 1 << 32, u64::MAX]).chain(sorted.iter().take(9)) {
                prop_assert_eq!(x.contains(probe).unwrap(), set.contains(&probe));
                prop_assert_eq!(x.rank(probe).unwrap(), set.range(..=probe).count() as u64);
                prop_assert_eq!(x.next(probe).unwrap(), set.range(probe..).next().copied());
                prop_assert_eq!(x.previous(probe).unwrap(), set.range(..=probe).next_back().copied());
                let index = probe % (set.len() as u64 + 1);
                prop_assert_eq!(x.select(index).unwrap(), sorted.get(usize::try_from(index).unwrap()).copied());
                let from = x.iter_from(probe).map(Result::unwrap);
                prop_assert!(from.eq(set.range(probe..).copied()));
            }
            prop_assert_eq!(x.contains_many(&sorted).unwrap(), vec![true; sorted.len()]);
            let holes: BTreeSet<u64> = (1000..100_000).filter(|value| !set.contains(value)).collect();
            prop_assert_eq!(found(&x.complement(1000, 99_999).unwrap()), holes);
            let moved: BTreeSet<u64> = set.iter().filter_map(|value| value.checked_add(77)).collect();
            prop_assert_eq!(found(&x.add_offset(77).unwrap()), moved);
        }
    }

    #[test]
    fn many_sets_are_joined_as_the_model_says(sets in prop::collection::vec(values(), 1..5), least in 1_usize..5) {
        let integer_sets: Vec<IntegerSet> =
            sets.iter().map(|set| set.iter().copied().collect()).collect();
        let refs: Vec<&IntegerSet> = integer_sets.iter().collect();
        let every: BTreeSet<u64> = sets.iter().flatten().copied().collect();
        let count = |value: &u64| sets.iter().filter(|set| set.contains(value)).count();
        let expected: BTreeSet<u64> = every.iter().copied().filter(|v| count(v) >= least).collect();
        prop_assert_eq!(found(&IntegerSet::at_least(least, &refs).unwrap()), expected);
        let all: BTreeSet<u64> = every.iter().copied().filter(|v| count(v) == sets.len()).collect();
        prop_assert_eq!(found(&IntegerSet::intersection_of(&refs).unwrap()), all);
        prop_assert_eq!(found(&IntegerSet::union_of(&refs).unwrap()), every);
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
fn every_flipped_bit_of_a_file_is_found_and_no_cut_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let sets: [Vec<u64>; 3] =
        [(0..70_000).step_by(3).collect(), vec![1, 2, 3, 70_000], vec![5, 1 << 40, 1 << 50]];
    for set in sets {
        let memory: IntegerSet = set.iter().copied().collect();
        for format in [SetFormat::RoaringBits, SetFormat::DenseBits] {
            if format == SetFormat::DenseBits && set.contains(&(1 << 50)) {
                continue;
            }
            memory.write_as(&path, format).unwrap();
            let whole = std::fs::read(&path).unwrap();
            let step = (whole.len() / 3000).max(1);
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
            for length in (0..whole.len()).filter(|cut| *cut < 5000 || cut % step == 0) {
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
        let set = IntegerSet::open(&path).unwrap();
        let other = IntegerSet::from_iter([1 << 20]);
        assert!(set.to_roaring().is_err(), "{bytes:?}");
        // Joins may make sense of runs that overlap.
        if let Ok(either) = set.union(&other) {
            assert_eq!(found(&either), [7, 8, 9, 10, 1 << 20].into());
        }
        for format in [
            SetFormat::Bits,
            SetFormat::RoaringBits,
            SetFormat::DenseBits,
            SetFormat::Roaring,
            SetFormat::Values(Format::Text),
        ] {
            assert!(set.write_as(&out, format).is_err() && !out.exists(), "{format:?}");
        }
        assert!(set.iter().any(|value| value.is_err()), "{bytes:?}");
        assert!(set.add_offset(1).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_header_that_lies_of_the_number_of_values_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let sets = [vec![], vec![1, 2, 3, 70_000], vec![5, 1 << 40, 1 << 50]];
    for set in sets {
        for format in [SetFormat::RoaringBits, SetFormat::DenseBits] {
            if format == SetFormat::DenseBits && set.contains(&(1 << 50)) {
                continue;
            }
            let whole: IntegerSet = set.iter().copied().collect();
            whole.write_as(&path, format).unwrap();
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[32] ^= 1;
            let sum = xxhash_rust::xxh3::xxh3_64(&bytes[..4088]);
            bytes[4088..4096].copy_from_slice(&sum.to_le_bytes());
            std::fs::write(&path, &bytes).unwrap();
            let error = SetFile::open(&path).unwrap_err().to_string();
            let said = "byte 32: the number of values is not that of the set";
            assert!(error.ends_with(said), "{error}");
        }
    }
}

#[test]
fn counts_are_not_made_up_of_what_contradicts_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.roaring");
    // A run of four values in a container of one, and an array that has a value thrice.
    let run = [59, 48, 0, 0, 1, 0, 0, 0, 0, 1, 0, 7, 0, 3, 0];
    let array = [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0, 16, 0, 0, 0, 7, 0, 7, 0, 7, 0];
    for (bytes, value) in [(&run[..], 10), (&array, 7)] {
        std::fs::write(&path, bytes).unwrap();
        let bad = IntegerSet::open(&path).unwrap();
        let mut good = IntegerSet::dense(0, 100);
        (7..=value).for_each(|value| assert!(good.insert(value).unwrap()));
        let few = if value == 7 { &good } else { &bad };
        let many = if value == 7 { &bad } else { &good };
        let named = |found: Error| assert!(found.to_string().contains("x.roaring: "), "{found}");
        named(few.difference_len(many).unwrap_err());
        named(few.is_subset(many).unwrap_err());
        named(few.union_len(many).unwrap_err());
        named(many.symmetric_difference_len(few).unwrap_err());
        named(few.jaccard(many).unwrap_err());
        assert!(good != bad);
    }
    // So are those of plans that know nothing of headers.
    let bad = IntegerSet::open(&path).unwrap();
    let mut good = IntegerSet::dense(0, 100);
    good.insert(7).unwrap();
    let (a, b) = (good.readable().unwrap(), bad.readable().unwrap());
    let (blame_a, blame_b) = (a.blame(), b.blame());
    for op in [Op::AndNot, Op::Xor] {
        let plans = vec![Plan::set(a.view(), &blame_a), Plan::set(b.view(), &blame_b)];
        let found = Plan::join(op, plans).count(&Progress::default()).unwrap_err();
        assert!(found.to_string().contains("x.roaring: byte 0: the values of an array"), "{found}");
    }
}

#[test]
fn values_leave_by_any_offset() {
    let set = IntegerSet::from_iter([0, 5, u64::MAX]);
    for offset in [i128::MAX, i128::MIN, 1 << 64, -(1 << 64)] {
        assert!(set.add_offset(offset).unwrap().is_empty().unwrap(), "{offset}");
    }
    assert_eq!(found(&set.add_offset(-5).unwrap()), [0, u64::MAX - 5].into());
}

#[test]
fn full_containers_and_lone_values_are_read() {
    let lone = (1 << 20..1 << 21).step_by(7);
    let values: BTreeSet<u64> = (100..300_000).chain(lone).chain([u64::MAX]).collect();
    let mut set: IntegerSet = values.iter().copied().collect();
    for _ in 0..2 {
        assert!(set.iter().map(Result::unwrap).eq(values.iter().copied()));
        assert_eq!(set.iter().fold(0, |count, _| count + 1), values.len());
        let from = set.iter_from(65_536).map(Result::unwrap);
        assert!(from.eq(values.range(65_536..).copied()));
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
    update(&path, &removed, &added, folder.path()).unwrap();
    let new = SetFile::open(&path).unwrap();
    let values = |file: &SetFile| file.view().iter().map(Result::unwrap).collect::<Vec<_>>();
    assert_eq!(values(&old), [1, 2, 3]);
    assert_eq!(values(&new), [1, 3, 9, 1 << 40]);
}

#[test]
fn a_large_roaring_bitmap_is_written_as_it_comes_and_may_turn_out_wide() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.bits");
    let spool = crate::bits::Spool { memory_bytes: 1000, folder: folder.path().into() };
    for last in [None, Some(1 << 40)] {
        let set: BTreeSet<u64> = (0..400_000).step_by(3).chain(last).collect();
        let memory: IntegerSet = set.iter().copied().collect();
        let readable = memory.readable().unwrap();
        let blame = readable.blame();
        let file = std::fs::File::options();
        let file = file.clone().create(true).truncate(true).read(true).write(true).open(&path);
        let file = file.unwrap();
        let plan = plan::Plan::set(readable.view(), &blame);
        sink::write_to(&file, &path, SetFormat::RoaringBits, &spool, |sink| {
            plan.run(sink, &Progress::default())
        })
        .unwrap();
        let written = SetFile::open(&path).unwrap();
        written.verify().unwrap();
        assert!(written.view().iter().map(Result::unwrap).eq(set));
    }
}

#[test]
fn a_set_is_built_as_it_would_be_written_whatever_its_density() {
    let folder = tempfile::tempdir().unwrap();
    let [text, built, written] = ["x.txt", "x.bits", "y.bits"].map(|name| folder.path().join(name));
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        state >> 40
    };
    // Values of some containers in partitions of a few each: one in so many, or runs.
    let kinds = [0, 700, 43, 17, 15, 2, 1].map(|gap| (gap, 1));
    let kinds: Vec<_> = kinds.into_iter().chain([(3, 64), (40, 64), (300, 640)]).collect();
    for (start, far) in [(0, None), (1000, None), (u64::MAX << 30, Some(7))] {
        let mut values: BTreeSet<u64> = far.into_iter().collect();
        for (key, (gap, run)) in (0_u64..).step_by(60).zip(&kinds) {
            let lows = (0..65_536 / run).filter(|_| *gap > 0 && random() % gap == 0);
            let lows: Vec<u64> = lows.flat_map(|low| low * run..(low + 1) * run).collect();
            values.extend(lows.iter().map(|low| start + (key << 16) + low));
        }
        let lines: Vec<_> = values.iter().rev().chain(&values).map(u64::to_string).collect();
        std::fs::write(&text, lines.join("\n")).unwrap();
        let sort = crate::sort::Sort::new().file(&text);
        let (told, _) = build(sort, &built, SetFormat::RoaringBits, folder.path()).unwrap();
        assert_eq!(told.cardinality, values.len() as u64);
        IntegerSet::from_iter(values).write_as(&written, SetFormat::RoaringBits).unwrap();
        assert!(std::fs::read(&built).unwrap() == std::fs::read(&written).unwrap(), "{start}");
    }
}
