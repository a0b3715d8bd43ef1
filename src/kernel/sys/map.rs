//! Maps files into memory.

use super::guard::Map;
use memmap2::{Mmap, MmapMut};
use std::fs::File;
use std::io;

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
    Map::guarded(map, Some(file))
}

/// A copy of bytes in memory that is like a map of a file. If there are none, it has one byte.
pub(crate) fn map_copy(bytes: &[u8]) -> io::Result<Map> {
    let mut copy = MmapMut::map_anon(bytes.len().max(1))?;
    copy[..bytes.len()].copy_from_slice(bytes);
    Map::guarded(copy.make_read_only()?, None)
}
