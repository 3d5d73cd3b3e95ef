//! The list of changes of one granted tree or name: what a comparison finds, and what a commit publishes.
//!
//! Paths are relative to the granted root and consist of bytes, as the kernel's do. This file does not read files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use modbox_vocabulary::native_path;
use serde::{Deserialize, Serialize};

use crate::optional_path;

/// Digest of a file's content, SHA-256.
pub type Digest = [u8; 32];

/// What a directory has under one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryType {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A device, FIFO or socket.
    Special,
}

/// State of one entry of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Whether it is a file, a directory, a link or something special.
    pub entry_type: EntryType,
    /// Permission bits, with set-id and sticky bits: `st_mode & 0o7777`.
    pub mode: u32,
    /// Number of the user that owns it.
    pub uid: u32,
    /// Number of the group that owns it.
    pub gid: u32,
    /// Length in bytes of a file; 0 for other types.
    pub size: u64,
    /// Modification time, in nanoseconds since the epoch.
    pub modified: i128,
    /// Target of a symbolic link. For a special file, its type, with the numbers of a device.
    #[serde(with = "optional_path")]
    pub target: Option<PathBuf>,
    /// Digest of the content of a file.
    pub digest: Option<Digest>,
    /// Extended attributes with ACLs, by name.
    pub xattrs: BTreeMap<String, Vec<u8>>,
    /// Number of names of the file.
    pub links: u64,
}

/// What happened to an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum ChangeKind {
    /// It did not exist before.
    Created,
    /// It exists no more. An entry below a removed directory is not listed by itself.
    Removed {
        /// Number of entries below, for a directory.
        entries: u64,
    },
    /// Its content or the target of its link is different.
    Modified,
    /// Its type is different.
    Replaced,
    /// It had another name before. Its content or attributes can be different too.
    Renamed {
        /// The name before, relative to the granted root.
        #[serde(with = "native_path")]
        from: PathBuf,
    },
    /// Its mode, owner, extended attributes or ACL is different; its content is the same.
    Attributes,
    /// Its modification time alone is different. Never said of a directory.
    Times,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The entry, relative to the granted root. It is empty for the root itself, and for a granted name.
    #[serde(with = "native_path")]
    pub path: PathBuf,
    /// What happened.
    pub kind: ChangeKind,
    /// State before; `None` if it was created.
    pub before: Option<Entry>,
    /// State after; `None` if it was removed.
    pub after: Option<Entry>,
}

impl Change {
    /// Returns the path of the entry below a granted root.
    #[must_use]
    pub fn path_below(&self, root: &Path) -> PathBuf {
        if self.path.as_os_str().is_empty() { root.to_owned() } else { root.join(&self.path) }
    }
}
