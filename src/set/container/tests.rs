use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Values as one kind of container has them.
#[derive(Debug, Clone)]
enum Owned {
    Array(Vec<[u8; 2]>),
    Bitmap(Box<BitmapWords>),
    Runs(Vec<[u8; 4]>),
}

impl Owned {
    fn all(values: &BTreeSet<u16>) -> Vec<Self> {
        let array: Vec<_> = values.iter().map(|low| low.to_le_bytes()).collect();
        let words = Scratch::words_of(Container::Array(&array));
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for &low in values {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == u32::from(low) => *last += 1,
                _ => runs.push((low.into(), low.into())),
            }
        }
        let runs = runs.into_iter().map(|(first, last)| run(first, last)).collect();
        vec![Self::Array(array), Self::Bitmap(words), Self::Runs(runs)]
    }

    fn container(&self) -> Container<'_> {
        match self {
            Self::Array(values) => Container::Array(values),
            Self::Bitmap(words) => Container::Bitmap(words),
            Self::Runs(runs) => Container::Runs(runs),
        }
    }
}

/// An interpreter takes a second for some hundred values.
const MOST: u16 = if cfg!(miri) { 100 } else { 3000 };
const PROBES: usize = if cfg!(miri) { 1 } else { 30 };

fn values() -> impl Strategy<Value = BTreeSet<u16>> {
    let edges = prop_oneof![Just(0_u16), Just(63), Just(64), Just(65_535), any::<u16>()];
    let runs = prop::collection::vec((any::<u16>(), 0..MOST), 0..5);
    (prop::collection::btree_set(edges, 0..usize::from(MOST) / 10), runs).prop_map(
        |(mut values, runs)| {
            for (start, length) in runs {
                values.extend(start..=start.saturating_add(length));
            }
            values
        },
    )
}

fn decoded(container: Container<'_>) -> Vec<u32> {
    let mut positions = Vec::new();
    let count = container.positions(7 << 16, &mut positions);
    positions.truncate(count);
    positions
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 64 }))]

    #[test]
    fn every_kind_answers_like_the_model(set in values(), probes in prop::collection::vec(any::<u16>(), PROBES)) {
        let probes = probes.into_iter().chain([0, 1, 63, 64, 65_535]).chain(set.iter().copied().take(PROBES));
        let probes: Vec<u16> = probes.collect();
        let sorted: Vec<u16> = set.iter().copied().collect();
        for owned in Owned::all(&set) {
            let container = owned.container();
            prop_assert_eq!(container.len() as usize, set.len());
            prop_assert_eq!(container.disorder(), None);
            for &low in &probes {
                prop_assert_eq!(container.contains(low), set.contains(&low));
                prop_assert_eq!(container.rank(low) as usize, set.range(..=low).count());
                prop_assert_eq!(container.next(low), set.range(low..).next().copied());
                prop_assert_eq!(container.previous(low), set.range(..=low).next_back().copied());
                let index = usize::from(low) % (set.len() + 2);
                prop_assert_eq!(container.select(u32::try_from(index).unwrap()), sorted.get(index).copied());
            }
            let expected: Vec<u32> = set.iter().map(|&low| (7 << 16) + u32::from(low)).collect();
            prop_assert_eq!(decoded(container), expected);
            let breaks = sorted.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count();
            prop_assert_eq!(container.run_count(), breaks + usize::from(!set.is_empty()));
        }
    }

    #[test]
    fn operations_on_every_pair_of_kinds_agree_with_the_model(a in values(), b in values()) {
        let mut scratch = Scratch::default();
        for left in Owned::all(&a) {
            for right in Owned::all(&b) {
                let (x, y) = (left.container(), right.container());
                let common = a.intersection(&b).count();
                prop_assert_eq!(intersection_len(x, y) as usize, common);
                prop_assert_eq!(intersects(x, y), common > 0);
                prop_assert_eq!(is_subset(x, y), a.is_subset(&b));
                for (op, expected) in [
                    (Op::And, a.intersection(&b).copied().collect::<BTreeSet<_>>()),
                    (Op::Or, a.union(&b).copied().collect()),
                    (Op::Xor, a.symmetric_difference(&b).copied().collect()),
                    (Op::AndNot, a.difference(&b).copied().collect()),
                ] {
                    scratch.join(op, x, y);
                    let result = &scratch;
                    let expected: Vec<u32> =
                        expected.into_iter().map(|low| (7 << 16) + u32::from(low)).collect();
                    prop_assert_eq!(result.is_empty(), expected.is_empty());
                    prop_assert_eq!(decoded(result.container()), &expected[..], "{:?}", op);
                    let mut form = Scratch::default();
                    prop_assert_eq!(decoded(form.runs_of(result.container())), &expected[..]);
                    prop_assert_eq!(decoded(form.bitmap_of(result.container())), &expected[..]);
                    prop_assert_eq!(decoded(form.array_of(result.container())), &expected[..]);
                }
            }
        }
    }
}

#[test]
fn disorder_is_noticed() {
    let wrong = [3_u16, 3].map(u16::to_le_bytes);
    assert!(Container::Array(&wrong).disorder().is_some());
    assert!(Container::Runs(&[run(5, 9), run(10, 12)]).disorder().is_some());
    assert!(Container::Runs(&[[255, 255, 1, 0]]).disorder().is_some());
    // Whatever the order, nothing panics.
    let wild = [run(60_000, 65_535), [255, 255, 255, 255], run(0, 65_535)];
    let wild = Container::Runs(&wild);
    let mut positions = Vec::new();
    assert!(wild.positions(0, &mut positions) <= 1 << 16);
    let _ = (wild.len(), wild.rank(9), wild.select(70_000), wild.next(5), wild.previous(5));
    let mut scratch = Scratch::default();
    let array = [9_u16, 9, 3, 65_535, 0].map(u16::to_le_bytes);
    let words = Scratch::words_of(wild);
    let kinds = [wild, Container::Array(&array), Container::Bitmap(&words)];
    for (a, b) in kinds.iter().flat_map(|a| kinds.iter().map(move |b| (*a, *b))) {
        let _ = intersection_len(a, b);
        for op in [Op::And, Op::Or, Op::Xor, Op::AndNot] {
            scratch.join(op, a, b);
            let joined = scratch.container();
            let _ = (joined.len(), joined.runs_up_to(7), Scratch::default().runs_of(joined));
        }
    }
}
