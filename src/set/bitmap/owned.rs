//! Words that a bitmap owns.

use super::words::{Word, Words, WordsMut};
use crate::kernel::sys::Pages;
use crate::kernel::words::{self, Op};
use crate::kernel::{Level, on_each, processors};

/// Memory of words, at first all 0. Much memory is on huge pages if the kernel gives them.
pub struct OwnedWords<W>(Memory<W>);

enum Memory<W> {
    Heap(Vec<W>),
    /// The number of words is beside the pages, which are whole.
    Pages(Pages, usize),
}

/// The allocator does not keep larger memory. It maps it anew each time and touches it in pages of
/// 4 KiB: AND of 512 MiB took 3 times as long.
const MIN_MAPPED_BYTES: usize = 32 << 20;

/// Two threads use all the bandwidth of most machines.
const MAX_THREADS: usize = 4;
/// Words of a thread: a multiple of a huge page, so threads share none.
const SHARE_WORDS: usize = 1 << 19;

impl<W: Word> OwnedWords<W> {
    /// `count` words of 0.
    pub(super) fn zeroed(count: usize) -> Self {
        Self(match mapped::<W>(count) {
            Some(pages) => Memory::Pages(pages, count),
            None => Memory::Heap(vec![W::zeroed(); count]),
        })
    }

    /// The words of `a op b`, which are as many as `a` has; then words of 0.
    pub(super) fn joined(op: Op, a: &[W], b: &[W], count: usize) -> Self {
        if let Some(mut pages) = mapped::<W>(count) {
            let out = &mut bytemuck::cast_slice_mut(pages.bytes_mut())[..count];
            // Most of the time goes into new pages, which the kernel fills with zeros.
            let threads = processors().min(MAX_THREADS);
            let share = count.div_ceil(threads).next_multiple_of(SHARE_WORDS);
            let parts = out.chunks_mut(share).zip(a.chunks(share)).zip(b.chunks(share));
            on_each(parts.collect(), |((out, a), b)| {
                words::join_into(Level::best(), op, a, b, out);
            });
            return Self(Memory::Pages(pages, count));
        }
        let mut joined = words::joined(Level::best(), op, a, b);
        joined.resize(count, W::zeroed());
        Self(Memory::Heap(joined))
    }
}

fn mapped<W>(count: usize) -> Option<Pages> {
    let bytes = count.checked_mul(size_of::<W>())?;
    // If the system refuses memory, the allocator reports it.
    if bytes > MIN_MAPPED_BYTES { Pages::zeroed(bytes.div_ceil(8)).ok() } else { None }
}

impl<W: Word> Words for OwnedWords<W> {
    type Word = W;

    #[inline]
    fn word_count(&self) -> usize {
        match &self.0 {
            Memory::Heap(words) => words.len(),
            Memory::Pages(_, count) => *count,
        }
    }

    #[inline]
    fn get(&self, index: usize) -> Option<W> {
        self.as_slice()?.get(index).copied()
    }

    #[inline]
    fn as_slice(&self) -> Option<&[W]> {
        Some(match &self.0 {
            Memory::Heap(words) => words,
            Memory::Pages(pages, count) => &bytemuck::cast_slice(pages.bytes())[..*count],
        })
    }
}

impl<W: Word> WordsMut for OwnedWords<W> {
    #[inline]
    fn as_mut_slice(&mut self) -> &mut [W] {
        match &mut self.0 {
            Memory::Heap(words) => words,
            Memory::Pages(pages, count) => {
                &mut bytemuck::cast_slice_mut(pages.bytes_mut())[..*count]
            }
        }
    }
}

impl<W: Word> Clone for OwnedWords<W> {
    fn clone(&self) -> Self {
        match &self.0 {
            Memory::Heap(words) => Self(Memory::Heap(words.clone())),
            Memory::Pages(_, count) => {
                let mut copy = Self::zeroed(*count);
                copy.as_mut_slice().copy_from_slice(self.as_slice().unwrap_or_default());
                copy
            }
        }
    }
}
