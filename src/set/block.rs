//! Some hundred neighbouring containers of a set in memory.
//!
//! If all containers of a block have few values, the values of all lie in one vector: a value that
//! is alone in its container takes 12 bytes. If not, each container has memory of its own.

use super::container::{Container, MAX_ARRAY, Op, Owned, Scratch, run};
use std::ops::Range;

/// Most keys of a block.
pub(super) const MAX_KEYS: usize = 512;
/// Most values of a container that shares a vector with the others.
pub(super) const MAX_FEW: usize = 15;
/// Most values of that vector: a new value moves those behind it.
const MAX_LOWS: usize = 4 * MAX_KEYS;

/// Containers with ascending keys; no container is empty.
#[derive(Debug, Clone)]
pub(super) struct Block {
    keys: Vec<u64>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    /// The values of all containers, and the end of each container in them.
    Few {
        ends: Vec<u16>,
        lows: Vec<[u8; 2]>,
    },
    Many(Vec<Owned>),
}

/// The places of the values of container `index`.
#[inline]
fn places(ends: &[u16], index: usize) -> Range<usize> {
    let start = index.checked_sub(1).map_or(0, |before| usize::from(ends[before]));
    start..usize::from(ends[index])
}

/// Whether values take less memory as runs.
fn are_runs(values: &[[u8; 2]]) -> bool {
    let plain = 2 * values.len();
    debug_assert!(values.len() <= MAX_ARRAY);
    // A run takes 4 bytes, and their number 2.
    plain > 6 && 2 + 4 * Container::Array(values).runs_up_to(plain / 4) < plain
}

/// Moves the ends from `index` on after a container changed from `old` to `new` values.
fn shift(ends: &mut [u16], index: usize, old: usize, new: usize) {
    #[expect(clippy::cast_possible_truncation, reason = "at most MAX_LOWS")]
    let more = (new as u16).wrapping_sub(old as u16);
    for end in &mut ends[index..] {
        *end = end.wrapping_add(more);
    }
}

impl Block {
    /// A block of one container.
    pub(super) fn new(key: u64, container: Owned) -> Self {
        let body = Body::Few { ends: Vec::new(), lows: Vec::new() };
        let mut block = Self { keys: Vec::new(), body };
        block.insert_key(0, key, container);
        block
    }

    #[inline]
    pub(super) fn keys(&self) -> &[u64] {
        &self.keys
    }

    /// Container `index`, which must exist.
    #[expect(clippy::inline_always, reason = "given in memory, it costs as much as a small join")]
    #[inline(always)]
    pub(super) fn container(&self, index: usize) -> Container<'_> {
        match &self.body {
            Body::Few { ends, lows } => Container::Array(&lows[places(ends, index)]),
            Body::Many(containers) => containers[index].container(),
        }
    }

    /// Appends the values of the containers from `index` on to the first `count` of `positions`, as
    /// distances from the first value that key `base` can have. It takes containers with keys up to
    /// `most` and distances below 2^32, if all containers of the block have few values. Gives the index
    /// behind them, or none if it takes none.
    pub(super) fn append_few(
        &self,
        index: usize,
        (base, most): (u64, u64),
        positions: &mut Vec<u32>,
        count: &mut usize,
    ) -> Option<usize> {
        let Body::Few { ends, lows } = &self.body else { return None };
        let is_near = |&key: &u64| key <= most && key - base <= 0xFFFF;
        let keys = &self.keys[index..];
        let keys = &keys[..keys.partition_point(is_near)];
        if keys.is_empty() {
            return None;
        }
        let behind = index + keys.len();
        let values = places(ends, index).start..usize::from(ends[behind - 1]);
        let room = *count + values.len();
        positions.resize(room.max(positions.len()), 0);
        let (mut slots, mut start) = (positions[*count..room].iter_mut(), values.start);
        for (&key, &end) in keys.iter().zip(&ends[index..behind]) {
            #[expect(clippy::cast_possible_truncation, reason = "keys are at most 0xFFFF apart")]
            let offset = ((key - base) << 16) as u32;
            for (&low, slot) in lows[start..usize::from(end)].iter().zip(&mut slots) {
                *slot = offset | u32::from(u16::from_le_bytes(low));
            }
            start = end.into();
        }
        *count = room;
        Some(behind)
    }

    /// Number of values of container `index`. O(1).
    #[inline]
    pub(super) fn len_of(&self, index: usize) -> u32 {
        match &self.body {
            #[expect(clippy::cast_possible_truncation, reason = "at most MAX_LOWS")]
            Body::Few { ends, .. } => places(ends, index).len() as u32,
            Body::Many(containers) => containers[index].len(),
        }
    }

    /// Number of values of these containers.
    pub(super) fn len_in(&self, indexes: Range<usize>) -> u64 {
        match &self.body {
            Body::Few { ends, .. } => {
                let before = |index: usize| index.checked_sub(1).map_or(0, |last| ends[last]);
                u64::from(before(indexes.end) - before(indexes.start))
            }
            Body::Many(containers) => {
                containers[indexes].iter().map(|owned| u64::from(owned.len())).sum()
            }
        }
    }

    /// Number of values.
    pub(super) fn len(&self) -> u64 {
        self.len_in(0..self.keys.len())
    }

    /// About the bytes of memory that it takes.
    pub(super) fn bytes(&self) -> usize {
        let body = match &self.body {
            Body::Few { ends, lows } => 2 * (ends.capacity() + lows.capacity()),
            Body::Many(containers) => {
                let heap: usize = containers.iter().map(Owned::heap_bytes).sum();
                heap + containers.capacity() * size_of::<Owned>()
            }
        };
        body + 8 * self.keys.capacity() + size_of::<Self>()
    }

    /// The containers, each in memory of its own.
    fn many(&mut self) -> &mut Vec<Owned> {
        if let Body::Few { ends, lows } = &self.body {
            let mut scratch = Scratch::default();
            let mut own =
                |index| Owned::copy(Container::Array(&lows[places(ends, index)]), &mut scratch);
            let mut containers = Vec::with_capacity(self.keys.len());
            containers.extend((0..ends.len()).map(&mut own));
            self.body = Body::Many(containers);
        }
        match &mut self.body {
            Body::Many(containers) => containers,
            Body::Few { .. } => unreachable!("its containers own their memory"),
        }
    }

    /// Adds a value to container `index`; gives whether it is new.
    pub(super) fn insert(&mut self, index: usize, low: u16) -> bool {
        if let Body::Few { ends, lows } = &mut self.body {
            let here = places(ends, index);
            let Err(place) =
                lows[here.clone()].binary_search_by_key(&low, |&low| u16::from_le_bytes(low))
            else {
                return false;
            };
            if here.len() < MAX_FEW && lows.len() < MAX_LOWS {
                lows.insert(here.start + place, low.to_le_bytes());
                shift(ends, index, 0, 1);
                return true;
            }
        }
        self.many()[index].insert(low)
    }

    /// Removes a value from container `index`; gives whether it was there. The container may be
    /// empty afterwards.
    pub(super) fn remove(&mut self, index: usize, low: u16) -> bool {
        match &mut self.body {
            Body::Few { ends, lows } => {
                let here = places(ends, index);
                let found =
                    lows[here.clone()].binary_search_by_key(&low, |&low| u16::from_le_bytes(low));
                if let Ok(place) = found {
                    lows.remove(here.start + place);
                    shift(ends, index, 1, 0);
                }
                found.is_ok()
            }
            Body::Many(containers) => containers[index].remove(low),
        }
    }

    /// Adds `first ..= last` to container `index`, or removes it; the container may be empty
    /// afterwards.
    pub(super) fn change_range(
        &mut self,
        index: usize,
        adds: bool,
        [first, last]: [u32; 2],
        scratch: &mut Scratch,
    ) {
        match &mut self.body {
            #[expect(clippy::cast_possible_truncation, reason = "of a container")]
            Body::Few { .. } if adds && last - first < MAX_FEW as u32 => {
                for low in first..=last {
                    self.insert(index, low as u16);
                }
            }
            Body::Few { .. } => {
                let op = if adds { Op::Or } else { Op::AndNot };
                self.join(index, op, Container::Runs(&[run(first, last)]), scratch);
            }
            Body::Many(containers) => containers[index].change_range(adds, [first, last], scratch),
        }
    }

    /// Inserts a container before container `index`.
    pub(super) fn insert_key(&mut self, index: usize, key: u64, container: Owned) {
        self.keys.insert(index, key);
        if let (Body::Few { ends, lows }, Container::Array(values)) =
            (&mut self.body, container.container())
            && values.len() <= MAX_FEW
            && lows.len() + values.len() <= MAX_LOWS
        {
            let start = index.checked_sub(1).map_or(0, |before| ends[before]);
            let place = usize::from(start);
            match values {
                [one] => lows.insert(place, *one),
                _ => drop(lows.splice(place..place, values.iter().copied())),
            }
            ends.insert(index, start);
            shift(ends, index, 0, values.len());
            return;
        }
        // The key is already in `keys`.
        self.many().insert(index, container);
    }

    /// Appends a container of few values; gives whether it has room for it, and an array suits it.
    #[inline]
    pub(super) fn push_few(&mut self, key: u64, values: &[[u8; 2]]) -> bool {
        let Body::Few { ends, lows } = &mut self.body else { return false };
        let has_room = self.keys.len() < MAX_KEYS && lows.len() + values.len() <= MAX_LOWS;
        if !has_room || values.len() > MAX_FEW || are_runs(values) {
            return false;
        }
        self.keys.push(key);
        lows.extend_from_slice(values);
        #[expect(clippy::cast_possible_truncation, reason = "at most MAX_LOWS")]
        ends.push(lows.len() as u16);
        true
    }

    /// Replaces container `index` by `container op other`; it may be empty afterwards.
    pub(super) fn join(
        &mut self,
        index: usize,
        op: Op,
        other: Container<'_>,
        scratch: &mut Scratch,
    ) {
        if let Body::Few { ends, lows } = &mut self.body {
            let here = places(ends, index);
            scratch.join(op, Container::Array(&lows[here.clone()]), other);
            if let Container::Array(values) = scratch.container()
                && values.len() <= MAX_FEW
                && lows.len() - here.len() + values.len() <= MAX_LOWS
            {
                shift(ends, index, here.len(), values.len());
                lows.splice(here, values.iter().copied());
                return;
            }
            let joined = scratch.take();
            self.many()[index] = joined;
            return;
        }
        self.many()[index].join(op, other, scratch);
    }

    /// Moves the containers from `index` on to a new block.
    pub(super) fn split_off(&mut self, index: usize) -> Self {
        let keys = self.keys.split_off(index);
        let body = match &mut self.body {
            Body::Few { ends, lows } => {
                let before = index.checked_sub(1).map_or(0, |last| ends[last]);
                let mut behind = ends.split_off(index);
                shift(&mut behind, 0, before.into(), 0);
                Body::Few { ends: behind, lows: lows.split_off(before.into()) }
            }
            Body::Many(containers) => Body::Many(containers.split_off(index)),
        };
        Self { keys, body }
    }

    /// Removes these containers.
    pub(super) fn drop_keys(&mut self, indexes: Range<usize>) {
        self.keys.drain(indexes.clone());
        match &mut self.body {
            Body::Few { ends, lows } => {
                let start = indexes.start.checked_sub(1).map_or(0, |last| ends[last]);
                let end = indexes.end.checked_sub(1).map_or(0, |last| ends[last]);
                lows.drain(usize::from(start)..usize::from(end));
                ends.drain(indexes.clone());
                shift(ends, indexes.start, end.into(), start.into());
            }
            Body::Many(containers) => drop(containers.drain(indexes)),
        }
    }

    /// Brings every container into its smallest form; gives whether one changed its form.
    pub(super) fn optimize(&mut self, scratch: &mut Scratch) -> bool {
        if let Body::Few { ends, lows } = &mut self.body
            && !(0..ends.len()).any(|index| are_runs(&lows[places(ends, index)]))
        {
            lows.shrink_to_fit();
            return false;
        }
        let containers = self.many().iter_mut();
        containers.fold(false, |changed, owned| owned.optimize(scratch) | changed)
    }
}
