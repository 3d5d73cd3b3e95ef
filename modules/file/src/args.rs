//! The options of `file`.

use modbox_sdk::{Args, Choice};

/// Creates or removes a file, a folder or a link, and sets mode, owner and times.
///
/// A link itself is removed or replaced, not its target. Creating links and removing folders needs a grant of the
/// parent folder. Times are UTC.
#[derive(Args)]
pub(crate) struct FileArgs {
    /// The wanted state. By default, the current state stays.
    pub(crate) state: Option<State>,
    /// The path.
    #[arg(type = "path", access = "entry", aliases("dest", "name"))]
    pub(crate) path: String,
    /// The name of the file inside path if path is a folder. Ansible's action plugins set this option.
    #[arg(name = "_original_basename")]
    pub(crate) original_basename: Option<String>,
    /// Set mode, owner and times of everything in the folder.
    #[arg(default = false)]
    pub(crate) recurse: bool,
    /// Create a link without a target, and replace a file or an empty folder by a link.
    #[arg(default = false)]
    pub(crate) force: bool,
    /// Set mode, owner and times of a link's target.
    #[arg(default = true)]
    pub(crate) follow: bool,
    /// Only tell whether the file looks binary. Ansible's action plugins set this option.
    #[arg(name = "_diff_peek")]
    pub(crate) diff_peek: Option<bool>,
    /// The target of the link. A relative path is relative to the link.
    #[arg(type = "path")]
    pub(crate) src: Option<String>,
    /// The modification time: preserve, now, or a time in the given format.
    pub(crate) modification_time: Option<String>,
    /// The format of modification_time, as for Python's strptime.
    #[arg(default = "%Y%m%d%H%M.%S")]
    pub(crate) modification_time_format: String,
    /// The access time: preserve, now, or a time in the given format.
    pub(crate) access_time: Option<String>,
    /// The format of access_time, as for Python's strptime.
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
