//! Files as memory.

use memmap2::{Mmap, MmapOptions};
use rustix::fs::{FallocateFlags, fallocate};
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

/// Whether a file is kept in memory alone, as those in `/dev/shm` are.
#[cfg(target_os = "linux")]
pub(crate) fn is_in_memory(file: &File) -> bool {
    /// `f_type` of tmpfs: statfs(2).
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    #[expect(clippy::allow_attributes, reason = "the type differs between architectures")]
    #[allow(clippy::cast_sign_loss, clippy::unnecessary_cast, reason = "compared for equality")]
    rustix::fs::fstatfs(file).is_ok_and(|status| status.f_type as u64 == TMPFS_MAGIC)
}

/// Nobody here writes such a file by a map.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_in_memory(_file: &File) -> bool {
    false
}

/// Writes a file that is kept in memory, beside others who write elsewhere in
/// it: the kernel lets one thread at a time into its `write`, but any number
/// into maps. On an error, some of the bytes may have been written.
///
/// Here a byte costs more than with `write`, of which the kernel does not
/// clear the pages first: only for who would have to wait for his turn.
#[expect(unsafe_code, reason = "no safe way to map a file")]
pub(crate) fn write_mapped(file: &File, place: u64, bytes: &[u8]) -> io::Result<()> {
    // The pages are ours before they are touched: there is an error here, not a
    // signal below, if the file system is full. Where the file ends before them,
    // it grows.
    fallocate(file, FallocateFlags::empty(), place, bytes.len() as u64)?;
    let mut options = MmapOptions::new();
    options.offset(place).len(bytes.len());
    // SAFETY: the map lives in this function only, which writes bytes to it and
    // reads none. The file is a new one of this process, which does not shorten
    // it while it is written.
    let mut map = unsafe { options.map_mut(file) }?;
    map.copy_from_slice(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn mapped_and_other_writes_join_without_a_seam() {
        let file = tempfile::tempfile_in("/dev/shm").or_else(|_| tempfile::tempfile()).unwrap();
        let mut expected = Vec::new();
        for (number, size) in (1_u8..).zip([5, 4091, 4096, 1, 10_000, 70_000, 3]) {
            let bytes = vec![number; size];
            let place = expected.len() as u64;
            if number % 3 == 0 {
                file.write_all_at(&bytes, place).unwrap();
            } else if let Err(error) = write_mapped(&file, place, &bytes) {
                assert!(!is_in_memory(&file), "{error}");
                return;
            }
            expected.extend(bytes);
        }
        let mut found = vec![0; expected.len()];
        file.read_exact_at(&mut found, 0).unwrap();
        assert!(found == expected);
        assert_eq!(file.metadata().unwrap().len(), expected.len() as u64);
    }

    #[test]
    fn a_file_system_that_is_full_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        assert!(write_mapped(&file, 1 << 62, b"no room").is_err());
    }
}
