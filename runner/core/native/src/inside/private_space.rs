//! The space that a module uses for its own: a file system in memory, or without namespaces a directory of the machine.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use cap_std::fs::{Dir, MetadataExt};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};

use crate::protocol::DiskUse;

/// Unit of the blocks that a file has.
const BLOCK: u64 = 512;

/// Maximum number of counted entries, so that a module cannot delay the checks of its limits.
const MAX_ENTRIES: u64 = 100_000;

/// The space, and its use at the beginning.
#[derive(Debug)]
pub(crate) struct PrivateSpace {
    place: SpacePlace,
    before: DiskUse,
    shared: Option<SharedSpace>,
}

/// A directory that other modules use as well, and its use at the beginning.
#[derive(Debug)]
struct SharedSpace {
    directory: Dir,
    before: DiskUse,
}

#[derive(Debug)]
enum SpacePlace {
    FileSystem(OwnedFd),
    Directory(Dir),
}

impl PrivateSpace {
    /// Takes a file system in which there is nothing else.
    ///
    /// # Errors
    ///
    /// The kernel does not say how much of it is used.
    pub(crate) fn file_system(root: OwnedFd) -> io::Result<Self> {
        let before = in_use(&root)?;
        Ok(Self { place: SpacePlace::FileSystem(root), before, shared: None })
    }

    /// Takes a directory.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub(crate) fn directory(path: &Path) -> io::Result<Self> {
        let directory = Dir::open_ambient_dir(path, cap_std::ambient_authority())?;
        let before = count(&directory);
        Ok(Self { place: SpacePlace::Directory(directory), before, shared: None })
    }

    /// Adds a directory that the module shares with others. No link on the way to it is followed.
    ///
    /// # Errors
    ///
    /// It cannot be opened.
    pub(crate) fn and_shared(self, path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let directory = Dir::from_std_file(File::from(opened));
        let before = count(&directory);
        Ok(Self { shared: Some(SharedSpace { directory, before }), ..self })
    }

    /// Returns the root of the file system, if it is one.
    pub(crate) fn root(&self) -> Option<&OwnedFd> {
        match &self.place {
            SpacePlace::FileSystem(root) => Some(root),
            SpacePlace::Directory(_) => None,
        }
    }

    /// Returns how much of the file system is used, if it is one.
    pub(crate) fn in_memory(&self) -> u64 {
        self.root().and_then(|root| in_use(root).ok()).unwrap_or_default().bytes
    }

    /// Returns the bytes that were in the shared directory at the beginning.
    pub(crate) fn left_by_others(&self) -> u64 {
        self.shared.as_ref().map_or(0, |shared| shared.before.bytes)
    }

    /// Returns the bytes that were added since the beginning on disks.
    pub(crate) fn added_on_disks(&self) -> u64 {
        let own = if self.root().is_some() { 0 } else { self.added_alone().bytes };
        own.saturating_add(self.added_to_shared().bytes)
    }

    /// Returns what was added since the beginning.
    pub(crate) fn added(&self) -> DiskUse {
        let (alone, shared) = (self.added_alone(), self.added_to_shared());
        DiskUse {
            bytes: alone.bytes.saturating_add(shared.bytes),
            private: alone.private.saturating_add(shared.private),
            files: alone.files.saturating_add(shared.files),
        }
    }

    fn added_to_shared(&self) -> DiskUse {
        let Some(SharedSpace { directory, before }) = &self.shared else { return DiskUse::default() };
        let now = count(directory);
        let (bytes, files) = (now.bytes.saturating_sub(before.bytes), now.files.saturating_sub(before.files));
        DiskUse { bytes, private: bytes, files }
    }

    fn added_alone(&self) -> DiskUse {
        let now = match &self.place {
            SpacePlace::FileSystem(root) => in_use(root).unwrap_or(self.before),
            SpacePlace::Directory(directory) => count(directory),
        };
        let bytes = now.bytes.saturating_sub(self.before.bytes);
        DiskUse { bytes, private: bytes, files: now.files.saturating_sub(self.before.files) }
    }
}

fn in_use(root: &OwnedFd) -> io::Result<DiskUse> {
    let stat = rustix::fs::fstatvfs(root)?;
    let blocks = stat.f_blocks.saturating_sub(stat.f_bfree);
    let bytes = blocks.saturating_mul(stat.f_frsize);
    Ok(DiskUse { bytes, private: bytes, files: stat.f_files.saturating_sub(stat.f_ffree) })
}

/// Counts what is below a directory, without following links. A directory that cannot be listed counts as full: the
/// module could hide anything in it.
fn count(root: &Dir) -> DiskUse {
    let mut used = DiskUse::default();
    let mut unread = vec![PathBuf::from(".")];
    while let Some(path) = unread.pop() {
        let entries = match root.read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return DiskUse { files: u64::MAX, ..used };
            }
            // It is gone.
            Err(_) => continue,
        };
        for entry in entries.flatten() {
            used.files += 1;
            if used.files > MAX_ENTRIES {
                return used;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            used.bytes = used.bytes.saturating_add(metadata.blocks().saturating_mul(BLOCK));
            if metadata.is_dir() {
                unread.push(path.join(entry.file_name()));
            }
        }
    }
    DiskUse { private: used.bytes, ..used }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_others_left_in_a_shared_directory_is_held_and_was_not_added() {
        let (own, shared) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (own, shared) = (own.path().canonicalize().unwrap(), shared.path().canonicalize().unwrap());
        let write = |path: PathBuf| {
            fs::write(&path, [1; 100_000]).unwrap();
            fs::File::open(path).unwrap().sync_all().unwrap();
        };
        write(shared.join("before"));
        let space = PrivateSpace::directory(&own).unwrap().and_shared(&shared).unwrap();
        let added = space.added();
        assert_eq!((added.bytes, added.files, space.added_on_disks()), (0, 0, 0));
        assert!(space.left_by_others() >= 100_000);
        write(own.join("file"));
        write(shared.join("file"));
        let added = space.added();
        assert!(added.files == 2 && added.bytes >= 200_000, "{added:?}");
        assert_eq!(space.added_on_disks(), added.bytes);
        symlink(&shared, own.join("link")).unwrap();
        assert!(PrivateSpace::directory(&own).unwrap().and_shared(&own.join("link")).is_err());
    }

    #[test]
    fn what_is_added_to_a_directory_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("before"), [1; 9000]).unwrap();
        let space = PrivateSpace::directory(dir.path()).unwrap();
        assert_eq!((space.added(), space.root().is_none(), space.in_memory()), (DiskUse::default(), true, 0));
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/file"), [1; 100_000]).unwrap();
        symlink("/usr", dir.path().join("link")).unwrap();
        // Only what is written takes space.
        fs::File::create(dir.path().join("sparse")).unwrap().set_len(1 << 30).unwrap();
        fs::File::open(dir.path().join("a/b/file")).unwrap().sync_all().unwrap();
        let added = space.added();
        assert_eq!(added.files, 5);
        assert!((100_000..1 << 20).contains(&added.bytes) && added.private == added.bytes, "{added:?}");
        if !rustix::process::geteuid().is_root() {
            fs::set_permissions(dir.path().join("a"), fs::Permissions::from_mode(0o300)).unwrap();
            assert!(space.added().files > MAX_ENTRIES);
            fs::set_permissions(dir.path().join("a"), fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
}
