//! Union, intersection, difference and symmetric difference of two bitmaps: in new memory, in
//! place, and only counted.

use super::bits::{Bitmap, Bits, OutsideUniverse};
use super::owned::OwnedWords;
use super::words::{Word, Words, WordsMut};
use crate::kernel::words::{self, Op};
use crate::kernel::{Level, in_usize};

/// Words that are counted before a check whether they are enough.
const BLOCK_WORDS: usize = 1 << 12;

impl<S: Words> Bits<S> {
    /// The bits of `value`, `value + 1`, … as one word. Values outside of the universe have the bit
    /// 0.
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

    /// Number of values of `self op other` in this universe; at least `enough`
    /// if there are that many.
    fn count<T: Words<Word = S::Word>>(&self, op: Op, other: &Bits<T>, enough: u64) -> u64 {
        let bits = u64::from(S::Word::BITS);
        let (mut count, mut whole) = (0, 0);
        if self.base == other.base
            && let (Some(ours), Some(theirs)) =
                (self.words.as_le_bytes(), other.words.as_le_bytes())
        {
            let both = self.len_bits.min(other.len_bits) / u64::from(u64::BITS);
            let both = in_usize(both);
            let (ours, theirs) = (&ours.as_chunks().0[..both], &theirs.as_chunks().0[..both]);
            for (ours, theirs) in ours.chunks(BLOCK_WORDS).zip(theirs.chunks(BLOCK_WORDS)) {
                count += words::count::<[u8; 8]>(Level::best(), op, ours, theirs);
                if count >= enough {
                    return count;
                }
            }
            whole = both * (u64::BITS / S::Word::BITS) as usize;
        }
        for index in whole..self.used_words() {
            let start = index as u64 * bits;
            let theirs = other.word_from(self.base + start);
            // Values of `other` behind this universe do not count.
            let left = u32::try_from(self.len_bits - start).unwrap_or(u32::MAX);
            let theirs = theirs & S::Word::low_mask(left);
            count += u64::from(join(op, self.word(index), theirs).count());
            if count >= enough {
                break;
            }
        }
        count
    }

    /// Number of values in both. O(words); nothing is materialized.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let a = Bitmap::<u64>::from_values(100, &[3, 40, 41]);
    /// let b = Bitmap::<u64>::from_values(50, &[3, 41, 42]);
    /// assert_eq!((a.intersection_len(&b), a.union_len(&b)), (2, 4));
    /// assert_eq!((a.difference_len(&b), a.symmetric_difference_len(&b)), (1, 2));
    /// assert!(!a.is_subset(&b) && !a.is_disjoint(&b));
    /// ```
    #[must_use]
    pub fn intersection_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        self.count(Op::And, other, u64::MAX)
    }

    /// Number of values in either. O(words).
    #[must_use]
    pub fn union_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        self.cardinality() + other.difference_len(self)
    }

    /// Number of values of this set that are not in `other`. O(words).
    #[must_use]
    pub fn difference_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        self.count(Op::AndNot, other, u64::MAX)
    }

    /// Number of values in one of the two. O(words).
    #[must_use]
    pub fn symmetric_difference_len<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> u64 {
        self.difference_len(other) + other.difference_len(self)
    }

    /// Whether all values of this set are in `other`. O(words before the first value that is not).
    #[must_use]
    pub fn is_subset<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> bool {
        self.count(Op::AndNot, other, 1) == 0
    }

    /// Whether no value is in both. O(words before the first value that is in both).
    #[must_use]
    pub fn is_disjoint<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> bool {
        self.count(Op::And, other, 1) == 0
    }
}

/// Two bitmaps are equal if they have the same values; their universes may differ.
impl<S: Words, T: Words<Word = S::Word>> PartialEq<Bits<T>> for Bits<S> {
    fn eq(&self, other: &Bits<T>) -> bool {
        self.is_subset(other) && other.is_subset(self)
    }
}

/// The set `a op b` of the `len_bits` values from `base` on, in one pass over new memory.
fn join_in<S: Words, T: Words<Word = S::Word>>(
    op: Op,
    base: u64,
    len_bits: u64,
    a: &Bits<S>,
    b: &Bits<T>,
) -> Bitmap<S::Word> {
    let bits = u64::from(S::Word::BITS);
    let used = in_usize(len_bits.div_ceil(bits));
    // In words that all three bitmaps have whole, the universes need no check.
    let first = base.max(a.base).max(b.base);
    let distances = [first - base, first - a.base, first - b.base];
    let lens = [len_bits, a.len_bits, b.len_bits];
    let left = distances.iter().zip(lens).map(|(&distance, len)| len.saturating_sub(distance));
    let shared = left.min().map_or(0, |left| left / bits);
    let (mut words, mut whole) = (None, 0..0);
    if shared > 0
        && distances.iter().all(|distance| distance.is_multiple_of(bits))
        && let [Ok(from), Ok(ours), Ok(theirs)] = distances.map(|d| usize::try_from(d / bits))
        && let (Ok(count), Some(a), Some(b)) =
            (usize::try_from(shared), a.words.as_slice(), b.words.as_slice())
    {
        let (a, b) = (&a[ours..ours + count], &b[theirs..theirs + count]);
        whole = from..from + count;
        words = Some(if from == 0 {
            OwnedWords::joined(op, a, b, used)
        } else {
            let mut words = OwnedWords::zeroed(used);
            words::join_into(Level::best(), op, a, b, &mut words.as_mut_slice()[whole.clone()]);
            words
        });
    }
    let mut words = words.unwrap_or_else(|| OwnedWords::zeroed(used));
    let out = words.as_mut_slice();
    for index in (0..whole.start).chain(whole.end..used) {
        let start = index as u64 * bits;
        let left = u32::try_from(len_bits - start).unwrap_or(u32::MAX);
        let joined = join(op, a.word_from(base + start), b.word_from(base + start));
        out[index] = joined & S::Word::low_mask(left);
    }
    Bits { base, len_bits, words }
}

fn join<W: Word>(op: Op, ours: W, theirs: W) -> W {
    match op {
        Op::And => ours & theirs,
        Op::Or => ours | theirs,
        Op::Xor => ours ^ theirs,
        Op::AndNot => ours & !theirs,
    }
}

impl<S: Words> Bits<S> {
    fn joined<T: Words<Word = S::Word>>(&self, op: Op, other: &Bits<T>) -> Bitmap<S::Word> {
        join_in(op, self.base, self.len_bits, self, other)
    }

    /// The values in both, in this universe. O(words), read once.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let a = Bitmap::<u64>::from_values(100, &[3, 40]);
    /// let b = Bitmap::<u64>::from_values(50, &[3, 41]);
    /// assert_eq!(a.intersection(&b), Bitmap::<u64>::from_values(100, &[3]));
    /// assert_eq!(a.union(&b)?, Bitmap::<u64>::from_values(100, &[3, 40, 41]));
    /// # Ok::<(), bitsort::set::bitmap::OutsideUniverse>(())
    /// ```
    #[must_use]
    pub fn intersection<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> Bitmap<S::Word> {
        self.joined(Op::And, other)
    }

    /// The values of this set that are not in `other`. O(words), read once.
    #[must_use]
    pub fn difference<T: Words<Word = S::Word>>(&self, other: &Bits<T>) -> Bitmap<S::Word> {
        self.joined(Op::AndNot, other)
    }

    /// The values in either, in this universe. O(words), read once.
    ///
    /// # Errors
    ///
    /// If a value of `other` is outside of this universe.
    pub fn union<T: Words<Word = S::Word>>(
        &self,
        other: &Bits<T>,
    ) -> Result<Bitmap<S::Word>, OutsideUniverse> {
        self.check_universe(other)?;
        Ok(self.joined(Op::Or, other))
    }

    /// The values in one of the two, in this universe. O(words), read once.
    ///
    /// # Errors
    ///
    /// If a value of `other` is outside of this universe.
    pub fn symmetric_difference<T: Words<Word = S::Word>>(
        &self,
        other: &Bits<T>,
    ) -> Result<Bitmap<S::Word>, OutsideUniverse> {
        self.check_universe(other)?;
        Ok(self.joined(Op::Xor, other))
    }

    /// Checks that all values of `other` are in this universe.
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
}

impl<S: WordsMut> Bits<S> {
    fn combine<T: Words<Word = S::Word>>(&mut self, op: Op, other: &Bits<T>) {
        let (used, base, len_bits) = (self.used_words(), self.base, self.len_bits);
        let words = &mut self.words.as_mut_slice()[..used];
        // In slices at the same places, only the last word needs a check of the universe.
        let mut whole = 0;
        if base == other.base
            && let Some(theirs) = other.words.as_slice()
        {
            let bits = u64::from(S::Word::BITS);
            let both = len_bits.min(other.len_bits) / bits;
            whole = usize::try_from(both).unwrap_or(used).min(used);
            words::join_assign(Level::best(), op, &mut words[..whole], theirs);
        }
        for (index, ours) in words.iter_mut().enumerate().skip(whole) {
            let start = index as u64 * u64::from(S::Word::BITS);
            let left = u32::try_from(len_bits - start).unwrap_or(u32::MAX);
            let theirs = other.word_from(base + start) & S::Word::low_mask(left);
            *ours = join(op, *ours, theirs);
        }
    }

    /// Becomes `self op other`. O(words).
    ///
    /// # Errors
    ///
    /// If a new value is outside of this universe. The set does not change then.
    pub(crate) fn join_assign<T: Words<Word = S::Word>>(
        &mut self,
        op: Op,
        other: &Bits<T>,
    ) -> Result<(), OutsideUniverse> {
        if matches!(op, Op::Or | Op::Xor) {
            self.check_universe(other)?;
        }
        self.combine(op, other);
        Ok(())
    }

    /// Adds the values of `other`. O(words).
    ///
    /// # Errors
    ///
    /// If one of them is outside of this universe. The set does not change then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitsort::set::bitmap::Bitmap;
    /// let mut a = Bitmap::<u64>::from_values(100, &[3, 40]);
    /// let b = Bitmap::<u64>::from_values(50, &[3, 41]);
    /// a.union_assign(&b)?;
    /// assert_eq!(a, Bitmap::<u64>::from_values(100, &[3, 40, 41]));
    /// a.difference_assign(&b);
    /// assert_eq!(a, Bitmap::<u64>::from_values(100, &[40]));
    /// # Ok::<(), bitsort::set::bitmap::OutsideUniverse>(())
    /// ```
    pub fn union_assign<T: Words<Word = S::Word>>(
        &mut self,
        other: &Bits<T>,
    ) -> Result<(), OutsideUniverse> {
        self.join_assign(Op::Or, other)
    }

    /// Keeps only the values that are also in `other`. O(words).
    pub fn intersection_assign<T: Words<Word = S::Word>>(&mut self, other: &Bits<T>) {
        self.combine(Op::And, other);
    }

    /// Removes the values of `other`. O(words).
    pub fn difference_assign<T: Words<Word = S::Word>>(&mut self, other: &Bits<T>) {
        self.combine(Op::AndNot, other);
    }

    /// Keeps the values that are in exactly one of the two sets. O(words).
    ///
    /// # Errors
    ///
    /// If a value of `other` is outside of this universe. The set does not change then.
    pub fn symmetric_difference_assign<T: Words<Word = S::Word>>(
        &mut self,
        other: &Bits<T>,
    ) -> Result<(), OutsideUniverse> {
        self.join_assign(Op::Xor, other)
    }
}
