//! Room on disks.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Bytes that this user may still write in the file systems of these folders,
/// each counted once.
///
/// # Errors
///
/// The first folder that cannot be asked, and why.
pub(crate) fn free_bytes(folders: &[PathBuf]) -> Result<u64, String> {
    let free = folders.iter().map(|folder| {
        let asked = || -> io::Result<_> {
            let device = std::fs::metadata(folder)?.dev();
            let status = rustix::fs::statvfs(folder)?;
            // More than a number can say is enough for all.
            Ok((device, status.f_bavail.saturating_mul(status.f_frsize)))
        };
        asked().map_err(|error| format!("cannot look for room in {}: {error}", folder.display()))
    });
    let free = free.collect::<Result<BTreeMap<_, _>, _>>()?;
    Ok(free.into_values().fold(0, u64::saturating_add))
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
