//! The user and mount namespaces in which an ordinary user may mount: a process enters new ones, and others join it.
//!
//! Mounts in these namespaces are visible nowhere else, and end with the last process there. This file mounts nothing.

use std::fs;
use std::io;
use std::os::fd::AsFd as _;

use rustix::fs::{CWD, Mode, OFlags};
use rustix::thread::{
    CapabilitySet, CapabilitySets, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space,
    set_capabilities,
};

/// Gives this process a user namespace and a mount namespace of its own, in which it may mount. It is the same user and
/// group there, and no other exists.
///
/// # Errors
///
/// This process has more than one thread, or the kernel or the machine's configuration refuses the namespaces.
#[expect(unsafe_code, reason = "unshare takes away what other code may rely on, depending on its flags")]
pub fn enter_user_mounts() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // SAFETY: a new mount namespace unshares the root and the working directory too, which only code of this thread
    // would change; the kernel refuses a new user namespace to a process with other threads. No descriptor and no memory
    // is unshared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWNS) }?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1\n"))
}

/// Leaves in use, of the rights of [`enter_user_mounts`], only those by which this thread and the threads that it starts make
/// and leave mounts. With the others, it would read files whose mode refuses their owner. [`with_all_rights`] takes them up.
///
/// # Errors
///
/// This thread has no such rights.
pub fn keep_mount_rights() -> io::Result<()> {
    let effective = CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_CHROOT;
    Ok(set_capabilities(None, CapabilitySets { effective, ..capabilities(None)? })?)
}

/// Does something with all rights that this thread has in its user namespace. An overlay has the rights of the one who mounts
/// it, and its own directory is closed to all who have fewer.
///
/// # Errors
///
/// The kernel does not change the rights.
pub fn with_all_rights<T>(action: impl FnOnce() -> T) -> io::Result<T> {
    let before = capabilities(None)?;
    set_capabilities(None, CapabilitySets { effective: before.permitted, ..before })?;
    let done = action();
    set_capabilities(None, before)?;
    Ok(done)
}

/// Gives this process the user namespace and the mount namespace of a process that called [`enter_user_mounts`]. It gets
/// none of the rights that its user has there: it is to do what it could do without the namespaces.
///
/// # Errors
///
/// The process has ended, or this process has more than one thread or another user.
pub fn join_user_mounts(process: u32) -> io::Result<()> {
    let open = |kind: &str| {
        let path = format!("/proc/{process}/ns/{kind}");
        rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
    };
    let (user, mounts) = (open("user")?, open("mnt")?);
    move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}
