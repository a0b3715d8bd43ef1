//! The set bits in order, from either end.

use super::bits::Bits;
use super::word::Word;
use super::words::Words;
use std::iter::FusedIterator;
use std::ops::RangeInclusive;

/// The members of a [`Bits`], in ascending order; see [`Bits::iter`].
#[derive(Debug)]
pub struct Ones<'a, S: Words> {
    bits: &'a Bits<S>,
    /// What is left of word `front`.
    front_word: S::Word,
    front: usize,
    /// What is left of word `back`, if that is another one.
    back_word: S::Word,
    back: usize,
}

impl<'a, S: Words> Ones<'a, S> {
    /// Members from bit `first` on.
    pub(super) fn new(bits: &'a Bits<S>, first: u64) -> Self {
        let back = bits.used_words().saturating_sub(1);
        if first >= bits.len_bits {
            let none = S::Word::default();
            return Self { bits, front_word: none, front: back, back_word: none, back };
        }
        let (front, mask) = S::Word::place(first);
        let front_word = bits.word(front) & !S::Word::low_mask(mask.lowest());
        Self { bits, front_word, front, back_word: bits.word(back), back }
    }

    fn value(&self, word: usize, bit: u32) -> u64 {
        self.bits.base + word as u64 * u64::from(S::Word::BITS) + u64::from(bit)
    }
}

impl<S: Words> Iterator for Ones<'_, S> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let none = S::Word::default();
        while self.front_word == none {
            if self.front >= self.back {
                return None;
            }
            self.front += 1;
            self.front_word =
                if self.front == self.back { self.back_word } else { self.bits.word(self.front) };
        }
        let bit = self.front_word.lowest();
        self.front_word = self.front_word.without_lowest();
        Some(self.value(self.front, bit))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let ends = if self.front == self.back {
            self.front_word.count()
        } else {
            self.front_word.count() + self.back_word.count()
        };
        let between = self.back.saturating_sub(self.front + 1);
        let ends = ends as usize;
        (ends, between.checked_mul(S::Word::BITS as usize).and_then(|most| most.checked_add(ends)))
    }
}

impl<S: Words> DoubleEndedIterator for Ones<'_, S> {
    fn next_back(&mut self) -> Option<u64> {
        loop {
            let single = self.front >= self.back;
            let word = if single { self.front_word } else { self.back_word };
            if let Some(bit) = word.highest() {
                let rest = word & S::Word::low_mask(bit);
                if single {
                    self.front_word = rest;
                } else {
                    self.back_word = rest;
                }
                let index = if single { self.front } else { self.back };
                return Some(self.value(index, bit));
            }
            if single {
                return None;
            }
            self.back -= 1;
            self.back_word = self.bits.word(self.back);
        }
    }
}

impl<S: Words> FusedIterator for Ones<'_, S> {}

/// The maximal runs of a [`Bits`]; see [`Bits::runs`].
#[derive(Debug)]
pub struct Runs<'a, S: Words> {
    ones: Ones<'a, S>,
    next: Option<u64>,
}

impl<'a, S: Words> Runs<'a, S> {
    pub(super) fn new(mut ones: Ones<'a, S>) -> Self {
        let next = ones.next();
        Self { ones, next }
    }
}

impl<S: Words> Iterator for Runs<'_, S> {
    type Item = RangeInclusive<u64>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.next?;
        let mut last = first;
        loop {
            self.next = self.ones.next();
            match self.next {
                Some(value) if value - 1 == last => last = value,
                _ => return Some(first..=last),
            }
        }
    }
}

impl<S: Words> FusedIterator for Runs<'_, S> {}
