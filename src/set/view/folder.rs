//! A folder of parts: each part has the values of its own window.

use super::search::sum;
use super::{Damage, SetView};
use crate::set::file::SetFile;

/// A part, and how many values and bytes are before it.
#[derive(Debug)]
pub(crate) struct FolderPart {
    pub(crate) file: SetFile,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Number of values in the parts before it.
    pub(crate) rank: u64,
    /// Start of its payload in the offsets of all parts; at least 1, because 0 stands for the
    /// folder.
    pub(crate) offset: u64,
}

impl FolderPart {
    /// The part, for queries.
    pub(crate) fn view(&self) -> SetView<'_> {
        self.file.view()
    }

    /// Damage of the part, with its offset among those of all parts.
    pub(crate) fn place(&self, Damage { offset, what }: Damage) -> Damage {
        let within = offset.min(self.file.file_bytes());
        Damage { offset: self.offset.saturating_add(within), what }
    }
}

/// The parts of a folder. Their windows ascend, and no container has values in two parts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FolderView<'a> {
    parts: &'a [FolderPart],
    len: u64,
}

impl<'a> FolderView<'a> {
    /// The parts, which have `len` values.
    pub(crate) fn new(parts: &'a [FolderPart], len: u64) -> Self {
        Self { parts, len }
    }

    /// Number of values.
    pub(crate) fn len(self) -> u64 {
        self.len
    }

    /// The parts.
    pub(crate) fn parts(self) -> &'a [FolderPart] {
        self.parts
    }

    /// The index of the first part that ends at `value` or behind it.
    pub(super) fn place(self, value: u64) -> usize {
        self.parts.partition_point(|part| part.last < value)
    }

    /// The part whose window has `value`.
    pub(super) fn part_of(self, value: u64) -> Option<&'a FolderPart> {
        self.parts.get(self.place(value)).filter(|part| part.first <= value)
    }

    /// Whether `value` is in the set. O(log parts), and the cost of asking the part.
    pub(super) fn contains(self, value: u64) -> Result<bool, Damage> {
        match self.part_of(value) {
            Some(part) => part.ask(|view| view.contains(value)),
            None => Ok(false),
        }
    }

    /// Number of values up to and including `value`.
    pub(super) fn rank(self, value: u64) -> Result<u64, Damage> {
        match self.parts.get(self.place(value)) {
            Some(part) => sum(part.rank, part.ask(|view| view.rank(value))?),
            None => Ok(self.len),
        }
    }

    /// The value that has `index` values before it.
    pub(super) fn select(self, index: u64) -> Result<Option<u64>, Damage> {
        if index >= self.len {
            return Ok(None);
        }
        match self.part_at(index) {
            Some(part) => part.ask(|view| view.select(index.saturating_sub(part.rank))),
            None => Ok(None),
        }
    }

    /// The part whose values have the rank `index`, if there is such a value.
    pub(super) fn part_at(self, index: u64) -> Option<&'a FolderPart> {
        let behind = self.parts.partition_point(|part| part.rank <= index);
        self.parts.get(behind.checked_sub(1)?)
    }

    /// The smallest value from `value` on.
    pub(super) fn next(self, value: u64) -> Result<Option<u64>, Damage> {
        match self.parts.get(self.place(value)) {
            Some(part) => part.ask(|view| view.next(value)),
            None => Ok(None),
        }
    }

    /// The largest value up to `value`.
    pub(super) fn previous(self, value: u64) -> Result<Option<u64>, Damage> {
        let behind = self.parts.partition_point(|part| part.first <= value);
        match behind.checked_sub(1).and_then(|place| self.parts.get(place)) {
            Some(part) => part.ask(|view| view.previous(value)),
            None => Ok(None),
        }
    }
}

impl<'a> FolderPart {
    /// Asks the part a question.
    pub(super) fn ask<T>(
        &'a self,
        question: impl FnOnce(SetView<'a>) -> Result<T, Damage>,
    ) -> Result<T, Damage> {
        question(self.view()).map_err(|damage| self.place(damage))
    }
}
