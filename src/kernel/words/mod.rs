//! Joins the words of two bitmaps bit by bit, and counts bits.

#[cfg(target_arch = "aarch64")]
pub(super) mod neon;

use super::Level;
#[cfg(target_arch = "aarch64")]
use super::level::Isa;
use super::task::{Task, run};

/// A set operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Op {
    /// Values in both.
    And,
    /// Values in either.
    Or,
    /// Values in exactly one of the two.
    Xor,
    /// Values of the first that are not in the second.
    AndNot,
}

impl Op {
    /// The result of the operation for two words.
    #[inline]
    pub(crate) fn join(self, a: u64, b: u64) -> u64 {
        match self {
            Self::And => a & b,
            Self::Or => a | b,
            Self::Xor => a ^ b,
            Self::AndNot => a & !b,
        }
    }
}

/// A word of a bitmap.
pub(crate) trait Lane: bytemuck::NoUninit {
    /// The bits of the word.
    fn bits(self) -> u64;
    /// The word of the lowest bits of `bits`.
    fn of(bits: u64) -> Self;
}

impl Lane for u32 {
    #[inline]
    fn bits(self) -> u64 {
        self.into()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
    #[inline]
    fn of(bits: u64) -> Self {
        bits as Self
    }
}

impl Lane for u64 {
    #[inline]
    fn bits(self) -> u64 {
        self
    }

    #[inline]
    fn of(bits: u64) -> Self {
        bits
    }
}

/// A little-endian word of any alignment.
impl Lane for [u8; 8] {
    #[inline]
    fn bits(self) -> u64 {
        u64::from_le_bytes(self)
    }

    #[inline]
    fn of(bits: u64) -> Self {
        bits.to_le_bytes()
    }
}

/// Takes the joined words.
trait Target<L> {
    type Output;
    fn take(self, a: &[L], b: &[L], join: impl Fn(u64, u64) -> u64) -> Self::Output;
}

struct Join<'a, L, T> {
    op: Op,
    a: &'a [L],
    b: &'a [L],
    target: T,
}

impl<L: Lane, T: Target<L>> Task for Join<'_, L, T> {
    type Output = T::Output;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) -> T::Output {
        let Self { op, a, b, target } = self;
        match op {
            Op::And => target.take(a, b, |a, b| a & b),
            Op::Or => target.take(a, b, |a, b| a | b),
            Op::Xor => target.take(a, b, |a, b| a ^ b),
            Op::AndNot => target.take(a, b, |a, b| a & !b),
        }
    }
}

/// Only counts.
struct Count;

impl<L: Lane> Target<L> for Count {
    type Output = u64;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn take(self, a: &[L], b: &[L], join: impl Fn(u64, u64) -> u64) -> u64 {
        let joined = a.iter().zip(b).map(|(&a, &b)| join(a.bits(), b.bits()));
        joined.map(|word| u64::from(word.count_ones())).sum()
    }
}

/// New memory.
struct New;

impl<L: Lane> Target<L> for New {
    type Output = Vec<L>;

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn take(self, a: &[L], b: &[L], join: impl Fn(u64, u64) -> u64) -> Vec<L> {
        a.iter().zip(b).map(|(&a, &b)| L::of(join(a.bits(), b.bits()))).collect()
    }
}

/// Existing words.
struct Into<'t, L>(&'t mut [L]);

impl<L: Lane> Target<L> for Into<'_, L> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn take(self, a: &[L], b: &[L], join: impl Fn(u64, u64) -> u64) {
        for ((out, &a), &b) in self.0.iter_mut().zip(a).zip(b) {
            *out = L::of(join(a.bits(), b.bits()));
        }
    }
}

/// The second set. The result replaces the first one.
struct Assign<'t, L>(Op, &'t mut [L], &'t [L]);

impl<L: Lane> Task for Assign<'_, L> {
    type Output = ();

    #[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
    #[inline(always)]
    fn run(self) {
        let Self(op, words, other) = self;
        match op {
            Op::And => assign(words, other, |a, b| a & b),
            Op::Or => assign(words, other, |a, b| a | b),
            Op::Xor => assign(words, other, |a, b| a ^ b),
            Op::AndNot => assign(words, other, |a, b| a & !b),
        }
    }
}

#[expect(clippy::inline_always, reason = "to be compiled for the caller's instructions")]
#[inline(always)]
fn assign<L: Lane>(words: &mut [L], other: &[L], join: impl Fn(u64, u64) -> u64) {
    for (word, &other) in words.iter_mut().zip(other) {
        *word = L::of(join(word.bits(), other.bits()));
    }
}

/// Number of set bits of `a op b`, up to the end of the shorter one.
pub(crate) fn count<L: Lane>(level: Level, op: Op, a: &[L], b: &[L]) -> u64 {
    #[cfg(target_arch = "aarch64")]
    if level.isa() == Isa::Neon {
        let (a, b) = (bytemuck::cast_slice(a), bytemuck::cast_slice(b));
        // SAFETY: `Level::available` is the only maker of this level, after the CPU
        // reported NEON.
        return unsafe { neon::count(op, a, b) };
    }
    run(level, Join { op, a, b, target: Count })
}

/// The words of `a op b`, up to the end of the shorter one.
pub(crate) fn joined<L: Lane>(level: Level, op: Op, a: &[L], b: &[L]) -> Vec<L> {
    run(level, Join { op, a, b, target: New })
}

/// Writes the words of `a op b` to the front of `out`, up to the end of the shortest one.
pub(crate) fn join_into<L: Lane>(level: Level, op: Op, a: &[L], b: &[L], out: &mut [L]) {
    run(level, Join { op, a, b, target: Into(out) });
}

/// Replaces `words` by `words op other`, up to the end of the shorter one.
pub(crate) fn join_assign<L: Lane>(level: Level, op: Op, words: &mut [L], other: &[L]) {
    run(level, Assign(op, words, other));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<L: Lane + PartialEq + std::fmt::Debug>(a: &[u64], b: &[u64]) {
        let (x, y): (Vec<L>, Vec<L>) = a.iter().zip(b).map(|(&a, &b)| (L::of(a), L::of(b))).unzip();
        for &level in Level::available() {
            for op in [Op::And, Op::Or, Op::Xor, Op::AndNot] {
                let join = |(a, b): (&L, &L)| L::of(op.join(a.bits(), b.bits()));
                let expected: Vec<L> = x.iter().zip(&y).map(join).collect();
                let ones: u32 = expected.iter().map(|word| word.bits().count_ones()).sum();
                assert_eq!(joined(level, op, &x, &y), expected, "{}", level.name());
                assert_eq!(count(level, op, &x, &y), u64::from(ones));
                let mut out = vec![L::of(0); x.len()];
                join_into(level, op, &x, &y, &mut out);
                assert_eq!(out, expected);
                out.clone_from(&x);
                join_assign(level, op, &mut out, &y);
                assert_eq!(out, expected);
            }
        }
    }

    proptest! {
        #[test]
        fn every_level_joins_alike(pairs in prop::collection::vec(any::<(u64, u64)>(), 0..200)) {
            let (a, b): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            check::<u32>(&a, &b);
            check::<u64>(&a, &b);
            check::<[u8; 8]>(&a, &b);
        }
    }
}
