//! System calls of mounting, each as one small function.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use modbox_kernel::set_mount_attributes;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree, unmount,
};

/// Attributes of a mount, which apply in addition to the file system's own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes(MountAttrFlags);

impl Attributes {
    /// No set-id programs and no devices.
    pub(crate) const PLAIN: Self = Self(MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV));
    /// The same, and no programs at all.
    pub(crate) const DATA: Self = Self(Self::PLAIN.0.union(MountAttrFlags::MOUNT_ATTR_NOEXEC));
    /// No set-id programs, no devices, and read-only.
    pub(crate) const READ_ONLY: Self = Self(Self::PLAIN.0.union(MountAttrFlags::MOUNT_ATTR_RDONLY));
    /// Devices work; no set-id programs.
    pub(crate) const DEVICE: Self = Self(MountAttrFlags::MOUNT_ATTR_NOSUID);
}

/// Makes all mounts of this mount namespace private, so that new mounts are not visible elsewhere.
pub(crate) fn make_private() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
}

/// Copies the mount at an open path, with all mounts below it, as a detached tree.
pub(crate) fn copy_of(path: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(path, c"", flags)?)
}

/// Makes a detached file system.
pub(crate) fn new(kind: &CStr, options: &[(&CStr, CString)], attributes: Attributes) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, value)?;
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes.0)?)
}

/// Sets attributes of a tree and of all mounts in it.
pub(crate) fn restrict(tree: impl AsFd, attributes: Attributes) -> io::Result<()> {
    set_mount_attributes(tree, attributes.0, true)
}

/// Sets attributes of a tree, and not of the mounts in it.
pub(crate) fn restrict_only(tree: impl AsFd, attributes: Attributes) -> io::Result<()> {
    set_mount_attributes(tree, attributes.0, false)
}

/// Mounts a tree on an open file or directory.
pub(crate) fn attach(tree: impl AsFd, place: impl AsFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, c"", place, c"", flags)?)
}

/// Changes this process's root to an open directory, on which a tree is mounted, and unmounts the old root.
pub(crate) fn change_root(root: impl AsFd) -> io::Result<()> {
    rustix::process::fchdir(root)?;
    // The old root is stacked upon the new one, see pivot_root(2).
    rustix::process::pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(())
}
