//! Maps files into memory.

use memmap2::Mmap;
use std::fs::File;
use std::io;

/// Maps a whole file for reading.
#[expect(unsafe_code, reason = "no safe way to map a file")]
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: nobody here writes to the map; its bytes are only ever read as
    // bytes, of which every pattern is valid, and each use is checked against the
    // length of the map, whatever was read there before. That nobody else writes
    // to the file meanwhile is assumed, and cannot be enforced: programs of this
    // crate only ever replace files. Who shortens it gets the process a SIGBUS,
    // which ends it (`lost.rs` lets the programs say why); who overwrites it gets
    // wrong answers or errors.
    unsafe { Mmap::map(file) }
}
