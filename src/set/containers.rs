//! The containers of a set in memory, by ascending keys.
//!
//! They are in blocks, as in a search tree of two levels. A block has up to [`MAX_KEYS`] keys, so a
//! new key moves only a few others. The keys of a block are together, apart from the containers, so
//! a search touches little memory.
//!
//! # Invariants
//! 1. Keys ascend, within a block and from block to block.
//! 2. No block and no container is empty.
//! 3. `firsts` has the first key of each block, `lens` its number of values.
//!
//! # Cost
//! With c containers a search takes O(log c) and a new key O(√c) while c is below 10^9.
//! A container takes 10 bytes beside its values if it and its neighbours have few values; else 40 bytes, which have room
//! for 15 values or 6 runs, beside a larger array, a bitmap or more runs.

use super::block::{Block, MAX_FEW, MAX_KEYS};
use super::container::{
    Container, Op, Owned, Scratch, intersection_len, intersects, is_subset, run, split,
};
use super::view::find_key;
use std::ops::{Range, RangeInclusive};

/// Keys that are compared one by one before a search.
const NEAR: usize = 4;

/// Containers by their keys (`value >> 16`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Containers {
    firsts: Vec<u64>,
    lens: Vec<u64>,
    #[expect(
        clippy::vec_box,
        reason = "a block that comes between others moves their places only"
    )]
    blocks: Vec<Box<Block>>,
}

/// The place of a container: its block, and its index in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Slot {
    block: usize,
    index: usize,
}

impl Containers {
    /// Number of values. O(blocks).
    pub(crate) fn len(&self) -> u64 {
        self.lens.iter().sum()
    }

    /// About the bytes of memory that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes()).sum()
    }

    /// The place of `key`, or the place where it would be inserted. The block of that place exists,
    /// unless there are no blocks.
    #[inline]
    fn find(&self, key: u64) -> Result<Slot, Slot> {
        let behind = self.firsts.partition_point(|&first| first <= key);
        let block = behind.saturating_sub(1);
        let Some(found) = self.blocks.get(block) else { return Err(Slot::default()) };
        let keys = found.keys();
        find_key(keys.len(), key, |index| keys[index])
            .map(|index| Slot { block, index })
            .map_err(|index| Slot { block, index })
    }

    /// The first place, at `slot` or behind it, whose key is `key` or larger. If there is none,
    /// `get` finds nothing at the result.
    #[inline]
    pub(crate) fn advance(&self, mut slot: Slot, key: u64) -> Slot {
        // Mostly it is one of the next keys, but not at the start.
        let near = if slot == Slot::default() { 1 } else { NEAR };
        for _ in 0..near {
            if self.key(slot).is_none_or(|next| next >= key) {
                return slot;
            }
            slot = self.after(slot);
        }
        slot.max(self.seek(key))
    }

    fn seek(&self, key: u64) -> Slot {
        let (Ok(slot) | Err(slot)) = self.find(key);
        self.normal(slot)
    }

    /// The same place; never behind the end of a block.
    #[inline]
    fn normal(&self, slot: Slot) -> Slot {
        match self.blocks.get(slot.block) {
            Some(block) if slot.index >= block.keys().len() => {
                Slot { block: slot.block + 1, index: 0 }
            }
            _ => slot,
        }
    }

    /// The place behind `slot`.
    #[inline]
    pub(crate) fn after(&self, slot: Slot) -> Slot {
        self.normal(Slot { index: slot.index + 1, ..slot })
    }

    /// The container at `slot`, which has a key.
    #[inline]
    fn at(&self, slot: Slot) -> Container<'_> {
        self.blocks[slot.block].container(slot.index)
    }

    /// The key at `slot`, if there is one.
    #[inline]
    fn key(&self, slot: Slot) -> Option<u64> {
        self.blocks.get(slot.block)?.keys().get(slot.index).copied()
    }

    /// The container at `slot`, if there is one.
    #[inline]
    pub(crate) fn get(&self, slot: Slot) -> Option<(u64, Container<'_>)> {
        let block = self.blocks.get(slot.block)?;
        let key = block.keys().get(slot.index)?;
        Some((*key, block.container(slot.index)))
    }

    /// Appends the values of the next containers of a block: see [`Block::append_few`]. Moves `slot`
    /// behind them; gives the key of the last one.
    pub(crate) fn append_few(
        &self,
        slot: &mut Slot,
        keys: (u64, u64),
        positions: &mut Vec<u32>,
        count: &mut usize,
    ) -> Option<u64> {
        let block = self.blocks.get(slot.block)?;
        let index = block.append_few(slot.index, keys, positions, count)?;
        *slot = self.normal(Slot { index, ..*slot });
        Some(block.keys()[index - 1])
    }

    /// Number of values of the container at `slot`, if there is one. O(1).
    pub(crate) fn len_at(&self, slot: Slot) -> Option<u32> {
        let block = self.blocks.get(slot.block)?;
        (slot.index < block.keys().len()).then(|| block.len_of(slot.index))
    }

    /// The container of `key`.
    #[inline]
    pub(crate) fn container(&self, key: u64) -> Option<Container<'_>> {
        let Slot { block, index } = self.find(key).ok()?;
        Some(self.blocks[block].container(index))
    }

    /// The place of the last container of a key up to `key`.
    pub(crate) fn place_up_to(&self, key: u64) -> Option<Slot> {
        let slot = match self.find(key) {
            Ok(slot) => slot,
            Err(slot) => Slot { index: slot.index.checked_sub(1)?, ..slot },
        };
        Some(slot)
    }

    /// The last container of a key up to `key`.
    pub(crate) fn last_up_to(&self, key: u64) -> Option<(u64, Container<'_>)> {
        self.get(self.place_up_to(key)?)
    }

    /// The place of the first of up to 64 containers in a block, the last of which is at `slot`. Their keys
    /// are `least` or larger, and their values within 2^32. None if it is the only one.
    pub(crate) fn few_before(&self, slot: Slot, least: u64) -> Option<Slot> {
        const MOST: usize = 64;
        let keys = self.blocks.get(slot.block)?.keys();
        let least = least.max(keys.get(slot.index)?.saturating_sub(0xFFFF));
        let from = (slot.index + 1).saturating_sub(MOST);
        let index = from + keys[from..slot.index].partition_point(|&key| key < least);
        (index < slot.index).then_some(Slot { index, ..slot })
    }

    /// The place before `slot`, at which there is a container.
    pub(crate) fn before(&self, slot: Slot) -> Option<Slot> {
        if let Some(index) = slot.index.checked_sub(1) {
            return Some(Slot { index, ..slot });
        }
        let block = slot.block.checked_sub(1)?;
        Some(Slot { block, index: self.blocks.get(block)?.keys().len() - 1 })
    }

    /// The key of the last container.
    pub(crate) fn last_key(&self) -> Option<u64> {
        self.blocks.last()?.keys().last().copied()
    }

    /// Values in containers with keys below `key`. O(blocks and keys of a block).
    pub(crate) fn rank_of_key(&self, key: u64) -> u64 {
        let (Ok(slot) | Err(slot)) = self.find(key);
        let before: u64 = self.lens.iter().take(slot.block).sum();
        before + self.blocks.get(slot.block).map_or(0, |block| block.len_in(0..slot.index))
    }

    /// The container with the value that has `index` values before it, and the number of
    /// values before the container. O(blocks and keys of a block).
    pub(crate) fn holder(&self, index: u64) -> Option<(u64, Container<'_>, u64)> {
        let mut before = 0;
        let block = self.lens.iter().position(|&len| {
            let is_here = index - before < len;
            before += if is_here { 0 } else { len };
            is_here
        })?;
        let block = self.blocks.get(block)?;
        for (place, &key) in block.keys().iter().enumerate() {
            let len = u64::from(block.len_of(place));
            if index - before < len {
                return Some((key, block.container(place), before));
            }
            before += len;
        }
        None
    }

    /// Adds a value; gives whether it is new.
    pub(crate) fn insert(&mut self, value: u64) -> bool {
        let (key, low) = split(value);
        match self.find(key) {
            Ok(Slot { block, index }) => {
                let is_new = self.blocks[block].insert(index, low);
                self.lens[block] += u64::from(is_new);
                is_new
            }
            Err(slot) => {
                let value = Container::Array(&[low.to_le_bytes()]);
                self.put(slot, key, Owned::copy(value, &mut Scratch::default()));
                true
            }
        }
    }

    /// Removes a value; gives whether it was there.
    pub(crate) fn remove(&mut self, value: u64) -> bool {
        let (key, low) = split(value);
        let Ok(slot) = self.find(key) else { return false };
        let block = &mut self.blocks[slot.block];
        let was_there = block.remove(slot.index, low);
        self.lens[slot.block] -= u64::from(was_there);
        if block.len_of(slot.index) == 0 {
            self.drop_keys(slot.block, slot.index..slot.index + 1);
        }
        was_there
    }

    /// Lets `change` change the container at `slot`, which may be empty afterwards.
    fn change(&mut self, slot: Slot, change: impl FnOnce(&mut Block)) {
        let block = &mut self.blocks[slot.block];
        let len = &mut self.lens[slot.block];
        *len -= u64::from(block.len_of(slot.index));
        change(block);
        *len += u64::from(block.len_of(slot.index));
        if block.len_of(slot.index) == 0 {
            self.drop_keys(slot.block, slot.index..slot.index + 1);
        }
    }

    /// Inserts a container at the place that `find` gives for its key.
    fn put(&mut self, slot: Slot, key: u64, container: Owned) {
        let Slot { mut block, mut index } = slot;
        let len = u64::from(container.len());
        if len == 0 {
            return;
        }
        let is_full = self.blocks.get(block).is_none_or(|block| block.keys().len() == MAX_KEYS);
        let is_behind_all = index == MAX_KEYS && block + 1 == self.blocks.len();
        if self.blocks.is_empty() || is_behind_all {
            return self.push(key, container);
        }
        if is_full {
            self.split(block, MAX_KEYS / 2);
            if index > MAX_KEYS / 2 {
                (block, index) = (block + 1, index - MAX_KEYS / 2);
            }
        }
        let found = &mut self.blocks[block];
        found.insert_key(index, key, container);
        self.lens[block] += len;
        self.firsts[block] = found.keys()[0];
    }

    /// Makes two blocks of one; the second begins at `index`.
    fn split(&mut self, block: usize, index: usize) {
        let behind = self.blocks[block].split_off(index);
        let len = behind.len();
        self.lens[block] -= len;
        self.firsts.insert(block + 1, behind.keys()[0]);
        self.lens.insert(block + 1, len);
        self.blocks.insert(block + 1, Box::new(behind));
    }

    /// Removes these keys of a block, and the block if it has no others.
    fn drop_keys(&mut self, block: usize, keys: Range<usize>) {
        let found = &mut self.blocks[block];
        self.lens[block] -= found.len_in(keys.clone());
        found.drop_keys(keys);
        if let Some(&first) = found.keys().first() {
            self.firsts[block] = first;
        } else {
            self.blocks.remove(block);
            self.firsts.remove(block);
            self.lens.remove(block);
        }
    }

    /// Appends a container, whose key must be larger than all others. Leaves out an empty one.
    pub(crate) fn push(&mut self, key: u64, container: Owned) {
        debug_assert!(self.last_key().is_none_or(|last| last < key), "keys ascend");
        let len = u64::from(container.len());
        match (self.blocks.last_mut(), self.lens.last_mut()) {
            _ if len == 0 => {}
            // Ascending keys fill their blocks.
            (Some(block), Some(sum)) if block.keys().len() < MAX_KEYS => {
                block.insert_key(block.keys().len(), key, container);
                *sum += len;
            }
            _ => {
                self.firsts.push(key);
                self.lens.push(len);
                self.blocks.push(Box::new(Block::new(key, container)));
            }
        }
    }

    /// Appends the containers of `other`, whose keys must be larger than all of these.
    pub(crate) fn append(&mut self, other: Self) {
        debug_assert!(self.last_key() < other.firsts.first().copied() || other.firsts.is_empty());
        self.firsts.extend(other.firsts);
        self.lens.extend(other.lens);
        self.blocks.extend(other.blocks);
    }

    /// The containers of all `parts`; keys ascend from part to part.
    pub(crate) fn of_parts(parts: Vec<Self>) -> Self {
        parts.into_iter().fold(Self::default(), |mut all, part| {
            all.append(part);
            all
        })
    }

    /// Moves the containers from `key` on to a new set. O(blocks).
    pub(crate) fn split_off(&mut self, key: u64) -> Self {
        let Slot { block, index } = self.seek(key);
        if index > 0 {
            self.split(block, index);
        }
        let block = block + usize::from(index > 0);
        Self {
            firsts: self.firsts.split_off(block),
            lens: self.lens.split_off(block),
            blocks: self.blocks.split_off(block),
        }
    }

    /// Appends the container of `scratch`, whose key must be larger than all others. Leaves out an
    /// empty one.
    #[inline]
    fn push_joined(&mut self, key: u64, scratch: &mut Scratch) {
        if !self.push_few(key, scratch.container()) {
            self.push(key, scratch.take());
        }
    }

    /// Appends a copy of a container, whose key must be larger than all others.
    #[inline]
    fn push_copy(&mut self, key: u64, container: Container<'_>, scratch: &mut Scratch) {
        if !self.push_few(key, container) {
            self.push(key, Owned::copy(container, scratch));
        }
    }

    /// Appends an array of few values to the last block; gives whether that has room for it. Its
    /// key must be larger than all others.
    #[inline]
    pub(crate) fn push_few(&mut self, key: u64, container: Container<'_>) -> bool {
        let Container::Array(lows @ [_, ..]) = container else { return false };
        let is_pushed = self.blocks.last_mut().is_some_and(|block| block.push_few(key, lows));
        if is_pushed && let Some(len) = self.lens.last_mut() {
            *len += lows.len() as u64;
        }
        is_pushed
    }

    /// Appends ascending values above all others. All values with the same key must come in one
    /// call.
    pub(crate) fn push_values(&mut self, values: &[u64]) {
        let (mut scratch, mut lows) = (Scratch::default(), [[0; 2]; MAX_FEW]);
        for alike in values.chunk_by(|a, b| a >> 16 == b >> 16) {
            if let Some(lows) = lows.get_mut(..alike.len()) {
                for (low, value) in lows.iter_mut().zip(alike) {
                    [low[0], low[1], ..] = value.to_le_bytes();
                }
                if self.push_few(alike[0] >> 16, Container::Array(lows)) {
                    continue;
                }
            }
            scratch.clear();
            scratch.append(alike);
            scratch.close();
            self.push(alike[0] >> 16, scratch.take());
        }
    }

    /// The values of `key` become `values op container`. For [`Op::And`] see `retain`.
    pub(crate) fn join(
        &mut self,
        op: Op,
        key: u64,
        container: Container<'_>,
        scratch: &mut Scratch,
    ) {
        match self.find(key) {
            Ok(slot) => self.change(slot, |block| block.join(slot.index, op, container, scratch)),
            Err(slot) if op == Op::Or || op == Op::Xor => {
                self.put(slot, key, Owned::copy(container, scratch));
            }
            Err(_) => {}
        }
    }

    /// Adds all values of a range with this key, or removes them. Most containers change in place.
    pub(crate) fn change_range(
        &mut self,
        adds: bool,
        key: u64,
        [first, last]: [u32; 2],
        scratch: &mut Scratch,
    ) {
        match self.find(key) {
            Ok(slot) => self.change(slot, |block| {
                block.change_range(slot.index, adds, [first, last], scratch);
            }),
            Err(slot) if adds => {
                self.put(slot, key, Owned::copy(Container::Runs(&[run(first, last)]), scratch));
            }
            Err(_) => {}
        }
    }

    /// Removes all containers with these keys.
    pub(crate) fn drop_range(&mut self, keys: RangeInclusive<u64>) {
        if keys.is_empty() {
            return;
        }
        let mut block = self.seek(*keys.start()).block;
        let mut whole = block..block;
        while let Some(found) = self.blocks.get(block) {
            let start = found.keys().partition_point(|key| key < keys.start());
            let end = found.keys().partition_point(|key| key <= keys.end());
            if start == end {
                break;
            }
            if end - start < found.keys().len() {
                self.drop_keys(block, start..end);
            } else {
                let first = if whole.is_empty() { block } else { whole.start };
                whole = first..block + 1;
            }
            block += 1;
        }
        self.blocks.drain(whole.clone());
        self.lens.drain(whole.clone());
        self.firsts.drain(whole);
    }

    /// Brings every container into its smallest form; gives whether one changed its form.
    pub(crate) fn optimize(&mut self) -> bool {
        let mut scratch = Scratch::default();
        let blocks = self.blocks.iter_mut();
        blocks.fold(false, |changed, block| block.optimize(&mut scratch) | changed)
    }
}

/// Finds the keys that two sets share, by ascending keys.
struct Common<'a> {
    sets: [&'a Containers; 2],
    slots: [Slot; 2],
    /// Most keys of a set that are compared next: few at first, as many callers want few.
    most: usize,
    /// Indices of equal keys in two blocks, up to `count`.
    indices: [[u16; 2]; MOST + 1],
    count: usize,
}

/// Keys are compared one by one if the other block has at most so many times more; else each is
/// searched.
const ALIKE: usize = 6;

/// Most keys of a set that are compared at first, and later.
const FIRST: usize = 8;
const MOST: usize = 128;

impl<'a> Common<'a> {
    fn new(a: &'a Containers, b: &'a Containers) -> Self {
        let (sets, slots) = ([a, b], [Slot::default(); 2]);
        Self { sets, slots, most: FIRST, indices: [[0; 2]; MOST + 1], count: 0 }
    }

    /// Whether `test` gives true for the containers of all shared keys. Ends at the first other one.
    #[inline]
    fn all(mut self, mut test: impl FnMut(u64, Container<'a>, Container<'a>) -> bool) -> bool {
        while let Some([ours, theirs]) = self.compare() {
            for &[i, j] in &self.indices[..self.count] {
                let (i, j) = (usize::from(i), usize::from(j));
                if !test(ours.keys()[i], ours.container(i), theirs.container(j)) {
                    return false;
                }
            }
        }
        true
    }

    /// Compares the next keys of a block with those of another one; none if one of the sets has no
    /// more.
    fn compare(&mut self) -> Option<[&'a Block; 2]> {
        let [left, right] = self.sets;
        let [at, other] = &mut self.slots;
        let block = |set: &'a Containers, slot: Slot| set.blocks.get(slot.block).map(Box::as_ref);
        let (ours, theirs) = (block(left, *at)?, block(right, *other)?);
        let ahead = |block: &'a Block, slot: &Slot| {
            let keys = &block.keys()[slot.index..];
            &keys[..keys.len().min(self.most)]
        };
        let (keys, others) = (ahead(ours, at), ahead(theirs, other));
        (self.count, self.most) = (0, MOST);
        let last = keys[keys.len() - 1].min(others[others.len() - 1]);
        let up_to = |keys: &[u64]| keys.partition_point(|&key| key <= last);
        let (count, other_count) = (up_to(keys), up_to(others));
        if count == 0 {
            *other = right.advance(*other, keys[0]);
            return Some([ours, theirs]);
        }
        if other_count == 0 {
            *at = left.advance(*at, others[0]);
            return Some([ours, theirs]);
        }
        let (keys, others) = (&keys[..count], &others[..other_count]);
        let mut push = |i: usize, j: usize| {
            #[expect(clippy::cast_possible_truncation, reason = "at most MAX_KEYS")]
            let indices = [(at.index + i) as u16, (other.index + j) as u16];
            self.indices[self.count] = indices;
            self.count += usize::from(keys.get(i) == others.get(j));
        };
        let place = |key: u64, keys: &[u64]| {
            let (Ok(place) | Err(place)) = find_key(keys.len(), key, |index| keys[index]);
            place
        };
        if other_count > ALIKE * count {
            keys.iter().enumerate().for_each(|(i, &key)| push(i, place(key, others)));
        } else if count > ALIKE * other_count {
            others.iter().enumerate().for_each(|(j, &key)| push(place(key, keys), j));
        } else {
            let (mut i, mut j) = (0, 0);
            // Without branches: nobody can predict which key is less.
            while i < count && j < other_count {
                push(i, j);
                (i, j) =
                    (i + usize::from(keys[i] <= others[j]), j + usize::from(others[j] <= keys[i]));
            }
        }
        *at = left.normal(Slot { index: at.index + count, ..*at });
        *other = right.normal(Slot { index: other.index + other_count, ..*other });
        Some([ours, theirs])
    }
}

/// Operations on two sets in memory. A plan does the same for any number of sets of any kind; this
/// takes a third of its time if containers have few values.
impl Containers {
    /// The set `a op b`.
    pub(crate) fn joined(op: Op, a: &Self, b: &Self) -> Self {
        let (mut found, mut scratch) = (Self::default(), Scratch::default());
        if op == Op::And {
            Common::new(a, b).all(|key, ours, theirs| {
                scratch.join(op, ours, theirs);
                found.push_joined(key, &mut scratch);
                true
            });
            return found;
        }
        let [mut at, mut other] = [Slot::default(); 2];
        loop {
            match (a.key(at), b.key(other)) {
                (Some(key), Some(same)) if key == same => {
                    scratch.join(op, a.at(at), b.at(other));
                    found.push_joined(key, &mut scratch);
                    (at, other) = (a.after(at), b.after(other));
                }
                (Some(key), next) if next.is_none_or(|next| key < next) => {
                    found.push_copy(key, a.at(at), &mut scratch);
                    at = a.after(at);
                }
                (_, Some(key)) if op != Op::AndNot => {
                    found.push_copy(key, b.at(other), &mut scratch);
                    other = b.after(other);
                }
                // The containers that are not wanted are not looked for.
                (Some(key), _) => other = b.advance(other, key),
                (None, _) => return found,
            }
        }
    }

    /// Number of values in both.
    pub(crate) fn intersection_len(a: &Self, b: &Self) -> u64 {
        let mut len = 0;
        Common::new(a, b).all(|_, ours, theirs| {
            len += u64::from(intersection_len(ours, theirs));
            true
        });
        len
    }

    /// Whether all values of `a` are in `b`.
    pub(crate) fn is_subset(a: &Self, b: &Self) -> bool {
        let [mut at, mut other] = [Slot::default(); 2];
        while let Some((key, ours)) = a.get(at) {
            other = b.advance(other, key);
            match b.get(other) {
                Some((same, theirs)) if same == key && is_subset(ours, theirs) => at = a.after(at),
                _ => return false,
            }
        }
        true
    }

    /// Whether no value is in both.
    pub(crate) fn is_disjoint(a: &Self, b: &Self) -> bool {
        Common::new(a, b).all(|_, ours, theirs| !intersects(ours, theirs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(containers: &Containers) {
        let keys: Vec<u64> =
            containers.blocks.iter().flat_map(|block| block.keys().iter().copied()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(containers.lens.len(), containers.blocks.len());
        let heads = containers.firsts.iter().zip(&containers.lens);
        for (block, (&first, &sum)) in containers.blocks.iter().zip(heads) {
            let count = block.keys().len();
            assert!(block.keys()[0] == first && count <= MAX_KEYS);
            let lens = (0..count).map(|index| block.container(index).len());
            assert!(
                lens.clone().zip(0..).all(|(len, index)| len > 0 && len == block.len_of(index))
            );
            assert_eq!(sum, lens.map(u64::from).sum::<u64>());
        }
        assert_eq!(containers.firsts.len(), containers.blocks.len());
    }

    #[test]
    fn blocks_split_and_go_as_keys_come_and_go() {
        let mut containers = Containers::default();
        let keys = 5000_u64;
        for i in 0..keys {
            assert!(containers.insert((i * 7919 % keys) << 16 | 5));
        }
        check(&containers);
        assert!(containers.blocks.len() > 9);
        assert_eq!((containers.len(), containers.last_key()), (keys, Some(keys - 1)));
        containers.drop_range(100..=100);
        containers.drop_range(1000..=3999);
        check(&containers);
        assert_eq!(containers.len(), keys - 3001);
        assert_eq!(containers.rank_of_key(4000), 999);
        for key in (0..keys).rev() {
            let is_there = key != 100 && !(1000..4000).contains(&key);
            assert_eq!(containers.remove(key << 16 | 5), is_there);
        }
        check(&containers);
        assert!(containers.blocks.is_empty());
    }

    #[test]
    fn keys_that_ascend_fill_their_blocks() {
        let mut containers = Containers::default();
        for key in 0..4 * MAX_KEYS as u64 {
            containers.insert(key << 16);
        }
        assert_eq!(containers.blocks.len(), 4);
        check(&containers);
    }
}
