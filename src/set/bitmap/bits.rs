//! A bitmap, the questions to it, and its changes.

use super::iter::{Ones, Runs};
use super::owned::OwnedWords;
use super::words::{LeBytes, Word, Words, WordsMut};
use crate::kernel::decimal::Low;
use crate::kernel::{Level, in_usize, popcount};
use std::fmt;
use std::ops::RangeInclusive;

/// A value that a bitmap has no bit for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{value} is outside of the bitmap's universe")]
pub struct OutsideUniverse {
    /// The value.
    pub value: u64,
}

/// A set of values of one range, its universe, as bits over `S`.
#[derive(Clone)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to the name")]
pub struct Bits<S> {
    pub(super) base: u64,
    /// Size of the universe.
    pub(super) len_bits: u64,
    /// At least as many words as the universe needs. Bits behind the universe do not count.
    pub(super) words: S,
}

/// A bitmap that owns its words.
pub type Bitmap<W = u64> = Bits<OwnedWords<W>>;
/// A bitmap on borrowed words.
pub type BitmapMut<'a, W = u64> = Bits<&'a mut [W]>;
/// A bitmap in borrowed little-endian bytes, read in place.
pub type BitmapView<'a, W = u64> = Bits<LeBytes<'a, W>>;

impl<W: Word> Bitmap<W> {
    /// An empty set of the values `0..len_bits`.
    ///
    /// # Panics
    ///
    /// If there is no memory for `len_bits` bits.
    #[must_use]
    pub fn new(len_bits: u64) -> Self {
        Self::with_base(0, len_bits)
    }

    /// An empty set of the `len_bits` values from `base` on; values of 2^64 and more are left out.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let mut top: Bitmap = Bitmap::with_base(u64::MAX - 9, 10);
    /// assert!(top.insert(u64::MAX));
    /// assert_eq!(top.universe(), Some(u64::MAX - 9..=u64::MAX));
    /// ```
    ///
    /// # Panics
    ///
    /// If there is no memory for `len_bits` bits.
    #[must_use]
    #[expect(clippy::panic, reason = "documented")]
    pub fn with_base(base: u64, len_bits: u64) -> Self {
        let len_bits = len_bits.min((u64::MAX - base).saturating_add(1));
        let words = usize::try_from(len_bits.div_ceil(W::BITS.into())).ok();
        let fits = |words: &usize| Vec::<W>::new().try_reserve_exact(*words).is_ok();
        let Some(words) = words.filter(fits) else { panic!("no memory for {len_bits} bits") };
        Self { base, len_bits, words: OwnedWords::zeroed(words) }
    }

    /// The set of `values`, in the universe `0..len_bits`.
    ///
    /// # Panics
    ///
    /// If a value is `len_bits` or more.
    #[must_use]
    pub fn from_values(len_bits: u64, values: &[u64]) -> Self {
        let mut bitmap = Self::new(len_bits);
        for &value in values {
            bitmap.insert(value);
        }
        bitmap
    }

    /// The words. Bits behind the universe are 0.
    #[must_use]
    pub fn as_words(&self) -> &[W] {
        self.words.as_slice().unwrap_or_default()
    }
}

impl<'a, W: Word> BitmapView<'a, W> {
    /// The set of these bytes; the first bit stands for `base`. Its universe has a value for each
    /// bit of each whole word.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::BitmapView;
    /// let view: BitmapView<'_, u32> = BitmapView::from_le_bytes(100, &[0b101, 0, 0, 128]);
    /// assert_eq!(view.iter().collect::<Vec<_>>(), [100, 102, 131]);
    /// ```
    #[must_use]
    pub fn from_le_bytes(base: u64, bytes: &'a [u8]) -> Self {
        let words = LeBytes::new(bytes);
        let len_bits = words.word_count() as u64 * u64::from(W::BITS);
        Self { base, len_bits: len_bits.min((u64::MAX - base).saturating_add(1)), words }
    }
}

impl<'a, W: Word> Bits<&'a mut [W]> {
    /// The set of these words; the first bit stands for `base`.
    #[must_use]
    pub fn from_words_mut(base: u64, words: &'a mut [W]) -> Self {
        let len_bits = words.len() as u64 * u64::from(W::BITS);
        Self { base, len_bits: len_bits.min((u64::MAX - base).saturating_add(1)), words }
    }
}

impl<S: Words> Bits<S> {
    /// The values that the set may have; `None` if there are none.
    #[must_use]
    pub fn universe(&self) -> Option<RangeInclusive<u64>> {
        let last = self.len_bits.checked_sub(1)?;
        Some(self.base..=self.base + last)
    }

    /// The bit that stands for `value`.
    #[inline]
    pub(super) fn bit(&self, value: u64) -> Option<u64> {
        value.checked_sub(self.base).filter(|bit| *bit < self.len_bits)
    }

    /// Number of words with bits of the universe.
    pub(super) fn used_words(&self) -> usize {
        in_usize(self.len_bits.div_ceil(S::Word::BITS.into()))
    }

    /// Word `index`, without bits behind the universe; 0 if there is no such word.
    #[inline]
    pub(super) fn word(&self, index: usize) -> S::Word {
        let start = (index as u64).checked_mul(S::Word::BITS.into());
        let Some(left) = start.and_then(|start| self.len_bits.checked_sub(start)) else {
            return S::Word::default();
        };
        let word = self.words.get(index).unwrap_or_default();
        if left >= u64::from(S::Word::BITS) {
            word
        } else {
            word & S::Word::low_mask(u32::try_from(left).unwrap_or(0))
        }
    }

    /// Whether `value` is in the set. O(1).
    #[must_use]
    #[inline]
    pub fn contains(&self, value: u64) -> bool {
        self.bit(value).is_some_and(|bit| {
            let (index, mask) = S::Word::place(bit);
            self.words.get(index).unwrap_or_default() & mask != S::Word::default()
        })
    }

    /// Number of values in the words before `end`.
    fn count_below(&self, end: usize) -> u64 {
        let (mut count, mut whole) = (0, 0);
        if let Some(bytes) = self.words.as_le_bytes() {
            let inside = self.len_bits.min(end as u64 * u64::from(S::Word::BITS));
            let words = in_usize(inside / u64::from(u64::BITS));
            count = popcount::ones(Level::best(), &bytes.as_chunks().0[..words]);
            whole = words * (u64::BITS / S::Word::BITS) as usize;
        }
        count + (whole..end).map(|index| u64::from(self.word(index).count())).sum::<u64>()
    }

    /// Number of values in the set. O(words).
    #[must_use]
    pub fn cardinality(&self) -> u64 {
        self.count_below(self.used_words())
    }

    /// Whether the set has no values. O(words) if it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.min().is_none()
    }

    /// The smallest value. O(words before it).
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.iter().next()
    }

    /// The largest value. O(words behind it).
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.iter().next_back()
    }

    /// The smallest member that is `value` or more. O(words between).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let ids = Bitmap::<u64>::from_values(100, &[3, 40, 41]);
    /// assert_eq!((ids.next(4), ids.next(40), ids.next(42)), (Some(40), Some(40), None));
    /// assert_eq!((ids.previous(39), ids.previous(40), ids.previous(2)), (Some(3), Some(40), None));
    /// ```
    #[must_use]
    pub fn next(&self, value: u64) -> Option<u64> {
        self.iter_from(value).next()
    }

    /// The largest member that is `value` or less. O(words between).
    #[must_use]
    pub fn previous(&self, value: u64) -> Option<u64> {
        let last = value.checked_sub(self.base)?.min(self.len_bits.checked_sub(1)?);
        let (index, mask) = S::Word::place(last);
        let upto = S::Word::low_mask(mask.lowest() + 1);
        let mut word = self.word(index) & upto;
        let mut index = index;
        loop {
            if let Some(bit) = word.highest() {
                return Some(self.base + index as u64 * u64::from(S::Word::BITS) + u64::from(bit));
            }
            index = index.checked_sub(1)?;
            word = self.word(index);
        }
    }

    /// Number of members smaller than or equal to `value`. O(words up to it).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let ids = Bitmap::<u64>::from_values(100, &[3, 40, 41]);
    /// assert_eq!((ids.rank(2), ids.rank(40), ids.rank(u64::MAX)), (0, 2, 3));
    /// assert_eq!((ids.select(0), ids.select(2), ids.select(3)), (Some(3), Some(41), None));
    /// ```
    #[must_use]
    pub fn rank(&self, value: u64) -> u64 {
        let Some(bit) = value.checked_sub(self.base) else { return 0 };
        if bit >= self.len_bits {
            return self.cardinality();
        }
        let (index, mask) = S::Word::place(bit);
        let upto = S::Word::low_mask(mask.lowest() + 1);
        self.count_below(index) + u64::from((self.word(index) & upto).count())
    }

    /// The member with `index` smaller ones. O(words up to it).
    #[must_use]
    pub fn select(&self, index: u64) -> Option<u64> {
        let mut left = index;
        for word_index in 0..self.used_words() {
            let mut word = self.word(word_index);
            let count = u64::from(word.count());
            if left < count {
                for _ in 0..left {
                    word = word.without_lowest();
                }
                let start = word_index as u64 * u64::from(S::Word::BITS);
                return Some(self.base + start + u64::from(word.lowest()));
            }
            left -= count;
        }
        None
    }

    /// The members in ascending order; from the back in descending order.
    #[must_use]
    pub fn iter(&self) -> Ones<'_, S> {
        Ones::new(self, 0)
    }

    /// The members from `value` on.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let ids = Bitmap::<u64>::from_values(100, &[3, 40, 41]);
    /// assert_eq!(ids.iter_from(4).collect::<Vec<_>>(), [40, 41]);
    /// assert_eq!(ids.iter_from(4).rev().collect::<Vec<_>>(), [41, 40]);
    /// ```
    #[must_use]
    pub fn iter_from(&self, value: u64) -> Ones<'_, S> {
        Ones::new(self, value.saturating_sub(self.base))
    }

    /// The maximal runs of consecutive members, in ascending order.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let ids = Bitmap::<u64>::from_values(100, &[3, 40, 41]);
    /// assert_eq!(ids.runs().collect::<Vec<_>>(), [3..=3, 40..=41]);
    /// ```
    #[must_use]
    pub fn runs(&self) -> Runs<'_, S> {
        Runs::new(self.iter())
    }
}

impl<'a, S: Words> IntoIterator for &'a Bits<S> {
    type Item = u64;
    type IntoIter = Ones<'a, S>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Shows the first members.
impl<S: Words> fmt::Debug for Bits<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 16;
        let mut set = f.debug_set();
        set.entries(self.iter().take(SHOWN));
        if self.iter().nth(SHOWN).is_some() {
            return set.finish_non_exhaustive();
        }
        set.finish()
    }
}

impl<S: WordsMut> Bits<S> {
    /// Adds `value`; gives whether it is new. O(1).
    ///
    /// # Panics
    ///
    /// If `value` is outside of the universe.
    #[expect(clippy::panic, reason = "documented")]
    pub fn insert(&mut self, value: u64) -> bool {
        match self.try_insert(value) {
            Ok(new) => new,
            Err(error) => panic!("{error}"),
        }
    }

    /// Adds `value`; gives whether it is new. O(1).
    ///
    /// # Errors
    ///
    /// If `value` is outside of the universe.
    pub fn try_insert(&mut self, value: u64) -> Result<bool, OutsideUniverse> {
        let bit = self.bit(value).ok_or(OutsideUniverse { value })?;
        let (index, mask) = S::Word::place(bit);
        let word = &mut self.words.as_mut_slice()[index];
        let new = *word & mask == S::Word::default();
        *word = *word | mask;
        Ok(new)
    }

    /// Removes `value`; gives whether it was in the set. O(1).
    pub fn remove(&mut self, value: u64) -> bool {
        let Some(bit) = self.bit(value) else { return false };
        let (index, mask) = S::Word::place(bit);
        let word = &mut self.words.as_mut_slice()[index];
        let found = *word & mask != S::Word::default();
        *word = *word & !mask;
        found
    }

    /// Adds all values of a range. O(words of the range).
    ///
    /// # Errors
    ///
    /// If the range has values outside of the universe. The set does not change then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let mut ids: Bitmap = Bitmap::new(1000);
    /// ids.insert_range(10..=500)?;
    /// ids.remove_range(20..=499);
    /// assert_eq!(ids.runs().collect::<Vec<_>>(), [10..=19, 500..=500]);
    /// # Ok::<(), bitsort::set::bitmap::OutsideUniverse>(())
    /// ```
    pub fn insert_range(&mut self, range: RangeInclusive<u64>) -> Result<(), OutsideUniverse> {
        if range.is_empty() {
            return Ok(());
        }
        for &value in [range.start(), range.end()] {
            self.bit(value).ok_or(OutsideUniverse { value })?;
        }
        self.for_words_of(range, |word, mask| *word = *word | mask);
        Ok(())
    }

    /// Removes all values of a range. O(words of the range).
    pub fn remove_range(&mut self, range: RangeInclusive<u64>) {
        let Some(universe) = self.universe() else { return };
        let first = *range.start().max(universe.start());
        let last = *range.end().min(universe.end());
        if !range.is_empty() && first <= last {
            self.for_words_of(first..=last, |word, mask| *word = *word & !mask);
        }
    }

    /// Removes all values. O(words).
    pub fn clear(&mut self) {
        self.words.as_mut_slice().fill(S::Word::default());
    }

    /// Hands every word of a range inside the universe to `change`, with a
    /// mask of the range's bits in it.
    fn for_words_of(&mut self, range: RangeInclusive<u64>, change: impl Fn(&mut S::Word, S::Word)) {
        let Masks { words, from, upto } =
            Masks::of(range.start() - self.base, range.end() - self.base);
        let words = &mut self.words.as_mut_slice()[words];
        if let [only] = words {
            change(only, from & upto);
        } else if let [head, middle @ .., tail] = words {
            change(head, from);
            for word in middle {
                change(word, S::Word::low_mask(S::Word::BITS));
            }
            change(tail, upto);
        }
    }

    /// Sets the bits `lows`, counted from the base. Bits that were already set go to the front of
    /// `met_again`; gives how many there are.
    ///
    /// It stores them without a branch, which the processor would often predict wrongly.
    ///
    /// # Panics
    ///
    /// If a bit is outside of the words, or `met_again` is shorter than `lows`.
    pub(crate) fn insert_lows<L: Low>(&mut self, lows: &[L], met_again: &mut [L]) -> usize {
        let words = self.words.as_mut_slice();
        let met_again = &mut met_again[..lows.len()];
        let mut count = 0;
        for &low in lows {
            let (index, mask) = S::Word::place(low.widen());
            let word = &mut words[index];
            met_again[count] = low;
            count += usize::from(*word & mask != S::Word::default());
            *word = *word | mask;
        }
        count
    }

    /// Sets the bits `lows`, counted from the base.
    ///
    /// # Panics
    ///
    /// If a bit is outside of the words.
    pub(crate) fn insert_all<L: Low>(&mut self, lows: &[L]) {
        let words = self.words.as_mut_slice();
        for &low in lows {
            let (index, mask) = S::Word::place(low.widen());
            words[index] = words[index] | mask;
        }
    }
}

impl<S: Words> Bits<S> {
    /// For every member in the `len` values from `first` on, calls `visit` with its distance from
    /// `first`, which must be in the universe. Reads no word behind these values.
    pub(crate) fn for_each_in(&self, first: u64, len: u64, mut visit: impl FnMut(u64)) {
        let Some(less_one) = len.checked_sub(1) else { return };
        let end = self.universe().map_or(0, |universe| *universe.end());
        let last = first.saturating_add(less_one).min(end);
        let Some((from, to)) = self.bit(first).zip(self.bit(last)) else { return };
        let masks = Masks::<S::Word>::of(from, to);
        for index in masks.words.clone() {
            let start = index as u64 * u64::from(S::Word::BITS);
            let mut word = self.word(index) & masks.mask(index);
            while word != S::Word::default() {
                visit(start + u64::from(word.lowest()) - from);
                word = word.without_lowest();
            }
        }
    }
}

/// A range of bits, one word at a time.
struct Masks<W> {
    /// The words of the range.
    words: RangeInclusive<usize>,
    /// The bits of the range in the first word, as if the range had no end.
    from: W,
    /// The bits of the range in the last word, as if the range had no beginning.
    upto: W,
}

impl<W: Word> Masks<W> {
    fn of(first: u64, last: u64) -> Self {
        let (head, first) = W::place(first);
        let (tail, last) = W::place(last);
        let (from, upto) = (!W::low_mask(first.lowest()), W::low_mask(last.lowest() + 1));
        Self { words: head..=tail, from, upto }
    }

    /// The bits of the range in one of its words.
    fn mask(&self, word: usize) -> W {
        let all = W::low_mask(W::BITS);
        let from = if word == *self.words.start() { self.from } else { all };
        let upto = if word == *self.words.end() { self.upto } else { all };
        from & upto
    }
}
