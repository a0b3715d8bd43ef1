//! What a thread reads of lines at a time.

use crate::error::{Error, Result};
use crate::simd::parse::PADDING;
use crate::sys::Pages;
use std::ops::Range;

/// Whole lines of one input.
pub(crate) struct LineChunk {
    pub(super) bytes: Pages,
    /// Where its lines lie.
    pub(super) span: Range<usize>,
    /// Number of the input.
    pub(crate) input: usize,
    /// Its name, as the user gave it.
    pub(crate) name: String,
    /// Offset of the lines in their input.
    pub(crate) offset: u64,
    /// Whether the input begins with them.
    pub(crate) first: bool,
    /// Number (from 0) of the wanted field, of delimited text.
    pub(crate) column: usize,
}

impl LineChunk {
    /// An empty one for about that many bytes.
    ///
    /// # Errors
    ///
    /// If there is no memory for them.
    pub(crate) fn new(capacity: usize) -> Result<Self> {
        let bytes = pages(PADDING + capacity.max(1) + 1 + PADDING)?;
        let (span, name) = (PADDING..PADDING, String::new());
        Ok(Self { bytes, span, input: 0, name, offset: 0, first: false, column: 0 })
    }

    /// The buffer and where its lines lie, the last one with its newline.
    pub(crate) fn padded(&self) -> (&[u8], Range<usize>) {
        (self.bytes.bytes(), self.span.clone())
    }

    /// Its lines, the last one with its terminator.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.bytes.bytes()[self.span.clone()]
    }

    /// Where another byte can be put, but for that of a missing newline.
    pub(super) fn room(&self) -> usize {
        self.bytes.bytes().len() - PADDING - 1
    }

    /// Makes the buffer twice as large.
    pub(super) fn grow(&mut self) -> Result<()> {
        let old = self.bytes.bytes();
        let mut larger = pages(2 * old.len())?;
        larger.bytes_mut()[..old.len()].copy_from_slice(old);
        self.bytes = larger;
        Ok(())
    }
}

fn pages(bytes: usize) -> Result<Pages> {
    Pages::zeroed(bytes.div_ceil(8)).map_err(Error::no_memory(bytes))
}
