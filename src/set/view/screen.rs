//! A screen: a small filter in front of a set. It stops most values that are not in the set, so
//! nobody asks the set for them. Of most values that pass it often knows that they are in the set.
//!
//! The words of a screen are in the order of the set: each container has a slot of words, found by
//! its key, and each word of a slot stands for neighbouring values. A word has up to eight marks, a
//! byte for each of its values in the set, with seven bits of the value. So the screen is filled
//! from front to back, a slot at a time. Containers share slots only if their keys are far apart.
//! If no two share one, and a word stands for at most 2^7 values, a mark is of one value only.
//!
//! Why it is no filter of `bloom`: such a filter puts neighbouring values in cache lines all over
//! its memory, and hashes each value to find them. 2 × 10^7 lines against a set of 10^8 values,
//! whole command, processor time (and medians of five, in turn, on a busy machine): with a screen
//! in the order of the set 0.44 s (1.24 s), with none 0.70 s (2.66 s), with a blocked filter of the
//! same size, filled by both threads, 4.1 s (9.1 s).

use super::{Cursor, Damage, SetView, Shape, Walk};
use crate::kernel::in_threads;
use crate::kernel::prefetch;
use crate::kernel::sys::Pages;
use crate::set::container::{Container, ends};
use std::mem;
use std::sync::{Mutex, PoisonError};

/// Most values in one call.
pub(crate) const BATCH: usize = 256;
/// Values whose words are being prefetched.
const DEPTH: usize = 128;
/// Values that are tested before the passing ones are taken.
const LOOK: usize = 64;
const WORD_BYTES: usize = 8;
/// Most bits of the number of a word.
const MAX_WORD_BITS: u32 = 32;
/// Fewest bytes of the buckets of a 64-bit set, on average.
const MIN_BUCKET_BYTES: usize = 1 << 12;
/// Fewest values of the containers of a sparse set, on average.
const MIN_CONTAINER_VALUES: u64 = 4;
/// Smaller sets fit in the caches themselves.
const MIN_SET_BYTES: usize = 1 << 20;

/// Finds values that are certainly not in a set.
#[derive(Debug)]
pub(crate) struct Screen {
    words: Pages,
    slots: Slots,
    keys: Keys,
    /// Bytes of the words that are used.
    bytes: usize,
}

impl Screen {
    /// A screen for `view` in at most `max_bytes`, made by `threads`; none if it would not help, or
    /// there is no memory for it. O(values).
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub(crate) fn of(
        view: SetView<'_>,
        max_bytes: usize,
        threads: usize,
    ) -> Result<Option<Self>, Damage> {
        if view.bytes() < MIN_SET_BYTES || has_small_buckets(view) {
            return Ok(None);
        }
        let bytes = match view.0 {
            // The bytes of their values as arrays.
            Shape::Sparse(sparse) => {
                usize::try_from(sparse.len().saturating_mul(2)).unwrap_or(usize::MAX)
            }
            _ => view.bytes(),
        };
        let keys = Keys::of(view)?;
        // A value of an array has two bytes, so a word has two to four values on average, and
        // seldom more than its eight marks.
        let words = bytes.div_ceil(WORD_BYTES * keys.containers.max(1));
        let Some(slot_words) = words.checked_next_power_of_two() else { return Ok(None) };
        let fits = |slot_word_bits: &u32| {
            let bytes = keys.slots().checked_mul(WORD_BYTES << slot_word_bits);
            bytes.is_some_and(|bytes| bytes <= max_bytes)
                && keys.slot_bits() + slot_word_bits <= MAX_WORD_BITS
        };
        // With half the memory, a word has four to eight values.
        let slot_word_bits = slot_words.ilog2().min(16);
        let slot_word_bits =
            [slot_word_bits, slot_word_bits.saturating_sub(1)].into_iter().find(fits);
        match slot_word_bits {
            Some(bits) => Self::with_slots(view, keys, keys.slot_bits() + bits, bits, threads),
            None => Ok(None),
        }
    }

    /// A screen of this size, a power of two; none if there is no memory for it.
    #[cfg(test)]
    pub(super) fn in_bytes(
        view: SetView<'_>,
        bytes: usize,
        threads: usize,
    ) -> Result<Option<Self>, Damage> {
        let keys = Keys::of(view)?;
        let word_bits = (bytes / WORD_BYTES).ilog2();
        let slot_word_bits = word_bits.saturating_sub(keys.slot_bits().max(1)).min(16);
        Self::with_slots(view, keys, word_bits, slot_word_bits, threads)
    }

    /// A screen of 2^`word_bits` words, with 2^`slot_word_bits` of them in a slot.
    fn with_slots(
        view: SetView<'_>,
        keys: Keys,
        word_bits: u32,
        slot_word_bits: u32,
        threads: usize,
    ) -> Result<Option<Self>, Damage> {
        // Without containers the first key is above the last one.
        let range = keys.last.saturating_sub(keys.first);
        let slots =
            Slots::new(word_bits, slot_word_bits, range >> (word_bits - slot_word_bits) == 0);
        let Ok(mut words) = Pages::zeroed(1 << word_bits) else { return Ok(None) };
        slots.fill(words.words_mut(), view, threads)?;
        let bytes = words.bytes().len().min((keys.slots() * WORD_BYTES) << slot_word_bits);
        Ok(Some(Self { words, slots, keys, bytes }))
    }

    /// Bytes of its memory.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether a value that passed is in the set without doubt.
    #[inline]
    fn is_sure(&self, value: u64, word: u64) -> bool {
        let key = value >> 16;
        self.slots.is_exact() && word != FULL && self.keys.first <= key && key <= self.keys.last
    }
}

/// The keys of the containers of a set.
#[derive(Debug, Clone, Copy)]
struct Keys {
    /// Number of containers. Of a sparse set, the most that it can have, because counting them
    /// would decode all values.
    containers: usize,
    first: u64,
    last: u64,
}

impl Keys {
    fn of(view: SetView<'_>) -> Result<Self, Damage> {
        let mut keys = Self { containers: 0, first: u64::MAX, last: 0 };
        if let Shape::Sparse(sparse) = view.0 {
            let Some((first, last)) = sparse.ends() else { return Ok(keys) };
            let (first, last) = (first >> 16, last >> 16);
            let most = last.saturating_sub(first).saturating_add(1).min(sparse.len());
            let containers = usize::try_from(most).unwrap_or(usize::MAX);
            return Ok(Self { containers, first, last });
        }
        let mut cursor = view.cursor();
        while let Some((key, _)) = cursor.next()? {
            keys.containers += 1;
            (keys.first, keys.last) = (keys.first.min(key), keys.last.max(key));
        }
        Ok(keys)
    }

    /// So many containers have slots of their own, if their keys are neighbours or hashed well: 2
    /// to this power.
    fn slot_bits(self) -> u32 {
        self.containers.next_power_of_two().ilog2()
    }

    /// The slots that are used: others stand for keys beyond the last one.
    fn slots(self) -> usize {
        let range = usize::try_from(self.last.saturating_sub(self.first)).unwrap_or(usize::MAX);
        range.saturating_add(1).min(1 << self.slot_bits())
    }
}

/// Values on their way through a screen, each with a tag.
///
/// A value is tested when [`DEPTH`] others have come after it: its word is then in the cache.
#[derive(Debug)]
pub(crate) struct Queue<'a, T> {
    screen: &'a Screen,
    /// Values that wait, and behind them the new ones.
    values: [u64; DEPTH + BATCH],
    tags: [T; DEPTH + BATCH],
    words: [u32; DEPTH + BATCH],
    waiting: usize,
}

/// Values that passed: the first `len`.
#[derive(Debug)]
pub(crate) struct Passed<T> {
    pub(crate) values: [u64; BATCH],
    pub(crate) tags: [T; BATCH],
    /// Which of them are in the set without doubt.
    pub(crate) sure: [bool; BATCH],
    pub(crate) len: usize,
}

impl<T: Copy + Default> Default for Passed<T> {
    fn default() -> Self {
        Self { values: [0; BATCH], tags: [T::default(); BATCH], sure: [false; BATCH], len: 0 }
    }
}

impl<'a, T: Copy + Default> Queue<'a, T> {
    pub(crate) fn new(screen: &'a Screen) -> Self {
        Self {
            screen,
            values: [0; DEPTH + BATCH],
            tags: [T::default(); DEPTH + BATCH],
            words: [0; DEPTH + BATCH],
            waiting: 0,
        }
    }

    /// Takes more values, whose tags `tag` fills in. Puts those of the earlier values that may be
    /// in the set into `passed`.
    ///
    /// # Panics
    ///
    /// If there are more than [`BATCH`].
    #[inline]
    pub(crate) fn push(
        &mut self,
        values: &[u64],
        tag: impl FnOnce(&mut [T]),
        passed: &mut Passed<T>,
    ) {
        assert!(values.len() <= BATCH);
        let end = self.waiting + values.len();
        self.values[self.waiting..end].copy_from_slice(values);
        tag(&mut self.tags[self.waiting..end]);
        passed.len = 0;
        let (words, slots) = (self.screen.words.words(), self.screen.slots);
        for place in self.waiting..end.min(DEPTH) {
            self.words[place] = slots.ask(self.values[place], words);
        }
        let mut looked_at = 0;
        while looked_at + DEPTH < end {
            let count = (end - DEPTH - looked_at).min(LOOK);
            let passing = self.look(looked_at, count);
            self.take(looked_at, passing, count, passed);
            looked_at += count;
        }
        self.values.copy_within(looked_at..end, 0);
        self.tags.copy_within(looked_at..end, 0);
        self.words.copy_within(looked_at..end, 0);
        self.waiting = end - looked_at;
    }

    /// Tests `count` values from `start` on, at most [`LOOK`]; gives which ones pass, the last one
    /// in the lowest bit. Between the tests it prefetches, one by one, the words of the values
    /// [`DEPTH`] behind them: prefetches in a bunch wait for each other.
    #[inline]
    fn look(&mut self, start: usize, count: usize) -> u64 {
        let (words, slots) = (self.screen.words.words(), self.screen.slots);
        let values = &self.values[start..][..DEPTH + LOOK];
        let numbers = &mut self.words[start..][..DEPTH + LOOK];
        let mut passing = 0;
        for place in 0..count.min(LOOK) {
            numbers[DEPTH + place] = slots.ask(values[DEPTH + place], words);
            passing += passing;
            passing += passes(values[place], words[numbers[place] as usize]);
        }
        passing
    }

    /// Puts those of the waiting values that may be in the set into `passed`.
    pub(crate) fn finish(&mut self, passed: &mut Passed<T>) {
        passed.len = 0;
        let words = self.screen.words.words();
        let waiting = mem::take(&mut self.waiting);
        for place in 0..waiting {
            let passing = passes(self.values[place], words[self.words[place] as usize]);
            self.take(place, passing, 1, passed);
        }
    }

    /// Takes the passing ones of `count` values from `start` on; the lowest bit of `passing` is the
    /// last value.
    #[inline]
    fn take(&self, start: usize, passing: u64, count: usize, passed: &mut Passed<T>) {
        let mut passing = passing << (LOOK - count);
        let words = self.screen.words.words();
        while passing != 0 {
            let first = passing.leading_zeros();
            passing &= u64::MAX >> 1 >> first;
            let place = start + first as usize;
            let (value, word) = (self.values[place], words[self.words[place] as usize]);
            passed.values[passed.len] = value;
            passed.tags[passed.len] = self.tags[place];
            passed.sure[passed.len] = self.screen.is_sure(value, word);
            passed.len += 1;
        }
    }
}

/// Whether walking over the set takes as long as asking it.
fn has_small_buckets(view: SetView<'_>) -> bool {
    match view.0 {
        Shape::Treemap(treemap) => treemap.bytes() / MIN_BUCKET_BYTES < treemap.len(),
        Shape::Sparse(sparse) => sparse.ends().is_none_or(|(first, last)| {
            sparse.len() / MIN_CONTAINER_VALUES <= last.saturating_sub(first) >> 16
        }),
        Shape::Folder(folder) => folder.parts().iter().any(|part| has_small_buckets(part.view())),
        _ => false,
    }
}

/// The words of neighbouring slots, which one thread fills.
struct Share<'a> {
    /// The number of the first word.
    first_word: usize,
    words: &'a mut [u64],
}

/// How values are assigned to words.
#[derive(Debug, Clone, Copy)]
struct Slots {
    /// Either 2^32 times the words of a slot, which gives neighbouring keys neighbouring slots; or
    /// 2^(32 + bits of a word's number) over the golden ratio, odd.
    multiplier: u64,
    /// The bits of a word's number that are the number of its slot.
    mask: usize,
    /// Words of a slot; a power of two. A slot stands for 2^16 values.
    len: usize,
}

impl Slots {
    /// For 2^`word_bits` words, with 2^`slot_word_bits` of them in a slot. With `dense`, each key
    /// has a slot of its own.
    fn new(word_bits: u32, slot_word_bits: u32, dense: bool) -> Self {
        let len = 1 << slot_word_bits;
        let spreading = MULTIPLIER >> (MAX_WORD_BITS - word_bits) | 1;
        let multiplier = if dense { (len as u64) << 32 } else { spreading };
        Self { multiplier, mask: ((1 << word_bits) - 1) & !(len - 1), len }
    }

    /// Whether neighbouring keys have neighbouring slots.
    fn is_dense(self) -> bool {
        self.multiplier == (self.len as u64) << 32
    }

    /// Whether a mark is of one value only, if its key is one of the set's.
    fn is_exact(self) -> bool {
        self.is_dense() && self.len >= 1 << (16 - MARK_BITS)
    }

    /// The first word of a container's slot.
    #[inline]
    fn first_word(self, key: u64) -> usize {
        // Fibonacci hashing spreads keys that are far apart.
        (key.wrapping_mul(self.multiplier) >> 32) as usize & self.mask
    }

    /// The word in its slot of the low half of a value.
    #[inline]
    fn of_low(self, low: u32) -> usize {
        (low as usize * self.len) >> 16
    }

    /// The number of a value's word. Prefetches the word.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "of at most 2^32 words")]
    fn ask(self, value: u64, words: &[u64]) -> u32 {
        let word = self.first_word(value >> 16) | self.of_low((value & 0xFFFF) as u32);
        prefetch(words, word);
        word as u32
    }

    /// Fills `words`; each thread fills a share of the slots.
    fn fill(self, words: &mut [u64], view: SetView<'_>, threads: usize) -> Result<(), Damage> {
        /// For each thread.
        const SHARES: usize = 4;
        // Some shares may have no values.
        let shares = if threads == 1 { 1 } else { SHARES * threads };
        let words_of_share = (words.len() / self.len).div_ceil(shares) * self.len;
        let shares = words.chunks_mut(words_of_share);
        let shares = Mutex::new(shares.enumerate());
        let job = || -> Result<(), Damage> {
            loop {
                let next = shares.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, words)) = next else { return Ok(()) };
                let mut share = Share { first_word: number * words_of_share, words };
                match view.0 {
                    Shape::Sparse(sparse) if self.is_dense() => {
                        self.fill_of_values(&mut share, Walk::new(sparse))?;
                    }
                    _ => self.fill_of_containers(&mut share, view.cursor())?,
                }
            }
        };
        in_threads(threads, job).into_iter().collect()
    }

    fn fill_of_containers(
        self,
        share: &mut Share<'_>,
        mut cursor: Cursor<'_>,
    ) -> Result<(), Damage> {
        let (mut lows, mut aside) = (Vec::new(), Vec::new());
        while let Some((key, container)) = cursor.next()? {
            let first = self.first_word(key).wrapping_sub(share.first_word);
            let slot = share.words.get_mut(first..).and_then(|words| words.get_mut(..self.len));
            let Some(slot) = slot else { continue };
            if slot.iter().any(|&word| word != 0) {
                aside.clear();
                aside.resize(self.len, 0);
                self.take(&mut aside, container, &mut lows);
                slot.iter_mut().zip(&aside).for_each(|(word, more)| *word = joined(*word, *more));
            } else {
                self.take(slot, container, &mut lows);
            }
        }
        Ok(())
    }

    /// Fills a share from the values of a sparse set whose keys have a slot each. Passes the values
    /// of other shares without decoding them.
    fn fill_of_values(self, share: &mut Share<'_>, mut walk: Walk<'_>) -> Result<(), Damage> {
        // Values ascend, so a word is composed without reading it.
        let (mut last, mut all) = (usize::MAX, 0);
        // Neighbouring values have neighbouring words, even across slots.
        let (shift, mask) = (16 - self.len.ilog2(), self.mask | (self.len - 1));
        loop {
            let rest = walk.rest()?;
            let Some(&first) = rest.first() else { return Ok(()) };
            let slot = self.first_word(first >> 16);
            if slot.wrapping_sub(share.first_word) >= share.words.len() {
                let slots = (share.first_word.wrapping_sub(slot) & self.mask) / self.len;
                match (first >> 16)
                    .checked_add(slots as u64)
                    .and_then(|key| key.checked_mul(1 << 16))
                {
                    Some(value) => walk.seek(value)?,
                    None => return Ok(()),
                }
                continue;
            }
            let mut taken = 0;
            for &value in rest {
                #[expect(clippy::cast_possible_truncation, reason = "lower bits are meant")]
                let word = ((value >> shift) as usize & mask).wrapping_sub(share.first_word);
                let Some(slot) = share.words.get_mut(word) else { break };
                all = with(if word == last { all } else { 0 }, mark((value & 0xFFFF) as u32));
                last = word;
                *slot = all;
                taken += 1;
            }
            walk.pass(taken);
        }
    }

    /// Puts the values of a container into its slot, which is empty. A word that a run touches lets
    /// all values pass, because runs are mostly as long as words.
    fn take(self, slot: &mut [u64], container: Container<'_>, lows: &mut Vec<u32>) {
        match container {
            Container::Array(values) => {
                self.take_lows(slot, values.iter().map(|&low| u16::from_le_bytes(low).into()));
            }
            Container::Bitmap(_) => {
                let count = container.positions(0, lows);
                self.take_lows(slot, lows[..count].iter().copied());
            }
            Container::Runs(runs) => {
                for (first, last) in runs.iter().map(|&run| ends(run)) {
                    let (first, last) = (self.of_low(first), self.of_low(last));
                    slot[first..=last].fill(FULL);
                }
            }
        }
    }

    /// Puts values into an empty slot. The values ascend, so a word is composed without reading it,
    /// and stored for each of its values.
    #[inline]
    fn take_lows(self, slot: &mut [u64], lows: impl Iterator<Item = u32> + Clone) {
        let (mut last, mut all, mut ascend) = (0, 0, true);
        for low in lows.clone() {
            let word = self.of_low(low);
            all = with(if word == last { all } else { 0 }, mark(low));
            ascend &= word >= last;
            last = word;
            slot[word] = all;
        }
        if !ascend {
            // A damaged file: values that a question may still find must pass.
            lows.for_each(|low| slot[self.of_low(low)] = FULL);
        }
    }
}

/// 2^64 over the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// A byte in each place.
const BYTES: u64 = 0x0101_0101_0101_0101;
/// Bits of a value in its mark. The eighth bit tells a mark from no mark.
const MARK_BITS: u32 = 7;
/// A word that all values pass: it has too many, or those of a run. No other word has its highest
/// byte and not the others, because marks come in from below.
const FULL: u64 = 1 << 63;

/// The mark of a value. 2^7 aligned neighbours have different ones.
#[inline]
fn mark(low: u32) -> u64 {
    // The upper bits are for words of more values than that.
    let bits = low ^ low >> MARK_BITS ^ low >> (2 * MARK_BITS);
    u64::from(bits & 0x7F | 0x80)
}

/// A word with one more mark.
#[inline]
fn with(word: u64, mark: u64) -> u64 {
    if word & FULL == 0 { word << 8 | mark } else { FULL }
}

/// The marks of two words in one.
fn joined(word: u64, more: u64) -> u64 {
    if word == FULL || more == FULL {
        return FULL;
    }
    let marks = more.to_le_bytes().into_iter().filter(|&mark| mark != 0);
    marks.fold(word, |word, mark| with(word, mark.into()))
}

/// 1 if a value with this word may be in the set; else 0.
#[inline]
fn passes(value: u64, word: u64) -> u64 {
    let other = word ^ (mark((value & 0xFFFF) as u32) * BYTES);
    // Source: Hacker's Delight, 2nd edition, section 6-1: some byte is 0.
    let found = other.wrapping_sub(BYTES) & !other & BYTES << 7;
    u64::from(found != 0 || word == FULL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_have_different_marks() {
        for start in (0..1 << 16).step_by(1 << MARK_BITS) {
            let mut marks: Vec<u64> = (start..start + (1 << MARK_BITS)).map(mark).collect();
            marks.sort_unstable();
            marks.dedup();
            assert_eq!((marks.len(), marks[0]), (1 << MARK_BITS, 0x80));
        }
    }

    #[test]
    fn a_word_lets_its_values_pass_and_others_only_if_it_is_full() {
        for first in [0, 0xAB00] {
            let mut word = 0;
            for count in 1..12 {
                word = with(word, mark(first + 11 * count));
                let alike = |low: u32| (1..=count).any(|other| first + 11 * other == low);
                for low in first..first + (1 << MARK_BITS) {
                    let passes = passes(0x7_0000 + u64::from(low), word) == 1;
                    assert_eq!(passes, count > 8 || alike(low), "{low} of {count}");
                }
                assert_eq!(word == FULL, count > 8);
            }
        }
        let words = [0, with(0, 0x81), FULL];
        for a in words {
            assert_eq!((joined(a, 0), joined(0, a)), (a, a));
            assert_eq!((joined(a, FULL), joined(FULL, a)), (FULL, FULL));
        }
        assert_eq!(joined(0x8483_8281, 0x88_8786_8584), FULL);
        assert_eq!(joined(0x8483_8281, 0x8887_8685), 0x8483_8281_8586_8788);
    }
}
