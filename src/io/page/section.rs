//! Sections: the parts of a file whose places its header has.

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Section {
    pub(crate) offset: u64,
    pub(crate) len: u64,
}

impl Section {
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.len) // a sum that overflows is beyond the end of any file
    }

    /// The bytes of this section, which the header says are there.
    pub(crate) fn of(self, file: &[u8]) -> &[u8] {
        let range = usize::try_from(self.offset)
            .ok()
            .zip(usize::try_from(self.end()).ok())
            .and_then(|(start, end)| file.get(start..end));
        range.unwrap_or_default()
    }
}
