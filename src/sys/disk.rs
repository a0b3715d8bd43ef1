//! Room on disks.

use std::io;
use std::path::Path;

/// Bytes that this user may still write in the file system of `directory`.
pub(crate) fn free_bytes(directory: &Path) -> io::Result<u64> {
    let status = rustix::fs::statvfs(directory)?;
    Ok(status.f_bavail.saturating_mul(status.f_frsize))
}
