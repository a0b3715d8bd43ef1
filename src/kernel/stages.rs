//! Moves values to buckets, a cache line at a time.
//!
//! A value that goes to one of many buckets mostly meets a line that is not in the nearest cache.
//! So the values of a bucket gather in a line that stays in the cache, and the whole line is
//! written past the caches.

use super::cache::{self, LINE};
use bytemuck::Pod;

/// For each bucket, a line of memory in which values gather, and the place where the line goes.
pub(crate) struct Stages<'o, T> {
    lines: Vec<T>,
    buckets: Vec<Bucket<'o, T>>,
}

struct Bucket<'o, T> {
    /// The part of the output that is not written yet. After the first line, it begins at the start
    /// of a cache line.
    part: &'o mut [T],
    /// Place of the next value in the line.
    next: u32,
    /// Place of the first value in the line.
    first: u32,
}

/// More or fewer values came to a bucket than its part has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Miscounted;

impl<'o, T: Pod> Stages<'o, T> {
    /// Values of a line.
    const LINE: usize = LINE / size_of::<T>();

    /// The room of each bucket.
    pub(crate) fn new(parts: Vec<&'o mut [T]>) -> Self {
        let lines = vec![T::zeroed(); parts.len() * Self::LINE];
        let bucket = |part: &'o mut [T]| {
            let before = (LINE - part.as_ptr().align_offset(LINE) * size_of::<T>()) % LINE;
            let first = u32::try_from(before / size_of::<T>()).unwrap_or(0);
            Bucket { part, next: first, first }
        };
        Self { lines, buckets: parts.into_iter().map(bucket).collect() }
    }

    /// Takes a value of a bucket.
    #[inline]
    pub(crate) fn push(&mut self, bucket: usize, value: T) -> Result<(), Miscounted> {
        let line = &mut self.lines[bucket * Self::LINE..][..Self::LINE];
        let bucket = &mut self.buckets[bucket];
        line[bucket.next as usize] = value;
        bucket.next += 1;
        if bucket.next as usize == Self::LINE {
            return bucket.flush(line);
        }
        Ok(())
    }

    /// Writes the values that wait. After that every part must be full.
    pub(crate) fn end(mut self) -> Result<(), Miscounted> {
        for (bucket, line) in self.buckets.iter_mut().zip(self.lines.chunks(Self::LINE)) {
            bucket.flush(line)?;
            if !bucket.part.is_empty() {
                return Err(Miscounted);
            }
        }
        Ok(())
    }
}

impl<T> Drop for Stages<'_, T> {
    fn drop(&mut self) {
        cache::fence();
    }
}

impl<T: Pod> Bucket<'_, T> {
    /// Writes the values of the line.
    fn flush(&mut self, line: &[T]) -> Result<(), Miscounted> {
        let values = &line[self.first as usize..self.next as usize];
        let to = self.part.split_off_mut(..values.len()).ok_or(Miscounted)?;
        let bytes: (&[u8], &mut [u8]) =
            (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(to));
        match (bytes.0.try_into(), bytes.1.try_into()) {
            (Ok(from), Ok(to)) => cache::copy_line(from, to),
            (_, _) => to.copy_from_slice(values),
        }
        (self.first, self.next) = (0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 200 }))]

        #[test]
        fn values_come_to_their_buckets_in_order(
            values in prop::collection::vec((0..7_usize, any::<u32>()), 0..600),
            before in 0..20_usize,
            change in -1..2_isize,
        ) {
            let lens = (0..7).map(|bucket| values.iter().filter(|value| value.0 == bucket).count());
            let mut lens: Vec<usize> = lens.collect();
            let mut memory = vec![0_u32; before + values.len() + 1];
            // One value more or less than there is room for must be told.
            lens[3] = lens[3].saturating_add_signed(change);
            let is_right = lens.iter().sum::<usize>() == values.len();
            let mut rest = &mut memory[before..];
            let parts = lens.iter().map(|&len| rest.split_off_mut(..len).unwrap()).collect();
            let mut stages = Stages::new(parts);
            let pushed = values.iter().try_for_each(|&(bucket, value)| stages.push(bucket, value));
            let ended = pushed.and_then(|()| stages.end());
            prop_assert_eq!(ended, if is_right { Ok(()) } else { Err(Miscounted) });
            if is_right {
                let mut model = values.clone();
                model.sort_by_key(|value| value.0);
                prop_assert!(memory[before..].iter().zip(&model).all(|(found, value)| *found == value.1));
            }
        }
    }
}
