//! The attributes of a file.

/// The attributes of the file at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attributes {
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
    /// The number of the device.
    pub device: u64,
    /// The length in bytes.
    pub size: u64,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The best size for reads and writes.
    pub block_size: u64,
    /// The device number, if the file is a device.
    pub device_type: u64,
    /// What it is, if it is not a regular file, directory or link.
    pub special: Option<Special>,
    /// Whether it is a directory.
    pub directory: bool,
    /// The target, if the file is a link.
    pub target: Option<Vec<u8>>,
}

/// What a replaced file had and the new one does not have.
#[cfg(not(all(target_family = "wasm", feature = "host-files")))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// The owner or the group.
    pub(crate) owner: bool,
    /// The set-user-id and set-group-id bits.
    pub(crate) set_id: bool,
    /// The access list or extended attributes of users.
    pub(crate) attributes: bool,
}

/// Kinds of files other than regular files, directories or links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Special {
    /// A block device.
    BlockDevice,
    /// A character device.
    CharacterDevice,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
}
