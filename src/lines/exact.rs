//! A set of lines in bounded memory, exactly.
//!
//! Lines lie one after the other in an arena, in the order in which they came: a
//! head of 4 bytes (length, and a mark in the highest bit), then the bytes. A hash
//! table leads from hashes to their places.

use crate::error::{Error, Result};
use crate::kernel::sys::Pages;
use hashbrown::HashTable;
use std::io::ErrorKind;
use xxhash_rust::xxh3::xxh3_64;

/// Lines, each once, as many as fit.
pub(super) struct LineSet {
    arena: Arena,
    /// Places in the arena.
    table: HashTable<usize>,
    budget_bytes: usize,
}

/// Lines one after the other.
struct Arena {
    pages: Pages,
    used: usize,
}

/// What became of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    New,
    Known,
    /// It is not in, and there is no room for it.
    Full,
}

const HEAD_BYTES: usize = 4;
const MARK: u32 = 1 << 31;
/// Places that the first table has room for.
const FIRST_PLACES: usize = 1 << 10;

impl LineSet {
    /// An empty set that takes at most so many bytes, and more for the longest
    /// line only.
    pub(super) fn new(budget_bytes: u64) -> Result<Self> {
        let budget_bytes = usize::try_from(budget_bytes).unwrap_or(usize::MAX);
        let arena = Arena { pages: pages(budget_bytes)?, used: 0 };
        let mut set = Self { arena, table: HashTable::new(), budget_bytes };
        set.reserve(FIRST_PLACES)?;
        Ok(set)
    }

    /// Takes all lines out, and gives their memory back.
    pub(super) fn clear(&mut self) -> Result<()> {
        *self = Self::new(self.budget_bytes as u64)?;
        Ok(())
    }

    /// The hash by which a line is found.
    #[inline]
    pub(super) fn hash(line: &[u8]) -> u64 {
        xxh3_64(line)
    }

    /// The hashes of lines.
    pub(super) fn hashes(lines: &[&[u8]], hashes: &mut Vec<u64>) {
        hashes.clear();
        hashes.extend(lines.iter().map(|line| Self::hash(line)));
    }

    /// The place of a line, if it is in.
    #[inline]
    fn find(&self, line: &[u8], hash: u64) -> Option<usize> {
        self.table.find(hash, |&place| self.arena.at(place).0 == line).copied()
    }

    /// Adds a line.
    #[inline]
    pub(super) fn insert(&mut self, line: &[u8], hash: u64) -> Result<Inserted> {
        if self.find(line, hash).is_some() {
            return Ok(Inserted::Known);
        }
        let needed = self.arena.used + HEAD_BYTES + line.len();
        let grows = self.table.len() == self.table.capacity();
        // While a table grows, the old one and one of twice the size are there.
        let table_bytes = self.table.allocation_size() * if grows { 3 } else { 1 };
        if needed + table_bytes > self.budget_bytes && !self.table.is_empty() {
            return Ok(Inserted::Full);
        }
        if grows {
            self.reserve(1)?;
        }
        let place = self.arena.push(line)?;
        let arena = &self.arena;
        self.table.insert_unique(hash, place, |&place| Self::hash(arena.at(place).0));
        Ok(Inserted::New)
    }

    /// Makes room for more places.
    fn reserve(&mut self, places: usize) -> Result<()> {
        let arena = &self.arena;
        let bytes = 2 * self.table.allocation_size().max(size_of::<usize>() * places);
        let refused = |_| Error::no_memory(bytes)(ErrorKind::OutOfMemory.into());
        self.table.try_reserve(places, |&place| Self::hash(arena.at(place).0)).map_err(refused)
    }

    /// Whether a line is in.
    pub(super) fn contains(&self, line: &[u8], hash: u64) -> bool {
        self.find(line, hash).is_some()
    }

    /// Marks a line if it is in; tells whether this is its first mark.
    #[inline]
    pub(super) fn mark(&mut self, line: &[u8], hash: u64) -> bool {
        let Some(place) = self.find(line, hash) else { return false };
        // The mark is the highest bit of the last byte of the head.
        let last = &mut self.arena.pages.bytes_mut()[place + HEAD_BYTES - 1];
        let first = *last & 0x80 == 0;
        *last |= 0x80;
        first
    }

    /// Hands all lines, in the order in which they came, and whether they are
    /// marked, to `visit`.
    pub(super) fn for_each(&self, mut visit: impl FnMut(&[u8], bool) -> Result<()>) -> Result<()> {
        let mut place = 0;
        while place < self.arena.used {
            let (line, marked) = self.arena.at(place);
            visit(line, marked)?;
            place += HEAD_BYTES + line.len();
        }
        Ok(())
    }
}

impl Arena {
    /// The line at a place, and whether it is marked.
    fn at(&self, place: usize) -> (&[u8], bool) {
        let bytes = &self.pages.bytes()[place..];
        let head = bytes.first_chunk().map_or(0, |head| u32::from_le_bytes(*head));
        let len = (head & !MARK) as usize;
        (&bytes[HEAD_BYTES..HEAD_BYTES + len], head & MARK != 0)
    }

    /// Appends a line; gives its place.
    fn push(&mut self, line: &[u8]) -> Result<usize> {
        let len = u32::try_from(line.len()).ok().filter(|len| len & MARK == 0);
        let len = len.ok_or_else(|| Error::usage("a line is longer than 2 GiB"))?;
        let (place, end) = (self.used, self.used + HEAD_BYTES + line.len());
        if end > self.pages.bytes().len() {
            self.pages = pages(end)?; // one line that is larger than all
        }
        let bytes = &mut self.pages.bytes_mut()[place..end];
        bytes[..HEAD_BYTES].copy_from_slice(&len.to_le_bytes());
        bytes[HEAD_BYTES..].copy_from_slice(line);
        self.used = end;
        Ok(place)
    }
}

fn pages(bytes: usize) -> Result<Pages> {
    Pages::zeroed(bytes.div_ceil(8)).map_err(Error::no_memory(bytes))
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
                match set.insert(line, LineSet::hash(line)).unwrap() {
                    Inserted::New => {
                        prop_assert!(model.insert(line.clone()));
                        order.push(line.clone());
                    }
                    Inserted::Known => prop_assert!(model.contains(line)),
                    Inserted::Full => prop_assert!(!model.is_empty() && !model.contains(line)),
                }
            }
            for line in &lines {
                let (hash, is_in) = (LineSet::hash(line), model.contains(line));
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
