//! A sparse set: groups of 2^16 values, and a table of them.
#![deny(clippy::indexing_slicing)]

use super::Damage;
use super::search::find_key;
use crate::kernel::steps;
use crate::set::sparse::{
    ENTRY_BYTES, Entry, GROUP_LOG, GROUP_VALUES, Group, GroupEncoder, Layout,
};

/// A sparse set in borrowed bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SparseView<'a> {
    payload: &'a [u8],
    table: &'a [[u8; ENTRY_BYTES]],
    /// Number of values.
    len: u64,
    /// Groups for each number between the smallest and the largest value.
    density: f64,
}

/// Groups that are compared around the one that would have a value if the values were evenly
/// spread.
const NEAR: usize = 3;

impl<'a> SparseView<'a> {
    /// A set of `len` values.
    pub(crate) fn new(payload: &'a [u8], table: &'a [[u8; ENTRY_BYTES]], len: u64) -> Self {
        let mut view = Self { payload, table, len, density: 0.0 };
        if let Some((min, max)) = view.ends() {
            #[expect(clippy::cast_precision_loss, reason = "it is a guess")]
            let density = table.len() as f64 / (max.saturating_sub(min) as f64 + 1.0);
            view.density = density;
        }
        view
    }

    /// Number of values.
    pub(crate) fn len(self) -> u64 {
        self.len
    }

    /// Bytes of the groups.
    pub(crate) fn bytes(self) -> usize {
        self.payload.len()
    }

    /// Number of groups.
    pub(crate) fn groups(self) -> usize {
        self.table.len()
    }

    /// The smallest value and the largest.
    pub(crate) fn ends(self) -> Option<(u64, u64)> {
        let (first, last) = (self.table.first()?, self.table.last()?);
        Some((Entry::from_bytes(first).base, Entry::from_bytes(last).last))
    }

    /// Number of values of group `index`: 2^16, except for the last group.
    #[inline]
    fn count(self, index: usize) -> usize {
        let left = self.len.saturating_sub((index as u64) << GROUP_LOG);
        usize::try_from(left).map_or(GROUP_VALUES, |left| left.min(GROUP_VALUES))
    }

    #[inline]
    fn entry(self, index: usize) -> Result<Entry, Damage> {
        let entry = self.table.get(index);
        entry.map(Entry::from_bytes).ok_or(Damage::of("the table of groups is too short"))
    }

    #[inline]
    fn group(self, index: usize) -> Result<Group<'a>, Damage> {
        Group::new(self.payload, self.entry(index)?, self.count(index))
    }

    /// Checks the table: values ascend from group to group, and the groups fill the payload, one
    /// behind the other. O(groups); it reads no group.
    pub(crate) fn check(self) -> Result<(), Damage> {
        if self.table.len() as u64 != self.len.div_ceil(GROUP_VALUES as u64) {
            return Err(Damage::of("the number of groups is not that of the values"));
        }
        let (mut end, mut before) = (0_u64, None);
        for index in 0..self.table.len() {
            let entry = self.entry(index)?;
            let Entry { base, last, offset, low_bits } = entry;
            let wrong = |what| Err(Damage { offset, what });
            let count = self.count(index);
            let span = last.checked_sub(base);
            if before.is_some_and(|before| before >= base) {
                return wrong("the values of the groups do not ascend");
            }
            let Some(span) = span.filter(|&span| span >= count as u64 - 1) else {
                return wrong("a group has more values than there are numbers between its ends");
            };
            let layout = Layout::of(count, span);
            if u64::from(layout.low_bits) != low_bits {
                return wrong("the number of low bits is not that of the values of the group");
            }
            if offset != end {
                return wrong("a group does not begin where the one before it ends");
            }
            end = end.saturating_add(layout.bytes() as u64);
            before = Some(last);
        }
        if end != self.payload.len() as u64 {
            return Err(Damage { offset: end, what: "the groups do not fill their section" });
        }
        Ok(())
    }

    /// Reads a group, and checks that it has the bytes that a writer makes of its values.
    pub(crate) fn verify_group(
        self,
        index: usize,
        values: &mut Vec<u64>,
        encoder: &mut GroupEncoder,
    ) -> Result<(), Damage> {
        self.group(index)?.verify(values, encoder)
    }

    /// The last group whose smallest value is at most `value`.
    #[inline]
    fn place(self, value: u64) -> Option<usize> {
        steps::count(1);
        let entry = |index: usize| self.table.get(index).map(Entry::from_bytes);
        let is_behind = |index: usize| entry(index).is_none_or(|entry| entry.base > value);
        let distance = value.wrapping_sub(entry(0)?.base);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is a guess"
        )]
        let guess = (distance as f64 * self.density) as usize;
        let near = guess.min(self.table.len()).saturating_sub(1);
        if !is_behind(near) && is_behind(near + NEAR) {
            let passed = (1..NEAR).filter(|&more| !is_behind(near + more)).count();
            return Some(near + passed);
        }
        let base = |index: usize| entry(index).map_or(u64::MAX, |entry| entry.base);
        match find_key(self.table.len(), value, base) {
            Ok(index) => Some(index),
            Err(index) => index.checked_sub(1),
        }
    }

    /// The group whose range has `value`.
    #[inline]
    pub(super) fn group_of(self, value: u64) -> Result<Option<Group<'a>>, Damage> {
        let Some(index) = self.place(value) else { return Ok(None) };
        let entry = self.entry(index)?;
        if value < entry.base || value > entry.last {
            return Ok(None);
        }
        Group::new(self.payload, entry, self.count(index)).map(Some)
    }

    /// Whether `value` is in the set. O(log groups); touches two or three cache lines of a
    /// group.
    #[inline]
    pub(crate) fn contains(self, value: u64) -> Result<bool, Damage> {
        match self.group_of(value)? {
            Some(group) => {
                group.prefetch_about(value);
                Ok(group.find(value)?.is_ok())
            }
            None => Ok(false),
        }
    }

    /// Number of values below `value`, and whether it is in the set.
    pub(crate) fn position(self, value: u64) -> Result<(u64, bool), Damage> {
        let Some(index) = self.place(value) else { return Ok((0, false)) };
        let before = (index as u64) << GROUP_LOG;
        let entry = self.entry(index)?;
        if value > entry.last {
            return Ok((before + self.count(index) as u64, false));
        }
        if value < entry.base {
            return Err(Damage::of("the values of the groups do not ascend"));
        }
        let group = self.group(index)?;
        group.prefetch_about(value);
        Ok(match group.find(value)? {
            Ok(found) => (before + found as u64, true),
            Err(place) => (before + place as u64, false),
        })
    }

    /// The value that has `rank` values before it.
    pub(crate) fn select(self, rank: u64) -> Result<Option<u64>, Damage> {
        if rank >= self.len {
            return Ok(None);
        }
        let (group, index) = self.of_rank(rank)?;
        group.select(index).map(Some)
    }

    /// The group that has `rank`, which must exist, and the rank in that group.
    fn of_rank(self, rank: u64) -> Result<(Group<'a>, usize), Damage> {
        let index = usize::try_from(rank >> GROUP_LOG);
        let group = self.group(index.unwrap_or(usize::MAX))?;
        #[expect(clippy::cast_possible_truncation, reason = "the low part is meant")]
        let within = rank as usize & (GROUP_VALUES - 1);
        Ok((group, within))
    }

    /// Fills `out` with the values from `rank` on, which must exist; with fewer values if their
    /// group ends before. Gives their number, at least one, and their end, from which the next call
    /// goes on: with `None`, the value at `rank` is looked for.
    pub(crate) fn decode(
        self,
        rank: u64,
        end: Option<usize>,
        out: &mut [u64],
    ) -> Result<(usize, usize), Damage> {
        let (group, index) = self.of_rank(rank)?;
        let count = out.len().min(group.len().saturating_sub(index));
        let Some(out) = out.get_mut(..count).filter(|out| !out.is_empty()) else {
            return Err(Damage::of("there are fewer values than the file says"));
        };
        Ok((count, group.decode(index, end, out)?))
    }
}
