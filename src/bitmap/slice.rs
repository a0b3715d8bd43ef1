//! A bitmap on borrowed words: one segment of a larger one.

use super::word::Word;
use crate::simd::decimal::Low;

/// Bits on borrowed words; bit `i` is bit `i % 64` of word `i / 64`.
#[derive(Debug)]
pub struct BitSliceMut<'a> {
    words: &'a mut [u64],
}

impl<'a> BitSliceMut<'a> {
    pub(crate) fn new(words: &'a mut [u64]) -> Self {
        Self { words }
    }

    /// Sets the bits `lows`. Those that were set already are written to the
    /// front of `met_again`; gives how many.
    ///
    /// Duplicates are kept without a branch: how many there are depends on the
    /// data, and a branch would be missed.
    ///
    /// # Panics
    ///
    /// If a bit is outside of the words, or `met_again` is shorter than `lows`.
    pub(crate) fn insert_lows<L: Low>(&mut self, lows: &[L], met_again: &mut [L]) -> usize {
        let met_again = &mut met_again[..lows.len()];
        let mut count = 0;
        for &low in lows {
            let (index, mask) = u64::place(low.widen());
            let word = &mut self.words[index];
            met_again[count] = low;
            count += usize::from(*word & mask != 0);
            *word |= mask;
        }
        count
    }

    /// Sets the bits `lows`.
    ///
    /// # Panics
    ///
    /// If a bit is outside of the words.
    pub(crate) fn insert_all<L: Low>(&mut self, lows: &[L]) {
        for &low in lows {
            let (index, mask) = u64::place(low.widen());
            self.words[index] |= mask;
        }
    }
}
