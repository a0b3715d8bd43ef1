//! The set bits in order, from either end.

use super::bits::Bits;
use super::words::{Word, Words};
use crate::kernel::Level;
use crate::kernel::ones::{self, SLACK};
use std::iter::FusedIterator;
use std::ops::RangeInclusive;

/// The members of a [`Bits`], in ascending order; see [`Bits::iter`].
#[derive(Debug)]
pub struct Ones<'a, S: Words> {
    bits: &'a Bits<S>,
    /// Members that were decoded together, less `base`. Those at `next` up to `end` are still to
    /// come; they come before those of `front_word`.
    block: Vec<u32>,
    next: usize,
    end: usize,
    base: u64,
    /// The bits of word `front` that are still to come.
    front_word: S::Word,
    front: usize,
    /// The bits of word `back` that are still to come, if it is not word `front`.
    back_word: S::Word,
    back: usize,
    /// Words before this one are read one by one: a caller that wants a single member needs no
    /// block.
    blocks_from: usize,
}

/// Words that are decoded together.
const BLOCK_WORDS: usize = 64;

impl<'a, S: Words> Ones<'a, S> {
    /// The members from bit `first` on.
    pub(super) fn new(bits: &'a Bits<S>, first: u64) -> Self {
        let back = bits.used_words().saturating_sub(1);
        let none = S::Word::default();
        let (mut front, mut front_word, mut back_word) = (back, none, none);
        if first < bits.len_bits {
            let (index, mask) = S::Word::place(first);
            front = index;
            front_word = bits.word(front) & !S::Word::low_mask(mask.lowest());
            back_word = bits.word(back);
        }
        let (block, blocks_from) = (Vec::new(), front + BLOCK_WORDS);
        let (next, end, base) = (0, 0, 0);
        Self { bits, block, next, end, base, front_word, front, back_word, back, blocks_from }
    }

    fn value(&self, word: usize, bit: u32) -> u64 {
        self.bits.base + word as u64 * u64::from(S::Word::BITS) + u64::from(bit)
    }

    /// Decodes words behind `front`, of which no bits are left; gives whether there were any before
    /// `back`.
    fn decode(&mut self) -> bool {
        if self.front < self.blocks_from {
            return false;
        }
        let from = self.front + 1;
        let bytes = self.bits.words.as_le_bytes();
        let bytes =
            bytes.and_then(|bytes| bytes.get(from * S::Word::BYTES..self.back * S::Word::BYTES));
        let bytes = bytes.unwrap_or_default();
        let bytes = &bytes[..bytes.len().min(BLOCK_WORDS * 8) & !7];
        if bytes.is_empty() {
            return false;
        }
        self.block.resize(BLOCK_WORDS * u64::BITS as usize + SLACK, 0);
        let mut copy = [0; BLOCK_WORDS];
        let words = bytemuck::try_cast_slice(bytes).unwrap_or_else(|_| {
            let copy = &mut copy[..bytes.len() / 8];
            bytemuck::cast_slice_mut(copy).copy_from_slice(bytes);
            copy
        });
        self.next = 0;
        self.end = ones::ones(Level::best(), words, 0, &mut self.block);
        self.base = self.value(from, 0);
        self.front += bytes.len() / S::Word::BYTES;
        true
    }

    /// The next member when the block has no more.
    #[inline(never)]
    fn advance(&mut self) -> Option<u64> {
        let none = S::Word::default();
        while self.front_word == none {
            if self.front >= self.back {
                return None;
            }
            if self.decode() {
                if self.end > 0 {
                    self.next = 1;
                    return Some(self.base + u64::from(self.block[0]));
                }
                continue;
            }
            self.front += 1;
            self.front_word =
                if self.front == self.back { self.back_word } else { self.bits.word(self.front) };
        }
        let bit = self.front_word.lowest();
        self.front_word = self.front_word.without_lowest();
        Some(self.value(self.front, bit))
    }
}

impl<S: Words> Iterator for Ones<'_, S> {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        if self.next < self.end {
            let low = self.block[self.next];
            self.next += 1;
            return Some(self.base + u64::from(low));
        }
        self.advance()
    }

    /// Faster than `next`: the state of a block stays in registers.
    fn fold<B, F: FnMut(B, u64) -> B>(mut self, init: B, mut visit: F) -> B {
        let mut state = init;
        loop {
            for &low in &self.block[self.next..self.end] {
                state = visit(state, self.base + u64::from(low));
            }
            self.next = self.end;
            match self.advance() {
                Some(value) => state = visit(state, value),
                None => return state,
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let ends = if self.front == self.back {
            self.front_word.count()
        } else {
            self.front_word.count() + self.back_word.count()
        };
        let between = self.back.saturating_sub(self.front + 1);
        let sure = ends as usize + self.end - self.next;
        (sure, between.checked_mul(S::Word::BITS as usize).and_then(|most| most.checked_add(sure)))
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
                if self.next == self.end {
                    return None;
                }
                self.end -= 1;
                return Some(self.base + u64::from(self.block[self.end]));
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
