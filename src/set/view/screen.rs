//! A screen: a small filter in front of a set. It stops most values that are not in the set, so
//! nobody asks the set for them. With marks it also knows of most values that they are in the set.
//!
//! The words of a screen are in the order of the set: each container has a slot of words, found by
//! its key, and each word of a slot stands for neighbouring values. So the screen is filled from
//! front to back, a slot at a time. A word has a [`Pattern`] of its values that are in the set: four
//! bits a value, or a mark of each. Containers share slots only if their keys are far apart; then
//! there are no marks, because these tell values apart by their lower bits only. In a word with more
//! values than it has room for marks, each value passes.
//!
//! Why it is no filter of `bloom`: such a filter puts neighbouring values in cache lines all over
//! its memory, and hashes each value to find them. A whole command takes 9 times as long with one
//! (docs/experiments.md).

use super::pattern::{Marks, Pattern, bits, bits_pass};
use super::{Cursor, Damage, SetView, Shape, Walk};
use crate::kernel::prefetch;
use crate::kernel::sys::Pages;
use crate::kernel::{in_threads, in_usize};
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
    /// there is no memory for it. O(values). If `many` of the values to come are in the set, it has
    /// marks where it can; else it is smaller and faster.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub(crate) fn of(
        view: SetView<'_>,
        max_bytes: usize,
        threads: usize,
        many: bool,
    ) -> Result<Option<Self>, Damage> {
        if view.bytes() < MIN_SET_BYTES || has_small_buckets(view) {
            return Ok(None);
        }
        let keys = Keys::of(view)?;
        Self::of_keys(view, keys, max_bytes, threads, many && keys.are_dense())
    }

    /// The same for a view that has these keys.
    fn of_keys(
        view: SetView<'_>,
        keys: Keys,
        max_bytes: usize,
        threads: usize,
        has_marks: bool,
    ) -> Result<Option<Self>, Damage> {
        let Some(best) = keys.slot_word_bits(has_marks) else { return Ok(None) };
        let fits = |slot_word_bits: &u32| {
            let bytes = keys.slots().checked_mul(WORD_BYTES << slot_word_bits);
            bytes.is_some_and(|bytes| bytes <= max_bytes)
                && keys.slot_bits() + slot_word_bits <= MAX_WORD_BITS
        };
        // Half the memory lets more values pass.
        match [best, best.saturating_sub(1)].into_iter().find(fits) {
            Some(bits) => {
                Self::with_slots(view, keys, keys.slot_bits() + bits, bits, threads, has_marks)
            }
            None => Ok(None),
        }
    }

    /// About the bytes that the largest screen for `view` has; the smallest one has an eighth of
    /// them, or more. 0 if there is none. O(1).
    pub(crate) fn best_bytes(view: SetView<'_>) -> Result<u64, Damage> {
        if view.bytes() < MIN_SET_BYTES || has_small_buckets(view) {
            return Ok(0);
        }
        if let Shape::Sparse(_) = view.0 {
            let keys = Keys::of(view)?;
            let bytes = |bits: u32| (keys.slots() as u64).saturating_mul(8 << bits);
            return Ok(keys.slot_word_bits(keys.are_dense()).map_or(0, bytes));
        }
        Ok((view.bytes() as u64 * 2).checked_next_power_of_two().unwrap_or(u64::MAX))
    }

    /// A screen in at most `max_bytes` that is sure of most values; none if there is no such one, or
    /// if the set has more than `count` values: then it costs more than it saves.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub(super) fn for_many(
        view: SetView<'_>,
        count: usize,
        max_bytes: usize,
        threads: usize,
    ) -> Result<Option<Self>, Damage> {
        let values = match view.0 {
            Shape::Sparse(sparse) => sparse.len(),
            _ => view.bytes() as u64 / 2,
        };
        if values > count as u64 || view.bytes() < MIN_SET_BYTES || has_small_buckets(view) {
            return Ok(None);
        }
        let keys = Keys::of(view)?;
        if !keys.are_dense() {
            return Ok(None);
        }
        Self::of_keys(view, keys, max_bytes, threads, true)
    }

    /// Whether each of `values` is in the set, into `found`, which has as many answers. Appends the
    /// places of values that have no answer yet: all, if the screen has no marks.
    pub(super) fn answer(&self, values: &[u64], found: &mut [bool], unsure: &mut Vec<usize>) {
        let (words, slots) = (self.words.words(), self.slots);
        let Pattern::Marks(marks) = slots.pattern else {
            unsure.extend(0..values.len());
            return;
        };
        for &value in values.iter().take(DEPTH) {
            slots.ask(value, words);
        }
        for (place, (&value, found)) in values.iter().zip(found).enumerate() {
            if let Some(&ahead) = values.get(place + DEPTH) {
                slots.ask(ahead, words);
            }
            let word = words[slots.word(value)];
            let is_inside = self.keys.span(value);
            *found = is_inside & marks.has(value, word);
            if is_inside && word == marks.full {
                unsure.push(place);
            }
        }
    }

    /// A screen of this size, a power of two; none if there is no memory for it. It has marks if
    /// each key has a slot of its own, and they are wanted.
    #[cfg(test)]
    pub(super) fn in_bytes(
        view: SetView<'_>,
        bytes: usize,
        threads: usize,
        wants_marks: bool,
    ) -> Result<Option<Self>, Damage> {
        let keys = Keys::of(view)?;
        let word_bits = (bytes / WORD_BYTES).ilog2();
        let slot_word_bits = word_bits.saturating_sub(keys.slot_bits().max(1)).min(16);
        let has_room = keys.slot_bits() + slot_word_bits <= word_bits;
        let has_marks = wants_marks && keys.are_dense() && has_room;
        Self::with_slots(view, keys, word_bits, slot_word_bits, threads, has_marks)
    }

    /// A screen of 2^`word_bits` words, with 2^`slot_word_bits` of them in a slot.
    fn with_slots(
        view: SetView<'_>,
        keys: Keys,
        word_bits: u32,
        slot_word_bits: u32,
        threads: usize,
        has_marks: bool,
    ) -> Result<Option<Self>, Damage> {
        let has_room = keys.slot_bits() + slot_word_bits <= word_bits;
        let is_dense = keys.are_dense() && has_room;
        let slots = Slots::new(word_bits, slot_word_bits, is_dense, has_marks);
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
        self.slots.pattern.is_sure(word) && self.keys.span(value)
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
    /// Number of values, without those of runs.
    values: u64,
}

impl Keys {
    fn of(view: SetView<'_>) -> Result<Self, Damage> {
        let mut keys = Self { containers: 0, first: u64::MAX, last: 0, values: 0 };
        if let Shape::Sparse(sparse) = view.0 {
            let Some((first, last)) = sparse.ends() else { return Ok(keys) };
            let (first, last) = (first >> 16, last >> 16);
            let most = last.saturating_sub(first).saturating_add(1).min(sparse.len());
            let containers = in_usize(most);
            return Ok(Self { containers, first, last, values: sparse.len() });
        }
        let mut cursor = view.cursor();
        while let Some((key, container)) = cursor.next()? {
            keys.containers += 1;
            keys.values += match container {
                Container::Runs(_) => 0,
                other => u64::from(other.len()),
            };
            (keys.first, keys.last) = (keys.first.min(key), keys.last.max(key));
        }
        Ok(keys)
    }

    /// Whether the key of a value is from the first to the last one.
    #[inline]
    fn span(self, value: u64) -> bool {
        self.first <= value >> 16 && value >> 16 <= self.last
    }

    /// So many containers have slots of their own, if their keys are neighbours or hashed well: 2
    /// to this power.
    fn slot_bits(self) -> u32 {
        self.containers.next_power_of_two().ilog2()
    }

    /// Whether neighbouring keys can have neighbouring slots.
    fn are_dense(self) -> bool {
        // Without containers the first key is above the last one.
        self.last.saturating_sub(self.first) >> self.slot_bits() == 0
    }

    /// The fewest words of a slot, 2 to this power, with which a word has room for two and a half
    /// times as many marks as it has values on average: then one word in thirty, at most, has too
    /// many values. Without marks, the fewest words with ten bits a value. None if a bitmap would be
    /// smaller.
    fn slot_word_bits(self, has_marks: bool) -> Option<u32> {
        /// A slot is as large as a bitmap then.
        const MOST: u32 = 10;
        let values = self.values.div_ceil(self.containers.max(1) as u64);
        (0..=MOST).find(|&bits| {
            if has_marks {
                values * 5 <= (Marks::of(bits).count() << bits) * 2
            } else {
                values * 10 <= 64 << bits
            }
        })
    }

    /// The slots that are used: others stand for keys beyond the last one.
    fn slots(self) -> usize {
        let range = in_usize(self.last.saturating_sub(self.first));
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
        match self.screen.slots.pattern {
            Pattern::Bits => self.look_with(start, count, bits_pass),
            Pattern::Marks(marks) => {
                self.look_with(start, count, |value, word| marks.passes(value, word))
            }
        }
    }

    /// The same with a test of a value and its word.
    #[inline]
    fn look_with(&mut self, start: usize, count: usize, passes: impl Fn(u64, u64) -> u64) -> u64 {
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
        let (words, pattern) = (self.screen.words.words(), self.screen.slots.pattern);
        let waiting = mem::take(&mut self.waiting);
        for place in 0..waiting {
            let passing = pattern.passes(self.values[place], words[self.words[place] as usize]);
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
        Shape::Runs(_) => true,
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
    pattern: Pattern,
}

impl Slots {
    /// For 2^`word_bits` words, with 2^`slot_word_bits` of them in a slot. With `dense`, each key
    /// has a slot of its own. `marks` need that.
    fn new(word_bits: u32, slot_word_bits: u32, dense: bool, marks: bool) -> Self {
        let len = 1 << slot_word_bits;
        let spreading = MULTIPLIER >> (MAX_WORD_BITS - word_bits) | 1;
        let multiplier = if dense { (len as u64) << 32 } else { spreading };
        let mask = ((1 << word_bits) - 1) & !(len - 1);
        let pattern = if marks { Pattern::Marks(Marks::of(slot_word_bits)) } else { Pattern::Bits };
        Self { multiplier, mask, len, pattern }
    }

    /// Whether neighbouring keys have neighbouring slots.
    fn is_dense(self) -> bool {
        self.multiplier == (self.len as u64) << 32
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
        let word = self.word(value);
        prefetch(words, word);
        word as u32
    }

    /// The number of a value's word.
    #[inline]
    fn word(self, value: u64) -> usize {
        self.first_word(value >> 16) | self.of_low((value & 0xFFFF) as u32)
    }

    /// Fills `words`; each thread fills a share of the slots.
    fn fill(self, words: &mut [u64], view: SetView<'_>, threads: usize) -> Result<(), Damage> {
        // Some shares may have no values. Of a sparse set, values of other shares are passed over,
        // but each share walks over all containers of other sets.
        let shares = match view.0 {
            Shape::Sparse(_) if self.is_dense() && threads > 1 => 4 * threads,
            _ => threads,
        };
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
                slot.iter_mut()
                    .zip(&aside)
                    .for_each(|(word, more)| *word = self.pattern.joined(*word, *more));
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
                let before = if word == last { all } else { 0 };
                all = self.pattern.with(before, value);
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
                    slot[first..=last].fill(self.pattern.full());
                }
            }
        }
    }

    /// Puts values into an empty slot.
    #[inline]
    fn take_lows(self, slot: &mut [u64], lows: impl Iterator<Item = u32> + Clone) {
        match self.pattern {
            Pattern::Bits => self.compose(slot, lows, |word, low| word | bits(low)),
            Pattern::Marks(marks) => self.compose(slot, lows, |word, low| marks.with(word, low)),
        }
    }

    /// The same by a function that adds a value to a word. The values ascend, so a word is composed
    /// without reading it, and stored for each of its values.
    #[inline]
    fn compose(
        self,
        slot: &mut [u64],
        lows: impl Iterator<Item = u32> + Clone,
        with: impl Fn(u64, u64) -> u64,
    ) {
        let (mut last, mut all, mut ascend) = (0, 0, true);
        for low in lows.clone() {
            let word = self.of_low(low);
            all = with(if word == last { all } else { 0 }, low.into());
            ascend &= word >= last;
            last = word;
            slot[word] = all;
        }
        if !ascend {
            // A damaged file: values that a question may still find must pass.
            lows.for_each(|low| slot[self.of_low(low)] = self.pattern.full());
        }
    }
}

/// 2^64 over the golden ratio.
pub(super) const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
