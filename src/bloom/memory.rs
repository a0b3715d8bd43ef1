//! The memory of the words of a filter.

use super::build_error::BuildError;
use crate::kernel::sys::{CacheLines, Machine, Map};
use std::fmt;
use std::ops::Range;

/// Words of a filter: [`Memory`] or [`Opened`].
pub trait Storage: fmt::Debug {
    /// The words.
    fn words(&self) -> &[u64];

    /// Whether words were read that a mapped file has no longer: see
    /// [`guard_mapped_files`](crate::guard_mapped_files). They are zeros.
    fn is_lost(&self) -> bool {
        false
    }
}

/// Words that this process owns. They begin at a cache line.
#[derive(Debug)]
pub struct Memory(CacheLines);

/// From this size on, the size is compared with the memory of the machine: the kernel promises more
/// than it has.
const CHECKED_BYTES: u64 = 64 << 20;

impl Memory {
    /// `words` words, a multiple of 8, all 0.
    pub(super) fn zeroed(words: u64) -> Result<Self, BuildError> {
        let bytes = words.saturating_mul(8);
        let refused = BuildError::OutOfMemory { bytes };
        if bytes >= CHECKED_BYTES && bytes > Machine::detect().memory_bytes {
            return Err(refused);
        }
        let count = usize::try_from(words).map_err(|_| refused)?;
        CacheLines::zeroed(count).map(Self).map_err(|_| refused)
    }

    /// A copy of the words of a filter.
    pub(super) fn copy_of(words: &[u64]) -> Result<Self, BuildError> {
        let mut copy = Self::zeroed(words.len() as u64)?;
        for (copy, word) in copy.words_mut().iter_mut().zip(words) {
            *copy = *word;
        }
        Ok(copy)
    }

    #[inline]
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.0.words_mut()
    }
}

impl Storage for Memory {
    #[inline]
    fn words(&self) -> &[u64] {
        self.0.words()
    }
}

/// Words of a filter file that was opened. They are asked in the mapped file.
///
/// This works only for `.bloom` files. The words of other programs' files are read into the memory
/// of this process, because their bytes have another order or are not aligned.
#[derive(Debug)]
pub struct Opened(Place);

#[derive(Debug)]
enum Place {
    Mapped { file: Map, payload: Range<usize> },
    Read(Memory),
}

impl Opened {
    /// The words at `payload` in a mapped file; none if there are no whole, aligned words.
    pub(super) fn mapped(file: Map, payload: Range<usize>) -> Option<Self> {
        words_in(&file, payload.clone())?;
        Some(Self(Place::Mapped { file, payload }))
    }

    /// The whole file, if it is mapped.
    pub(super) fn file(&self) -> Option<&Map> {
        match &self.0 {
            Place::Mapped { file, .. } => Some(file),
            Place::Read(_) => None,
        }
    }
}

impl From<Memory> for Opened {
    fn from(memory: Memory) -> Self {
        Self(Place::Read(memory))
    }
}

/// The words of the payload: it begins at a multiple of 8, and a map at a page.
fn words_in(file: &[u8], payload: Range<usize>) -> Option<&[u64]> {
    bytemuck::try_cast_slice(file.get(payload)?).ok()
}

impl Storage for Opened {
    #[inline]
    fn words(&self) -> &[u64] {
        match &self.0 {
            #[expect(clippy::expect_used, reason = "no words would be an empty filter")]
            Place::Mapped { file, payload } => {
                words_in(file, payload.clone()).expect("`mapped` looked at them, and a map stays")
            }
            Place::Read(memory) => memory.words(),
        }
    }

    #[inline]
    fn is_lost(&self) -> bool {
        self.file().is_some_and(Map::is_lost)
    }
}
