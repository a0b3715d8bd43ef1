//! Changes to a bitmap.

use super::algebra::OutsideUniverse;
use super::bits::Bits;
use super::words::{Word, Words, WordsMut};
use crate::kernel::decimal::Low;
use std::ops::RangeInclusive;

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
