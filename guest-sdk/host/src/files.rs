//! Modes and owners, by path. A path is passed to the host as one of the directories that the guest was started with,
//! and the path below it.

use std::io;
use std::path::Path;

use wasip2::filesystem::types::{DescriptorType, PathFlags};

use crate::bindings::modbox::host::files as host;
use crate::directories::at;

/// The attributes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attributes {
    /// The kind of file.
    pub kind: Kind,
    /// The permissions, with the set-user-id, set-group-id and sticky bits.
    pub mode: u32,
    /// The number of the owner.
    pub uid: u32,
    /// The number of the group.
    pub gid: u32,
    /// The owner's name, if the owner has one.
    pub user: Option<String>,
    /// The group's name, if the group has one.
    pub group: Option<String>,
    /// The number of hard links.
    pub links: u64,
    /// The inode number.
    pub inode: u64,
    /// The number of the device that holds the file.
    pub device: u64,
    /// The length in bytes.
    pub size: u64,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The best size for reads and writes.
    pub block_size: u64,
    /// The device number, if the file is a device.
    pub device_type: u64,
    /// The target, if the file is a link.
    pub target: Option<Vec<u8>>,
}

/// The kinds of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// Another kind.
    Unknown,
}

/// Returns the attributes of a path. With `follow`, those of a link's target.
///
/// # Errors
///
/// The host refused.
pub fn stat(path: &Path, follow: bool) -> io::Result<Attributes> {
    let found = at(path, |base, rest| host::stat(base, flags(follow), rest))?;
    Ok(Attributes {
        kind: kind(found.kind),
        mode: found.mode,
        uid: found.uid,
        gid: found.gid,
        user: found.user,
        group: found.group,
        links: found.links,
        inode: found.inode,
        device: found.device,
        size: found.size,
        blocks: found.blocks,
        block_size: found.block_size,
        device_type: found.device_type,
        target: found.target,
    })
}

/// Sets the permissions of a path, and follows links. The set-user-id, set-group-id and sticky bits are not set.
///
/// # Errors
///
/// The host refused; the path may not be written.
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    at(path, |base, rest| host::set_mode(base, flags(true), rest, mode))
}

/// Sets the owner and the group of a path.
///
/// # Errors
///
/// The host refused; the path may not be written; the owner or group is not granted.
pub fn set_owner(path: &Path, follow: bool, uid: Option<u32>, gid: Option<u32>) -> io::Result<()> {
    at(path, |base, rest| host::set_owner(base, flags(follow), rest, uid, gid))
}

/// Returns the umask: the permissions that new files do not get.
#[must_use]
pub fn umask() -> u32 {
    host::umask()
}

/// Returns the number of a user.
#[must_use]
pub fn user_id(name: &str) -> Option<u32> {
    host::user_id(name)
}

/// Returns the number of a group.
#[must_use]
pub fn group_id(name: &str) -> Option<u32> {
    host::group_id(name)
}

fn flags(follow: bool) -> PathFlags {
    if follow { PathFlags::SYMLINK_FOLLOW } else { PathFlags::empty() }
}

fn kind(kind: DescriptorType) -> Kind {
    match kind {
        DescriptorType::RegularFile => Kind::File,
        DescriptorType::Directory => Kind::Directory,
        DescriptorType::SymbolicLink => Kind::Link,
        DescriptorType::BlockDevice => Kind::BlockDevice,
        DescriptorType::CharacterDevice => Kind::CharacterDevice,
        DescriptorType::Fifo => Kind::Fifo,
        DescriptorType::Socket => Kind::Socket,
        DescriptorType::Unknown => Kind::Unknown,
    }
}
