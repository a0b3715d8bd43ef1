//! Files that never touch a disk.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// A regular file without a name, in memory.
pub struct MemoryFile(File);

impl MemoryFile {
    pub fn new(bytes: &[u8]) -> Self {
        let mut file: File = memfd_create("input", MemfdFlags::CLOEXEC).unwrap().into();
        file.write_all(bytes).unwrap();
        Self(file)
    }

    /// Where it can be opened while it lives.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// A folder for files that need names; the same for the whole run.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let memory = Path::new("/dev/shm");
            let made = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
            made.unwrap()
        })
        .path()
}
