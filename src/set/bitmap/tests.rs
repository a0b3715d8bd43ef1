use super::{Bitmap, BitmapMut, BitmapView, Word};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn the_worked_example_of_the_classical_text_holds() {
    let mut bitmap: Bitmap<u32> = Bitmap::new(64);
    assert!(bitmap.insert(35));
    assert_eq!(bitmap.as_words()[1], 8);
    assert!(bitmap.insert(40));
    assert_eq!(bitmap.as_words()[1], 264);
    assert!(!bitmap.contains(36));
    assert!(bitmap.remove(40) && !bitmap.remove(40));
    assert_eq!(bitmap.as_words()[1], 8);
}

#[test]
fn values_outside_of_the_universe_are_refused_and_absent() {
    let mut bitmap: Bitmap = Bitmap::with_base(10, 5);
    for value in [0, 9, 15, u64::MAX] {
        assert_eq!(bitmap.try_insert(value).unwrap_err().value, value);
        assert!(!bitmap.contains(value) && !bitmap.remove(value));
    }
    assert!(bitmap.insert_range(9..=12).is_err() && bitmap.insert_range(12..=15).is_err());
    assert!(bitmap.is_empty());
    let none: Bitmap = Bitmap::new(0);
    assert_eq!((none.universe(), none.min(), none.max(), none.rank(7)), (None, None, None, 0));
    assert_eq!((none.next(0), none.previous(u64::MAX), none.select(0)), (None, None, None));
}

#[test]
#[should_panic(expected = "100 is outside of the bitmap's universe")]
fn inserting_outside_of_the_universe_panics() {
    Bitmap::<u64>::new(100).insert(100);
}

/// Where a universe begins, and how many values it has.
fn universe() -> impl Strategy<Value = (u64, u64)> {
    let edges = [0, 1, 37, 64, (1 << 32) - 50, (1 << 32) - 1, 1 << 32, u64::MAX - 299];
    (prop::sample::select(edges.to_vec()), 1_u64..300)
}

#[derive(Debug, Clone)]
struct Case {
    base: u64,
    len: u64,
    members: BTreeSet<u64>,
}

fn case() -> impl Strategy<Value = Case> {
    (universe(), prop::collection::btree_set(0_u64..300, 0..200)).prop_map(|((base, len), bits)| {
        let members = bits.into_iter().filter(|bit| *bit < len).map(|bit| base + bit).collect();
        Case { base, len, members }
    })
}

fn build<W: Word>(case: &Case) -> Bitmap<W> {
    let mut bitmap = Bitmap::with_base(case.base, case.len);
    case.members.iter().for_each(|&value| assert!(bitmap.insert(value)));
    bitmap
}

fn check_queries<W: Word>(case: &Case, probes: &[u64]) {
    let Case { base, len, members } = case;
    let bitmap = build::<W>(case);
    assert!(bitmap.iter().eq(members.iter().copied()));
    assert!(bitmap.iter().rev().eq(members.iter().rev().copied()));
    assert_eq!(bitmap.cardinality(), members.len() as u64);
    assert_eq!((bitmap.min(), bitmap.max()), (members.first().copied(), members.last().copied()));
    let (low, high) = bitmap.iter().size_hint();
    assert!(low <= members.len() && members.len() <= high.unwrap());
    let from_runs: Vec<u64> = bitmap.runs().flatten().collect();
    assert!(from_runs.iter().eq(members));
    assert!(bitmap.runs().zip(bitmap.runs().skip(1)).all(|(a, b)| a.end() + 1 < *b.start()));
    let inside = probes.iter().map(|probe| base + probe % len);
    for first in inside.clone() {
        for count in [0, 1, 33, 64, 1000, u64::MAX] {
            let mut found = Vec::new();
            bitmap.for_each_in(first, count, |distance| found.push(first + distance));
            let expected = members.range(first..).take_while(|&value| value - first < count);
            assert!(found.iter().eq(expected));
        }
    }
    for value in inside.chain([0, base.wrapping_sub(1), base.wrapping_add(*len), u64::MAX]) {
        assert_eq!(bitmap.contains(value), members.contains(&value));
        assert_eq!(bitmap.next(value), members.range(value..).next().copied());
        assert_eq!(bitmap.previous(value), members.range(..=value).next_back().copied());
        assert_eq!(bitmap.rank(value), members.range(..=value).count() as u64);
        assert!(bitmap.iter_from(value).eq(members.range(value..).copied()));
        assert!(bitmap.iter_from(value).rev().eq(members.range(value..).rev().copied()));
    }
    for (index, &member) in members.iter().enumerate() {
        assert_eq!(bitmap.select(index as u64), Some(member));
    }
    assert_eq!(bitmap.select(members.len() as u64), None);
    let mut both = bitmap.iter();
    let mut model = members.iter().copied();
    for (turn, _) in members.iter().enumerate() {
        let (found, expected) = if probes[turn % probes.len()].is_multiple_of(2) {
            (both.next(), model.next())
        } else {
            (both.next_back(), model.next_back())
        };
        assert_eq!(found, expected);
    }
    assert_eq!((both.next(), both.next_back()), (None, None));
}

fn check_algebra<W: Word>(a: &Case, b: &Case) {
    let (left, right) = (build::<W>(a), build::<W>(b));
    let (x, y) = (&a.members, &b.members);
    assert_eq!(left.intersection_len(&right), (x & y).len() as u64);
    assert_eq!(left.union_len(&right), (x | y).len() as u64);
    assert_eq!(left.difference_len(&right), (x - y).len() as u64);
    assert_eq!(left.symmetric_difference_len(&right), (x ^ y).len() as u64);
    assert_eq!(left.is_subset(&right), x.is_subset(y));
    assert_eq!(left.is_disjoint(&right), x.is_disjoint(y));
    assert_eq!(left == right, x == y);
    let members = |bitmap: &Bitmap<W>| bitmap.iter().collect::<BTreeSet<_>>();

    assert_eq!(members(&left.intersection(&right)), x & y);
    assert_eq!(members(&left.difference(&right)), x - y);
    let universe = left.universe().unwrap();
    let fit = y.iter().all(|value| universe.contains(value));
    assert_eq!(left.union(&right).ok().map(|set| members(&set)), fit.then(|| x | y));
    let either = left.symmetric_difference(&right).ok();
    assert_eq!(either.map(|set| members(&set)), fit.then(|| x ^ y));

    let mut both = left.clone();
    both.intersection_assign(&right);
    assert_eq!(members(&both), x & y);
    let mut rest = left.clone();
    rest.difference_assign(&right);
    assert_eq!(members(&rest), x - y);
    let fits = y.iter().all(|value| left.universe().unwrap().contains(value));
    let mut all = left.clone();
    assert_eq!(all.union_assign(&right).is_ok(), fits);
    assert_eq!(members(&all), if fits { x | y } else { x.clone() });
    let mut either = left.clone();
    assert_eq!(either.symmetric_difference_assign(&right).is_ok(), fits);
    assert_eq!(members(&either), if fits { x ^ y } else { x.clone() });
}

fn check_ranges<W: Word>(case: &Case, from: u64, to: u64) {
    let range = case.base + from % case.len..=case.base + to % case.len;
    let mut bitmap = build::<W>(case);
    let mut model = case.members.clone();
    bitmap.insert_range(range.clone()).unwrap();
    model.extend(range.clone());
    assert!(bitmap.iter().eq(model.iter().copied()));
    let wider = range.start().saturating_sub(7)..=range.end().saturating_sub(3);
    bitmap.remove_range(wider.clone());
    model.retain(|value| !wider.contains(value));
    assert!(bitmap.iter().eq(model.iter().copied()));
    bitmap.clear();
    assert!(bitmap.is_empty());
}

proptest! {
    #[test]
    fn queries_agree_with_a_set(case in case(), probes in prop::collection::vec(any::<u64>(), 1..40)) {
        check_queries::<u32>(&case, &probes);
        check_queries::<u64>(&case, &probes);
    }

    #[test]
    fn algebra_agrees_with_sets(a in case(), b in case(), near in any::<bool>()) {
        let mut b = b;
        if near {
            // Universes that overlap at any distance.
            let base = a.base.saturating_add(b.base % 90).min(u64::MAX - b.len);
            b.members = b.members.iter().map(|value| value - b.base + base).collect();
            b.base = base;
        }
        check_algebra::<u32>(&a, &b);
        check_algebra::<u64>(&a, &b);
    }

    #[test]
    fn ranges_agree_with_a_set(case in case(), from: u64, to: u64) {
        check_ranges::<u32>(&case, from, to);
        check_ranges::<u64>(&case, from, to);
    }

    #[test]
    fn blocks_are_read_from_both_ends(
        sparse in prop::collection::vec(0_u64..20_000, 0..300),
        run in 0_u64..19_000,
        length in 0_u64..1000,
        from in 0_u64..20_000,
        turns in prop::collection::vec(any::<bool>(), 1..50),
    ) {
        let members: BTreeSet<u64> = sparse.into_iter().chain(run..run + length).map(|v| v + 5).collect();
        let (mut narrow, mut wide) = (Bitmap::<u32>::with_base(5, 20_000), Bitmap::<u64>::with_base(5, 20_000));
        for &value in &members {
            narrow.insert(value);
            wide.insert(value);
        }
        prop_assert!(narrow.iter_from(from).eq(members.range(from..).copied()));
        let mut folded = Vec::new();
        wide.iter_from(from).for_each(|value| folded.push(value));
        prop_assert!(folded.into_iter().eq(members.range(from..).copied()));
        prop_assert!(wide.iter_from(from).rev().eq(members.range(from..).rev().copied()));
        let (mut a, mut b, mut model) = (narrow.iter(), wide.iter(), members.iter().copied());
        for turn in turns.iter().cycle().take(members.len() + 2) {
            let expected = if *turn { model.next() } else { model.next_back() };
            for found in if *turn { [a.next(), b.next()] } else { [a.next_back(), b.next_back()] } {
                prop_assert_eq!(found, expected);
            }
            let (low, high) = b.size_hint();
            prop_assert!(low <= model.len() && model.len() <= high.unwrap());
        }
        let end = from + length;
        let mut rest = Bitmap::<u64>::with_base(64, 20_000);
        rest.insert_range(from.clamp(64, 20_000)..=end.clamp(64, 20_000)).unwrap();
        let theirs: BTreeSet<u64> = rest.iter().collect();
        prop_assert_eq!(wide.intersection_len(&rest), members.intersection(&theirs).count() as u64);
        prop_assert!(wide.intersection(&rest).iter().eq(members.intersection(&theirs).copied()));
        prop_assert!(wide.difference(&rest).iter().eq(members.difference(&theirs).copied()));
        prop_assert_eq!(wide.rank(end), members.range(..=end).count() as u64);
    }

    #[test]
    fn bytes_and_words_of_either_width_are_the_same_set(case in case(), shift in 0_usize..8) {
        let narrow = build::<u32>(&case);
        let wide = build::<u64>(&case);
        let mut bytes = vec![0; shift];
        narrow.as_words().iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.resize(shift + wide.as_words().len() * 8, 0);
        let view: BitmapView<'_, u64> = BitmapView::from_le_bytes(case.base, &bytes[shift..]);
        prop_assert!(view.iter().eq(wide.iter()));
        prop_assert!(view == wide);
        let mut words = wide.as_words().to_vec();
        let mut borrowed = BitmapMut::from_words_mut(case.base, &mut words);
        prop_assert!(borrowed == wide);
        prop_assert!(case.members.iter().all(|&value| borrowed.remove(value)));
        prop_assert!(words.iter().all(|&word| word == 0));
    }

    #[test]
    fn bulk_insertion_separates_new_values_from_others(
        lows in prop::collection::vec(0_u32..500, 0..600),
    ) {
        let mut words = [0_u64; 8];
        let mut bits = BitmapMut::from_words_mut(0, &mut words);
        let mut again = vec![0; lows.len()];
        let count = bits.insert_lows(&lows, &mut again);
        let mut seen = BTreeSet::new();
        let expected: Vec<u32> = lows.iter().copied().filter(|&low| !seen.insert(low)).collect();
        prop_assert_eq!(&again[..count], &expected[..]);
        prop_assert!(bits.iter().eq(seen.iter().map(|&low| u64::from(low))));
        bits.clear();
        bits.insert_all(&lows);
        prop_assert!(bits.iter().eq(seen.iter().map(|&low| u64::from(low))));
    }
}
