//! The attributes of a file, as every build reports them.

/// The attributes of what a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attributes {
    /// The permissions, with the set-user-id, set-group-id and sticky bits.
    pub mode: u32,
    /// The number of the owner.
    pub uid: u32,
    /// The number of the group.
    pub gid: u32,
    /// The owner's name, if there is one.
    pub user: Option<String>,
    /// The group's name, if there is one.
    pub group: Option<String>,
    /// How many names it has.
    pub links: u64,
    /// Its number on its device.
    pub inode: u64,
    /// The number of the device that it is on.
    pub device: u64,
    /// Its length.
    pub size: u64,
    /// Whether it is a directory.
    pub directory: bool,
    /// What a link says; nothing for what is no link.
    pub target: Option<Vec<u8>>,
}
