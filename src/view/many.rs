//! Many values asked for at once.
//!
//! A set larger than the caches answers at the speed of memory: a value that
//! comes alone waits for a page table walk and for a cache line. Values that
//! come together are put in order first, so that neighbours share pages, and
//! their cache lines are asked for before the first of them is needed.

use super::query::split;
use super::{Damage, SetView};
use crate::container::Container;

/// Values whose memory is waited for at once.
const BATCH: usize = 64;
/// Fewer values are not worth putting in order.
const MIN_ORDERED: usize = 1 << 12;
/// Pieces of the values' range that they are put in the order of.
const PIECES: usize = 1 << 12;

impl SetView<'_> {
    /// Whether each of `values` is in the set, into the front of `found`. Some
    /// ten thousand values at a time are answered several times faster than one
    /// by one where a set is larger than the caches. O(values) memory.
    ///
    /// # Errors
    ///
    /// If the bytes are damaged where an answer is looked for.
    ///
    /// # Panics
    ///
    /// If `found` is shorter than `values`.
    pub fn contains_many(self, values: &[u64], found: &mut [bool]) -> Result<(), Damage> {
        assert!(found.len() >= values.len(), "room for every answer");
        if values.len() < MIN_ORDERED {
            for (values, found) in values.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
                self.batch(values.iter().copied(), |index, is_in| found[index] = is_in)?;
            }
            return Ok(());
        }
        let ordered = in_order(values);
        for batch in ordered.chunks(BATCH) {
            self.batch(batch.iter().map(|&(value, _)| value), |index, is_in| {
                found[batch[index].1 as usize] = is_in;
            })?;
        }
        Ok(())
    }

    fn batch(
        self,
        values: impl Iterator<Item = u64> + Clone,
        mut answer: impl FnMut(usize, bool),
    ) -> Result<(), Damage> {
        let mut containers = [None; BATCH];
        let mut touched = 0;
        for (slot, value) in containers.iter_mut().zip(values.clone()) {
            let (key, low) = split(value);
            *slot = self.container(key)?;
            touched ^= slot.map_or(0, |container: Container<'_>| container.touch(low));
        }
        std::hint::black_box(touched);
        for ((index, container), value) in containers.into_iter().enumerate().zip(values) {
            let low = split(value).1;
            answer(index, container.is_some_and(|container| container.contains(low)));
        }
        Ok(())
    }
}

/// The values with their places, by the piece of their range that they are in.
fn in_order(values: &[u64]) -> Vec<(u64, u32)> {
    let min = values.iter().copied().min().unwrap_or(0);
    let max = values.iter().copied().max().unwrap_or(0);
    let bits = u64::BITS - (max - min).leading_zeros();
    let shift = bits.saturating_sub(PIECES.ilog2());
    #[expect(clippy::cast_possible_truncation, reason = "fewer than PIECES")]
    let piece = |value: u64| ((value - min) >> shift) as usize;
    let mut ends = vec![0_usize; PIECES];
    for &value in values {
        ends[piece(value)] += 1;
    }
    let mut before = 0;
    for end in &mut ends {
        before += std::mem::replace(end, before);
    }
    let mut ordered = vec![(0, 0); values.len()];
    for (place, &value) in (0_u32..).zip(values) {
        let to = &mut ends[piece(value)];
        ordered[*to] = (value, place);
        *to += 1;
    }
    ordered
}
