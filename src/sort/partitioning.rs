//! Which partition a value goes to, and what is kept of it there.

use super::entry::{Entry, Window, low_mask};

/// How a window is partitioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Partitioning {
    pub(super) window: Window,
    /// Low bits of a value, kept as its entry.
    pub(super) shift: u32,
    /// Partitions.
    pub(super) count: usize,
}

impl Partitioning {
    /// At most `most` (a power of two) partitions of equal size.
    pub(super) fn new(window: Window, most: usize) -> Self {
        let shift = window.bits().saturating_sub(most.max(2).ilog2());
        #[expect(clippy::cast_possible_truncation, reason = "at most `most`")]
        let count = ((window.last - window.base) >> shift) as usize + 1;
        Self { window, shift, count }
    }

    /// The partition of a value: none, if it is not below their count.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "compared with the count")]
    pub(super) fn number_of(&self, value: u64) -> usize {
        (value.wrapping_sub(self.window.base) >> self.shift) as usize
    }

    /// The entry of a value of the window.
    #[inline]
    pub(super) fn entry_of<E: Entry>(&self, value: u64) -> E {
        E::narrow(value.wrapping_sub(self.window.base) & low_mask(self.shift))
    }

    /// The values of partition `number`.
    pub(super) fn window_of(&self, number: usize) -> Window {
        Window::of_bits(self.window.base + ((number as u64) << self.shift), self.shift)
    }
}
