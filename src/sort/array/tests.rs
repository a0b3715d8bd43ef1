use super::*;
use proptest::prelude::*;

/// Every way of an array, against the sort of the standard library.
fn check<T: Entry>(values: &[T], threads: usize) {
    for &level in Level::available() {
        check_by(ArraySort { level: Some(level), ..ArraySort::new() }.threads(threads), values);
    }
}

fn check_by<T: Entry>(sort: ArraySort, values: &[T]) {
    let mut expected = values.to_vec();
    expected.sort_unstable();
    let mut out = vec![T::default(); values.len()];
    assert_eq!(sort.sort(&values, &mut out).unwrap(), values.len());
    assert!(out == expected);
    assert_eq!(sort.clone().reverse(true).sort(&values, &mut out).unwrap(), values.len());
    expected.reverse();
    assert!(out == expected);
    let runs: Vec<(T, u64)> =
        expected.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect();
    let counts = sort.clone().reverse(true).count(&values, &mut out).unwrap();
    assert!(out.iter().copied().zip(counts).eq(runs.iter().copied()));
    let len = sort.distinct(true).sort(&values, &mut out).unwrap();
    assert!(out[..len].iter().rev().eq(runs.iter().map(|(value, _)| value)));
}

fn random(len: usize) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(7);
    (0..len).map(|_| random.u64(..)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_values_are_sorted(
        seed: u64, len in 0_usize..80_000, bits in 0_u32..64, crowd in 0_u64..3, threads in 1_usize..4,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut value = || {
            let crowded = random.u64(..3) < crowd;
            if crowded { 1 << 40 | random.u64(..1 << 10) } else { random.u64(..) >> bits }
        };
        let values: Vec<u64> = (0..len).map(|_| value()).collect();
        check(&values, threads);
        #[expect(clippy::cast_possible_truncation, reason = "any values will do")]
        check(&values.iter().map(|value| *value as u32).collect::<Vec<_>>(), threads);
    }
}

#[test]
fn values_of_every_distribution_are_sorted() {
    const LEN: usize = 300_000;
    let values = random(LEN);
    let of = |value: &dyn Fn(u64) -> u64| values.iter().map(|v| value(*v)).collect::<Vec<_>>();
    let mut sorted = values.clone();
    sorted.sort_unstable();
    let mut nearly = sorted.clone();
    nearly.swap(3, LEN - 3);
    let mut ends = of(&|value| value % 1000);
    (ends[5], ends[LEN / 2]) = (u64::MAX, u64::MAX - 1);
    let reversed = sorted.iter().rev().copied().collect();
    for values in [
        sorted,
        reversed,
        nearly,
        ends,
        vec![u64::MAX; LEN],
        vec![0; LEN],
        of(&|value| (value % 7) << 60),
        of(&|value| value >> (value % 64)),
        of(&|value| u64::MAX - (value >> 40)),
        of(&|value| if value % 10 == 0 { value } else { 42 + value % 3 }),
        values.clone(),
    ] {
        for threads in [1, 2, 3] {
            check(&values, threads);
        }
        #[expect(clippy::cast_possible_truncation, reason = "any values will do")]
        check(&values.iter().map(|value| *value as u32).collect::<Vec<_>>(), 2);
    }
}

/// Gives other values whenever it is read.
struct Changing(std::sync::atomic::AtomicU64, usize);

impl ReadNumbers<u64> for Changing {
    fn count(&self) -> usize {
        self.1
    }

    fn read(&self, _: usize, out: &mut [u64]) -> Result<()> {
        let seed = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut random = fastrand::Rng::with_seed(seed);
        out.fill_with(|| random.u64(..));
        Ok(())
    }
}

#[test]
fn values_that_change_meanwhile_are_read_once_or_an_error() {
    let changing = Changing(1.into(), 100_000);
    for &level in Level::available() {
        let sort = ArraySort { level: Some(level), ..ArraySort::new() }.threads(2);
        let mut out = vec![0; 100_000];
        match sort.sort_u64(&changing, &mut out) {
            // They are read once.
            Ok(_) if quicksort::is_fast(level) => assert!(out.is_sorted()),
            found => assert!(matches!(found, Err(Error::InputRewritten { .. })), "{found:?}"),
        }
    }
}

/// Refuses a number.
struct Refusing(usize);

impl ReadNumbers<u32> for Refusing {
    fn count(&self) -> usize {
        200_000
    }

    fn read(&self, from: usize, out: &mut [u32]) -> Result<()> {
        let refused = (from..from + out.len()).find(|index| *index >= self.0);
        refused.map_or(Ok(()), |index| Err(Error::usage(format!("index {index}"))))
    }
}

#[test]
fn errors_come_through() {
    for index in [70_001, 199_999] {
        let found = ArraySort::new().threads(4).sort_u32(&Refusing(index), &mut vec![0; 200_000]);
        assert!(found.is_err());
    }
    assert!(ArraySort::new().sort_u64(&[1, 2], &mut [0]).is_err());
    assert!(ArraySort::new().threads(0).sort_u64(&[1], &mut [0]).is_err());
    let progress = Arc::new(Progress::default());
    progress.cancel_flag().store(true, std::sync::atomic::Ordering::Relaxed);
    let found = ArraySort::new().progress(progress).sort_u64(&[1], &mut [0]);
    assert!(matches!(found, Err(Error::Interrupted)));
}
