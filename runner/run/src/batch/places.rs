//! Which files and folders the paths of a policy lead to. A worker opens its grants once, so that a later job may not use it after
//! another program has replaced what is granted: it would see the old file, or nothing.
//!
//! A name that is granted for writing is looked up in its folder at each use, since the module itself may replace the file. So only
//! the folder counts, and what lies at the name besides a file: a folder, a socket, a device. Tasks that replace one file again and
//! again share a worker.

use std::path::Path;

use modbox_policy::{Access, PathGrant, Policy, Shape};
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, statx};

/// What is at each granted path, in the order of the grants.
#[derive(Debug, PartialEq, Eq)]
pub struct GrantedPlaces(Vec<Place>);

/// What is at a granted path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// What lies there, unless the worker looks that up at each use.
    pub(crate) found: Option<Identity>,
    /// Of a granted name, the folder that has it: the worker has that open, too.
    pub(crate) parent: Option<Identity>,
}

/// A file or a folder. A file system uses an inode again, so the time at which it was made counts, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    device: (u32, u32),
    inode: u64,
    birth: Option<(i64, u32)>,
    /// Whether it is a file or a link, which modules replace.
    is_replaced: bool,
}

impl GrantedPlaces {
    /// Looks at what is granted. What is missing is nothing.
    pub fn of(policy: &Policy) -> Self {
        Self(policy.paths().iter().map(Place::of).collect())
    }

    /// Returns what is at each granted path, in the order of the grants.
    pub(crate) fn all(&self) -> &[Place] {
        &self.0
    }
}

impl Place {
    fn of(grant: &PathGrant) -> Self {
        let parent = grant.host.parent().filter(|_| grant.shape == Shape::Name);
        let is_looked_up = grant.shape == Shape::Name && grant.access == Access::Write;
        let found = Identity::at(&grant.host).filter(|found| !(is_looked_up && found.is_replaced));
        Self { found, parent: parent.and_then(Identity::at) }
    }
}

impl Identity {
    fn at(path: &Path) -> Option<Self> {
        let wanted = StatxFlags::INO | StatxFlags::BTIME | StatxFlags::TYPE;
        let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, wanted).ok()?;
        let has_birth = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        Some(Self {
            device: (found.stx_dev_major, found.stx_dev_minor),
            inode: found.stx_ino,
            birth: has_birth.then_some((found.stx_btime.tv_sec, found.stx_btime.tv_nsec)),
            is_replaced: matches!(
                FileType::from_raw_mode(found.stx_mode.into()),
                FileType::RegularFile | FileType::Symlink
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use modbox_vocabulary::GrantSource;

    use super::*;

    fn places(host: &Path, shape: Shape, access: Access) -> GrantedPlaces {
        let guest = host.display().to_string();
        let grant = PathGrant { host: host.to_owned(), shape, guest, access, source: GrantSource::named("a test") };
        GrantedPlaces(vec![Place::of(&grant)])
    }

    #[test]
    fn a_file_that_is_replaced_is_another_place_unless_it_is_looked_up_at_each_use() {
        let dir = tempfile::tempdir().unwrap();
        let (file, new) = (dir.path().join("file"), dir.path().join("new"));
        let [read, write] = [Access::Read, Access::Write].map(|access| {
            let place = || places(&file, Shape::Name, access);
            fs::write(&file, "old").unwrap();
            let before = place();
            assert_eq!(before, place());
            fs::write(&new, "new").unwrap();
            fs::rename(&new, &file).unwrap();
            before == place()
        });
        assert!(!read && write);
    }

    #[test]
    fn folders_count_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join("folder"), dir.path().join("folder/file"));
        fs::create_dir(&folder).unwrap();
        let of_folder = places(&folder, Shape::Directory, Access::Write);
        let of_name = places(&file, Shape::Name, Access::Write);
        // A name at which a folder lies is open as that folder.
        fs::create_dir(&file).unwrap();
        assert_ne!(of_name, places(&file, Shape::Name, Access::Write));
        assert_eq!(of_folder, places(&folder, Shape::Directory, Access::Write));
        fs::remove_dir(&file).unwrap();
        assert_eq!(of_name, places(&file, Shape::Name, Access::Write));
        fs::rename(&folder, dir.path().join("away")).unwrap();
        fs::create_dir(&folder).unwrap();
        assert_ne!(of_name, places(&file, Shape::Name, Access::Write));
        assert_ne!(of_folder, places(&folder, Shape::Directory, Access::Write));
    }
}
