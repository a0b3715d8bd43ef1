//! A plain bitmap, in pieces of 2^16 bits.

use super::Damage;
use super::search::{WRONG_RANKS, last_up_to, sum};
use crate::kernel::{Level, popcount};
use crate::set::container::{Container, WORDS};

/// A bitmap over borrowed little-endian words.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseView<'a> {
    pieces: &'a [[[u8; 8]; WORDS]],
    /// The key of the first piece: the upper bits of its values.
    first_key: u64,
    /// Number of values before each piece, if known.
    ranks: Option<&'a [[u8; 8]]>,
}

impl<'a> DenseView<'a> {
    /// A bitmap whose first bit stands for `first_key << 16`. Bits at the end that do not make a
    /// piece are ignored.
    pub(crate) fn new(words: &'a [[u8; 8]], first_key: u64, ranks: Option<&'a [[u8; 8]]>) -> Self {
        Self { pieces: words.as_chunks().0, first_key, ranks }
    }

    /// Whether `value` is in the set.
    #[inline]
    pub(crate) fn contains(self, value: u64) -> bool {
        let words = self.pieces.as_flattened();
        // For a value below the first one this wraps to a place behind all words.
        let bit = value.wrapping_sub(self.first_key << 16);
        let word = usize::try_from(bit >> 6).ok().and_then(|index| words.get(index));
        word.is_some_and(|&word| u64::from_le_bytes(word) >> (bit & 63) & 1 == 1)
    }

    /// Number of pieces.
    pub(crate) fn len(self) -> usize {
        self.pieces.len()
    }

    /// Piece `index`.
    pub(crate) fn get(self, index: usize) -> Option<(u64, Container<'a>)> {
        let piece = self.pieces.get(index)?;
        Some((self.first_key + index as u64, Container::Bitmap(piece)))
    }

    /// The piece of `key`, or the first one behind it.
    pub(crate) fn place(self, key: u64) -> usize {
        let distance = key.saturating_sub(self.first_key);
        usize::try_from(distance).map_or(self.len(), |index| index.min(self.len()))
    }

    /// Number of values in the pieces before `index`, which is at most the number of pieces. O(1) if
    /// the numbers before pieces are known.
    pub(crate) fn rank(self, index: usize) -> Result<u64, Damage> {
        let ones = |words: &[[u8; 8]]| popcount::ones(Level::best(), words);
        let Some(ranks) = self.ranks else { return Ok(ones(self.pieces[..index].as_flattened())) };
        let before = |piece: usize| {
            let rank = ranks.get(piece).ok_or(Damage::of("a rank is missing"));
            rank.map(|&rank| u64::from_le_bytes(rank))
        };
        match self.pieces.split_last() {
            Some((last, others)) if index == self.len() => sum(before(others.len())?, ones(last)),
            Some(_) => before(index),
            None => Ok(0),
        }
    }

    /// Compares the number before each piece with its values, if the numbers are known.
    pub(crate) fn verify(self) -> Result<(), Damage> {
        let mut before = 0;
        if self.ranks.is_none() {
            return Ok(());
        }
        for (piece, words) in self.pieces.iter().enumerate() {
            if self.rank(piece)? != before {
                return Err(WRONG_RANKS);
            }
            before += popcount::ones(Level::best(), words);
        }
        Ok(())
    }

    /// The piece with the value that has `index` values before it, and the
    /// number of values before the piece.
    pub(crate) fn piece_of(self, index: u64) -> Result<Option<(usize, u64)>, Damage> {
        if self.ranks.is_some() {
            let piece = last_up_to(self.len(), index, |piece| self.rank(piece))?;
            return piece.map(|piece| Ok((piece, self.rank(piece)?))).transpose();
        }
        let mut before = 0;
        for (piece, words) in self.pieces.iter().enumerate() {
            let here = popcount::ones(Level::best(), words);
            if index - before < here {
                return Ok(Some((piece, before)));
            }
            before += here;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_before_pieces_without_values_are_compared_too() {
        let mut words = vec![[0; 8]; 3 * WORDS];
        (words[0], words[2 * WORDS]) = (7_u64.to_le_bytes(), 1_u64.to_le_bytes());
        for (ranks, is_right) in [([0, 3, 3], true), ([0, 1, 3], false), ([0, 3, 4], false)] {
            let ranks = ranks.map(u64::to_le_bytes);
            assert_eq!(DenseView::new(&words, 0, Some(&ranks)).verify().is_ok(), is_right);
        }
        assert!(DenseView::new(&words, 0, None).verify().is_ok());
    }
}
