//! Room on disks.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Bytes that this user may still write in the file systems of these folders,
/// each counted once. A folder that cannot be asked has none.
pub(crate) fn free_bytes(folders: &[PathBuf]) -> u64 {
    let free = folders.iter().filter_map(|folder| {
        let device = std::fs::metadata(folder).ok()?.dev();
        let status = rustix::fs::statvfs(folder).ok()?;
        Some((device, status.f_bavail.saturating_mul(status.f_frsize)))
    });
    free.collect::<BTreeMap<_, _>>().into_values().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_counts_once() {
        let (folder, gone) = (std::env::temp_dir(), PathBuf::from("/nonexistent"));
        let one = free_bytes(std::slice::from_ref(&folder));
        let twice = free_bytes(&[folder.clone(), folder, gone.clone()]);
        assert!(twice < one + one / 2, "{one} {twice}");
        assert_eq!(free_bytes(&[gone]), 0);
    }
}
