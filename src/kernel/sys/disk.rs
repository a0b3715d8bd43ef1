//! Free room on disks.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Bytes that this user may still write in the file systems of these folders. Each file system
/// counts once.
///
/// # Errors
///
/// The first folder whose file system cannot be asked, and the reason.
pub(crate) fn free_bytes(folders: &[PathBuf]) -> Result<u64, String> {
    let free = folders.iter().map(|folder| {
        let asked = || -> io::Result<_> {
            let device = std::fs::metadata(folder)?.dev();
            let status = rustix::fs::statvfs(folder)?;
            // A product that is too large to count is enough for any output.
            Ok((device, status.f_bavail.saturating_mul(status.f_frsize)))
        };
        asked().map_err(|error| format!("cannot look for room in {}: {error}", folder.display()))
    });
    let free = free.collect::<Result<BTreeMap<_, _>, _>>()?;
    Ok(free.into_values().fold(0, u64::saturating_add))
}

/// Gives the whole blocks in these bytes of a file back to the file system. They read as zeros then.
/// A file system that cannot do this keeps them.
pub(crate) fn give_back(file: &File, offset: u64, len: u64) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::FallocateFlags;
        /// Multiple of the size of a block.
        const BLOCK: u64 = 4096;
        let (start, end) = (offset.next_multiple_of(BLOCK), (offset + len) / BLOCK * BLOCK);
        if start < end {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = rustix::fs::fallocate(file, hole, start, end - start); // a refusal costs room
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, offset, len);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_counts_once() {
        let (folder, gone) = (std::env::temp_dir(), PathBuf::from("/nonexistent"));
        let one = free_bytes(std::slice::from_ref(&folder)).unwrap();
        let twice = free_bytes(&[folder.clone(), folder.clone()]).unwrap();
        assert!(twice < one + one / 2, "{one} {twice}");
        assert_eq!(free_bytes(&[]), Ok(0));
        let refused = free_bytes(&[folder, gone]).unwrap_err();
        assert!(refused.starts_with("cannot look for room in /nonexistent: "), "{refused}");
    }
}
