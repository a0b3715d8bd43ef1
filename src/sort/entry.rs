//! Entries: the low bits of values, which a partition keeps.

use crate::error::{Error, Result};
use crate::kernel::decimal::Low;
use crate::kernel::quicksort::Sortable;

/// The low bits of a value, in a word that is just wide enough.
pub(super) trait Entry:
    Low + Sortable + bytemuck::Pod + Ord + Default + Send + Sync + std::fmt::Debug
{
    /// Bits of the word.
    const BITS: u32;
    /// Entries in a cache line.
    const LINE: usize = 512 / Self::BITS as usize;

    /// The low bits of `value`.
    fn narrow(value: u64) -> Self;
}

impl Entry for u32 {
    const BITS: u32 = 32;

    #[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
    fn narrow(value: u64) -> Self {
        value as Self
    }
}

impl Entry for u64 {
    const BITS: u32 = 64;

    fn narrow(value: u64) -> Self {
        value
    }
}

/// A range of values, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) base: u64,
    pub(super) last: u64,
}

impl Window {
    /// All values.
    pub(super) const ALL: Self = Self { base: 0, last: u64::MAX };

    /// The `2^bits` values from `base` on, cut off at 2^64.
    pub(super) fn of_bits(base: u64, bits: u32) -> Self {
        Self { base, last: base.saturating_add(low_mask(bits)) }
    }

    /// Checks that the output has this window behind the window `previous`.
    pub(super) fn check_behind(self, previous: Option<Self>, reverse: bool) -> Result<()> {
        let follows = |other: Self| {
            let (lower, upper) = if reverse { (self, other) } else { (other, self) };
            lower.base <= lower.last && lower.last < upper.base && upper.base <= upper.last
        };
        if previous.is_none_or(follows) {
            return Ok(());
        }
        let what = format!("a part with values of {self:?} was to follow one of {previous:?}");
        Err(Error::Accounting { what })
    }

    /// Number of bits of the largest offset from the base: 0 to 64.
    pub(super) fn bits(self) -> u32 {
        u64::BITS - (self.last - self.base).leading_zeros()
    }
}

/// A mask of the low `bits` bits; `bits` is 0 to 64.
pub(super) fn low_mask(bits: u32) -> u64 {
    if bits == 0 { 0 } else { u64::MAX >> (64 - bits) }
}
