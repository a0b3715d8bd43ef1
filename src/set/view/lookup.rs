//! A table of a whole set for very many questions: each is answered with about one access to memory.
//!
//! Three kinds of tables take the least memory for sets of different density: a bit for each number,
//! the marks of a [`Screen`], and the values themselves in buckets of a cache line, found by a hash.

use super::screen::MULTIPLIER;
use super::{Damage, Screen, SetView};
use crate::kernel::sys::{Pages, atomic_words};
use crate::kernel::{in_threads, in_usize, prefetch};
use crate::set::container::{Container, Op, WORDS};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Most bytes of a table.
const MOST_BYTES: usize = 1 << 28;
/// Questions whose memory is being prefetched.
const DEPTH: usize = 64;
/// Values of a bucket: a cache line.
const BUCKET: usize = 8;
/// Shares of the values for each thread that fills a table.
const SHARES: u64 = 4;
/// Most buckets that are looked at for a value. Values that are made to have the same hash need more.
const MOST_STEPS: usize = 32;

/// Answers questions to a set.
#[derive(Debug)]
pub(super) enum Lookup {
    Bits(Bits),
    Marks(Screen),
    Values(Values),
}

impl Lookup {
    /// A table for about `count` questions in all, made by `threads`; none if it costs more than it
    /// saves, or if there is no memory for it. O(values of the set).
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub(super) fn new(
        view: SetView<'_>,
        count: usize,
        threads: usize,
    ) -> Result<Option<Self>, Damage> {
        let Some((min, max)) = view.min()?.zip(view.max()?) else { return Ok(None) };
        let len = view.len()?;
        if len > count as u64 {
            return Ok(None);
        }
        let bits = Bits::bytes(min, max).filter(|&bytes| bytes <= MOST_BYTES.min(8 * count));
        let values = Values::bytes(len);
        // Marks need neighbouring containers.
        let has_neighbours = (max >> 16).saturating_sub(min >> 16) / 2 <= len;
        let others = bits.into_iter().chain(values).min().unwrap_or(MOST_BYTES);
        if has_neighbours && let Some(marks) = Screen::for_many(view, count, others, threads)? {
            return Ok(Some(Self::Marks(marks)));
        }
        Ok(match (bits, values) {
            (Some(bytes), _) if bytes == others => Bits::new(view, min, bytes)?.map(Self::Bits),
            (_, Some(bytes)) => Values::new(view, bytes, threads)?.map(Self::Values),
            _ => None,
        })
    }

    /// Whether each of `values` is in the set, into `found`, which has as many answers. Appends the
    /// places of values that have no answer yet.
    pub(super) fn answer(&self, values: &[u64], found: &mut [bool], unsure: &mut Vec<usize>) {
        match self {
            Self::Bits(bits) => bits.answer(values, found),
            Self::Marks(screen) => screen.answer(values, found, unsure),
            Self::Values(table) => table.answer(values, found),
        }
    }
}

/// Calls `ask` for each value some time before `answer`, which gives the answer to it.
#[inline]
fn ask_ahead(values: &[u64], found: &mut [bool], ask: impl Fn(u64), answer: impl Fn(u64) -> bool) {
    values.iter().take(DEPTH).for_each(|&value| ask(value));
    let (behind, last) = values.split_at(values.len().saturating_sub(DEPTH));
    let (found, found_last) = found.split_at_mut(behind.len());
    for ((&value, found), &ahead) in
        behind.iter().zip(found).zip(&values[values.len().min(DEPTH)..])
    {
        ask(ahead);
        *found = answer(value);
    }
    for (&value, found) in last.iter().zip(found_last) {
        *found = answer(value);
    }
}

/// A bit for each number from the smallest value on, rounded down to a container.
#[derive(Debug)]
pub(super) struct Bits {
    words: Pages,
    base: u64,
}

impl Bits {
    fn bytes(min: u64, max: u64) -> Option<usize> {
        let containers = (max >> 16).checked_sub(min >> 16)?.checked_add(1)?;
        usize::try_from(containers).ok()?.checked_mul(WORDS * 8)
    }

    fn new(view: SetView<'_>, min: u64, bytes: usize) -> Result<Option<Self>, Damage> {
        let Ok(mut words) = Pages::zeroed(bytes / 8) else { return Ok(None) };
        let first_key = min >> 16;
        let (bitmaps, _) =
            bytemuck::cast_slice_mut::<u64, [u8; 8]>(words.words_mut()).as_chunks_mut();
        let mut cursor = view.cursor();
        while let Some((key, container)) = cursor.next()? {
            let place = key.checked_sub(first_key).and_then(|place| usize::try_from(place).ok());
            match place.and_then(|place| bitmaps.get_mut(place)) {
                Some(bitmap) => container.join_in(Op::Or, bitmap),
                None if container.len() == 0 => {} // of a plain bitmap
                None => {
                    return Err(Damage::of("a value is not between the smallest and the largest"));
                }
            }
        }
        Ok(Some(Self { words, base: first_key << 16 }))
    }

    #[inline]
    fn answer(&self, values: &[u64], found: &mut [bool]) {
        let words = self.words.words();
        let place = |value: u64| {
            let bit = value.wrapping_sub(self.base);
            (in_usize(bit >> 6), bit & 63)
        };
        ask_ahead(
            values,
            found,
            |value| prefetch(words, place(value).0),
            |value| {
                let (word, bit) = place(value);
                words.get(word).is_some_and(|word| u64::from_le(*word) >> bit & 1 == 1)
            },
        );
    }
}

/// The values of a set in buckets, which are filled from the front; 0 stands for no value. Values that
/// do not fit in a bucket are in the next one.
#[derive(Debug)]
pub(super) struct Values {
    words: Pages,
    /// A hash less its lower bits is the number of a bucket.
    shift: u32,
    has_zero: bool,
}

impl Values {
    /// Bytes of a table, a power of two: at most half of its places have a value, or four fifths if
    /// it would be too large. None if that is too large too.
    fn bytes(len: u64) -> Option<usize> {
        [len.checked_mul(2)?, len + len / 4].into_iter().find_map(|places| {
            let places = places.max(2 * BUCKET as u64).checked_next_power_of_two()?;
            usize::try_from(places).ok()?.checked_mul(8).filter(|&bytes| bytes <= MOST_BYTES)
        })
    }

    /// None if too many values have the same hash.
    fn new(view: SetView<'_>, bytes: usize, threads: usize) -> Result<Option<Self>, Damage> {
        let Ok(mut words) = Pages::zeroed(bytes / 8) else { return Ok(None) };
        let shift = u64::BITS - (words.words().len() / BUCKET).ilog2();
        let (len, shares) = (view.len()?, if threads == 1 { 1 } else { SHARES * threads as u64 });
        let start = |share: u64| view.select(len / shares * share);
        let starts = (1..shares).map(start).collect::<Result<Vec<_>, _>>()?;
        let starts =
            std::iter::once(0).chain(starts.into_iter().flatten().map(|value| value >> 16));
        let mut starts: Vec<u64> = starts.collect();
        starts.dedup();
        let next = AtomicUsize::new(0);
        let places = atomic_words(words.words_mut());
        let job = || -> Result<bool, Damage> {
            let mut is_fit = true;
            while is_fit && let Some(&first) = starts.get(next.fetch_add(1, Relaxed)) {
                let behind = starts.iter().copied().find(|&start| start > first);
                is_fit = put_values(view, first, behind, places, shift)?;
            }
            Ok(is_fit)
        };
        let filled: Result<Vec<bool>, _> = in_threads(threads, job).into_iter().collect();
        let has_zero = view.contains(0)?;
        Ok(filled?.into_iter().all(|is_fit| is_fit).then_some(Self { words, shift, has_zero }))
    }

    #[inline]
    fn answer(&self, values: &[u64], found: &mut [bool]) {
        let (buckets, _) = self.words.words().as_chunks::<BUCKET>();
        let words = self.words.words();
        ask_ahead(
            values,
            found,
            |value| prefetch(words, bucket_of(value, self.shift) * BUCKET),
            |value| {
                let bucket = &buckets[bucket_of(value, self.shift)];
                let is_here = is_in(value, bucket);
                // A bucket that is full may go on in the next one.
                let found = is_here || (bucket[BUCKET - 1] != 0 && self.goes_on(value, buckets));
                if value == 0 { self.has_zero } else { found }
            },
        );
    }

    /// Whether `value` is in the buckets behind its own, which is full.
    #[inline(never)]
    fn goes_on(&self, value: u64, buckets: &[[u64; BUCKET]]) -> bool {
        let first = bucket_of(value, self.shift);
        for step in 1..MOST_STEPS {
            let bucket = &buckets[(first + step) & (buckets.len() - 1)];
            let is_here = is_in(value, bucket);
            if is_here || bucket[BUCKET - 1] == 0 {
                return is_here;
            }
        }
        false
    }
}

/// Whether a bucket has a value. It looks at all places: the processor cannot predict where the value is.
#[inline]
fn is_in(value: u64, bucket: &[u64; BUCKET]) -> bool {
    bucket.iter().fold(0, |found, &other| found | u8::from(other == value)) > 0
}

/// The number of a value's bucket.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "there are fewer buckets than words in memory")]
fn bucket_of(value: u64, shift: u32) -> usize {
    // Values that differ in their upper bits only, or that have a common factor, are spread too.
    ((value ^ value >> 32).wrapping_mul(MULTIPLIER) >> shift) as usize
}

/// Puts the values of the containers from `first` to the one before `behind` into their buckets;
/// gives whether there was a place for each.
fn put_values(
    view: SetView<'_>,
    first: u64,
    behind: Option<u64>,
    places: &[AtomicU64],
    shift: u32,
) -> Result<bool, Damage> {
    let (buckets, _) = places.as_chunks::<BUCKET>();
    let (mut waiting, mut count, mut is_fit) = ([0; DEPTH], 0, true);
    each_value(view, first, behind, |value| {
        prefetch(places, bucket_of(value, shift) * BUCKET);
        let earlier = std::mem::replace(&mut waiting[count % DEPTH], value);
        is_fit &= count < DEPTH || put(buckets, shift, earlier);
        count += 1;
    })?;
    Ok(waiting[..count.min(DEPTH)].iter().all(|&value| put(buckets, shift, value)) && is_fit)
}

/// Puts `value` into the first free place of its bucket, or of the next ones; gives whether there
/// was one.
#[inline]
fn put(buckets: &[[AtomicU64; BUCKET]], shift: u32, value: u64) -> bool {
    let first = bucket_of(value, shift);
    for step in 0..MOST_STEPS {
        for place in &buckets[(first + step) & (buckets.len() - 1)] {
            let is_free = place.load(Relaxed) == 0;
            if is_free && place.compare_exchange(0, value, Relaxed, Relaxed).is_ok() {
                return true;
            }
        }
    }
    false
}

/// Hands over the values of the containers from `first` to the one before `behind`.
fn each_value(
    view: SetView<'_>,
    first: u64,
    behind: Option<u64>,
    mut take: impl FnMut(u64),
) -> Result<(), Damage> {
    if let Some(walk) = view.walk() {
        let mut walk = walk.within(first << 16, behind.map(|key| key << 16))?;
        loop {
            let values = walk.rest()?;
            if values.is_empty() {
                return Ok(());
            }
            for &value in values {
                take(value);
            }
            let count = values.len();
            walk.pass(count);
        }
    }
    let (mut cursor, mut lows) = (view.cursor(), Vec::new());
    cursor.seek(first)?;
    while let Some((key, container)) = cursor.next_sound()?
        && behind.is_none_or(|behind| key < behind)
    {
        if let Container::Array(values) = container {
            for &low in values {
                take(key << 16 | u64::from(u16::from_le_bytes(low)));
            }
            continue;
        }
        let count = container.positions(0, &mut lows);
        for &low in &lows[..count] {
            take(key << 16 | u64::from(low));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::set::{AsSet, IntegerSet, SetFile, SetFormat};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn answers(table: &Lookup, set: &BTreeSet<u64>, asked: &[u64]) -> Result<(), TestCaseError> {
        let (mut found, mut unsure) = (vec![true; asked.len()], Vec::new());
        table.answer(asked, &mut found, &mut unsure);
        for (place, value) in asked.iter().enumerate() {
            let is_open = unsure.contains(&place);
            prop_assert!(is_open || found[place] == set.contains(value), "{value}");
        }
        prop_assert!(unsure.is_empty() || matches!(table, Lookup::Marks(_)));
        Ok(())
    }

    /// Values in a narrow range, or all over 64 bits, with the ends.
    fn sets() -> impl Strategy<Value = BTreeSet<u64>> {
        let most = if cfg!(miri) { 60 } else { 3000 };
        let values = (0_u32..50, prop::collection::vec(any::<u64>(), 1..most))
            .prop_map(|(shift, values)| values.iter().map(|value| value >> shift).collect());
        let ends = prop::sample::subsequence(vec![0, 1, u64::MAX - 1, u64::MAX], 0..=4);
        (values, ends).prop_map(|(mut set, ends): (BTreeSet<u64>, _)| {
            set.extend(ends);
            set
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 40 }))]

        #[test]
        fn every_table_answers_as_the_model_says(
            set in sets(),
            probes in prop::collection::vec(any::<u64>(), 0..200),
            threads in 1_usize..4,
            is_sparse: bool,
        ) {
            let memory: IntegerSet = set.iter().copied().collect();
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.bits");
            let format = if is_sparse { SetFormat::SparseBits } else { SetFormat::RoaringBits };
            memory.write_as(&path, format).unwrap();
            let file = SetFile::open(&path).unwrap();
            let near = set.iter().flat_map(|&value| [value ^ 1, value, value.wrapping_add(1 << 16)]);
            let asked: Vec<u64> = near.chain(probes).collect();
            let (min, max) = (set.first().copied().unwrap(), set.last().copied().unwrap());
            for view in [memory.as_set().view(), file.view()] {
                if let Some(bytes) = Bits::bytes(min, max).filter(|&bytes| bytes < 1 << 24) {
                    let bits = Bits::new(view, min, bytes).unwrap().unwrap();
                    answers(&Lookup::Bits(bits), &set, &asked)?;
                }
                let bytes = Values::bytes(set.len() as u64).unwrap();
                for bytes in [bytes, (bytes / 2).max(Values::bytes(0).unwrap())] {
                    if let Some(table) = Values::new(view, bytes, threads).unwrap() {
                        answers(&Lookup::Values(table), &set, &asked)?;
                    }
                }
                if let Some(table) = Lookup::new(view, asked.len(), threads).unwrap() {
                    answers(&table, &set, &asked)?;
                }
            }
        }
    }

    #[test]
    fn values_that_share_a_hash_are_answered_without_a_table_of_them() {
        // The inverse of the multiplier: each step of Newton's method doubles the bits.
        let inverse = (0..6).fold(1_u64, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(MULTIPLIER.wrapping_mul(inverse)))
        });
        assert_eq!(MULTIPLIER.wrapping_mul(inverse), 1);
        let alike = |number: u64| {
            let mixed = number.wrapping_mul(inverse);
            mixed ^ mixed >> 32
        };
        for (count, is_made) in [(200, true), (1000, false)] {
            let set: BTreeSet<u64> = (1..=count).map(alike).collect();
            assert!(set.iter().all(|&value| bucket_of(value, 32) == 0));
            let memory: IntegerSet = set.iter().copied().collect();
            let view = memory.as_set().view();
            let table = Lookup::new(view, 1 << 20, 2).unwrap();
            assert_eq!(matches!(table, Some(Lookup::Values(_))), is_made);
            let asked: Vec<u64> = (1..5000).map(alike).collect();
            let mut found = vec![false; asked.len()];
            view.contains_many(&asked, &mut found).unwrap();
            assert!(asked.iter().zip(found).all(|(value, found)| found == set.contains(value)));
        }
    }

    #[test]
    fn the_smallest_table_is_made() {
        let kind = |set: &IntegerSet, count| {
            Lookup::new(set.as_set().view(), count, 1).unwrap().map(|table| match table {
                Lookup::Bits(_) => "bits",
                Lookup::Marks(_) => "marks",
                Lookup::Values(_) => "values",
            })
        };
        let near: IntegerSet = (0..10_000).map(|value| 7 * value).collect();
        let far: IntegerSet = (0..10_000).map(|value| value << 40).collect();
        assert_eq!([kind(&near, 1 << 20), kind(&far, 1 << 20)], [Some("bits"), Some("values")]);
        assert_eq!([kind(&near, 9_999), kind(&far, 9_999)], [None, None], "too few questions");
        if !cfg!(miri) {
            let between: IntegerSet = (0..1_000_000).map(|value| 400 * value).collect();
            assert_eq!(kind(&between, 1 << 22), Some("marks"));
        }
        assert_eq!(kind(&IntegerSet::new(), 1 << 20), None);
    }
}
