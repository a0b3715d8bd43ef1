//! The memory of one thread for whatever a partition needs next.

use crate::error::Result;
use crate::kernel::sys::Pages;
use crate::sort::load::entries::reserve;
use bytemuck::Pod;

/// Where there is plenty of memory, at least this many bytes are allocated: they get huge pages, so
/// that random access misses no table of pages.
const PLENTY: usize = 4 << 20;
/// Bytes of a cache line, at which each slice begins.
const LINE: usize = 64;

/// Memory that is used for one thing after the other: a bitmap, counters, values.
#[derive(Debug)]
pub(in crate::sort) struct Workspace {
    pages: Pages,
    least_bytes: usize,
}

impl Workspace {
    /// Empty; it grows on demand. The caller keeps it within `budget_bytes`.
    pub(in crate::sort) fn new(budget_bytes: usize) -> Self {
        Self {
            pages: Pages::default(),
            least_bytes: if budget_bytes >= 2 * PLENTY { PLENTY } else { 0 },
        }
    }

    /// A slice of `count` zeros.
    pub(in crate::sort) fn zeros<T: Pod>(&mut self, count: usize) -> Result<&mut [T]> {
        let slice = self.slice(count)?;
        bytemuck::cast_slice_mut::<T, u8>(slice).fill(0);
        Ok(slice)
    }

    /// A slice of `count` elements with any content.
    pub(in crate::sort) fn slice<T: Pod>(&mut self, count: usize) -> Result<&mut [T]> {
        self.slices::<T, u8>(count, 0).map(|(slice, _)| slice)
    }

    /// Two slices of so many elements with any content.
    pub(in crate::sort) fn slices<A: Pod, B: Pod>(
        &mut self,
        first: usize,
        second: usize,
    ) -> Result<(&mut [A], &mut [B])> {
        let first_bytes = first.saturating_mul(size_of::<A>());
        let first_bytes = first_bytes.checked_next_multiple_of(LINE).unwrap_or(usize::MAX);
        let second_bytes = second.saturating_mul(size_of::<B>());
        self.make_room(first_bytes.saturating_add(second_bytes))?;
        let (a, b) = self.pages.bytes_mut().split_at_mut(first_bytes);
        let a = &mut a[..first * size_of::<A>()];
        Ok((bytemuck::cast_slice_mut(a), bytemuck::cast_slice_mut(&mut b[..second_bytes])))
    }

    /// Grows to this many bytes, rounded up to whole cache lines.
    fn make_room(&mut self, bytes: usize) -> Result<()> {
        // Never 0 bytes: these would have no alignment.
        let bytes = bytes.checked_next_multiple_of(LINE).unwrap_or(usize::MAX).max(LINE);
        if self.pages.bytes().len() < bytes {
            self.pages = Pages::default(); // free the old memory first
            let more = bytes.saturating_add(bytes / 8 + 8);
            self.pages = reserve(more.max(self.least_bytes) as u64)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_zeros_after_any_use() {
        let mut workspace = Workspace::new(64 << 20);
        for count in [1000, 800, 1 << 20, 10] {
            assert!(workspace.zeros::<u64>(count).unwrap().iter().all(|&word| word == 0));
            workspace.slice::<u64>(count).unwrap().fill(7);
        }
    }

    #[test]
    fn slices_have_their_lengths_and_do_not_overlap() {
        for budget in [0, 64 << 20] {
            let mut workspace = Workspace::new(budget);
            for (first, second) in [(0, 0), (1, 1), (3, 1000), (100_000, 7), (5, 0)] {
                let (a, b) = workspace.slices::<u32, u64>(first, second).unwrap();
                assert_eq!((a.len(), b.len()), (first, second));
                a.fill(1);
                b.fill(2);
                assert!(a.iter().all(|&x| x == 1) && b.iter().all(|&x| x == 2));
            }
        }
    }
}
