use super::*;
use crate::set::sparse::{self, Entry, GROUP_VALUES, GroupEncoder};
use crate::set::{AsSet, IntegerSet};
use ::roaring::{RoaringBitmap, RoaringTreemap};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// An interpreter takes a second for some hundred values.
const MOST: u64 = if cfg!(miri) { 300 } else { 9000 };
const PROBES: usize = if cfg!(miri) { 2 } else { 20 };

/// Sets with arrays, bitmaps and runs, of 32 or 64 bits.
fn sets() -> impl Strategy<Value = BTreeSet<u64>> {
    let high = prop_oneof![Just(0_u64), Just(1), Just(0xFFFF), 0_u64..4];
    let edge = prop_oneof![Just(0_u64), Just(0xFFFF), 0_u64..0x1_0000];
    let singles = prop::collection::vec((high.clone(), edge), 0..60);
    let runs = prop::collection::vec((high, 0_u64..0x1_0000, 0..MOST, 1_usize..4), 0..4);
    (singles, runs).prop_map(|(singles, runs)| {
        let mut set: BTreeSet<u64> = singles.into_iter().map(|(h, l)| h << 16 | l).collect();
        for (high, start, length, step) in runs {
            let start = high << 16 | start;
            set.extend((start..=(start + length).min(u32::MAX.into())).step_by(step));
        }
        set
    })
}

/// Those that pass a screen, their places, and whether it is sure of them.
fn passed(screen: &Screen, values: &[u64]) -> Vec<(u64, usize, bool)> {
    let (mut queue, mut passed) = (Queue::new(screen), Passed::default());
    let mut all = Vec::new();
    let take = |passed: &Passed<usize>, all: &mut Vec<_>| {
        all.extend((0..passed.len).map(|i| (passed.values[i], passed.tags[i], passed.sure[i])));
    };
    let places: Vec<usize> = (0..values.len()).collect();
    for (values, places) in values.chunks(BATCH - 1).zip(places.chunks(BATCH - 1)) {
        queue.push(values, |tags| tags.copy_from_slice(places), &mut passed);
        take(&passed, &mut all);
    }
    queue.finish(&mut passed);
    take(&passed, &mut all);
    all
}

pub(in crate::set) fn check(
    view: SetView<'_>,
    set: &BTreeSet<u64>,
    probes: &[u64],
) -> Result<(), TestCaseError> {
    let sorted: Vec<u64> = set.iter().copied().collect();
    let values: Result<Vec<u64>, _> = view.iter().collect();
    prop_assert_eq!(&values.unwrap(), &sorted);
    let from_end: Result<Vec<u64>, _> = view.iter().rev().collect();
    prop_assert!(from_end.unwrap().iter().rev().eq(&sorted));
    prop_assert_eq!(view.len().unwrap(), set.len() as u64);
    prop_assert_eq!(view.min().unwrap(), set.first().copied());
    prop_assert_eq!(view.max().unwrap(), set.last().copied());
    for count in [10, 5000] {
        let asked: Vec<u64> = probes.iter().chain(&sorted).copied().cycle().take(count).collect();
        let mut found = vec![false; asked.len()];
        view.contains_many(&asked, &mut found).unwrap();
        let expected: Vec<bool> = asked.iter().map(|value| set.contains(value)).collect();
        prop_assert_eq!(found, expected);
    }
    for (bytes, threads) in [(16, 1), (1 << 8, 2), (1 << 16, 3), (1 << 19, 2)] {
        let wants_marks = threads != 3;
        let screen = Screen::in_bytes(view, bytes, threads, wants_marks).unwrap().unwrap();
        let asked: Vec<u64> = sorted.iter().chain(probes).copied().collect();
        let passed = passed(&screen, &asked);
        prop_assert!(passed.iter().all(|&(value, place, _)| asked[place] == value));
        prop_assert!(passed.iter().all(|(value, _, sure)| !sure || set.contains(value)));
        prop_assert!(passed.is_sorted_by(|a, b| a.1 < b.1));
        {
            let (mut found, mut unsure) = (vec![true; asked.len()], Vec::new());
            screen.answer(&asked, &mut found, &mut unsure);
            for (place, value) in asked.iter().enumerate() {
                let is_open = unsure.binary_search(&place).is_ok();
                prop_assert!(is_open || found[place] == set.contains(value));
            }
        }
        let members = (0..asked.len()).filter(|&place| set.contains(&asked[place]));
        for place in members {
            prop_assert!(passed.binary_search_by_key(&place, |passed| passed.1).is_ok());
        }
    }
    let ends = [0, 1, 0xFFFF, 0x1_0000, u64::from(u32::MAX), 1 << 32, u64::MAX];
    for &probe in probes.iter().chain(&ends).chain(sorted.iter().take(30)) {
        prop_assert_eq!(view.contains(probe).unwrap(), set.contains(&probe));
        prop_assert_eq!(view.rank(probe).unwrap(), set.range(..=probe).count() as u64);
        prop_assert_eq!(view.next(probe).unwrap(), set.range(probe..).next().copied());
        prop_assert_eq!(view.previous(probe).unwrap(), set.range(..=probe).next_back().copied());
        let from: Vec<u64> = view.range(probe..).take(5).map(Result::unwrap).collect();
        let expected: Vec<u64> = set.range(probe..).take(5).copied().collect();
        prop_assert_eq!(from, expected);
        let index = probe % (set.len() as u64 + 2);
        prop_assert_eq!(
            view.select(index).unwrap(),
            sorted.get(usize::try_from(index).unwrap()).copied()
        );
        let last = probe.saturating_add(70_000);
        prop_assert_eq!(
            view.range_len(probe..=last).unwrap(),
            set.range(probe..=last).count() as u64
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 40 }))]

    #[test]
    fn a_mapped_roaring_bitmap_answers_like_the_model(
        set in sets(),
        probes in prop::collection::vec(any::<u32>(), PROBES),
        optimize: bool,
    ) {
        let mut bitmap: RoaringBitmap = set.iter().map(|&value| u32::try_from(value).unwrap()).collect();
        if optimize {
            bitmap.optimize();
        }
        let mut bytes = Vec::new();
        bitmap.serialize_into(&mut bytes).unwrap();
        let probes: Vec<u64> = probes.into_iter().map(u64::from).collect();
        check(SetView::roaring(&bytes).unwrap(), &set, &probes)?;
        let view = RoaringView::new(&bytes).unwrap();
        prop_assert_eq!(view.check().unwrap(), bytes.len());
    }

    #[test]
    fn a_mapped_treemap_answers_like_the_model(
        set in sets(),
        shifts in prop::collection::vec(prop_oneof![Just(0_u64), Just(1 << 32), Just(u64::MAX << 32)], 3),
        empty in prop::collection::btree_set(prop_oneof![0_u32..6, any::<u32>()], 0..6),
        probes in prop::collection::vec(any::<u64>(), PROBES),
    ) {
        let set: BTreeSet<u64> = set
            .iter()
            .enumerate()
            .map(|(index, value)| value | shifts[index % shifts.len()])
            .collect();
        let treemap: RoaringTreemap = set.iter().copied().collect();
        // The format allows buckets without values.
        let mut buckets: BTreeMap<u32, RoaringBitmap> =
            empty.into_iter().map(|key| (key, RoaringBitmap::new())).collect();
        buckets.extend(treemap.bitmaps().map(|(key, bitmap)| (key, bitmap.clone())));
        let mut bytes = (buckets.len() as u64).to_le_bytes().to_vec();
        for (key, bitmap) in buckets {
            bytes.extend(key.to_le_bytes());
            bitmap.serialize_into(&mut bytes).unwrap();
        }
        let (buckets, cardinality) = check_buckets(&bytes).unwrap();
        prop_assert_eq!(cardinality, set.len() as u64);
        let walked = TreemapView::new(&bytes, Table::Walked(&buckets));
        check(SetView(Shape::Treemap(walked)), &set, &probes)?;
        let table: Vec<[u8; ENTRY_BYTES]> = buckets.iter().map(|b| b.to_bytes()).collect();
        let mapped = TreemapView::new(&bytes, Table::Mapped(&table));
        check(SetView(Shape::Treemap(mapped)), &set, &probes)?;
    }

    #[test]
    fn a_plain_bitmap_answers_like_the_model(
        lows in prop::collection::btree_set(0_u64..200_000, 0..if cfg!(miri) { 30 } else { 300 }),
        key in prop_oneof![Just(0_u64), Just(3), Just((1 << 48) - 4)],
        probes in prop::collection::vec(0_u64..400_000, PROBES),
    ) {
        let base = key << 16;
        let mut words = vec![[0; 8]; 4 * 1024];
        for &low in &lows {
            let word = &mut words[usize::try_from(low / 64).unwrap()];
            *word = (u64::from_le_bytes(*word) | 1 << (low % 64)).to_le_bytes();
        }
        let set: BTreeSet<u64> = lows.iter().map(|low| base + low).collect();
        let probes: Vec<u64> = probes.into_iter().map(|probe| base.saturating_add(probe)).collect();
        check(SetView::dense(&words, base), &set, &probes)?;
    }

    #[test]
    fn a_sparse_set_answers_like_the_model(
        near in sets(),
        far in prop::collection::btree_set(any::<u64>(), 0..if cfg!(miri) { 30 } else { 300 }),
        shift in 0_u32..64,
        probes in prop::collection::vec(any::<u64>(), PROBES),
    ) {
        let set: BTreeSet<u64> = near.into_iter().chain(far.into_iter().map(|v| v >> shift)).collect();
        let (payload, table) = sparse_of(&set.iter().copied().collect::<Vec<_>>());
        let view = SparseView::new(&payload, &table, set.len() as u64);
        prop_assert_eq!(view.check(), Ok(()));
        check(SetView(Shape::Sparse(view)), &set, &probes)?;
    }

    #[test]
    fn a_damaged_sparse_set_gives_errors_or_answers(
        set in prop::collection::btree_set(any::<u64>(), 1..400),
        shift in 0_u32..50,
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        of_table: bool,
        probes in prop::collection::vec(any::<u64>(), 5),
    ) {
        let set: BTreeSet<u64> = set.into_iter().map(|value| value >> shift).collect();
        let (mut payload, mut table) = sparse_of(&set.iter().copied().collect::<Vec<_>>());
        let (sound, sound_table) = (payload.clone(), table.clone());
        for (place, value) in flips {
            let bytes = if of_table { table.as_flattened_mut() } else { &mut payload[..] };
            if let len @ 1.. = bytes.len() {
                bytes[place.index(len)] ^= value;
            }
        }
        let same = (&payload, &table) == (&sound, &sound_table);
        let sparse = SparseView::new(&payload, &table, set.len() as u64);
        let view = SetView(Shape::Sparse(sparse));
        for probe in probes.into_iter().map(|probe| probe >> shift).chain(set.iter().copied().take(40)) {
            let _ = (view.contains(probe), view.rank(probe), view.next(probe), view.previous(probe));
            let _ = view.select(probe % 500);
            let _ = (view.range(probe..).count(), view.range(..probe).rev().count());
            let mut cursor = view.cursor();
            let _ = cursor.seek(probe >> 16).and_then(|()| cursor.next().map(|_| ()));
        }
        for values in [
            view.iter().map_while(Result::ok).collect::<Vec<_>>(),
            view.iter().rev().map_while(Result::ok).collect::<Vec<_>>().into_iter().rev().collect(),
        ] {
            prop_assert!(values.is_sorted_by(|a, b| a < b));
        }
        let _ = (view.runs().count(), view.to_set());
        let mut values = Vec::new();
        let verified = sparse.check().and_then(|()| {
            (0..sparse.groups()).try_for_each(|index| {
                sparse.verify_group(index, &mut values, &mut GroupEncoder::default())
            })
        });
        // One representation stands for other values, or is damaged.
        prop_assert!(same || verified.is_err() || view.iter().map(Result::unwrap).ne(set.iter().copied()));
    }

    #[test]
    fn damaged_bytes_give_errors_or_answers(
        set in sets(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
        probes in prop::collection::vec(any::<u32>(), 5),
    ) {
        let mut bitmap: RoaringBitmap = set.iter().map(|&value| u32::try_from(value).unwrap()).collect();
        bitmap.optimize();
        let mut bytes = Vec::new();
        bitmap.serialize_into(&mut bytes).unwrap();
        let mut wide = 1_u64.to_le_bytes().to_vec();
        wide.extend_from_slice(&[7, 0, 0, 0]);
        wide.extend_from_slice(&bytes);
        for bytes in [&mut bytes, &mut wide] {
            for (place, value) in &flips {
                let place = place.index(bytes.len().min(64));
                bytes[place] = *value;
            }
            let cut = cut.index(bytes.len() + 1);
            for bytes in [&bytes[..], &bytes[..cut]] {
                let walked = check_buckets(bytes).map(|(buckets, _)| buckets).unwrap_or_default();
                let views = [
                    SetView::roaring(bytes).ok(),
                    Some(SetView(Shape::Treemap(TreemapView::new(bytes, Table::Walked(&walked))))),
                    RoaringView::new(bytes).ok().map(|view| SetView(Shape::Roaring(view))),
                ];
                for view in views.into_iter().flatten() {
                    for &probe in &probes {
                        let probe = u64::from(probe);
                        let _ = (view.contains(probe), view.rank(probe), view.next(probe));
                        let _ = (view.select(probe % 1000), view.previous(probe));
                    }
                    let _ = view.len();
                    let read = view.iter().take(1 << 20).take_while(Result::is_ok).count();
                    prop_assert!(read <= 1 << 20);
                    // What is found although the bytes are damaged is not held back.
                    if let Ok(Some(screen)) = Screen::in_bytes(view, 1 << 10, 2, true) {
                        let found = view.iter().map_while(Result::ok).take(BATCH);
                        let found: Vec<u64> =
                            found.filter(|&value| view.contains(value) == Ok(true)).collect();
                        prop_assert_eq!(passed(&screen, &found).len(), found.len());
                    }
                }
            }
        }
    }
}

/// The groups of ascending values, and their table.
fn sparse_of(values: &[u64]) -> (Vec<u8>, Vec<[u8; sparse::ENTRY_BYTES]>) {
    let (mut encoder, mut payload, mut table) = (GroupEncoder::default(), Vec::new(), Vec::new());
    for group in values.chunks(GROUP_VALUES) {
        let offset = payload.len() as u64;
        let (layout, bytes) = encoder.encode(group);
        payload.extend_from_slice(bytes);
        let (base, last, low_bits) = (group[0], group[group.len() - 1], layout.low_bits.into());
        table.push(Entry { base, last, offset, low_bits }.to_bytes());
    }
    (payload, table)
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn values_of_many_groups_are_found() {
    let mut random = fastrand::Rng::with_seed(3);
    for shift in [0, 20, 46] {
        let set: BTreeSet<u64> = (0..150_000).map(|_| random.u64(..) >> shift).collect();
        let sorted: Vec<u64> = set.iter().copied().collect();
        let (payload, table) = sparse_of(&sorted);
        let sparse = SparseView::new(&payload, &table, sorted.len() as u64);
        sparse.check().unwrap();
        let view = SetView(Shape::Sparse(sparse));
        assert!(view.iter().map(Result::unwrap).eq(sorted.iter().copied()));
        assert!(view.iter().rev().map(Result::unwrap).eq(sorted.iter().rev().copied()));
        assert!(view.to_set().unwrap().iter().eq(sorted.iter().copied()));
        let asked: Vec<u64> =
            (0..20_000).map(|_| sorted[random.usize(..sorted.len())] + random.u64(..2)).collect();
        let mut found = vec![false; asked.len()];
        view.contains_many(&asked, &mut found).unwrap();
        let mut cursor = view.cursor();
        let mut seeks = asked.clone();
        seeks.sort_unstable();
        seeks.dedup_by_key(|value| *value >> 16);
        for (&value, found) in asked.iter().zip(found) {
            let place = sorted.partition_point(|&other| other < value);
            let is_there = sorted.get(place) == Some(&value);
            assert_eq!((view.contains(value), found), (Ok(is_there), is_there));
            assert_eq!(view.rank(value), Ok((place + usize::from(is_there)) as u64));
            assert_eq!(view.next(value), Ok(sorted.get(place).copied()));
            assert_eq!(view.select(place as u64), Ok(sorted.get(place).copied()));
        }
        for value in seeks {
            cursor.seek(value >> 16).unwrap();
            let from = sorted.partition_point(|&other| other < value >> 16 << 16);
            let Some((key, container)) = cursor.next().unwrap() else {
                assert_eq!(from, sorted.len());
                break;
            };
            let alike = sorted[from..].iter().take_while(|other| **other >> 16 == key).count();
            assert_eq!(sorted[from] >> 16, key);
            assert_eq!(container.len() as usize, alike);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn few_of_other_values_pass_a_screen() {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        u32::try_from(state >> 32).unwrap()
    };
    let bitmap: RoaringBitmap = (0..1_000_000).map(|_| next()).collect();
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).unwrap();
    let view = SetView::roaring(&bytes).unwrap();
    let [marks, bits] = [true, false].map(|many| Screen::of(view, 1 << 22, 2, many).unwrap());
    let (marks, bits) = (marks.unwrap(), bits.unwrap());
    let others: Vec<u64> =
        (0..BATCH * 1000).map(|_| next()).filter(|&v| !bitmap.contains(v)).map(u64::from).collect();
    let passing = passed(&marks, &others);
    // In one word of 23, there are more values than marks.
    assert!(passing.len() * 20 < others.len(), "{} of {}", passing.len(), others.len());
    let passing = passed(&bits, &others);
    assert!(passing.len() * 30 < others.len(), "{} of {}", passing.len(), others.len());
    assert!(passing.iter().all(|(_, _, sure)| !sure) && bits.bytes() <= marks.bytes());
    assert!(
        [true, false].iter().all(|&many| Screen::of(view, 1 << 18, 2, many).unwrap().is_none())
    );

    let values: Vec<u64> = bitmap.iter().map(u64::from).collect();
    let (payload, table) = sparse_of(&values);
    let sparse = SparseView::new(&payload, &table, values.len() as u64);
    let sparse = SetView(Shape::Sparse(sparse));
    let passing = |view: SetView<'_>, threads, wants_marks| {
        let screen = Screen::in_bytes(view, 1 << 21, threads, wants_marks).unwrap().unwrap();
        passed(&screen, &others)
    };
    for (threads, wants_marks) in (1..4).flat_map(|threads| [(threads, true), (threads, false)]) {
        let (one, other) =
            (passing(sparse, threads, wants_marks), passing(view, threads, wants_marks));
        assert!(one == other, "{threads} threads, marks {wants_marks}");
    }
}

#[test]
fn a_screen_is_sure_of_values_of_the_set_only() {
    // Six keys from 5 on: two slots stand for no key. A value in 50, 300 in a row, and a run.
    let few = (5 << 16..11 << 16).step_by(50);
    let values: BTreeSet<u64> = few.chain(600_000..600_300).collect();
    let values: Vec<u64> = values.into_iter().collect();
    let run = (8 << 16) + 1000..(8 << 16) + 2000;
    let sets = [values.clone(), values.iter().copied().chain(run.clone()).collect()];
    let sets = sets.map(IntegerSet::from_iter);
    let (payload, table) = sparse_of(&values);
    let sparse = SparseView::new(&payload, &table, values.len() as u64);
    let views = [
        (SetView(Shape::Sparse(sparse)), &sets[0]),
        (sets[0].as_set().view(), &sets[0]),
        (sets[1].as_set().view(), &sets[1]),
    ];
    // Each value, and others that would have its place if the keys were not looked at.
    let others = [1, 1 << 19, 1 << 22, 1 << 32, 1 << 63].map(|more| move |value| value + more);
    for (view, set) in views {
        let screen = Screen::in_bytes(view, 1 << 15, 2, true).unwrap().unwrap();
        let asked = values.iter().copied().chain(run.clone());
        let asked: Vec<u64> = asked.flat_map(|value| others.map(|other| other(value))).collect();
        for (value, _, sure) in passed(&screen, &asked) {
            assert!(!sure || set.contains(value), "{value}");
        }
        let sure = passed(&screen, &values).iter().filter(|(_, _, sure)| *sure).count();
        // Two words and more have too many values, and a run lets all pass.
        assert!(sure > values.len() - 400 - 30 && sure < values.len() - 250, "{sure}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn a_table_answers_more_questions_than_a_set_has_values() {
    let mut random = fastrand::Rng::with_seed(5);
    for base in [7 << 16, u64::MAX - (1 << 28) + 1] {
        // One in 130 of the first half, one in 8 of a part, a run, and words with too many values.
        let singles = (0..1_000_000).map(|_| random.u64(..1 << 27)).collect::<Vec<_>>();
        let crowd = (0..60_000).map(|_| (1 << 27) + random.u64(..1 << 19)).collect::<Vec<_>>();
        let near = (0..20_000).map(|n| (3 << 26) + n * 3);
        let all = singles.into_iter().chain(crowd).chain(near).chain(1 << 23..(1 << 23) + 9000);
        let mut values: Vec<u64> = all.map(|value| base + value).collect();
        values.sort_unstable();
        values.dedup();
        let (payload, table) = sparse_of(&values);
        let sparse = SparseView::new(&payload, &table, values.len() as u64);
        let set: IntegerSet = values.iter().copied().collect();
        let asked: Vec<u64> = (0..2 * values.len())
            .map(|number| match number % 4 {
                0 => base + random.u64(..1 << 28),
                1 => random.u64(..),
                2 => values[random.usize(..values.len())].wrapping_add(1 << random.u32(..64)),
                _ => values[random.usize(..values.len())],
            })
            .collect();
        let expected: Vec<bool> =
            asked.iter().map(|value| values.binary_search(value).is_ok()).collect();
        for view in [SetView(Shape::Sparse(sparse)), set.as_set().view()] {
            for threads in [1, 3] {
                let mut prober = Prober::for_many(view, asked.len(), threads).unwrap();
                assert_eq!(prober.best_batch(), 1 << 18);
                let mut found = vec![true; asked.len()];
                prober.clone().contains_many(&asked, &mut found).unwrap();
                assert!(found == expected);
                // Values of a run: it asks the set for each.
                let run = base + (1 << 23)..base + (1 << 23) + 10_000;
                let asked: Vec<u64> = run.collect();
                prober.contains_many(&asked, &mut found[..asked.len()]).unwrap();
                assert!(
                    found.iter().zip(&asked).all(|(f, v)| *f == values.binary_search(v).is_ok())
                );
                assert!(prober.best_batch() > 1 << 18);
            }
            let mut found = vec![true; asked.len()];
            view.contains_many(&asked, &mut found).unwrap();
            assert!(found == expected);
        }
        let few = Prober::for_many(set.as_set().view(), values.len() / 2, 1).unwrap();
        assert!(few.best_batch() > 1 << 18);
    }
}

#[test]
fn values_below_the_smallest_are_in_no_piece() {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        state
    };
    let members = (0..MOST * 10).map(|_| next() | 1 << 20).chain([0x1_0005, u64::MAX]);
    let set: RoaringTreemap = members.collect();
    let mut bytes = Vec::new();
    set.serialize_into(&mut bytes).unwrap();
    let (buckets, _) = check_buckets(&bytes).unwrap();
    let view = SetView(Shape::Treemap(TreemapView::new(&bytes, Table::Walked(&buckets))));
    let asked: Vec<u64> = (0..5000).map(|value| value * 17).chain(set.iter().take(50)).collect();
    let mut found = vec![false; asked.len()];
    view.contains_many(&asked, &mut found).unwrap();
    let expected: Vec<bool> = asked.iter().map(|&value| set.contains(value)).collect();
    assert_eq!(found, expected);
}

#[test]
fn containers_of_runs_do_not_reach_into_each_other() {
    let mut bitmap: RoaringBitmap = (0..5_u32)
        .flat_map(|key| (0..100).chain(200..300).map(move |low| key << 16 | low))
        .collect();
    bitmap.optimize();
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).unwrap();
    // Cookie, flags, descriptors, offsets; then the number of runs.
    let body = 4 + 1 + 5 * 4 + 5 * 4;
    assert_eq!(bytes[body..body + 2], [2, 0]);

    bytes[body] = 3;
    let view = SetView::roaring(&bytes).unwrap();
    assert_eq!(view.contains(50).unwrap_err().what, "a container begins inside of another");
    assert_eq!(view.contains(0x1_0032), Ok(true));
    bytes[body] = 2;

    let offset = 4 + 1 + 5 * 4 + 4;
    bytes[offset] = u8::try_from(body + 1).unwrap();
    let refused = SetView::roaring(&bytes).unwrap_err();
    assert_eq!(refused.what, "a container begins inside of another");
    assert_eq!(refused.offset, body as u64 + 1);
}

#[test]
fn nothing_follows_an_error_from_the_end() {
    // 5 and 6, and behind them 9 and 3: the second container is damaged.
    let bitmap: RoaringBitmap = [5, 6, 0x1_0003, 0x1_0009].into_iter().collect();
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).unwrap();
    let behind = bytes.len() - 4;
    bytes[behind..].copy_from_slice(&[9, 0, 3, 0]);
    let mut values = SetView::roaring(&bytes).unwrap().range(1..);
    assert_eq!(values.next(), Some(Ok(5)));
    assert!(values.next_back().unwrap().is_err());
    assert_eq!((values.next_back(), values.next()), (None, None));
}

/// A treemap of three buckets, with a table of them that `change` has damaged.
fn with_table(change: impl Fn(&mut [Bucket]), ask: impl Fn(SetView<'_>)) {
    let set: RoaringTreemap = [5, 6, 1 << 32 | 5, 2 << 32 | 5].into_iter().collect();
    let mut bytes = Vec::new();
    set.serialize_into(&mut bytes).unwrap();
    let (mut buckets, _) = check_buckets(&bytes).unwrap();
    change(&mut buckets);
    let table: Vec<[u8; ENTRY_BYTES]> = buckets.iter().map(|bucket| bucket.to_bytes()).collect();
    ask(SetView(Shape::Treemap(TreemapView::new(&bytes, Table::Mapped(&table)))));
}

#[test]
fn places_of_buckets_and_containers_follow_each_other() {
    let set: RoaringTreemap = [5, 0x1_0006, 1 << 32 | 5].into_iter().collect();
    let mut bytes = Vec::new();
    set.serialize_into(&mut bytes).unwrap();
    let (buckets, _) = check_buckets(&bytes).unwrap();
    let table = |buckets: &[Bucket]| -> Vec<[u8; ENTRY_BYTES]> {
        buckets.iter().map(|bucket| bucket.to_bytes()).collect()
    };
    let right = table(&buckets);
    assert_eq!(TreemapView::new(&bytes, Table::Mapped(&right)).verify(), Ok(()));
    for (what, change) in [
        ("the table of buckets points to no bucket", (|b| b.offset += 1) as fn(&mut Bucket)),
        ("the table of buckets points to no bucket", |b| b.key += 1),
        ("the number of values before a bucket is wrong", |b| b.rank -= 1),
    ] {
        let mut wrong = buckets.clone();
        change(&mut wrong[1]);
        let refused = TreemapView::new(&bytes, Table::Mapped(&table(&wrong))).verify();
        assert_eq!(refused.unwrap_err().what, what);
    }
    // The head of the first bitmap: cookie and number; two descriptors; two places.
    let offset = 12 + 8 + 2 * 4 + 4;
    bytes[offset] = bytes[offset - 4];
    let refused = TreemapView::new(&bytes, Table::Mapped(&right)).verify().unwrap_err();
    assert_eq!(refused.what, "a container begins inside of another");
    assert_eq!(refused.offset, 12 + u64::from(bytes[offset]));
}

#[test]
fn values_do_not_come_twice_or_in_a_wrong_order() {
    let all = |view: SetView<'_>| view.iter().collect::<Result<Vec<_>, _>>();
    with_table(|_| (), |view| assert_eq!(all(view).unwrap().len(), 4));
    with_table(
        |buckets| buckets[1] = buckets[0],
        |view| assert!(all(view).unwrap_err().what.contains("do not ascend")),
    );
    with_table(
        |buckets| buckets.swap(1, 2),
        |view| assert!(all(view).unwrap_err().what.contains("do not ascend")),
    );
}

#[test]
fn values_in_disorder_have_a_place_from_either_end() {
    let bitmap: RoaringBitmap = [1, 2, 3, 70_001, 70_002, 70_003, 140_000].into_iter().collect();
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).unwrap();
    let at = bytes.len() - 8; // three values of the second container, then one of the third
    bytes.swap(at, at + 4);
    let view = SetView::roaring(&bytes).unwrap();
    let forward = view.iter().find_map(Result::err).unwrap();
    let backward = view.iter().rev().find_map(Result::err).unwrap();
    assert_eq!((forward, forward.offset), (backward, at as u64));
}

#[test]
fn numbers_of_values_that_cannot_be_are_damage() {
    with_table(
        |buckets| buckets[2].rank = u64::MAX,
        |view| {
            assert!(view.rank(u64::MAX).is_err() && view.len().is_err());
            assert!(view.rank(2 << 32 | 5).is_err());
            // The last container says it, whatever the table does.
            assert_eq!(view.max(), Ok(Some(2 << 32 | 5)));
            assert_eq!(view.rank(1 << 32 | 5), Ok(3));
        },
    );
    with_table(
        |buckets| buckets[1].rank = 9,
        |view| {
            assert!(view.range_len(1 << 32 | 4..=3 << 32).is_err());
            assert_eq!(view.previous(1 << 32 | 9), Ok(Some(1 << 32 | 5)));
        },
    );
    // A rank that no container of the bucket has: more values come behind it.
    with_table(|buckets| buckets[1].rank = 1, |view| assert!(view.select(2).is_err()));
    with_table(|_| (), |view| assert_eq!(view.select(4), Ok(None)));
}

#[test]
fn a_container_with_fewer_values_than_its_head_says_is_damage() {
    let mut bitmap: RoaringBitmap = (10..40).collect();
    bitmap.optimize();
    let mut bytes = Vec::new();
    bitmap.serialize_into(&mut bytes).unwrap();
    assert_eq!(SetView::roaring(&bytes).unwrap().max(), Ok(Some(39)));
    let last = bytes.len() - 2;
    bytes[last] = 9; // one run, of ten values
    let view = SetView::roaring(&bytes).unwrap();
    assert!(view.select(29).is_err());
    assert_eq!(view.max(), Ok(Some(19)));
    assert_eq!((view.select(9), view.select(30)), (Ok(Some(19)), Ok(None)));
}

#[test]
#[should_panic(expected = "end below 2^64")]
fn a_plain_bitmap_ends_below_2_to_the_64() {
    let words = vec![[0; 8]; 2 * 1024];
    assert_eq!(SetView::dense(&words, ((1 << 48) - 2) << 16).len(), Ok(0));
    assert_eq!(SetView::dense(&words, u64::MAX << 16).len(), Ok(0));
}
