//! A small filter in front of a set: most values that are not in the set do not
//! pass it, and are told without a look at the set.
//!
//! It is a Bloom filter whose two bits a value lie in one word, and whose words
//! lie in the order of the set: each container has a slot of words, found by a
//! hash of its key, in which a word stands for neighbouring values. So it is
//! filled front to back, a slot at a time. Containers may share a slot.

use super::{Damage, SetView, Shape};
use crate::container::{Container, ends};
use crate::simd::prefetch;
use crate::sys::{Pages, in_threads};
use std::sync::{Mutex, PoisonError};

/// Most values that come together.
pub(crate) const BATCH: usize = 256;
/// Values whose words are waited for.
const DEPTH: usize = 128;
/// Room for them and for those that come.
const WAITING: usize = (DEPTH + BATCH).next_power_of_two();
const WORD_BYTES: usize = 8;
/// Bits of the number of a word, at most.
const MAX_WORD_BITS: u32 = 32;
/// Fewest bytes of the buckets of a 64-bit set, on the average.
const MIN_BUCKET_BYTES: usize = 1 << 12;
/// Smaller sets are in the caches themselves.
const MIN_SET_BYTES: usize = 1 << 20;
/// Bits to a byte of the set, at least, and at most twice as many, where there is
/// memory for them and the screen has fewer than 2^32 words. A value of an array
/// gets eight to sixteen: three to eight in a hundred of other values pass.
const BITS_PER_BYTE: usize = 4;

/// Tells values that are surely not in a set.
#[derive(Debug)]
pub(crate) struct Screen {
    words: Pages,
    slots: Slots,
}

impl Screen {
    /// A screen for `view` in at most `max_bytes`, made by `threads`; none if it
    /// would be of no use, or there is no memory for it. As many steps as the set
    /// has values.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged.
    pub(crate) fn of(
        view: SetView<'_>,
        max_bytes: usize,
        threads: usize,
    ) -> Result<Option<Self>, Damage> {
        let wanted = view.bytes().saturating_mul(BITS_PER_BYTE) / 8;
        let Some(bytes) = wanted.checked_next_power_of_two() else { return Ok(None) };
        if view.bytes() < MIN_SET_BYTES || bytes > max_bytes || has_small_buckets(view) {
            return Ok(None);
        }
        Self::in_bytes(view, bytes, threads)
    }

    /// A screen of that size, a power of two; none if there is no memory for it.
    pub(super) fn in_bytes(
        view: SetView<'_>,
        bytes: usize,
        threads: usize,
    ) -> Result<Option<Self>, Damage> {
        let mut containers = 0_usize;
        let mut cursor = view.cursor();
        while cursor.next()?.is_some() {
            containers += 1;
        }
        let word_bits = (bytes / WORD_BYTES).ilog2().min(MAX_WORD_BITS);
        let key_bits = containers.next_power_of_two().ilog2();
        let slot_word_bits = word_bits.saturating_sub(key_bits.max(1)).min(16);
        let slots = Slots::new(word_bits, 1 << slot_word_bits);
        let Ok(mut words) = Pages::zeroed(1 << word_bits) else { return Ok(None) };
        slots.fill(words.words_mut(), view, threads)?;
        Ok(Some(Self { words, slots }))
    }

    /// Its memory.
    pub(crate) fn bytes(&self) -> usize {
        self.words.bytes().len()
    }
}

/// Values on their way through a screen, each with a tag.
///
/// They are looked at once [`DEPTH`] others have come behind them: by then their
/// words are there.
#[derive(Debug)]
pub(crate) struct Queue<'a, T> {
    screen: &'a Screen,
    /// Value `n` that came is in place `n % WAITING`.
    values: [u64; WAITING],
    tags: [T; WAITING],
    words: [usize; WAITING],
    came: usize,
    looked_at: usize,
}

/// The first `len` values passed.
#[derive(Debug)]
pub(crate) struct Passed<T> {
    pub(crate) values: [u64; BATCH],
    pub(crate) tags: [T; BATCH],
    pub(crate) len: usize,
}

impl<T: Copy + Default> Default for Passed<T> {
    fn default() -> Self {
        Self { values: [0; BATCH], tags: [T::default(); BATCH], len: 0 }
    }
}

impl<'a, T: Copy + Default> Queue<'a, T> {
    pub(crate) fn new(screen: &'a Screen) -> Self {
        Self {
            screen,
            values: [0; WAITING],
            tags: [T::default(); WAITING],
            words: [0; WAITING],
            came: 0,
            looked_at: 0,
        }
    }

    /// Takes more values; gives those that came before, and may be in the set.
    ///
    /// # Panics
    ///
    /// If there are more than [`BATCH`], or fewer tags.
    #[inline]
    pub(crate) fn push(
        &mut self,
        values: &[u64],
        tags: impl Iterator<Item = T>,
        passed: &mut Passed<T>,
    ) {
        assert!(values.len() <= BATCH);
        let (words, slots) = (self.screen.words.words(), self.screen.slots);
        let mut came = self.came;
        for (&value, tag) in values.iter().zip(tags) {
            let word = slots.word(value);
            prefetch(words, word);
            let place = came % WAITING;
            (self.values[place], self.tags[place], self.words[place]) = (value, tag, word);
            came += 1;
        }
        assert_eq!(came - self.came, values.len());
        self.came = came;
        self.look_up_to(came.saturating_sub(DEPTH), passed);
    }

    /// Gives those of the values still waiting that may be in the set.
    pub(crate) fn finish(&mut self, passed: &mut Passed<T>) {
        self.look_up_to(self.came, passed);
        (self.came, self.looked_at) = (0, 0);
    }

    #[inline]
    fn look_up_to(&mut self, end: usize, passed: &mut Passed<T>) {
        let words = self.screen.words.words();
        let mut len = 0;
        for number in self.looked_at..end {
            let place = number % WAITING;
            let value = self.values[place];
            // Overwritten by the next one if it does not pass.
            (passed.values[len % BATCH], passed.tags[len % BATCH]) = (value, self.tags[place]);
            let bits = bits((value & 0xFFFF) as usize);
            len += usize::from(words[self.words[place]] & bits == bits);
        }
        passed.len = len;
        self.looked_at = end;
    }
}

/// Whether it takes as long to walk over the set as to ask it.
fn has_small_buckets(view: SetView<'_>) -> bool {
    matches!(view.0, Shape::Treemap(treemap) if treemap.bytes() / MIN_BUCKET_BYTES < treemap.len())
}

/// Where the words of a value lie.
#[derive(Debug, Clone, Copy)]
struct Slots {
    /// 2^(32 + bits of a word's number) over the golden ratio, odd.
    multiplier: u64,
    /// The bits of a word's number that tell its slot.
    mask: usize,
    /// Words of a slot; a power of two. A slot stands for 2^16 values.
    len: usize,
}

impl Slots {
    /// In 2^`word_bits` words.
    fn new(word_bits: u32, len: usize) -> Self {
        let multiplier = MULTIPLIER >> (MAX_WORD_BITS - word_bits) | 1;
        Self { multiplier, mask: ((1 << word_bits) - 1) & !(len - 1), len }
    }

    /// The first word of a container's slot.
    #[inline]
    fn first_word(self, key: u64) -> usize {
        // Fibonacci hashing: keys that follow each other get slots of their own.
        (key.wrapping_mul(self.multiplier) >> 32) as usize & self.mask
    }

    /// The word of a low part in its slot.
    #[inline]
    fn of_low(self, low: usize) -> usize {
        (low * self.len) >> 16
    }

    /// The word of a value.
    #[inline]
    fn word(self, value: u64) -> usize {
        self.first_word(value >> 16) | self.of_low((value & 0xFFFF) as usize)
    }

    /// Fills `words`, each thread a part of the slots.
    fn fill(self, words: &mut [u64], view: SetView<'_>, threads: usize) -> Result<(), Damage> {
        let words_of_part = (words.len() / self.len).div_ceil(threads) * self.len;
        let parts = words.chunks_mut(words_of_part);
        let parts = Mutex::new(parts.enumerate());
        let job = || -> Result<(), Damage> {
            let mut lows = Vec::new();
            loop {
                let next = parts.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((number, words)) = next else { return Ok(()) };
                let mut cursor = view.cursor();
                while let Some((key, container)) = cursor.next()? {
                    let first = self.first_word(key).wrapping_sub(number * words_of_part);
                    let slot = words.get_mut(first..).and_then(|words| words.get_mut(..self.len));
                    if let Some(slot) = slot {
                        self.take(slot, container, &mut lows);
                    }
                }
            }
        };
        in_threads(threads, job).into_iter().collect()
    }

    /// Takes the values of a container into its slot. A word that a run touches
    /// lets all pass: runs are as long as words as a rule.
    fn take(self, slot: &mut [u64], container: Container<'_>, lows: &mut Vec<u32>) {
        match container {
            Container::Array(values) => {
                for low in values.iter().map(|&low| usize::from(u16::from_le_bytes(low))) {
                    slot[self.of_low(low)] |= bits(low);
                }
            }
            Container::Bitmap(_) => {
                let count = container.positions(0, lows);
                for &low in &lows[..count] {
                    slot[self.of_low(low as usize)] |= bits(low as usize);
                }
            }
            Container::Runs(runs) => {
                for (first, last) in runs.iter().map(|&run| ends(run)) {
                    let (first, last) = (self.of_low(first as usize), self.of_low(last as usize));
                    slot[first..=last].fill(u64::MAX);
                }
            }
        }
    }
}

/// 2^64 over the golden ratio.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Two bits of a word for each value in turn: a table is looked up in less time than
/// they are computed.
static BITS: [u64; 512] = {
    let mut bits = [0; 512];
    let mut index = 0;
    while index < bits.len() {
        let hash = (index as u64).wrapping_mul(MULTIPLIER);
        bits[index] = 1 << (hash >> 58) | 1 << (hash >> 52 & 63);
        index += 1;
    }
    bits
};

/// The bits of a value in its word.
#[inline]
fn bits(low: usize) -> u64 {
    BITS[low % BITS.len()]
}
