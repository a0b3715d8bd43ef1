//! Makes containers of runs.

use crate::error::{Error, Result};
use crate::set::container::{Container, SPAN, run};
use crate::set::file::ValueSink;
use crate::set::view::SetView;

/// Runs in ascending order, no two of which overlap or touch.
pub(crate) trait RunSource: Send {
    /// Replaces `runs` with the next ones, about [`BATCH`] of them, each as its first and its last
    /// value; gives whether there are any. After the end it gives none again.
    fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<bool>;

    /// Called during a long run of which no more is needed; an error ends the work.
    fn check(&self) -> Result<()>;

    /// Whether it is known that all values are below 2^32.
    fn is_narrow(&self) -> bool {
        false
    }

    /// The windows by which several threads can share the source, if nothing was taken from it;
    /// none if only one thread can take it.
    fn windows(&self) -> Option<Windows> {
        None
    }

    /// The runs with a value in `window`, if the source can find them. The window may come from
    /// another source; runs at its ends may then be in two windows.
    fn window(&self, _window: [u64; 2]) -> Option<Box<dyn RunSource + '_>> {
        None
    }
}

/// The windows by which threads share a source.
pub(crate) struct Windows {
    pub(crate) threads: usize,
    /// Ascending windows, which do not overlap; each run is in one of them.
    pub(crate) windows: Vec<[u64; 2]>,
}

/// About the number of runs in a window: their text fills one or two buffers.
const WINDOW_RUNS: usize = if cfg!(test) { 8 } else { 1 << 13 };

impl Windows {
    /// Windows of `runs` runs; `first` gives the first value of a run.
    pub(crate) fn of(threads: usize, runs: usize, first: impl Fn(usize) -> u64) -> Option<Self> {
        if threads < 2 || runs < 2 * WINDOW_RUNS {
            return None;
        }
        let window = |from: usize| {
            let behind = from + WINDOW_RUNS;
            // A run that follows another one does not begin at 0.
            [first(from), if behind < runs { first(behind) - 1 } else { u64::MAX }]
        };
        Some(Self { threads, windows: (0..runs).step_by(WINDOW_RUNS).map(window).collect() })
    }
}

/// About the number of runs that are handed over together.
pub(crate) const BATCH: usize = 1 << 10;

/// Most values of ranges: the containers of more would take 4 GiB, for a few lines of text.
pub(super) const MAX_VALUES: u64 = 1 << 44;
/// Most containers of so many values.
pub(super) const MAX_CONTAINERS: u64 = MAX_VALUES / SPAN as u64 + 1;

impl SetView<'_> {
    /// Whether it is a list of ranges of more than [`MAX_VALUES`] values.
    pub(super) fn is_too_wide(self) -> bool {
        self.full_containers() > MAX_VALUES >> 16
    }
}

/// Makes containers of runs and hands them to a sink.
pub(crate) fn push_runs(
    sink: &mut (impl ValueSink + ?Sized),
    source: &mut dyn RunSource,
) -> Result<()> {
    let mut parts: Vec<[u8; 4]> = Vec::new();
    let (mut key, mut containers, mut runs) = (0, 0, Vec::new());
    while source.next(&mut runs)? {
        for &[first, last] in &runs {
            let shares_container = !parts.is_empty() && first >> 16 == key;
            containers += (last >> 16) - (first >> 16) + u64::from(!shares_container);
            if containers > MAX_CONTAINERS {
                return Err(Error::TooWide { first, last, limit: MAX_VALUES });
            }
            for next in first >> 16..=last >> 16 {
                if next != key {
                    if !parts.is_empty() {
                        sink.container(key, Container::Runs(&parts))?;
                        parts.clear();
                    }
                    key = next;
                    if key.is_multiple_of(1 << 12) {
                        source.check()?;
                    }
                }
                let low = |value: u64| (value & 0xFFFF) as u32;
                let from = if next == first >> 16 { low(first) } else { 0 };
                let to = if next == last >> 16 { low(last) } else { SPAN - 1 };
                parts.push(run(from, to));
            }
        }
    }
    if parts.is_empty() { Ok(()) } else { sink.container(key, Container::Runs(&parts)) }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::set::IntegerSet;

    /// Hands over a few runs at a time.
    pub(in crate::set) struct Given(std::vec::IntoIter<[u64; 2]>, usize);

    impl Given {
        pub(in crate::set) fn new(runs: impl Into<Vec<[u64; 2]>>) -> Self {
            Self(runs.into().into_iter(), 7)
        }
    }

    impl RunSource for Given {
        fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<bool> {
            runs.clear();
            runs.extend(self.0.by_ref().take(self.1));
            Ok(!runs.is_empty())
        }

        fn check(&self) -> Result<()> {
            Ok(())
        }

        fn windows(&self) -> Option<Windows> {
            let runs = self.0.as_slice();
            Windows::of(3, runs.len(), |index| runs[index][0])
        }

        fn window(&self, [first, last]: [u64; 2]) -> Option<Box<dyn RunSource + '_>> {
            let is_in = |run: &&[u64; 2]| run[1] >= first && run[0] <= last;
            let runs: Vec<_> = self.0.as_slice().iter().filter(is_in).copied().collect();
            Some(Box::new(Self::new(runs)))
        }
    }

    /// Keeps the values of containers.
    #[derive(Default)]
    pub(in crate::set) struct Keep(pub(in crate::set) Vec<u64>);

    impl ValueSink for Keep {
        fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
            assert_eq!(container.disorder(), None);
            let mut lows = Vec::new();
            let count = container.positions(0, &mut lows);
            self.0.extend(lows[..count].iter().map(|&low| key << 16 | u64::from(low)));
            Ok(())
        }
    }

    #[test]
    fn a_set_of_too_wide_a_range_is_refused_before_it_is_written() {
        let mut kept = Keep::default();
        let refused = kept.runs(&mut Given::new([[5, 5], [1 << 20, u64::MAX]])).unwrap_err();
        assert!(matches!(refused, Error::TooWide { last: u64::MAX, .. }), "{refused}");
        assert!(kept.0.is_empty(), "{:?}", kept.0);
    }

    /// Runs of every second number.
    struct Odd {
        next: u64,
        end: u64,
    }

    impl RunSource for Odd {
        fn next(&mut self, runs: &mut Vec<[u64; 2]>) -> Result<bool> {
            runs.clear();
            let end = self.end.min(self.next + 2 * BATCH as u64);
            runs.extend((self.next..end).skip(1).step_by(2).map(|odd| [odd, odd]));
            self.next = end;
            Ok(!runs.is_empty())
        }

        fn check(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn any_number_of_runs_fits_in_few_containers() {
        #[derive(Default)]
        struct Count(u64);

        impl ValueSink for Count {
            fn container(&mut self, key: u64, container: Container<'_>) -> Result<()> {
                assert_eq!((key, container.len()), (self.0, SPAN / 2));
                self.0 += 1;
                Ok(())
            }
        }

        let containers = if cfg!(miri) { 3 } else { 8_200 };
        let mut count = Count::default();
        push_runs(&mut count, &mut Odd { next: 0, end: containers << 16 }).unwrap();
        assert_eq!(count.0, containers);
    }

    #[test]
    fn the_containers_of_runs_are_those_of_their_values() {
        let runs = [[3, 3], [65_530, 200_000], [200_002, 200_009], [u64::MAX - 1, u64::MAX]];
        let folder = tempfile::tempdir().unwrap();
        let [ours, theirs] = ["x.bits", "y.bits"].map(|name| folder.path().join(name));
        let write = |path, produce: &dyn Fn(&mut dyn ValueSink) -> Result<()>| {
            let (format, spool) = (crate::set::SetFormat::Bits, crate::set::file::Spool::default());
            crate::set::write_file(path, format, &spool, false, produce).unwrap();
        };
        write(&ours, &|sink| sink.runs(&mut Given::new(runs)));
        IntegerSet::from_ranges(runs.map(|[first, last]| first..=last)).write(&theirs).unwrap();
        assert!(std::fs::read(&ours).unwrap() == std::fs::read(&theirs).unwrap());
    }
}
