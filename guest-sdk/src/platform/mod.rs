//! Modes and owners, wherever a module runs: by the kernel in a build for a Unix host, by `modbox:host/files` in a component with
//! the feature `host-files`. Elsewhere there are none, and every call says so. Other programs are in `process`, and what a
//! module does of itself at its start is in `start`.

#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(all(not(unix), target_family = "wasm", feature = "host-files"), path = "component.rs")]
#[cfg_attr(all(not(unix), not(all(target_family = "wasm", feature = "host-files"))), path = "nowhere.rs")]
mod here;

pub(crate) mod process;
pub(crate) mod start;

pub(crate) use self::here::{AVAILABLE, group_id, set_mode, set_owner, stat, umask, user_id};

/// What there is at a path.
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
