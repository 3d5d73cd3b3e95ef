//! `modbox:host/files`: modes and owners, which WASI 0.2 lacks. A guest passes a descriptor that it holds and a path
//! below it. The path leads to the same file as in `wasi:filesystem`.
//!
//! Setting a mode needs a grant for writing; setting an owner also needs a grant for that owner. The file is opened
//! first and then changed through the descriptor, never by its path: the kernel's confinement does not cover modes and
//! owners of files that are not open. So a file that this process can neither read nor write keeps its mode and owner,
//! and so does a link. Only files and directories are opened, so that no call waits for a FIFO or touches a device.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::OnceLock;

use modbox_policy::accounts::Accounts;
use modbox_policy::{KnownOwners, set_id_grant};
use modbox_vocabulary::{Capability, Operation};
use rustix::fs::{FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::Errno;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::filesystem::Descriptor;
use wasmtime_wasi::p2::bindings::filesystem::types::{DescriptorType, ErrorCode, PathFlags};
use wasmtime_wasi::p2::{FsError, FsResult};

use crate::bindings::modbox::host::files::{self, Attributes};
use crate::files::errno::failed;
use crate::files::follow::Follow;
use crate::files::guard::{Files, GuardView, HasGuard};
use crate::files::open::Refusal;
use crate::files::replacing::keep::SET_ID;
use crate::files::stat::descriptor_type;
use crate::files::stat::is_link;
use crate::files::tree::join;
use crate::files::ways::names::HostName;
use crate::files::ways::target::{Act, Target};

/// The permission bits that a guest can set. Set-user-id and set-group-id would run a guest's bytes as another user,
/// and the sticky bit would keep other users from their own files.
const SETTABLE: u32 = 0o777;

type Fd = Resource<Descriptor>;

/// A change of attributes.
#[derive(Debug, Clone, Copy)]
enum Change {
    Mode(Mode),
    Owner { uid: Option<u32>, gid: Option<u32> },
}

/// Links `modbox:host/files`.
pub(crate) fn add_attributes<T: HasGuard + 'static>(linker: &mut Linker<T>) -> wasmtime::Result<()> {
    // Read the accounts now: the guest's confinement may forbid it later.
    Accounts::host();
    umask();
    files::add_to_linker::<T, Files>(linker, T::guard)
}

impl files::Host for GuardView<'_> {
    fn stat(&mut self, fd: Fd, flags: PathFlags, path: String) -> wasmtime::Result<Result<Attributes, ErrorCode>> {
        downcast(self.attributes(&fd, flags, path))
    }

    fn set_mode(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        mode: u32,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        downcast(self.change(
            &fd,
            flags,
            path,
            Act::write(Operation::SetMode),
            Change::Mode(Mode::from_raw_mode(mode & SETTABLE)),
        ))
    }

    fn set_owner(
        &mut self,
        fd: Fd,
        flags: PathFlags,
        path: String,
        uid: Option<u32>,
        gid: Option<u32>,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        downcast(self.change(&fd, flags, path, Act::write(Operation::SetOwner), Change::Owner { uid, gid }))
    }

    fn umask(&mut self) -> wasmtime::Result<u32> {
        Ok(umask())
    }

    fn user_id(&mut self, name: String) -> wasmtime::Result<Option<u32>> {
        Ok(Accounts::host().users().id(&name))
    }

    fn group_id(&mut self, name: String) -> wasmtime::Result<Option<u32>> {
        Ok(Accounts::host().groups().id(&name))
    }
}

/// Returns the umask of this process, read from `/proc`: unlike umask(2), that does not change it (proc(5)).
fn umask() -> u32 {
    /// The umask of most systems.
    const USUAL: u32 = 0o022;
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(|| {
        let mut status = String::new();
        let file = File::open("/proc/self/status").map(|file| file.take(1 << 16));
        let read = file.and_then(|mut file| file.read_to_string(&mut status));
        let umask = status.lines().find_map(|line| line.strip_prefix("Umask:")).filter(|_| read.is_ok());
        umask.and_then(|umask| u32::from_str_radix(umask.trim(), 8).ok()).unwrap_or(USUAL)
    })
}

pub(crate) fn downcast<T>(result: FsResult<T>) -> wasmtime::Result<Result<T, ErrorCode>> {
    Ok(match result {
        Ok(value) => Ok(value),
        Err(error) => Err(error.downcast()?),
    })
}

impl GuardView<'_> {
    fn attributes(&mut self, fd: &Fd, flags: PathFlags, path: String) -> FsResult<Attributes> {
        let act = Act::read(Operation::Stat);
        let follow = Follow::links(flags.contains(PathFlags::SYMLINK_FOLLOW));
        self.on_path(fd, path, (act, follow), |view, target| view.attributes_of(target, follow, act))
    }

    /// Returns the attributes of a target. `None` if it is a link that has to be followed.
    fn attributes_of(&mut self, target: Target, follow: Follow, act: Act) -> FsResult<Option<Attributes>> {
        let is_followed = |stat: &Stat| follow == Follow::Always && is_link(stat);
        let found = match target {
            Target::Entry(entry) => {
                let Some(stat) = self.stat_unless_followed(&entry, follow)? else { return Ok(None) };
                attributes(&stat, link_target(self.entry_dir(&entry)?, &entry.plain_name(), &stat)?)
            }
            Target::Folder(folder) => attributes(&rustix::fs::fstat(&*folder.dir).map_err(failed)?, None),
            Target::Virtual(_) => virtual_attributes(DescriptorType::Directory, 0),
            Target::Memory(index) => {
                virtual_attributes(DescriptorType::RegularFile, self.guard.grants.memory[index].len() as u64)
            }
            Target::Name { index, dir } => {
                let stat = self.stat_of_name(index, dir)?;
                if is_followed(&stat) {
                    return Ok(None);
                }
                let host = self.host_name(index);
                attributes(&stat, link_target(host.parent.as_fd(), &host.name, &stat)?)
            }
            Target::Temporary(file) => {
                let stat = HostName::from(&file).stat()?;
                Attributes { mode: file.mode().bits(), ..attributes(&stat, None) }
            }
            Target::Beside(beside) => return Err(self.guard.absent_beside(&beside, act)),
        };
        Ok(Some(found))
    }

    fn change(&mut self, fd: &Fd, flags: PathFlags, path: String, act: Act, change: Change) -> FsResult<()> {
        let follow = Follow::links(flags.contains(PathFlags::SYMLINK_FOLLOW));
        self.on_path(fd, path, (act, follow), |view, target| view.change_target(target, follow, act, change))
    }

    /// Changes a target. `None` if it is a link that has to be followed.
    fn change_target(&mut self, target: Target, follow: Follow, act: Act, change: Change) -> FsResult<Option<()>> {
        let is_followed = |stat: &Stat| follow == Follow::Always && is_link(stat);
        let (mut owned, mut around) = (None, None);
        let (file, guest) = match target {
            Target::Entry(entry) => {
                if self.stat_unless_followed(&entry, follow)?.is_none() {
                    return Ok(None);
                }
                self.may_change(entry.mount, || entry.guest(), act)?;
                let directory = self.entry_dir(&entry)?;
                around = rustix::io::fcntl_dupfd_cloexec(directory, 0).ok();
                let opened = open_to_change(directory, &entry.plain_name());
                (opened.map_err(|refusal| self.refused(refusal, || entry.guest(), act))?, entry.guest())
            }
            Target::Folder(folder) => {
                self.may_change(folder.mount, || folder.path.clone(), act)?;
                let opened = open_to_change(folder.dir.as_fd(), ".".as_ref());
                (opened.map_err(FsError::from)?, folder.path)
            }
            Target::Name { index, dir } => {
                if is_followed(&self.stat_of_name(index, dir)?) {
                    return Ok(None);
                }
                self.writable(index, act)?;
                let node = self.guard.grants.names[index].node;
                (open_name(&self.host_name(index))?, self.guard.path_of(node).to_string())
            }
            Target::Temporary(file) => {
                if let Change::Mode(mode) = change {
                    let stat = HostName::from(&file).stat()?;
                    self.may_set_id(&join(&self.guard.path_of(file.dir), &file.name), &stat, mode)?;
                    // Applied when the temporary is renamed; until then only this user can read it.
                    self.guard.temporaries.set_mode(&file, mode);
                    return Ok(Some(()));
                }
                owned = Some(file.clone());
                (open_name(&HostName::from(&file))?, join(&self.guard.path_of(file.dir), &file.name))
            }
            Target::Virtual(node) => return Err(self.deny_node(node, act)),
            Target::Memory(_) => return Err(ErrorCode::NotPermitted.into()),
            Target::Beside(beside) => return Err(self.guard.absent_beside(&beside, act)),
        };
        let changed = match change {
            Change::Mode(mode) => {
                self.may_set_id(&guest, &rustix::fs::fstat(&file).map_err(failed)?, mode)?;
                // The monitor sets set-id bits: the kernel's confinement cannot tell a directory from a program.
                rustix::fs::fchmod(&file, mode)
            }
            Change::Owner { uid, gid } => {
                // Giving a file the owner that it has changes nothing.
                let stat = rustix::fs::fstat(&file).map_err(failed)?;
                let new = (uid.filter(|uid| *uid != stat.st_uid), gid.filter(|gid| *gid != stat.st_gid));
                self.may_give(&guest, act, new, around.as_ref())?;
                rustix::fs::fchown(&file, uid.map(Uid::from_raw), gid.map(Gid::from_raw))
            }
        };
        changed.map_err(failed)?;
        if let Some(file) = owned {
            self.guard.temporaries.set_owned(&file);
        }
        Ok(Some(()))
    }

    /// Sets the mode of a path, with special bits.
    pub(crate) fn set_mode_at(&mut self, fd: &Fd, flags: PathFlags, path: String, mode: Mode) -> FsResult<()> {
        self.change(fd, flags, path, Act::write(Operation::SetMode), Change::Mode(mode))
    }

    /// Refuses set-id bits of a file whose owner is not granted with them. Those of a directory are as any other bit.
    fn may_set_id(&self, guest: &str, stat: &Stat, mode: Mode) -> FsResult<()> {
        let refused = mode.bits() & SET_ID & !self.guard.owners.set_id_bits(stat.st_uid, stat.st_gid);
        if refused == 0 || FileType::from_raw_mode(stat.st_mode).is_dir() {
            return Ok(());
        }
        let grant = || format!("--allow-own {}", set_id_grant(refused, stat.st_uid, stat.st_gid));
        self.guard.ledger.deny_as(Capability::Own, guest, Operation::SetId, grant);
        Err(ErrorCode::NotPermitted.into())
    }

    /// Refuses an owner that neither is granted nor has files in the granted directory `around` the file.
    fn may_give(
        &self,
        guest: &str,
        act: Act,
        (uid, gid): (Option<u32>, Option<u32>),
        around: Option<&OwnedFd>,
    ) -> FsResult<()> {
        if uid == Some(u32::MAX) || gid == Some(u32::MAX) {
            return Err(ErrorCode::Invalid.into());
        }
        if self.guard.owners.cover(uid, gid) {
            return Ok(());
        }
        let mut known = KnownOwners::default();
        if let Some(around) = around {
            known.add_directory(Path::new(&format!("/proc/self/fd/{}/.", around.as_raw_fd())));
        }
        if known.or_granted(&self.guard.owners, uid, gid) {
            return Ok(());
        }
        let id = |id: Option<u32>| id.map(|id| id.to_string()).unwrap_or_default();
        let group = gid.map(|gid| format!(":{gid}")).unwrap_or_default();
        self.guard.ledger.deny_as(Capability::Own, guest, act.name, || format!("--allow-own {}{group}", id(uid)));
        Err(ErrorCode::NotPermitted.into())
    }
}

/// Opens a file or directory in order to change it: for reading, or for writing if reading is not permitted. A link is
/// refused.
fn open_to_change(dir: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Refusal> {
    let open = |flags: OFlags| -> Result<OwnedFd, Refusal> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(rustix::fs::openat(dir, name, flags, Mode::empty())?)
    };
    // Check the type first: opening a device can be enough to trigger it.
    check_kind(open(OFlags::PATH)?.as_fd())?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match open(flags | OFlags::RDONLY) {
        Err(Refusal::Errno(Errno::ACCESS)) => open(flags | OFlags::WRONLY)?,
        other => other?,
    };
    // Check again: another file may have replaced it.
    check_kind(file.as_fd())?;
    Ok(file)
}

fn check_kind(file: BorrowedFd<'_>) -> Result<(), Refusal> {
    match FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode) {
        FileType::RegularFile | FileType::Directory => Ok(()),
        FileType::Symlink => Err(Errno::LOOP.into()),
        _ => Err(Refusal::Special),
    }
}

/// Opens a name in its directory; refuses a link in its place.
fn open_name(host: &HostName) -> FsResult<OwnedFd> {
    open_to_change(host.parent.as_fd(), &host.name).map_err(FsError::from)
}

fn link_target(dir: BorrowedFd<'_>, name: &OsStr, stat: &Stat) -> FsResult<Option<Vec<u8>>> {
    if !is_link(stat) {
        return Ok(None);
    }
    Ok(Some(rustix::fs::readlinkat(dir, name, Vec::new()).map_err(failed)?.into_bytes()))
}

/// Returns the attributes of a host file.
#[allow(clippy::useless_conversion, reason = "these numbers have other types on some architectures")]
fn attributes(stat: &Stat, target: Option<Vec<u8>>) -> Attributes {
    let accounts = Accounts::host();
    Attributes {
        kind: descriptor_type(FileType::from_raw_mode(stat.st_mode)),
        mode: stat.st_mode & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        user: accounts.users().name(stat.st_uid).map(str::to_owned),
        group: accounts.groups().name(stat.st_gid).map(str::to_owned),
        links: u64::from(stat.st_nlink),
        inode: stat.st_ino,
        device: stat.st_dev,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        blocks: u64::try_from(stat.st_blocks).unwrap_or(0),
        block_size: u64::try_from(stat.st_blksize).unwrap_or(0),
        device_type: stat.st_rdev,
        target,
    }
}

/// Returns the attributes of a file that exists only for the guest: readable, and owned by this process's user.
fn virtual_attributes(kind: DescriptorType, size: u64) -> Attributes {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let accounts = Accounts::host();
    Attributes {
        mode: if kind == DescriptorType::Directory { 0o555 } else { 0o444 },
        kind,
        uid,
        gid,
        user: accounts.users().name(uid).map(str::to_owned),
        group: accounts.groups().name(gid).map(str::to_owned),
        links: 1,
        inode: 0,
        device: 0,
        size,
        blocks: 0,
        block_size: 0,
        device_type: 0,
        target: None,
    }
}
