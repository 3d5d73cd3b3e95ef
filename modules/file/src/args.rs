//! The options of `file`.

use modbox_sdk::{Args, Choice};

/// Makes sure that a path is a file, a folder, a link or nothing, with the mode, the owner and the times that are asked for.
///
/// A link itself is removed or replaced, not what it leads to. To make links and to remove folders the folder around them has to be
/// granted. Times are UTC.
#[derive(Args)]
pub(crate) struct FileArgs {
    /// What shall be there. Without it what is there stays what it is.
    pub(crate) state: Option<State>,
    /// The path.
    #[arg(type = "path", access = "entry", aliases("dest", "name"))]
    pub(crate) path: String,
    /// The name that a file gets in path when that is a folder; for Ansible's action plugins.
    #[arg(name = "_original_basename")]
    pub(crate) original_basename: Option<String>,
    /// Set mode, owner and times of all that is in the folder, too.
    #[arg(default = false)]
    pub(crate) recurse: bool,
    /// Make a link that leads to nothing, or in place of a file or an empty folder.
    #[arg(default = false)]
    pub(crate) force: bool,
    /// Set mode, owner and times of what a link leads to.
    #[arg(default = true)]
    pub(crate) follow: bool,
    /// Only tell whether the file looks binary; for Ansible's action plugins.
    #[arg(name = "_diff_peek")]
    pub(crate) diff_peek: Option<bool>,
    /// What the link says. A relative path is relative to the link.
    #[arg(type = "path")]
    pub(crate) src: Option<String>,
    /// When it was changed: preserve, now, or a time in the format.
    pub(crate) modification_time: Option<String>,
    /// How modification_time is written, as Python's strptime has it.
    #[arg(default = "%Y%m%d%H%M.%S")]
    pub(crate) modification_time_format: String,
    /// When it was read: preserve, now, or a time in the format.
    pub(crate) access_time: Option<String>,
    /// How access_time is written, as Python's strptime has it.
    #[arg(default = "%Y%m%d%H%M.%S")]
    pub(crate) access_time_format: String,
}

#[derive(Choice, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    Directory,
    File,
    Hard,
    Link,
    Touch,
}
