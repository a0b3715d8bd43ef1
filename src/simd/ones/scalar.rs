//! Positions a few at a time without asking how many a word has: the branch on
//! the count of a sparse word is what a plain loop misses.

use super::SLACK;
use crate::simd::task::Task;

/// Bits taken from a word before its count is looked at.
const UNCONDITIONAL: usize = 4;

/// See [`ones`](super::ones).
pub(super) struct Ones<'a> {
    pub(super) words: &'a [u64],
    pub(super) first: u32,
    pub(super) positions: &'a mut [u32],
}

impl Task for Ones<'_> {
    type Output = usize;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> usize {
        let Self { words, first, positions } = self;
        let mut found = 0;
        let mut base = first;
        let (groups, rest) = words.as_chunks::<8>();
        for group in groups {
            if group.iter().any(|&word| word != 0) {
                found += some(group, base, positions, found);
            }
            base = base.wrapping_add(64 * 8);
        }
        found + some(rest, base, positions, found)
    }
}

#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn some(words: &[u64], first: u32, positions: &mut [u32], start: usize) -> usize {
    let mut found = start;
    let mut base = first;
    for &word in words {
        let count = word.count_ones() as usize;
        let slots = &mut positions[found..found + SLACK];
        let mut rest = word;
        for slot in &mut slots[..UNCONDITIONAL] {
            *slot = base.wrapping_add(rest.trailing_zeros());
            rest &= rest.wrapping_sub(1);
        }
        if count > UNCONDITIONAL {
            for slot in &mut slots[UNCONDITIONAL..count] {
                *slot = base.wrapping_add(rest.trailing_zeros());
                rest &= rest.wrapping_sub(1);
            }
        }
        found += count;
        base = base.wrapping_add(64);
    }
    found - start
}
