//! A set of lines in limited memory, without errors.
//!
//! The lines are in an arena, one after the other in the order in which they came: a head of 4
//! bytes (the length, and a mark in the highest bit), then the bytes. A table of open addresses
//! leads from hashes to lines.
//!
//! Slot: 40 bits with 1 + the place in the arena, and 24 bits of the hash. A slot of 0 is empty.

use crate::error::{Error, Result};
use crate::kernel::sys::Pages;
use crate::kernel::{in_usize, prefetch};
use crate::size::ByteSize;
use std::hash::{BuildHasher, RandomState};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Distinct lines, as many as fit in memory.
pub(super) struct LineSet {
    arena: Pages,
    used: usize,
    table: Pages,
    lines: usize,
    budget_bytes: usize,
    /// Nobody can choose lines whose hashes are alike.
    seed: u64,
}

/// The result of adding a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    New,
    Known,
    /// The line is not in the set, and there is no room for it.
    Full,
}

const HEAD_BYTES: usize = 4;
const MARK: u32 = 1 << 31;
const TAG_BITS: u32 = 24;
/// Slots of the first table.
const FIRST_SLOTS: usize = 1 << 10;
/// Fewest bytes of a set. With less, it would have room for a line or two.
const LEAST_BYTES: u64 = 1 << 15;
/// A table is at most three quarters full.
const FULL: (usize, usize) = (3, 4);

impl LineSet {
    /// An empty set that takes at most so many bytes, but may take 32 KiB; a longest line alone may
    /// take more.
    pub(super) fn new(budget_bytes: u64) -> Result<Self> {
        // A slot has this many bits for a place in the arena.
        let budget_bytes = budget_bytes.clamp(LEAST_BYTES, low(u64::BITS - TAG_BITS));
        let budget_bytes = in_usize(budget_bytes);
        let arena = pages(budget_bytes)?;
        let (table, seed) = (pages(8 * FIRST_SLOTS)?, RandomState::new().hash_one(0));
        Ok(Self { arena, used: 0, table, lines: 0, budget_bytes, seed })
    }

    /// Removes all lines and frees their memory.
    pub(super) fn clear(&mut self) -> Result<()> {
        // Freed first: `ulimit -v` counts both arenas.
        (self.arena, self.table) = (pages(0)?, pages(0)?);
        *self = Self { seed: self.seed, ..Self::new(self.budget_bytes as u64)? };
        Ok(())
    }

    fn slots(&self) -> usize {
        self.table.words().len()
    }

    /// The hash of a line.
    #[inline]
    pub(super) fn hash(&self, line: &[u8]) -> u64 {
        xxh3_64_with_seed(line, self.seed)
    }

    /// Hashes the lines of the next questions, and prefetches their slots.
    pub(super) fn hash_ahead(&self, lines: &[&[u8]], hashes: &mut Vec<u64>) {
        let (slots, mask) = (self.table.words(), self.slots() - 1);
        hashes.clear();
        hashes.extend(lines.iter().map(|line| {
            let hash = self.hash(line);
            prefetch(slots, slot_of(hash) & mask);
            hash
        }));
    }

    /// The slot of a line, and the place of the line if it is in the set.
    #[inline]
    fn find(&self, line: &[u8], hash: u64) -> (usize, Option<usize>) {
        let mask = self.slots() - 1;
        let mut slot = slot_of(hash) & mask;
        loop {
            let entry = self.table.words()[slot];
            if entry == 0 {
                return (slot, None);
            }
            if entry & low(TAG_BITS) == hash >> (64 - TAG_BITS) {
                let place = place_of(entry);
                if self.at(place).0 == line {
                    return (slot, Some(place));
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The line at a place of the arena, and whether it is marked.
    fn at(&self, place: usize) -> (&[u8], bool) {
        let bytes = &self.arena.bytes()[place..];
        let head = bytes.first_chunk().map_or(0, |head| u32::from_le_bytes(*head));
        let len = (head & !MARK) as usize;
        (&bytes[HEAD_BYTES..HEAD_BYTES + len], head & MARK != 0)
    }

    /// Adds a line.
    #[inline]
    pub(super) fn insert(&mut self, line: &[u8], hash: u64) -> Result<Inserted> {
        let (mut slot, found) = self.find(line, hash);
        if found.is_some() {
            return Ok(Inserted::Known);
        }
        let len = u32::try_from(line.len()).ok().filter(|len| len & MARK == 0);
        let len = len.ok_or_else(|| not_compared(line, MARK - 1))?;
        let needed = self.used + HEAD_BYTES + line.len();
        if (self.lines + 1) * FULL.1 > self.slots() * FULL.0 {
            // The old and the new table are in memory at the same time.
            if needed + 3 * 8 * self.slots() > self.budget_bytes && self.lines > 0 {
                return Ok(Inserted::Full);
            }
            self.grow()?;
            (slot, _) = self.find(line, hash);
        }
        if needed + 8 * self.slots() > self.budget_bytes && self.lines > 0 {
            return Ok(Inserted::Full);
        }
        if needed > self.arena.bytes().len() {
            self.arena = pages(needed)?; // a single line that is larger than the budget
        }
        let place = self.used;
        let bytes = &mut self.arena.bytes_mut()[place..needed];
        bytes[..HEAD_BYTES].copy_from_slice(&len.to_le_bytes());
        bytes[HEAD_BYTES..].copy_from_slice(line);
        self.table.words_mut()[slot] = entry(place, hash);
        self.used = needed;
        self.lines += 1;
        Ok(Inserted::New)
    }

    fn grow(&mut self) -> Result<()> {
        let mut table = pages(16 * self.slots())?;
        let slots = table.words_mut();
        let mask = slots.len() - 1;
        let mut place = 0;
        while place < self.used {
            let (line, _) = self.at(place);
            let hash = self.hash(line);
            let mut slot = slot_of(hash) & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = entry(place, hash);
            place += HEAD_BYTES + line.len();
        }
        self.table = table;
        Ok(())
    }

    /// Whether a line is in the set.
    pub(super) fn contains(&self, line: &[u8], hash: u64) -> bool {
        self.find(line, hash).1.is_some()
    }

    /// Marks a line if it is in the set; gives whether this is its first mark.
    #[inline]
    pub(super) fn mark(&mut self, line: &[u8], hash: u64) -> bool {
        let (_, Some(place)) = self.find(line, hash) else { return false };
        // The mark is the highest bit of the last byte of the head.
        let last = &mut self.arena.bytes_mut()[place + HEAD_BYTES - 1];
        let first = *last & 0x80 == 0;
        *last |= 0x80;
        first
    }

    /// Calls `visit` with all lines in the order in which they came, and whether each is marked.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
        let mut place = 0;
        while place < self.used {
            let (line, marked) = self.at(place);
            visit(line, marked)?;
            place += HEAD_BYTES + line.len();
        }
        Ok(())
    }
}

/// Refuses a line of more than `limit` bytes.
pub(super) fn not_compared(line: &[u8], limit: u32) -> Error {
    let limit = ByteSize::from_bytes(limit.into());
    Error::LineNotCompared { bytes: line.len() as u64, limit }
}

fn pages(bytes: usize) -> Result<Pages> {
    Pages::zeroed(bytes.div_ceil(8)).map_err(Error::no_memory(bytes))
}

const fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "low bits are meant")]
const fn slot_of(hash: u64) -> usize {
    hash as usize
}

#[inline]
const fn entry(place: usize, hash: u64) -> u64 {
    (place as u64 + 1) << TAG_BITS | hash >> (64 - TAG_BITS)
}

#[inline]
const fn place_of(entry: u64) -> usize {
    (entry >> TAG_BITS) as usize - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn lines_are_in_as_in_a_model(
            lines in prop::collection::vec(prop::collection::vec(0..3_u8, 0..6), 0..3000),
            budget in 0..100_000_u64,
        ) {
            let mut set = LineSet::new(budget).unwrap();
            let (mut model, mut order) = (HashSet::new(), Vec::new());
            for line in &lines {
                match set.insert(line, set.hash(line)).unwrap() {
                    Inserted::New => {
                        prop_assert!(model.insert(line.clone()));
                        order.push(line.clone());
                    }
                    Inserted::Known => prop_assert!(model.contains(line)),
                    Inserted::Full => prop_assert!(!model.is_empty() && !model.contains(line)),
                }
            }
            for line in &lines {
                let (hash, is_in) = (set.hash(line), model.contains(line));
                prop_assert_eq!(set.contains(line, hash), is_in);
                if line.len() % 2 == 0 {
                    let first = set.mark(line, hash);
                    prop_assert!(!first || is_in);
                    prop_assert!(!set.mark(line, hash));
                }
            }
            let mut found = Vec::new();
            set.for_each(|line, marked| {
                assert_eq!(marked, line.len() % 2 == 0);
                found.push(line.to_vec());
                Ok(())
            }).unwrap();
            prop_assert_eq!(found, order);
        }
    }
}
