//! Equal values of a sorted slice.

use crate::error::{Error, Result};
use std::io;

/// Moves one of each value to the front, in order; gives how many there are.
pub(super) fn distinct<T: Copy + PartialEq>(sorted: &mut [T]) -> usize {
    let Some(&first) = sorted.first() else { return 0 };
    let (mut len, mut last) = (1, first);
    for index in 1..sorted.len() {
        let value = sorted[index];
        // The place is not after the one that was read. A copy is overwritten by the next value.
        sorted[len] = value;
        len += usize::from(value != last);
        last = value;
    }
    len
}

/// How often each value occurs, in order.
pub(super) fn counts<T: PartialEq>(sorted: &[T]) -> Result<Vec<u64>> {
    let steps = sorted.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let len = steps + usize::from(!sorted.is_empty());
    let mut counts = Vec::new();
    let no_memory = |_| Error::no_memory(8 * len)(io::ErrorKind::OutOfMemory.into());
    counts.try_reserve_exact(len).map_err(no_memory)?;
    counts.extend(sorted.chunk_by(|a, b| a == b).map(|run| run.len() as u64));
    Ok(counts)
}
