//! Files as memory.

use memmap2::Mmap;
use std::fs::File;
use std::io;

/// Maps a whole file for reading.
#[expect(unsafe_code, reason = "no safe way to map a file")]
pub(crate) fn map_file(file: &File) -> io::Result<Mmap> {
    // SAFETY: the map is read-only and private to us; its bytes are only ever
    // read as bytes, of which every pattern is valid, and checked before they
    // are believed. That nobody shortens the file meanwhile cannot be enforced;
    // who does gets the process a SIGBUS, which ends it and corrupts nothing;
    // `lost.rs` lets the programs say why.
    unsafe { Mmap::map(file) }
}
