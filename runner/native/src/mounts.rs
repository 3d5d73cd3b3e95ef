//! System calls of mounting, each as one small function.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount, open_tree, unmount,
};

/// Attributes of a mount, which apply in addition to the file system's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes(MountAttrFlags);

impl Attributes {
    /// No set-id programs and no devices.
    pub(super) const PLAIN: Self = Self(MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV));
    /// The same, and read-only.
    pub(super) const READ_ONLY: Self = Self(Self::PLAIN.0.union(MountAttrFlags::MOUNT_ATTR_RDONLY));
    /// Devices work; no set-id programs.
    pub(super) const DEVICE: Self = Self(MountAttrFlags::MOUNT_ATTR_NOSUID);
}

/// `struct mount_attr`.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Makes all mounts of this mount namespace private, so that new mounts are not visible elsewhere.
pub(super) fn make_private() -> io::Result<()> {
    Ok(mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
}

/// Copies the mount at an open path, with all mounts below it, as a detached tree.
pub(super) fn copy_of(path: impl AsFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(path, c"", flags)?)
}

/// Makes a detached file system.
pub(super) fn new(kind: &CStr, options: &[(&CStr, CString)], attributes: Attributes) -> io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(context.as_fd(), *key, value)?;
    }
    fsconfig_create(context.as_fd())?;
    Ok(fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes.0)?)
}

/// Sets attributes of a tree and of all mounts in it.
pub(super) fn restrict(tree: impl AsFd, attributes: Attributes) -> io::Result<()> {
    set(tree, attributes, libc::AT_RECURSIVE)
}

/// Sets attributes of a tree, and not of the mounts in it.
pub(super) fn restrict_only(tree: impl AsFd, attributes: Attributes) -> io::Result<()> {
    set(tree, attributes, 0)
}

#[expect(unsafe_code, reason = "rustix does not wrap mount_setattr")]
fn set(tree: impl AsFd, attributes: Attributes, flags: libc::c_int) -> io::Result<()> {
    let attr = MountAttr { set: attributes.0.bits().into(), clear: 0, propagation: 0, user_namespace: 0 };
    let flags = flags | libc::AT_EMPTY_PATH;
    let (fd, size) = (tree.as_fd().as_raw_fd(), size_of::<MountAttr>());
    // SAFETY: mount_setattr reads an open descriptor, an empty C string and one `mount_attr` of the given size.
    let result =
        unsafe { libc::syscall(libc::SYS_mount_setattr, fd, c"".as_ptr(), flags, std::ptr::from_ref(&attr), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts a tree on an open file or directory.
pub(super) fn attach(tree: impl AsFd, place: impl AsFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, c"", place, c"", flags)?)
}

/// Changes this process's root to an open directory, on which a tree is mounted, and unmounts the old root.
pub(super) fn change_root(root: impl AsFd) -> io::Result<()> {
    rustix::process::fchdir(root)?;
    // The old root is stacked upon the new one, see pivot_root(2).
    rustix::process::pivot_root(c".", c".")?;
    unmount(c".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    Ok(())
}
