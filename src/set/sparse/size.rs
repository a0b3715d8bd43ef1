//! What a set would take as a sparse one.

use super::layout::{ENTRY_BYTES, GROUP_VALUES, Layout};
use crate::set::container::Container;

/// Counts the bytes of groups, by ascending containers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SparseSize {
    /// Bytes of the full groups and of their entries in the table.
    finished_bytes: u64,
    /// Values of the last group, and its ends.
    count: usize,
    first: u64,
    last: u64,
}

impl SparseSize {
    /// Counts a container of `len` values, at least one, the largest of which is `last`.
    pub(crate) fn add(&mut self, key: u64, container: Container<'_>, len: u32, last: u64) {
        let value = |index: usize| {
            let index = u32::try_from(index).ok().filter(|&index| index + 1 < len);
            let low = index.and_then(|index| container.select(index));
            low.map_or(last, |low| key << 16 | u64::from(low))
        };
        self.add_ascending(len as usize, value);
    }

    /// Counts values, which ascend.
    pub(crate) fn add_values(&mut self, values: &[u64]) {
        self.add_ascending(values.len(), |index| values[index]);
    }

    /// Counts `len` values. `value` gives those that begin or end a group, by their index.
    fn add_ascending(&mut self, len: usize, value: impl Fn(usize) -> u64) {
        let mut taken = 0;
        while taken < len {
            let more = (len - taken).min(GROUP_VALUES - self.count);
            if self.count == 0 {
                self.first = value(taken);
            }
            taken += more;
            self.last = value(taken - 1);
            self.count += more;
            if self.count == GROUP_VALUES {
                self.finished_bytes = self.bytes();
                self.count = 0;
            }
        }
    }

    /// Bytes of all groups and of their table.
    pub(crate) fn bytes(self) -> u64 {
        let here = match self.count {
            0 => 0,
            count => Layout::of(count, self.last.saturating_sub(self.first)).bytes() + ENTRY_BYTES,
        };
        self.finished_bytes + here as u64
    }
}
