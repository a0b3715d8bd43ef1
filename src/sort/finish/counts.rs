//! Writes values from counters.

use super::emit::Emitter;
use crate::error::Result;

/// A value with more copies than this is written on its own, not through a list.
const MANY: u64 = 64;

/// Writes each value as often as its counter says, and 2^16 times more for each of its carries.
pub(in crate::sort) fn emit_counts<C: Copy + Into<u64>>(
    counts: &[C],
    carries: &[u32],
    base: u64,
    positions: &mut Vec<u32>,
    emit: &mut Emitter<'_, '_>,
) -> Result<()> {
    const SLAB: usize = 4096;
    let reverse = emit.style().selection.reverse;
    let slabs = counts.len().div_ceil(SLAB);
    for index in 0..slabs {
        let slab = if reverse { slabs - 1 - index } else { index };
        let start = slab * SLAB;
        let slab_counts = &counts[start..counts.len().min(start + SLAB)];
        let end = start + slab_counts.len();
        let places = carries.partition_point(|&low| (low as usize) < start)
            ..carries.partition_point(|&low| (low as usize) < end);
        if places.is_empty() && slab_counts.iter().all(|&count| count.into() <= MANY) {
            positions.clear();
            for (low, &count) in (0_u32..).zip(slab_counts) {
                for _ in 0..count.into() {
                    positions.push(low);
                }
            }
            emit.sorted(base + start as u64, positions)?;
            continue;
        }
        let here = &carries[places];
        for index in 0..slab_counts.len() {
            let offset = if reverse { slab_counts.len() - 1 - index } else { index };
            let low = start + offset;
            let wraps = here.partition_point(|&carry| carry as usize <= low)
                - here.partition_point(|&carry| (carry as usize) < low);
            let count = slab_counts[offset].into() + ((wraps as u64) << u16::BITS);
            if count > 0 {
                emit.run(base + low as u64, count)?;
            }
        }
    }
    Ok(())
}
