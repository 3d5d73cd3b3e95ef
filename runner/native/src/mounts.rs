//! System calls of mounting, each as one small function.
//!
//! They are separate from the code that makes decisions with them, so that the unsafe code of mounting is read in one
//! sitting. `rustix` has some of them, behind a feature that would make the engine be built anew; it lacks
//! `mount_setattr`.

#![expect(unsafe_code, reason = "every call here is a system call that no library of ours wraps")]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

/// Flags of `open_tree`: copy the mount and all mounts below it.
const CLONE: libc::c_uint = 1;
const CLOEXEC: libc::c_uint = libc::O_CLOEXEC.cast_unsigned();

/// Flags of `move_mount`: both ends are descriptors.
const FROM_EMPTY: libc::c_uint = 0x4;
const TO_EMPTY: libc::c_uint = 0x40;

/// Flags of `fsopen`, `fsmount` and commands of `fsconfig`.
const FS_CLOEXEC: libc::c_uint = 1;
const SET_STRING: libc::c_uint = 1;
const CREATE: libc::c_uint = 6;

/// Attributes of a mount, which apply in addition to the file system's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attributes(u64);

impl Attributes {
    /// No set-id programs and no devices.
    pub(super) const PLAIN: Self = Self(0x2 | 0x4);
    /// The same, and read-only.
    pub(super) const READ_ONLY: Self = Self(0x1 | 0x2 | 0x4);
    /// Devices work; no set-id programs.
    pub(super) const DEVICE: Self = Self(0x2);
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
    let none = std::ptr::null();
    let flags = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: with these flags mount reads only its second argument, a C string, and no data.
    done(unsafe { libc::mount(none, c"/".as_ptr(), none, flags, std::ptr::null()) }.into()).map(drop)
}

/// Copies the mount at an open path, with all mounts below it, as a detached tree.
pub(super) fn copy_of(path: impl AsFd) -> io::Result<OwnedFd> {
    let flags = CLONE | CLOEXEC | libc::AT_RECURSIVE.cast_unsigned() | libc::AT_EMPTY_PATH.cast_unsigned();
    // SAFETY: open_tree reads an open descriptor and an empty C string, and returns a new descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_open_tree, path.as_fd().as_raw_fd(), c"".as_ptr(), flags) };
    descriptor(fd)
}

/// Makes a detached file system.
pub(super) fn new(kind: &CStr, options: &[(&CStr, CString)], attributes: Attributes) -> io::Result<OwnedFd> {
    // SAFETY: fsopen reads a C string and returns a new descriptor.
    let context = descriptor(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FS_CLOEXEC) })?;
    let configure = |command: libc::c_uint, key: *const libc::c_char, value: *const libc::c_char| {
        // SAFETY: fsconfig reads an open descriptor and the C strings that this command asks for; others are null.
        done(unsafe { libc::syscall(libc::SYS_fsconfig, context.as_raw_fd(), command, key, value, 0) })
    };
    for (key, value) in options {
        configure(SET_STRING, key.as_ptr(), value.as_ptr())?;
    }
    configure(CREATE, std::ptr::null(), std::ptr::null())?;
    // SAFETY: fsmount reads an open descriptor and two integers, and returns a new descriptor.
    descriptor(unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), FS_CLOEXEC, attributes.0) })
}

/// Sets attributes of a tree and of all mounts in it.
pub(super) fn restrict(tree: impl AsFd, attributes: Attributes) -> io::Result<()> {
    set(tree, attributes, libc::AT_RECURSIVE)
}

/// Sets attributes of a tree, and not of the mounts in it.
pub(super) fn restrict_only(tree: impl AsFd, attributes: Attributes) -> io::Result<()> {
    set(tree, attributes, 0)
}

fn set(tree: impl AsFd, attributes: Attributes, flags: libc::c_int) -> io::Result<()> {
    let attr = MountAttr { set: attributes.0, clear: 0, propagation: 0, user_namespace: 0 };
    let flags = flags | libc::AT_EMPTY_PATH;
    let (fd, size) = (tree.as_fd().as_raw_fd(), size_of::<MountAttr>());
    // SAFETY: mount_setattr reads an open descriptor, an empty C string and one `mount_attr` of the given size.
    let result =
        unsafe { libc::syscall(libc::SYS_mount_setattr, fd, c"".as_ptr(), flags, std::ptr::from_ref(&attr), size) };
    done(result).map(drop)
}

/// Mounts a tree on an open file or directory.
pub(super) fn attach(tree: impl AsFd, place: impl AsFd) -> io::Result<()> {
    let (from, to) = (tree.as_fd().as_raw_fd(), place.as_fd().as_raw_fd());
    let empty = c"".as_ptr();
    // SAFETY: move_mount reads two open descriptors and two empty C strings.
    let result = unsafe { libc::syscall(libc::SYS_move_mount, from, empty, to, empty, FROM_EMPTY | TO_EMPTY) };
    done(result).map(drop)
}

/// Changes this process's root to an open directory, on which a tree is mounted, and unmounts the old root.
pub(super) fn change_root(root: impl AsFd) -> io::Result<()> {
    rustix::process::fchdir(root)?;
    let here = c".".as_ptr();
    // SAFETY: pivot_root reads two C strings. The old root is stacked upon the new one, see pivot_root(2).
    done(unsafe { libc::syscall(libc::SYS_pivot_root, here, here) })?;
    // SAFETY: umount2 reads a C string.
    done(unsafe { libc::umount2(here, libc::MNT_DETACH) }.into())?;
    rustix::process::chdir("/")?;
    Ok(())
}

fn done(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor(result: libc::c_long) -> io::Result<OwnedFd> {
    let fd = i32::try_from(done(result)?).map_err(io::Error::other)?;
    // SAFETY: the kernel has just made this descriptor for the caller, and no other value owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
