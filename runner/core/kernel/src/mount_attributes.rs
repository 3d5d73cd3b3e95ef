//! Attributes of mounts, which rustix cannot set.
//!
//! This file makes no mounts and no decisions.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::mount::MountAttrFlags;

/// `struct mount_attr`.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Sets attributes of a mount for every process that has a descriptor in it, and also of the mounts below it if `below`
/// is set.
///
/// # Errors
///
/// `EBUSY` for read-only while a file of the mount is open for writing; `EPERM` without the right to mount in its
/// namespace.
#[expect(unsafe_code, reason = "rustix does not wrap mount_setattr")]
pub fn set_mount_attributes(mount: impl AsFd, attributes: MountAttrFlags, below: bool) -> io::Result<()> {
    let attr = MountAttr { set: attributes.bits().into(), clear: 0, propagation: 0, user_namespace: 0 };
    let flags = libc::AT_EMPTY_PATH | if below { libc::AT_RECURSIVE } else { 0 };
    let (fd, size) = (mount.as_fd().as_raw_fd(), size_of::<MountAttr>());
    // SAFETY: mount_setattr reads an open descriptor, an empty C string and one `mount_attr` of the given size, which is
    // a live local.
    let result =
        unsafe { libc::syscall(libc::SYS_mount_setattr, fd, c"".as_ptr(), flags, std::ptr::from_ref(&attr), size) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
