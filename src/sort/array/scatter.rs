//! Moves values to their buckets, a cache line at a time.

use crate::error::{Error, Result};
use crate::kernel::stream::{self, LINE};
use crate::sort::entry::Entry;

/// For each thread, its part of each bucket: the parts of one bucket follow each other.
pub(super) fn parts<'o, T>(
    counts: &[Vec<u32>],
    lens: &[usize],
    mut out: &'o mut [T],
) -> Vec<Vec<&'o mut [T]>> {
    let mut parts: Vec<Vec<_>> = counts.iter().map(|_| Vec::with_capacity(lens.len())).collect();
    for bucket in 0..lens.len() {
        for (counts, parts) in counts.iter().zip(&mut parts) {
            let (part, rest) = std::mem::take(&mut out).split_at_mut(counts[bucket] as usize);
            parts.push(part);
            out = rest;
        }
    }
    parts
}

/// For each bucket, a line of memory in which values gather, and the place where the line goes.
pub(super) struct Stages<'o, T> {
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

fn changed() -> Error {
    Error::InputRewritten { input: "the array".to_owned() }
}

impl<'o, T: Entry> Stages<'o, T> {
    pub(super) fn new(parts: Vec<&'o mut [T]>) -> Self {
        let lines = vec![T::default(); parts.len() * T::LINE];
        let bucket = |part: &'o mut [T]| {
            let before = (LINE - part.as_ptr().align_offset(LINE) * size_of::<T>()) % LINE;
            let first = u32::try_from(before / size_of::<T>()).unwrap_or(0);
            Bucket { part, next: first, first }
        };
        Self { lines, buckets: parts.into_iter().map(bucket).collect() }
    }

    /// Takes a value of a bucket.
    #[inline]
    pub(super) fn push(&mut self, bucket: usize, value: T) -> Result<()> {
        let line = &mut self.lines[bucket * T::LINE..][..T::LINE];
        let bucket = &mut self.buckets[bucket];
        line[bucket.next as usize] = value;
        bucket.next += 1;
        if bucket.next as usize == T::LINE {
            return bucket.flush(line);
        }
        Ok(())
    }

    /// Writes the values that wait. After that every part must be full.
    pub(super) fn end(self) -> Result<()> {
        for (mut bucket, line) in self.buckets.into_iter().zip(self.lines.chunks(T::LINE)) {
            bucket.flush(line)?;
            if !bucket.part.is_empty() {
                return Err(changed());
            }
        }
        stream::fence();
        Ok(())
    }
}

impl<T: Entry> Bucket<'_, T> {
    /// Writes the values of the line.
    fn flush(&mut self, line: &[T]) -> Result<()> {
        let values = &line[self.first as usize..self.next as usize];
        let to = self.part.split_off_mut(..values.len()).ok_or_else(changed)?;
        let bytes: (&[u8], &mut [u8]) =
            (bytemuck::cast_slice(values), bytemuck::cast_slice_mut(to));
        match (bytes.0.try_into(), bytes.1.try_into()) {
            (Ok(from), Ok(to)) => stream::copy_line(from, to),
            (_, _) => to.copy_from_slice(values),
        }
        (self.first, self.next) = (0, 0);
        Ok(())
    }
}
