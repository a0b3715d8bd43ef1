//! The containers of a set in memory, by ascending keys.
//!
//! They lie in blocks, as in a search tree of two levels: a block has up to
//! [`MAX_KEYS`] keys, so that a key that comes between others moves few of them. Keys
//! lie together, apart from their containers, so that a search touches little memory.
//! Containers of a few values lie in the block itself.
//!
//! # Invariants
//! 1. Keys ascend, within a block and from block to block.
//! 2. No block and no container is empty.
//! 3. `firsts` has the first key of each block, `len` is the number of values.
//!
//! # Cost
//! With c containers a search takes O(log c) and a new key O(√c) while c is below 10^9.
//! A container takes 40 bytes, and its array, bitmap or runs.

use super::container::{Container, Op, Owned, Scratch, intersection_len, intersects};
use super::view::find_key;
use std::ops::{Range, RangeInclusive};

/// Most keys of a block.
const MAX_KEYS: usize = 512;
/// Keys that are looked at before one is searched for.
const NEAR: usize = 4;

/// Containers by their keys (`value >> 16`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Containers {
    firsts: Vec<u64>,
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, Default)]
struct Block {
    keys: Vec<u64>,
    containers: Vec<Owned>,
    /// Number of values.
    len: u64,
}

/// A container's block, and its number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Slot {
    block: usize,
    index: usize,
}

fn split(value: u64) -> (u64, u16) {
    #[expect(clippy::cast_possible_truncation, reason = "the low part is meant")]
    (value >> 16, value as u16)
}

impl Containers {
    /// Number of values. O(blocks).
    pub(crate) fn len(&self) -> u64 {
        self.blocks.iter().map(|block| block.len).sum()
    }

    /// Bytes of memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let block = |block: &Block| {
            let heap: usize = block.containers.iter().map(Owned::heap_bytes).sum();
            heap + block.keys.capacity() * 8 + block.containers.capacity() * size_of::<Owned>()
        };
        self.blocks.iter().map(block).sum()
    }

    /// The place of `key`, or where it would be: in a block that there is, unless there
    /// are none.
    #[inline]
    fn find(&self, key: u64) -> Result<Slot, Slot> {
        let behind = self.firsts.partition_point(|&first| first <= key);
        let block = behind.saturating_sub(1);
        let Some(found) = self.blocks.get(block) else { return Err(Slot::default()) };
        let keys = &found.keys;
        find_key(keys.len(), key, |index| keys[index])
            .map(|index| Slot { block, index })
            .map_err(|index| Slot { block, index })
    }

    /// The first place from `key` on, at `slot` or behind it. `get` finds nothing there if all
    /// keys are smaller.
    pub(crate) fn advance(&self, mut slot: Slot, key: u64) -> Slot {
        // Mostly one of the next is meant.
        for _ in 0..NEAR {
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

    /// The same place, not behind the end of a block.
    fn normal(&self, slot: Slot) -> Slot {
        match self.blocks.get(slot.block) {
            Some(block) if slot.index >= block.keys.len() => {
                Slot { block: slot.block + 1, index: 0 }
            }
            _ => slot,
        }
    }

    /// The place behind `slot`.
    pub(crate) fn after(&self, slot: Slot) -> Slot {
        self.normal(Slot { index: slot.index + 1, ..slot })
    }

    /// The key at `slot`, if there is one.
    fn key(&self, slot: Slot) -> Option<u64> {
        self.blocks.get(slot.block)?.keys.get(slot.index).copied()
    }

    /// The container at `slot`, if there is one.
    pub(crate) fn get(&self, slot: Slot) -> Option<(u64, &Owned)> {
        let block = self.blocks.get(slot.block)?;
        block.keys.get(slot.index).copied().zip(block.containers.get(slot.index))
    }

    /// The container of `key`.
    #[inline]
    pub(crate) fn container(&self, key: u64) -> Option<Container<'_>> {
        let Slot { block, index } = self.find(key).ok()?;
        self.blocks.get(block)?.containers.get(index).map(Owned::container)
    }

    /// The last container of a key up to `key`.
    pub(crate) fn last_up_to(&self, key: u64) -> Option<(u64, Container<'_>)> {
        let slot = match self.find(key) {
            Ok(slot) => slot,
            Err(slot) => Slot { index: slot.index.checked_sub(1)?, ..slot },
        };
        self.get(slot).map(|(key, container)| (key, container.container()))
    }

    /// The key of the last container.
    pub(crate) fn last_key(&self) -> Option<u64> {
        self.blocks.last()?.keys.last().copied()
    }

    /// Values in containers with keys below `key`. O(blocks and keys of a block).
    pub(crate) fn rank_of_key(&self, key: u64) -> u64 {
        let (Ok(slot) | Err(slot)) = self.find(key);
        let before: u64 = self.blocks.iter().take(slot.block).map(|block| block.len).sum();
        let here = self.blocks.get(slot.block).map(|block| &block.containers[..slot.index]);
        before + here.map_or(0, |here| here.iter().map(|owned| u64::from(owned.len())).sum())
    }

    /// The container with the value that has `index` values before it, and the number of
    /// values before the container. O(blocks and keys of a block).
    pub(crate) fn holder(&self, index: u64) -> Option<(u64, Container<'_>, u64)> {
        let mut before = 0;
        let block = self.blocks.iter().find(|block| {
            let is_here = index - before < block.len;
            before += if is_here { 0 } else { block.len };
            is_here
        })?;
        for (&key, owned) in block.keys.iter().zip(&block.containers) {
            let len = u64::from(owned.len());
            if index - before < len {
                return Some((key, owned.container(), before));
            }
            before += len;
        }
        None
    }

    /// Adds a value; tells whether it is new.
    pub(crate) fn insert(&mut self, value: u64) -> bool {
        let (key, low) = split(value);
        match self.find(key) {
            Ok(Slot { block, index }) => {
                let block = &mut self.blocks[block];
                let is_new = block.containers[index].insert(low);
                block.len += u64::from(is_new);
                is_new
            }
            Err(slot) => {
                let value = Container::Array(&[low.to_le_bytes()]);
                self.put(slot, key, Owned::copy(value, &mut Scratch::default()));
                true
            }
        }
    }

    /// Takes a value out; tells whether it was there.
    pub(crate) fn remove(&mut self, value: u64) -> bool {
        let (key, low) = split(value);
        let Ok(slot) = self.find(key) else { return false };
        let block = &mut self.blocks[slot.block];
        let was_there = block.containers[slot.index].remove(low);
        block.len -= u64::from(was_there);
        if block.containers[slot.index].len() == 0 {
            self.drop_keys(slot.block, slot.index..slot.index + 1);
        }
        was_there
    }

    /// Puts a container where `find` says that its key would be.
    fn put(&mut self, slot: Slot, key: u64, container: Owned) {
        let Slot { mut block, mut index } = slot;
        let len = u64::from(container.len());
        if len == 0 {
            return;
        }
        let is_full = self.blocks.get(block).is_none_or(|block| block.keys.len() == MAX_KEYS);
        let is_behind_all = index == MAX_KEYS && block + 1 == self.blocks.len();
        if self.blocks.is_empty() || is_behind_all {
            // Keys that ascend fill their blocks.
            self.firsts.push(key);
            self.blocks.push(Block { keys: vec![key], containers: vec![container], len });
            return;
        }
        if is_full {
            self.split(block);
            if index > MAX_KEYS / 2 {
                (block, index) = (block + 1, index - MAX_KEYS / 2);
            }
        }
        let found = &mut self.blocks[block];
        found.keys.insert(index, key);
        found.containers.insert(index, container);
        found.len += len;
        self.firsts[block] = found.keys[0];
    }

    fn split(&mut self, block: usize) {
        let full = &mut self.blocks[block];
        let keys = full.keys.split_off(MAX_KEYS / 2);
        let containers = full.containers.split_off(MAX_KEYS / 2);
        let len = containers.iter().map(|owned| u64::from(owned.len())).sum();
        full.len -= len;
        self.firsts.insert(block + 1, keys[0]);
        self.blocks.insert(block + 1, Block { keys, containers, len });
    }

    /// Drops keys of a block, and the block if none are left.
    fn drop_keys(&mut self, block: usize, keys: Range<usize>) {
        let found = &mut self.blocks[block];
        found.keys.drain(keys.clone());
        let dropped = found.containers.drain(keys);
        found.len -= dropped.map(|owned| u64::from(owned.len())).sum::<u64>();
        if let Some(&first) = found.keys.first() {
            self.firsts[block] = first;
        } else {
            self.blocks.remove(block);
            self.firsts.remove(block);
        }
    }

    /// Appends a container, whose key is larger than all others. Empty ones are left out.
    pub(crate) fn push(&mut self, key: u64, container: Owned) {
        debug_assert!(self.last_key().is_none_or(|last| last < key), "keys ascend");
        let block = self.blocks.len().saturating_sub(1);
        let index = self.blocks.last().map_or(0, |block| block.keys.len());
        self.put(Slot { block, index }, key, container);
    }

    /// Appends ascending values, all of which are larger than all others; those that share a
    /// key come together.
    pub(crate) fn push_values(&mut self, values: &[u64]) {
        let mut scratch = Scratch::default();
        for alike in values.chunk_by(|a, b| a >> 16 == b >> 16) {
            scratch.clear();
            scratch.append(alike);
            scratch.close();
            self.push(alike[0] >> 16, scratch.take());
        }
    }

    /// The values of `key` become `values op container`; for [`Op::And`] see `retain`.
    pub(crate) fn join(
        &mut self,
        op: Op,
        key: u64,
        container: Container<'_>,
        scratch: &mut Scratch,
    ) {
        match self.find(key) {
            Ok(slot) => {
                let block = &mut self.blocks[slot.block];
                let owned = &mut block.containers[slot.index];
                block.len -= u64::from(owned.len());
                owned.join(op, container, scratch);
                block.len += u64::from(owned.len());
                if owned.len() == 0 {
                    self.drop_keys(slot.block, slot.index..slot.index + 1);
                }
            }
            Err(slot) if op == Op::Or || op == Op::Xor => {
                self.put(slot, key, Owned::copy(container, scratch));
            }
            Err(_) => {}
        }
    }

    /// Drops all containers of these keys.
    pub(crate) fn drop_range(&mut self, keys: RangeInclusive<u64>) {
        if keys.is_empty() {
            return;
        }
        let mut block = self.seek(*keys.start()).block;
        let mut whole = block..block;
        while let Some(found) = self.blocks.get(block) {
            let start = found.keys.partition_point(|key| key < keys.start());
            let end = found.keys.partition_point(|key| key <= keys.end());
            if start == end {
                break;
            }
            if end - start < found.keys.len() {
                self.drop_keys(block, start..end);
            } else {
                let first = if whole.is_empty() { block } else { whole.start };
                whole = first..block + 1;
            }
            block += 1;
        }
        self.blocks.drain(whole.clone());
        self.firsts.drain(whole);
    }

    /// Brings every container into its smallest form; tells whether one changed its form.
    pub(crate) fn optimize(&mut self) -> bool {
        let mut scratch = Scratch::default();
        let containers = self.blocks.iter_mut().flat_map(|block| &mut block.containers);
        containers.fold(false, |changed, owned| owned.optimize(&mut scratch) | changed)
    }
}

/// The containers of two sets side by side, by ascending keys: those that `op` can make
/// values of.
struct Pairs<'a> {
    op: Op,
    sets: [&'a Containers; 2],
    slots: [Slot; 2],
}

impl<'a> Pairs<'a> {
    fn new(op: Op, a: &'a Containers, b: &'a Containers) -> Self {
        Self { op, sets: [a, b], slots: [Slot::default(); 2] }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (u64, Option<&'a Owned>, Option<&'a Owned>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let [a, b] = self.sets;
        let [at, other] = &mut self.slots;
        loop {
            match (a.get(*at), b.get(*other)) {
                (Some((key, ours)), Some((same, theirs))) if key == same => {
                    (*at, *other) = (a.after(*at), b.after(*other));
                    return Some((key, Some(ours), Some(theirs)));
                }
                (Some((key, ours)), next) if next.is_none_or(|(next, _)| key < next) => {
                    if self.op != Op::And {
                        *at = a.after(*at);
                        return Some((key, Some(ours), None));
                    }
                    *at = a.advance(*at, next?.0);
                }
                (next, Some((key, theirs))) => {
                    if matches!(self.op, Op::Or | Op::Xor) {
                        *other = b.after(*other);
                        return Some((key, None, Some(theirs)));
                    }
                    *other = b.advance(*other, next?.0);
                }
                (_, None) => return None,
            }
        }
    }
}

/// Two sets in memory. A plan does the same for any number of sets of any kind; this takes
/// a third of its time where containers have few values.
impl Containers {
    /// What `op` makes of two sets.
    pub(crate) fn joined(op: Op, a: &Self, b: &Self) -> Self {
        let (mut found, mut scratch) = (Self::default(), Scratch::default());
        for (key, ours, theirs) in Pairs::new(op, a, b) {
            match (ours, theirs) {
                (Some(ours), Some(theirs)) => {
                    scratch.join(op, ours.container(), theirs.container());
                    found.push(key, scratch.take());
                }
                (Some(one), None) | (None, Some(one)) => found.push(key, one.clone()),
                (None, None) => {}
            }
        }
        found
    }

    /// Number of values in both.
    pub(crate) fn intersection_len(a: &Self, b: &Self) -> u64 {
        let pairs = Pairs::new(Op::And, a, b).filter_map(|(_, ours, theirs)| ours.zip(theirs));
        pairs.map(|(ours, theirs)| u64::from(common(ours, theirs))).sum()
    }

    /// Whether all values of `a` are in `b`.
    pub(crate) fn is_subset(a: &Self, b: &Self) -> bool {
        Pairs::new(Op::AndNot, a, b).all(|(_, ours, theirs)| {
            let pair = ours.zip(theirs);
            pair.is_some_and(|(ours, theirs)| common(ours, theirs) == ours.len())
        })
    }

    /// Whether no value is in both.
    pub(crate) fn is_disjoint(a: &Self, b: &Self) -> bool {
        let mut pairs = Pairs::new(Op::And, a, b).filter_map(|(_, ours, theirs)| ours.zip(theirs));
        pairs.all(|(ours, theirs)| !intersects(ours.container(), theirs.container()))
    }
}

fn common(a: &Owned, b: &Owned) -> u32 {
    intersection_len(a.container(), b.container())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(containers: &Containers) {
        let keys: Vec<u64> =
            containers.blocks.iter().flat_map(|block| block.keys.iter().copied()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b));
        for (block, &first) in containers.blocks.iter().zip(&containers.firsts) {
            assert!(block.keys[0] == first && block.keys.len() == block.containers.len());
            assert!(block.keys.len() <= MAX_KEYS);
            let lens = block.containers.iter().map(|owned| u64::from(owned.len()));
            assert!(lens.clone().all(|len| len > 0));
            assert_eq!(block.len, lens.sum::<u64>());
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
