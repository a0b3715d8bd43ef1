use super::*;
use proptest::prelude::*;

fn check<T: Sortable + std::fmt::Debug>(values: &[T]) {
    let mut expected = values.to_vec();
    expected.sort_unstable();
    let ways = Level::available().iter().flat_map(|level| [(level, false), (level, true)]);
    for (&level, shared) in ways {
        let mut found = values.to_vec();
        let done = std::sync::atomic::AtomicUsize::new(0);
        sort(level, shared, &mut found, &|count| {
            done.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
            true
        });
        assert!(found == expected, "{}: {values:?}", level.name());
        assert_eq!(done.into_inner(), values.len());
    }
}

/// Both widths, with the same order where the low half decides.
fn check_both(values: &[u64]) {
    check(values);
    check(&values.iter().map(|value| (*value >> 32) as u32).collect::<Vec<_>>());
}

/// Patterns that make a quicksort split badly, among others.
fn patterns(len: u64, mut random: impl FnMut() -> u64) -> Vec<Vec<u64>> {
    let high = |value: u64| value << 32;
    vec![
        (0..len).map(|_| random()).collect(),
        (0..len).map(high).collect(),
        (0..len).rev().map(high).collect(),
        (0..len).map(|i| high(i.min(len - i))).collect(),
        (0..len).map(|i| high(i % 7)).collect(),
        (0..len).map(|i| if i % 2 == 0 { u64::MAX } else { 0 }).collect(),
        vec![u64::MAX; usize::try_from(len).unwrap()],
        vec![0; usize::try_from(len).unwrap()],
        (0..len).map(|i| if i == len / 2 { 0 } else { u64::MAX - i }).collect(),
        (0..len).map(|_| random() & random() & random()).collect(),
        (0..len).map(|_| if random().is_multiple_of(8) { random() } else { high(5) }).collect(),
    ]
}

#[test]
fn every_level_sorts_every_length() {
    let mut random = fastrand::Rng::with_seed(3);
    for len in (0..=600).chain([1023, 4096, 5001, 70_000]) {
        for values in patterns(len, || random.u64(..)) {
            check_both(&values);
        }
    }
}

/// Values at the places that a pivot is taken from are lower than all others, again and again.
#[test]
fn lying_samples_do_not_end_in_quadratic_time() {
    const LEN: usize = 60_000;
    for samples in [32, 64] {
        let mut values: Vec<u64> = (0..LEN as u64).map(|i| i << 32 | 1 << 60).collect();
        for (order, value) in values.iter_mut().step_by(LEN / samples).enumerate() {
            *value = (order as u64) << 32;
        }
        check_both(&values);
    }
}

#[test]
fn a_sort_that_is_stopped_ends() {
    let mut values: Vec<u64> = (0..1 << 20).rev().collect();
    for &level in Level::available() {
        sort(level, true, &mut values, &|_| false);
    }
}

proptest! {
    #[test]
    fn every_level_sorts_any_values(
        wide in prop::collection::vec(any::<u64>(), 0..3000),
        narrow in prop::collection::vec(0..20_u64, 0..1000),
    ) {
        check_both(&wide);
        check_both(&narrow.iter().map(|value| value << 32).collect::<Vec<_>>());
    }
}
