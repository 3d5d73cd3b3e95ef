//! Makes a process, or a thread for a while, that of another user.
//!
//! Linux has user, groups and capabilities for each thread. A process becomes another user for good while it has one
//! thread, so that none is left behind. A thread of a process with several acts as another user for a while: the kernel
//! then checks its file accesses as that user's, and its real user stays, so that the user can neither signal the process
//! nor look into it.

use std::io;

use modbox_vocabulary::User;
use rustix::process::{DumpableBehavior, Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::{capabilities, system};

/// Capabilities for making namespaces' file systems, without any right to other users' files. The second one permits
/// nothing in today's kernels: a process that starts a module keeps one which the module lacks.
const MOUNTS: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::NET_BROADCAST);

/// Number that the kernel takes for "no change".
const NO_CHANGE: u32 = u32::MAX;

/// Makes this process that of another user, for good and without any capability. The process must have one thread.
///
/// # Errors
///
/// This process may not do it, has other threads, or its parent has ended. It may then be partly the other user's, and
/// must end.
pub fn become_user(user: &User) -> io::Result<()> {
    switch(user, CapabilitySet::empty())
}

/// Does the same as [`become_user`], and keeps the capabilities to mount. [`confine_thread`](crate::confine_thread)
/// drops them.
///
/// # Errors
///
/// See [`become_user`].
pub fn become_user_who_mounts(user: &User) -> io::Result<()> {
    switch(user, MOUNTS)
}

/// Calls `action` with the rights of another user to files; with those of this process if `user` is `None`.
///
/// # Errors
///
/// This process may not act as another user, and `action` was not called; or the thread has not got its own rights
/// back.
pub fn as_user<T>(user: Option<&User>, action: impl FnOnce() -> T) -> io::Result<T> {
    act(user, RealUser::Own, action)
}

/// Calls `action`, which starts a program that is to be another user's.
///
/// Until it returns, the user can signal this process.
///
/// # Errors
///
/// See [`as_user`].
pub fn starting_as<T>(user: Option<&User>, action: impl FnOnce() -> T) -> io::Result<T> {
    act(user, RealUser::Other, action)
}

fn act<T>(user: Option<&User>, real: RealUser, action: impl FnOnce() -> T) -> io::Result<T> {
    let Some(user) = user else { return Ok(action()) };
    let acting = ActingThread::begin(user, real)?;
    let result = action();
    acting.end()?;
    Ok(result)
}

/// Numbers of a user and of the groups.
struct Ids {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Ids {
    fn of(user: &User) -> io::Result<Self> {
        if [user.uid, user.gid].iter().chain(&user.groups).any(|number| *number == NO_CHANGE) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let groups = user.groups.iter().copied().map(Gid::from_raw).collect();
        Ok(Self { uid: Uid::from_raw(user.uid), gid: Gid::from_raw(user.gid), groups })
    }
}

fn switch(user: &User, kept: CapabilitySet) -> io::Result<()> {
    let Ids { uid, gid, groups } = Ids::of(user)?;
    system::wait_until_alone().map_err(io::Error::other)?;
    let parent = rustix::process::getppid();
    let signal = rustix::process::parent_process_death_signal()?;
    let present = rustix::thread::capabilities(None)?.permitted;
    // Programs that this process starts get none back.
    capabilities::bound(CapabilitySet::empty())?;
    rustix::thread::set_keep_capabilities(!kept.is_empty())?;
    // The user comes last: with it goes the right to change the groups.
    rustix::thread::set_thread_groups(&groups)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    rustix::thread::set_keep_capabilities(false)?;
    let kept = present & kept;
    let inheritable = CapabilitySet::empty();
    rustix::thread::set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable })?;
    // The kernel has forgotten the signal, and has made the process's files in `/proc` root's.
    rustix::process::set_parent_process_death_signal(signal)?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    if rustix::process::getppid() != parent {
        return Err(io::Error::other("the parent process has ended"));
    }
    let is_user = (rustix::process::getuid(), rustix::process::geteuid()) == (uid, uid)
        && (rustix::process::getgid(), rustix::process::getegid()) == (gid, gid);
    if is_user { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

/// The real user of a thread that acts as another one. Programs that it starts have that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RealUser {
    Own,
    Other,
}

/// A thread that acts as another user. Dropping it gives the thread its own user and groups back.
#[derive(Debug)]
struct ActingThread {
    real: (Uid, Gid),
    effective: (Uid, Gid),
    groups: Vec<Gid>,
    is_over: bool,
}

impl ActingThread {
    fn begin(user: &User, real: RealUser) -> io::Result<Self> {
        let Ids { uid, gid, groups } = Ids::of(user)?;
        let acting = Self {
            real: (rustix::process::getuid(), rustix::process::getgid()),
            effective: (rustix::process::geteuid(), rustix::process::getegid()),
            groups: rustix::process::getgroups()?,
            is_over: false,
        };
        let is_other = real == RealUser::Other;
        rustix::thread::set_thread_groups(&groups)?;
        // The saved numbers stay, so that the thread can go back.
        rustix::thread::set_thread_res_gid(is_other.then_some(gid), gid, None)?;
        rustix::thread::set_thread_res_uid(is_other.then_some(uid), uid, None)?;
        Ok(acting)
    }

    fn restore(&mut self) -> io::Result<()> {
        self.is_over = true;
        rustix::thread::set_thread_res_uid(self.real.0, self.effective.0, None)?;
        rustix::thread::set_thread_res_gid(self.real.1, self.effective.1, None)?;
        Ok(rustix::thread::set_thread_groups(&self.groups)?)
    }

    fn end(mut self) -> io::Result<()> {
        self.restore()
    }
}

impl Drop for ActingThread {
    fn drop(&mut self) {
        if !self.is_over {
            // After a panic, or a failed beginning. A thread that stays the other user's can do less, not more.
            let _ = self.restore();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    fn user(uid: u32) -> User {
        let (name, groups) = ("test".to_owned(), vec![uid, uid + 1]);
        User { name, uid, gid: uid, groups, home: "/".into(), shell: "/bin/sh".into() }
    }

    #[test]
    fn a_number_that_means_no_change_is_refused() {
        for user in [User { gid: NO_CHANGE, ..user(1) }, User { groups: vec![NO_CHANGE], ..user(1) }] {
            assert!(as_user(Some(&user), || ()).is_err());
            assert!(become_user(&user).is_err());
        }
        assert!(as_user(Some(&User { uid: NO_CHANGE, groups: Vec::new(), ..user(1) }), || ()).is_err());
    }

    #[test]
    fn a_thread_acts_as_a_user_for_a_while() {
        let own = || (rustix::process::geteuid(), rustix::process::getegid(), rustix::process::getgroups().unwrap());
        let before = own();
        assert_eq!(as_user(None, own).unwrap(), before);
        let acted = as_user(Some(&user(12_345)), own);
        if !rustix::process::geteuid().is_root() {
            assert!(acted.is_err());
            return;
        }
        let groups = [12_345, 12_346].map(Gid::from_raw).to_vec();
        assert_eq!(acted.unwrap(), (Uid::from_raw(12_345), Gid::from_raw(12_345), groups));
        assert_eq!(own(), before);
        let panicked = std::panic::catch_unwind(|| as_user(Some(&user(12_345)), || panic!("a test's panic")));
        assert!(panicked.is_err());
        assert_eq!(own(), before);
    }

    #[test]
    fn files_are_those_of_the_user() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        fs::write(dir.path().join("secret"), "").unwrap();
        fs::set_permissions(dir.path().join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
        let made = dir.path().join("made");
        let refused = as_user(Some(&user(12_345)), || {
            fs::write(&made, "").unwrap();
            fs::File::open(dir.path().join("secret")).unwrap_err().kind()
        });
        assert_eq!(refused.unwrap(), io::ErrorKind::PermissionDenied);
        let made = made.metadata().unwrap();
        assert_eq!((made.uid(), made.gid()), (12_345, 12_345));
        assert!(fs::File::open(dir.path().join("secret")).is_ok(), "the thread has its rights back");
    }
}
