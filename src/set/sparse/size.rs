//! What a set would take as a sparse one.

use super::layout::{ENTRY_BYTES, GROUP_LOG, GROUP_VALUES, Layout};
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

    /// Counts the values of a run.
    pub(crate) fn add_run(&mut self, first: u64, last: u64) {
        let value = |from: u64| move |index: usize| from.saturating_add(index as u64);
        let rest = GROUP_VALUES - self.count;
        if last - first < rest as u64 {
            #[expect(clippy::cast_possible_truncation, reason = "at most a group")]
            return self.add_ascending((last - first) as usize + 1, value(first));
        }
        self.add_ascending(rest, value(first));
        // Full groups of neighbours have the same size.
        let first = first + rest as u64;
        let left = u128::from(last) + 1 - u128::from(first);
        let (groups, more) = (left >> GROUP_LOG, left as usize & (GROUP_VALUES - 1));
        let bytes = Layout::of(GROUP_VALUES, GROUP_VALUES as u64 - 1).bytes() + ENTRY_BYTES;
        let groups = u64::try_from(groups).unwrap_or(u64::MAX);
        self.finished_bytes =
            self.finished_bytes.saturating_add(groups.saturating_mul(bytes as u64));
        // There may be no value behind the groups.
        let behind = first.wrapping_add(groups.wrapping_mul(GROUP_VALUES as u64));
        self.add_ascending(more, value(behind));
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
