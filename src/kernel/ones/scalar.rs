//! Takes a few positions at a time before it asks how many a word has: in a plain loop, the branch
//! on the number of bits of a sparse word is often mispredicted.

use super::{GROUP, SLACK};
use crate::kernel::task::Task;

/// Bits that are taken from a word before the first test of their number.
const FEW: usize = 3;
/// Bits that are taken from a fuller word before the next test.
const MORE: usize = 8;

/// The type of a position in the output.
pub(in crate::kernel) trait Position: Copy {
    fn of(position: u32) -> Self;
}

impl Position for u32 {
    #[expect(clippy::inline_always, reason = "as below")]
    #[inline(always)]
    fn of(position: u32) -> Self {
        position
    }
}

/// The lower half of the position, little-endian.
impl Position for [u8; 2] {
    #[expect(clippy::inline_always, reason = "as below")]
    #[inline(always)]
    fn of(position: u32) -> Self {
        let [first, second, ..] = position.to_le_bytes();
        [first, second]
    }
}

/// See [`ones`](super::ones) and [`lows`](super::lows).
pub(super) struct Ones<'a, P> {
    pub(super) words: &'a [u64],
    pub(super) first: u32,
    pub(super) positions: &'a mut [P],
}

impl<P: Position> Task for Ones<'_, P> {
    type Output = usize;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> usize {
        let Self { words, first, positions } = self;
        let mut found = 0;
        let mut base = first;
        let (groups, rest) = words.as_chunks::<GROUP>();
        for group in groups {
            // All words of a group together: a single one is often empty.
            if group.iter().fold(0, |all, word| all | word) != 0 {
                found += some(group, base, &mut positions[found..]);
            }
            base = base.wrapping_add(64 * 8);
        }
        let mut last = [0; GROUP];
        last[..rest.len()].copy_from_slice(rest);
        found + some(&last, base, &mut positions[found..])
    }
}

#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
fn some<P: Position>(words: &[u64; GROUP], first: u32, positions: &mut [P]) -> usize {
    let slots = &mut positions[..SLACK];
    let mut found = 0;
    let mut base = first;
    for &word in words {
        let count = word.count_ones() as usize;
        let slots = &mut slots[found..found + 64];
        let rest = take(word, base, &mut slots[..FEW]);
        if count > FEW {
            let rest = take(rest, base, &mut slots[FEW..MORE]);
            if count > MORE {
                take(rest, base, &mut slots[MORE..count]);
            }
        }
        found += count;
        base = base.wrapping_add(64);
    }
    found
}

/// Writes the positions of the lowest of `bits`, one into each slot; gives the other bits.
#[expect(clippy::inline_always, reason = "as above")]
#[inline(always)]
pub(in crate::kernel) fn take<P: Position>(bits: u64, base: u32, slots: &mut [P]) -> u64 {
    let mut rest = bits;
    for slot in slots {
        *slot = P::of(base.wrapping_add(rest.trailing_zeros()));
        rest &= rest.wrapping_sub(1);
    }
    rest
}
