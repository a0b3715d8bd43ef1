//! Maps files into memory.

use super::guard::{Guarded, guarded};
use memmap2::{Mmap, MmapMut, UncheckedAdvice};
use std::fs::File;
use std::io;
use std::ops::Deref;

/// A mapped file that knows whether bytes of it were lost.
#[derive(Debug)]
pub(crate) struct Map {
    // Dropped before the bytes are unmapped: nobody reads them any more.
    guarded: Option<Guarded>,
    bytes: Mmap,
    /// The mapped file, whose length is compared; none unless the map is guarded.
    file: Option<File>,
    /// Whether the bytes are those of a file, which has them even if the map lets them go.
    is_of_file: bool,
}

impl Map {
    fn new(bytes: Mmap, file: Option<&File>) -> io::Result<Self> {
        let range = bytes.as_ptr_range();
        let guarded = guarded(range.start.addr(), range.end.addr());
        let is_of_file = file.is_some();
        let file = file.filter(|_| guarded.is_some()).map(File::try_clone).transpose()?;
        Ok(Self { guarded, bytes, file, is_of_file })
    }

    /// The length of the file, if that is now less than the map's. A cut in the middle of a page
    /// brings no signal: the rest of the page reads as zeros.
    pub(crate) fn cut_to(&self) -> io::Result<Option<u64>> {
        let Some(file) = &self.file else { return Ok(None) };
        let len = file.metadata()?.len();
        Ok((len < self.bytes.len() as u64).then_some(len))
    }

    /// Lets the pages go that were read so far, so that they no longer count as memory of this
    /// process. Who reads them again gets them from the file.
    #[expect(unsafe_code, reason = "no safe way to let pages of a map go")]
    pub(crate) fn let_pages_go(&self) {
        if self.is_of_file {
            // SAFETY: the map is read-only, and nobody changes its file (see `map_file`): the pages
            // hold the same when they are read again.
            let advised = unsafe { self.bytes.unchecked_advise(UncheckedAdvice::DontNeed) };
            let _ = advised; // a refusal only costs memory
        }
    }

    /// Whether bytes were read that the file no longer has. They are zeros now.
    pub(crate) fn is_lost(&self) -> bool {
        self.guarded.as_ref().is_some_and(Guarded::is_lost)
    }
}

impl Deref for Map {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Maps a whole file for reading.
#[expect(unsafe_code, reason = "no safe way to map a file")]
pub(crate) fn map_file(file: &File) -> io::Result<Map> {
    // SAFETY: nobody here writes to the map; its bytes are only ever read as
    // bytes, of which every pattern is valid, and each use is checked against the
    // length of the map, whatever was read there before. That nobody else writes
    // to the file meanwhile is assumed, and cannot be enforced: programs of this
    // crate only ever replace files. Who shortens it gets the process a SIGBUS,
    // which ends it (`lost.rs` lets the programs say why), or which `guard.rs`
    // handles; who overwrites it gets wrong answers or errors.
    let map = unsafe { Mmap::map(file) }?;
    Map::new(map, Some(file))
}

/// A copy of bytes in memory that is like a map of a file. If there are none, it has one byte.
pub(crate) fn map_copy(bytes: &[u8]) -> io::Result<Map> {
    let mut copy = MmapMut::map_anon(bytes.len().max(1))?;
    copy[..bytes.len()].copy_from_slice(bytes);
    Map::new(copy.make_read_only()?, None)
}
