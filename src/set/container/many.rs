//! Joins many containers at once. The cost is that of all their values; joining them one by one
//! would also cost the result of each step.

use super::owned::is_full;
use super::scratch::clear;
use super::{Container, MAX_ARRAY, SPAN, Scratch, WORDS, intervals, run};
use crate::kernel::Level;
use crate::kernel::steps;
use crate::kernel::words::{self, Op};

/// The number of containers that must have a value, so that it is in the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Among {
    /// One or more.
    Any,
    /// An odd number.
    Odd,
    /// At least that many.
    AtLeast(usize),
}

/// Up to this many values are sorted. For fewer values, a bitmap of all possible ones would cost
/// more: 1 µs.
const FEW: usize = 128;

/// Fewer runs are sorted by their ends: bitmaps would cost more.
const FEW_RUNS: usize = 64;

impl Among {
    /// Whether a value in `copies` containers is in the result.
    pub(crate) fn has(self, copies: usize) -> bool {
        match self {
            Self::Any => copies > 0,
            Self::Odd => copies % 2 == 1,
            Self::AtLeast(least) => copies >= least,
        }
    }
}

impl Scratch {
    /// Makes this the values that so many of `containers` have. Their order does not matter.
    pub(crate) fn gather(&mut self, among: Among, containers: &[Container<'_>]) {
        steps::count(containers.iter().map(|container| 1 + container.bytes().len() / 8).sum());
        match among {
            Among::AtLeast(least) if least > containers.len() => self.clear(),
            Among::AtLeast(0 | 1) => self.gather(Among::Any, containers),
            Among::Any if containers.iter().copied().any(is_full) => {
                self.set_runs([run(0, SPAN - 1)]);
            }
            _ if few(containers) => self.sort(among, containers),
            _ if few_runs(containers) => self.cross(among, containers),
            Among::Any | Among::Odd => self.overlay(among, containers),
            Among::AtLeast(least) => self.tally(least, containers),
        }
    }

    /// Joins by sorting all values.
    fn sort(&mut self, among: Among, containers: &[Container<'_>]) {
        let mut lows = Vec::with_capacity(FEW);
        for container in containers {
            let found = container.positions(0, &mut self.positions);
            lows.extend_from_slice(&self.positions[..found]);
        }
        lows.sort_unstable();
        let copies = lows.chunk_by(|a, b| a == b).filter(|copies| among.has(copies.len()));
        #[expect(clippy::cast_possible_truncation, reason = "positions in a container")]
        self.set_array(copies.map(|copies| (copies[0] as u16).to_le_bytes()));
    }

    /// Joins runs by sorting their ends.
    fn cross(&mut self, among: Among, containers: &[Container<'_>]) {
        let mut ends = Vec::new();
        for container in containers {
            if let Container::Runs(runs) = container {
                ends.extend(
                    intervals(runs).flat_map(|(first, last)| [(first, true), (last + 1, false)]),
                );
            }
        }
        ends.sort_unstable();
        let (mut depth, mut open, mut joined) = (0_usize, None, Vec::new());
        for alike in ends.chunk_by(|a, b| a.0 == b.0) {
            let begun = alike.iter().filter(|end| end.1).count();
            depth = (depth + begun).saturating_sub(alike.len() - begun);
            let (place, is_in) = (alike[0].0, depth > 0 && among.has(depth));
            match open {
                None if is_in => open = Some(place),
                Some(first) if !is_in => {
                    joined.push(run(first, place - 1));
                    open = None;
                }
                _ => {}
            }
        }
        self.set_runs(joined);
    }

    /// Joins by setting or flipping bits in one bitmap.
    fn overlay(&mut self, among: Among, containers: &[Container<'_>]) {
        let op = if among == Among::Any { Op::Or } else { Op::Xor };
        let words = clear(&mut self.words);
        for container in containers {
            container.join_in(op, words);
        }
        self.set_kind_of_words();
    }

    /// Joins by counting: each possible value has a counter, whose bits are in as many bitmaps as
    /// the number `least` has bits. A value that `least` containers have is in the result.
    fn tally(&mut self, least: usize, containers: &[Container<'_>]) {
        let planes = least.ilog2() as usize + 1;
        let mut counters = vec![[0_u64; WORDS]; planes];
        let mut reached = [0_u64; WORDS];
        let mut scratch = Self::default();
        for container in containers {
            let Container::Bitmap(theirs) = scratch.bitmap_of(*container) else { continue };
            for (index, &theirs) in theirs.iter().enumerate() {
                let mut carry = u64::from_le_bytes(theirs);
                if carry == 0 {
                    continue;
                }
                let mut equal = u64::MAX;
                for (plane, counter) in counters.iter_mut().enumerate() {
                    let sum = counter[index] ^ carry;
                    carry &= counter[index];
                    counter[index] = sum;
                    equal &= if least >> plane & 1 == 1 { sum } else { !sum };
                }
                // Stop at `least`, before a counter can overflow.
                reached[index] |= equal;
            }
        }
        let words = clear(&mut self.words);
        for (word, bits) in words.iter_mut().zip(reached) {
            *word = bits.to_le_bytes();
        }
        self.set_kind_of_words();
    }
}

/// Whether the containers have few values together.
fn few(containers: &[Container<'_>]) -> bool {
    let mut values = 0;
    containers.iter().all(|container| {
        values += match container {
            Container::Array(lows) => lows.len(),
            Container::Runs(runs) if runs.len() <= FEW => container.len() as usize,
            _ => MAX_ARRAY,
        };
        values <= FEW
    })
}

/// Whether all containers are of runs, and these are few.
fn few_runs(containers: &[Container<'_>]) -> bool {
    let mut count = 0;
    containers.iter().all(|container| {
        count += if let Container::Runs(runs) = container { runs.len() } else { FEW_RUNS };
        count < FEW_RUNS
    })
}

impl Container<'_> {
    /// Sets the bits of the values in `words`, or flips them.
    pub(crate) fn join_in(self, op: Op, words: &mut super::BitmapWords) {
        match self {
            Self::Array(values) => {
                for &low in values {
                    let low = u16::from_le_bytes(low);
                    let word = &mut words[usize::from(low >> 6)];
                    *word = op.join(u64::from_le_bytes(*word), 1 << (low & 63)).to_le_bytes();
                }
            }
            Self::Bitmap(theirs) => {
                words::join_assign::<[u8; 8]>(Level::best(), op, words, theirs);
            }
            Self::Runs(runs) => {
                for (first, last) in intervals(runs) {
                    super::for_words(words, first, last, |word, bits| *word = op.join(*word, bits));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Sets of a few values, of many, and of runs.
    fn values() -> impl Strategy<Value = BTreeSet<u16>> {
        prop_oneof![
            prop::collection::btree_set(any::<u16>(), 0..20),
            prop::collection::btree_set(any::<u16>(), 0..6000),
            prop::collection::vec((any::<u16>(), 0..30_000_u16), 0..4).prop_map(|runs| {
                let runs = runs.into_iter();
                runs.flat_map(|(first, len)| first..=first.saturating_add(len)).collect()
            }),
            Just((0..=u16::MAX).collect()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn gathered_values_are_those_that_are_counted(
            sets in prop::collection::vec((values(), 0..3_u8), 0..12), least in 0..9_usize,
        ) {
            let mut forms = vec![Scratch::default(); sets.len()];
            let lows: Vec<Vec<[u8; 2]>> =
                sets.iter().map(|(set, _)| set.iter().map(|low| low.to_le_bytes()).collect()).collect();
            let containers: Vec<_> = lows.iter().zip(&sets).zip(&mut forms).map(|((lows, (_, form)), scratch)| {
                let array = Container::Array(lows);
                match form {
                    0 if lows.len() <= MAX_ARRAY => array,
                    1 => scratch.runs_of(array),
                    _ => scratch.bitmap_of(array),
                }
            }).collect();
            let mut counts = vec![0_usize; SPAN as usize];
            sets.iter().flat_map(|(set, _)| set).for_each(|&low| counts[usize::from(low)] += 1);
            for among in [Among::Any, Among::Odd, Among::AtLeast(least)] {
                let mut found = Scratch::default();
                found.gather(among, &containers);
                let mut positions = Vec::new();
                let count = found.container().positions(0, &mut positions);
                let wanted = |copies: usize| match among {
                    Among::Any => copies > 0,
                    Among::Odd => copies % 2 == 1,
                    Among::AtLeast(least) => copies >= least.max(1),
                };
                let expected: Vec<u32> =
                    (0..SPAN).filter(|&low| wanted(counts[low as usize])).collect();
                prop_assert_eq!(&positions[..count], &expected[..]);
            }
        }
    }
}
