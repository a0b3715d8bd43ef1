//! Who may read and write an output that replaces another one.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// Owner, permissions and access control lists of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Access {
    mode: u32,
    owner: u32,
    group: u32,
    lists: Vec<(&'static str, Vec<u8>)>,
}

/// The lists of Linux: the one of a file or folder, and the one that new files in a folder get.
const LISTS: [&str; 2] = ["system.posix_acl_access", "system.posix_acl_default"];

impl Access {
    /// That of `path`, if there is such a file; links are followed.
    pub(crate) fn of(path: &Path) -> io::Result<Option<Self>> {
        let found = match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        let mut lists = Vec::new();
        for name in LISTS {
            lists.extend(list_of(path, name)?.map(|list| (name, list)));
        }
        let (mode, owner, group) = (found.permissions().mode(), found.uid(), found.gid());
        Ok(Some(Self { mode, owner, group, lists }))
    }

    /// Gives it to a file or folder. Only root may give files away: if the owner cannot be set, the
    /// bits by which a program runs with its owner's rights are dropped. If the group cannot be set
    /// either, all but the owner get the rights that both the old group and all others had; none if there
    /// were lists, which may shut users out.
    pub(crate) fn give_to(&self, new: &File) -> io::Result<()> {
        // A folder may have given lists to a new file.
        LISTS.into_iter().try_for_each(|name| remove_list(new, name))?;
        if fchown(new, Some(self.owner), Some(self.group)).is_ok() {
            new.set_permissions(Permissions::from_mode(self.mode))?;
        } else if fchown(new, None, Some(self.group)).is_ok() {
            new.set_permissions(Permissions::from_mode(self.mode & 0o777))?;
        } else {
            // What both the old group and all others have.
            let others = if self.lists.is_empty() { self.mode & self.mode >> 3 & 0o007 } else { 0 };
            let mode = self.mode & 0o700 | others << 3 | others;
            return new.set_permissions(Permissions::from_mode(mode));
        }
        self.lists.iter().try_for_each(|(name, list)| set_list(new, name, list))
    }

    /// Gives a new folder the permissions of the one that it will replace, and lets its owner write
    /// there.
    pub(crate) fn guard(&self, folder: &Path) -> io::Result<()> {
        fs::set_permissions(folder, Permissions::from_mode(self.mode & 0o777 | 0o700))
    }
}

/// An access control list; `None` if there is none, or if the file system has none.
#[cfg(target_os = "linux")]
fn list_of(path: &Path, name: &str) -> io::Result<Option<Vec<u8>>> {
    use rustix::io::Errno;
    let mut list = vec![0; 1 << 16]; // the kernel stores no more
    match rustix::fs::getxattr(path, name, &mut list[..]) {
        Ok(len) => list.truncate(len),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    Ok(Some(list))
}

#[cfg(target_os = "linux")]
fn set_list(new: &File, name: &str, list: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(new, name, list, rustix::fs::XattrFlags::empty())?)
}

/// Removes a list; one that is not there, or that the file system does not know, is no error.
#[cfg(target_os = "linux")]
fn remove_list(new: &File, name: &str) -> io::Result<()> {
    use rustix::io::Errno;
    match rustix::fs::fremovexattr(new, name) {
        Ok(()) | Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn list_of(_: &Path, _: &str) -> io::Result<Option<Vec<u8>>> {
    Ok(None)
}

#[cfg(not(target_os = "linux"))]
fn remove_list(_: &File, _: &str) -> io::Result<()> {
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn set_list(_: &File, _: &str, _: &[u8]) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_a_file_get_the_mode_of_others() {
        let root = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| root.path().join(name));
        for mode in [0o600, 0o640, 0o444] {
            fs::write(&old, "").unwrap();
            fs::set_permissions(&old, Permissions::from_mode(mode)).unwrap();
            let access = Access::of(&old).unwrap().unwrap();
            access.give_to(&File::create(&new).unwrap()).unwrap();
            assert_eq!(Access::of(&new).unwrap(), Some(access));
            fs::remove_file(&old).unwrap();
            fs::remove_file(&new).unwrap();
        }
        assert_eq!(Access::of(&old).unwrap(), None);
        fs::set_permissions(root.path(), Permissions::from_mode(0o750)).unwrap();
        let access = Access::of(root.path()).unwrap().unwrap();
        fs::create_dir(&new).unwrap();
        access.guard(&new).unwrap();
        access.give_to(&File::open(&new).unwrap()).unwrap();
        assert_eq!(Access::of(&new).unwrap(), Some(access));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_access_control_list_stays() {
        // Version 2; the owner may read and write, user 1000 too, the group and others may not.
        let entries: [(u16, u16, u32); 5] =
            [(1, 6, !0), (2, 6, 1000), (4, 0, !0), (0x10, 6, !0), (0x20, 0, !0)];
        let mut list = 2_u32.to_le_bytes().to_vec();
        for (tag, permissions, id) in entries {
            list.extend([tag.to_le_bytes(), permissions.to_le_bytes()].concat());
            list.extend(id.to_le_bytes());
        }
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        let file = File::create(&old).unwrap();
        if let Err(error) = set_list(&file, LISTS[0], &list) {
            assert_eq!(error.kind(), io::ErrorKind::Unsupported); // a file system without lists
            return;
        }
        let access = Access::of(&old).unwrap().unwrap();
        assert_eq!(access.lists, [(LISTS[0], list.clone())]);
        access.give_to(&File::create(&new).unwrap()).unwrap();
        assert_eq!(Access::of(&new).unwrap(), Some(access));
        // A list that the folder gave to a new file does not stay: the old one had none.
        fs::remove_file(&old).unwrap();
        fs::write(&old, "").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o640)).unwrap();
        let access = Access::of(&old).unwrap().unwrap();
        set_list(&File::open(folder.path()).unwrap(), LISTS[1], &list).unwrap();
        fs::remove_file(&new).unwrap();
        let file = File::create(&new).unwrap();
        assert!(list_of(&new, LISTS[0]).unwrap().is_some());
        access.give_to(&file).unwrap();
        assert_eq!(Access::of(&new).unwrap(), Some(access));
    }
}
