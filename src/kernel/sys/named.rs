//! Temporary files with names, for systems and file systems without nameless files.
//!
//! Dropping such a file removes its name. A process that a signal ends drops nothing, so it first
//! calls [`remove_names`]. Only a kill leaves a name behind.

use std::ffi::{CString, c_char};
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, Ordering};
#[cfg(feature = "cli")]
use std::sync::{Arc, atomic::AtomicBool};
use tempfile::NamedTempFile;

/// A file with a temporary name, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct NamedFile {
    file: NamedTempFile,
    listed: Listed,
}

impl NamedFile {
    /// A new file in `folder`, with the permissions `mode` without those that the process's mask
    /// removes.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    pub(crate) fn create_in(folder: &Path, mode: u32) -> io::Result<Self> {
        // Use an absolute name, in case somebody changes the folder of the process meanwhile.
        let folder = folder.canonicalize()?;
        let file = tempfile::Builder::new()
            .prefix(".bitsort-")
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        let listed = Listed::new(file.path())?;
        Ok(Self { file, listed })
    }

    /// The file.
    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Its temporary name.
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives the file the name `destination`. It replaces a file that had this name.
    ///
    /// # Errors
    ///
    /// If the system refuses. The temporary name is removed then.
    pub(crate) fn rename(self, destination: &Path) -> io::Result<()> {
        let Self { file, listed } = self;
        let renamed = file.persist(destination);
        drop(listed); // only now nothing is left under that name
        renamed.map(drop).map_err(|refused| refused.error)
    }
}

/// The names for [`remove_names`]. Whoever takes a name out of its slot owns it. A signal handler
/// can do this: it waits for nobody and frees nothing.
static NAMES: [AtomicPtr<c_char>; SLOTS] = [const { AtomicPtr::new(std::ptr::null_mut()) }; SLOTS];

/// Most names at a time. Further names are removed only when they are dropped.
const SLOTS: usize = 64;

/// The slot of a name.
#[derive(Debug)]
struct Listed(Option<&'static AtomicPtr<c_char>>);

impl Listed {
    fn new(path: &Path) -> io::Result<Self> {
        let name = CString::new(path.as_os_str().as_bytes())?.into_raw();
        let empty = std::ptr::null_mut();
        let free = NAMES.iter().find(|slot| {
            slot.compare_exchange(empty, name, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        });
        if free.is_none() {
            // SAFETY: `name` comes from `into_raw` above, and no slot has it.
            #[expect(unsafe_code, reason = "to free what C's type has")]
            drop(unsafe { CString::from_raw(name) });
        }
        Ok(Self(free))
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let Some(slot) = self.0 else { return };
        let name = slot.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !name.is_null() {
            // SAFETY: only `Listed::new` fills slots, by `into_raw`; whoever swaps a
            // name out of its slot has it alone.
            #[expect(unsafe_code, reason = "to free what C's type has")]
            drop(unsafe { CString::from_raw(name) });
        }
    }
}

/// Removes the names of all temporary files, before the process ends.
///
/// It only makes system calls, so signal handlers may call it.
#[cfg(feature = "cli")]
pub(crate) fn remove_names() {
    for slot in &NAMES {
        let name = slot.swap(std::ptr::null_mut(), Ordering::AcqRel);
        if !name.is_null() {
            // SAFETY: as in `Listed::drop`; it is not freed here, as the process ends.
            #[expect(unsafe_code, reason = "a handler of signals may not free")]
            let name = unsafe { std::ffi::CStr::from_ptr(name) };
            let _ = rustix::fs::unlink(name); // nothing else can be done
        }
    }
}

/// Makes a signal remove them, if `condition` is set when it comes.
#[cfg(feature = "cli")]
pub(crate) fn remove_names_on(signal: i32, condition: Arc<AtomicBool>) -> io::Result<()> {
    let action = move || {
        if condition.load(Ordering::SeqCst) {
            remove_names();
        }
    };
    // SAFETY: the action loads, swaps and makes system calls: it allocates nothing,
    // takes no lock and cannot panic.
    #[expect(unsafe_code, reason = "a handler of signals")]
    unsafe { signal_hook::low_level::register(signal, action) }.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(folder: &Path) -> usize {
        folder.read_dir().unwrap().count()
    }

    #[test]
    fn more_files_than_slots_are_all_removed() {
        let folder = tempfile::tempdir().unwrap();
        let create = |_| NamedFile::create_in(folder.path(), 0o600).unwrap();
        let files: Vec<_> = (0..SLOTS + 9).map(create).collect();
        assert_eq!(count(folder.path()), SLOTS + 9);
        drop(files);
        assert_eq!(count(folder.path()), 0);
        // Their slots are free again.
        assert!(create(0).listed.0.is_some());
    }

    #[test]
    fn a_name_that_cannot_be_had_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = NamedFile::create_in(folder.path(), 0o600).unwrap();
        assert!(file.rename(&folder.path().join("no folder/out")).is_err());
        assert_eq!(count(folder.path()), 0);
    }
}
