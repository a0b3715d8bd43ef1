//! Two bitmaps: union, intersection, difference, symmetric difference, in
//! place and counted.

use super::bits::Bits;
use super::word::Word;
use super::words::{Words, WordsMut};

/// A value that a bitmap has no bit for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{value} is outside of the bitmap's universe")]
pub struct OutsideUniverse {
    /// The value.
    pub value: u64,
}

impl<S: Words> Bits<S> {
    /// The bits that stand for `value`, `value + 1`, … in one word; what is
    /// outside of the universe is 0.
    fn word_from(&self, value: u64) -> S::Word {
        let bits = u64::from(S::Word::BITS);
        if let Some(bit) = value.checked_sub(self.base) {
            let (index, mask) = S::Word::place(bit);
            let shift = mask.lowest();
            let low = self.word(index).down(shift);
            if shift == 0 { low } else { low | self.word(index + 1).up(S::Word::BITS - shift) }
        } else {
            let distance = (self.base - value).min(bits);
            self.word(0).up(u32::try_from(distance).unwrap_or(S::Word::BITS))
        }
    }

    /// Calls `visit` with each word of this bitmap and the bits of `other` at
    /// the same place.
    fn zip<T: Words<Word = S::Word>>(
        &self,
        other: &Bits<T>,
        mut visit: impl FnMut(S::Word, S::Word),
    ) {
        for index in 0..self.used_words() {
            let theirs = if self.base == other.base {
                other.word(index)
            } else {
                other.word_from(self.base + index as u64 * u64::from(S::Word::BITS))
            };
            // What `other` has behind this universe does not count.
            let left = self.len_bits - index as u64 * u64::from(S::Word::BITS);
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            visit(self.word(index), theirs & S::Word::low_mask(left));
        }
    }

    /// Number of values in both. O(words); nothing is materialized.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::bitmap::Bitmap;
    /// let a = Bitmap::<u64>::from_values(100, &[3, 40, 41]);
    /// let b = Bitmap::<u64>::from_values(50, &[3, 41, 42]);
    /// assert_eq!((a.intersection_len(&b), a.union_len(&b)), (2, 4));
    /// assert_eq!((a.difference_len(&b), a.symmetric_difference_len(&b)), (1, 2));
    /// assert!(!a.is_subset(&b) && !a.is_disjoint(&b));
    /// ```
    #[must_use]
    pub fn intersection_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        let mut count = 0;
        self.zip(other, |ours, theirs| count += u64::from((ours & theirs).count()));
        count
    }

    /// Number of values in either. O(words).
    #[must_use]
    pub fn union_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        self.cardinality() + other.difference_len(self)
    }

    /// Number of values here and not in `other`. O(words).
    #[must_use]
    pub fn difference_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        let mut count = 0;
        self.zip(other, |ours, theirs| count += u64::from((ours & !theirs).count()));
        count
    }

    /// Number of values in one of the two. O(words).
    #[must_use]
    pub fn symmetric_difference_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        self.difference_len(other) + other.difference_len(self)
    }

    /// Whether all values here are in `other`. O(words).
    #[must_use]
    pub fn is_subset<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> bool {
        self.difference_len(other) == 0
    }

    /// Whether no value is in both. O(words).
    #[must_use]
    pub fn is_disjoint<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> bool {
        self.intersection_len(other) == 0
    }
}

/// Sets are equal if their values are, whatever their universes.
impl<S: Words, T: Words<Word = S::Word>> PartialEq<Bits<T>> for Bits<S> {
    fn eq(&self, other: &Bits<T>) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

impl<S: WordsMut> Bits<S> {
    fn combine<T: Words<Word = S::Word>>(
        &mut self,
        other: &Bits<T>,
        join: impl Fn(S::Word, S::Word) -> S::Word,
    ) {
        let (used, base, len_bits) = (self.used_words(), self.base, self.len_bits);
        let words = &mut self.words.as_mut_slice()[..used];
        // Words of slices at the same places need no look at the universe but
        // for the last one.
        let mut whole = 0;
        if base == other.base
            && let Some(theirs) = other.words.as_slice()
        {
            let bits = u64::from(S::Word::BITS);
            let both = len_bits.min(other.len_bits) / bits;
            whole = usize::try_from(both).unwrap_or(used).min(used);
            for (ours, theirs) in words[..whole].iter_mut().zip(theirs) {
                *ours = join(*ours, *theirs);
            }
        }
        for (index, ours) in words.iter_mut().enumerate().skip(whole) {
            let start = index as u64 * u64::from(S::Word::BITS);
            let left = u32::try_from(len_bits - start).unwrap_or(u32::MAX);
            let theirs = other.word_from(base + start) & S::Word::low_mask(left);
            *ours = join(*ours, theirs);
        }
    }

    /// Whether all values of `other` have a bit here.
    fn check_universe<T: Words>(&self, other: &Bits<T>) -> Result<(), OutsideUniverse> {
        let inside = |value: &u64| self.bit(*value).is_some();
        if other.universe().is_none_or(|all| inside(all.start()) && inside(all.end())) {
            return Ok(());
        }
        let ends = [other.min(), other.max()];
        match ends.into_iter().flatten().find(|value| !inside(value)) {
            Some(value) => Err(OutsideUniverse { value }),
            None => Ok(()),
        }
    }

    /// Adds the values of `other`. O(words).
    ///
    /// # Errors
    ///
    /// If one of them is outside of this universe; nothing is changed then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::bitmap::Bitmap;
    /// let mut a = Bitmap::<u64>::from_values(100, &[3, 40]);
    /// let b = Bitmap::<u64>::from_values(50, &[3, 41]);
    /// a.union_assign(&b)?;
    /// assert_eq!(a, Bitmap::<u64>::from_values(100, &[3, 40, 41]));
    /// a.difference_assign(&b);
    /// assert_eq!(a, Bitmap::<u64>::from_values(100, &[40]));
    /// # Ok::<(), bitsort::bitmap::OutsideUniverse>(())
    /// ```
    pub fn union_assign<T: Words<Word = S::Word>>(
        &mut self,
        other: &Bits<T>,
    ) -> Result<(), OutsideUniverse> {
        self.check_universe(other)?;
        self.combine(other, |ours, theirs| ours | theirs);
        Ok(())
    }

    /// Keeps the values that are in `other`, too. O(words).
    pub fn intersection_assign<T: Words<Word = S::Word>>(&mut self, other: &Bits<T>) {
        self.combine(other, |ours, theirs| ours & theirs);
    }

    /// Takes the values of `other` out. O(words).
    pub fn difference_assign<T: Words<Word = S::Word>>(&mut self, other: &Bits<T>) {
        self.combine(other, |ours, theirs| ours & !theirs);
    }

    /// Keeps the values of one of the two, not of both. O(words).
    ///
    /// # Errors
    ///
    /// If a value of `other` is outside of this universe; nothing is changed
    /// then.
    pub fn symmetric_difference_assign<T: Words<Word = S::Word>>(
        &mut self,
        other: &Bits<T>,
    ) -> Result<(), OutsideUniverse> {
        self.check_universe(other)?;
        self.combine(other, |ours, theirs| ours ^ theirs);
        Ok(())
    }
}
