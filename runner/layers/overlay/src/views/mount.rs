//! Detached overlay mounts: a granted directory below, a private file system in memory above.
//!
//! The mounts are in no directory, so only a holder of a descriptor reaches them, and they end with the last one.
//! Root makes them in its own namespaces, and `user_overlay` in those of a process for it. This file does not decide whether an overlay is exact for a directory.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use modbox_kernel::set_mount_attributes;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use crate::changes::overlay_marks::OverlayMarks;
use crate::quota::{Bound, Quota};
use crate::tree_root::TreeRoot;

/// Entries of the file system in memory that belong to the overlay itself: its two directories, their directories for
/// work and for the index, and the shared whiteout.
const OWN_ENTRIES: u64 = 32;

/// How long a freeze waits for files that are open for writing.
const PATIENCE: Duration = Duration::from_millis(100);

/// Options of root's overlays. With the last one, numbers of inodes are those of the lower file system, by which renames
/// are found.
const ROOT_OPTIONS: &[(&CStr, &CStr)] =
    &[(c"index", c"on"), (c"redirect_dir", c"on"), (c"metacopy", c"off"), (c"xino", c"off")];

/// A step that failed, with the kernel's error.
pub(crate) type StepError = (&'static str, io::Error);

/// A file system in memory that is attached nowhere.
#[derive(Debug)]
pub(crate) struct PrivateSpace {
    mount: OwnedFd,
    root: OwnedFd,
}

impl PrivateSpace {
    /// Makes one within a quota.
    pub(crate) fn new(quota: Quota) -> Result<Self, StepError> {
        let failed = |cause| ("make a file system in memory", io::Error::from(cause));
        let context = fsopen(c"tmpfs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed)?;
        let entries = quota.files.saturating_add(OWN_ENTRIES);
        // Zero means without a limit, for both.
        let options =
            [(c"size", quota.bytes.max(1).to_string()), (c"nr_inodes", entries.to_string()), (c"mode", "0711".into())];
        for (key, value) in options {
            fsconfig_set_string(context.as_fd(), key, value).map_err(failed)?;
        }
        fsconfig_create(context.as_fd()).map_err(failed)?;
        let (mount, root) = mounted(&context).map_err(failed)?;
        Ok(Self { mount, root })
    }

    /// Makes a directory in it.
    pub(crate) fn directory(&self, name: &str) -> Result<OwnedFd, StepError> {
        let failed = |cause| ("make a directory in memory", io::Error::from(cause));
        rustix::fs::mkdirat(&self.root, name, Mode::RWXU).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::fs::openat(&self.root, name, flags, Mode::empty()).map_err(failed)
    }

    /// Makes it read-only, as [`freeze`] does.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        freeze(self.mount.as_fd())
    }

    /// Returns which bound of the quota is reached.
    pub(crate) fn reached(&self) -> Option<Bound> {
        Bound::reached(&self.root)
    }

    /// Attaches it to an empty directory in the mount namespace of this thread.
    pub(crate) fn attach(&self, at: &Path) -> io::Result<()> {
        attach(self.mount.as_fd(), at)
    }
}

#[derive(Debug)]
pub(crate) struct OverlayMount {
    /// The merged view.
    pub(crate) view: TreeRoot,
    /// The directory with what was written.
    pub(crate) upper: TreeRoot,
    /// The overlay's own directory, with its index of files that have several names.
    pub(crate) work: TreeRoot,
    /// How the upper directory is marked.
    pub(crate) marks: OverlayMarks,
    /// The mount. It ends with this descriptor.
    mount: OwnedFd,
    /// Holds the upper directory.
    space: PrivateSpace,
}

impl OverlayMount {
    /// Makes an overlay over an open directory, as root, or as a user who may mount in this namespace.
    pub(crate) fn new(lower: &TreeRoot, quota: Quota, marks: OverlayMarks) -> Result<Self, StepError> {
        let space = PrivateSpace::new(quota)?;
        let (upper, work) = (space.directory("upper")?, space.directory("work")?);
        // The root of the view has the attributes of the upper directory.
        let same = |cause| ("copy the attributes of the directory", cause);
        crate::trees::copied_attributes::copy_all(lower, &upper).map_err(same)?;
        let failed = |cause| ("mount the overlay", io::Error::from(cause));
        let context = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed)?;
        let places = [(c"lowerdir+", lower.as_fd()), (c"upperdir", upper.as_fd()), (c"workdir", work.as_fd())];
        for (key, directory) in places {
            fsconfig_set_string(context.as_fd(), key, place(directory)?).map_err(failed)?;
        }
        match marks {
            OverlayMarks::Trusted => {
                for (key, value) in ROOT_OPTIONS {
                    fsconfig_set_string(context.as_fd(), *key, *value).map_err(failed)?;
                }
            }
            OverlayMarks::User => fsconfig_set_flag(context.as_fd(), c"userxattr").map_err(failed)?,
        }
        fsconfig_set_flag(context.as_fd(), c"volatile").map_err(failed)?;
        fsconfig_create(context.as_fd()).map_err(failed)?;
        let (mount, view) = mounted(&context).map_err(failed)?;
        let work = TreeRoot::new(work);
        // Without file handles below, the kernel makes no index, and writes through one of two names would be lost.
        if marks == OverlayMarks::Trusted && !matches!(work.look(Path::new("index")), Ok(Some(_))) {
            return Err(("keep the names of files together", io::ErrorKind::Unsupported.into()));
        }
        Ok(Self { view: TreeRoot::new(view), upper: TreeRoot::new(upper), work, marks, mount, space })
    }

    /// Makes the view read-only for every holder of a descriptor, so that it can be read.
    ///
    /// # Errors
    ///
    /// A file stays open for writing.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        freeze(self.mount.as_fd())
    }

    /// Returns which bound of the quota is reached.
    pub(crate) fn reached(&self) -> Option<Bound> {
        self.space.reached()
    }

    /// Attaches the view to an empty directory in the mount namespace of this thread.
    pub(crate) fn attach(&self, at: &Path) -> io::Result<()> {
        attach(self.mount.as_fd(), at)
    }
}

/// A directory of this thread's mounts by a mount of its own, without what is mounted below it.
#[derive(Debug)]
pub(crate) struct RealMount(OwnedFd);

impl RealMount {
    /// Takes a directory of the mount namespace of this thread.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
        Ok(Self(open_tree(CWD, path, flags)?))
    }

    /// Takes an open directory of the mount namespace of this thread, as one that a layer is made of.
    pub(crate) fn of_layer(directory: &TreeRoot) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_EMPTY_PATH;
        let mount = open_tree(directory, c"", flags)?;
        set_mount_attributes(&mount, MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV, false)?;
        Ok(Self(mount))
    }

    /// Opens the directory.
    pub(crate) fn root(&self) -> io::Result<TreeRoot> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(TreeRoot::new(rustix::fs::openat(&self.0, ".", flags, Mode::empty())?))
    }

    /// Makes it read-only, as [`OverlayMount::freeze`] does. The directory stays writable by other mounts.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        freeze(self.0.as_fd())
    }

    pub(crate) fn attach(&self, at: &Path) -> io::Result<()> {
        attach(self.0.as_fd(), at)
    }
}

fn attach(mount: BorrowedFd<'_>, at: &Path) -> io::Result<()> {
    Ok(move_mount(mount, c"", CWD, at, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Returns a path for an open directory, since options are strings.
fn place(directory: BorrowedFd<'_>) -> Result<CString, StepError> {
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    CString::new(path).map_err(|error| ("name an open directory", io::Error::other(error)))
}

/// Returns a detached mount, which ends with this descriptor, and its root. The mount's own descriptor cannot list.
fn mounted(context: &OwnedFd) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let mount = fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(&mount, ".", flags, Mode::empty())?;
    Ok((mount, root))
}

/// Makes a mount read-only, and waits a moment for files that are open for writing.
fn freeze(mount: BorrowedFd<'_>) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match set_mount_attributes(mount, MountAttrFlags::MOUNT_ATTR_RDONLY, false) {
            Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}
