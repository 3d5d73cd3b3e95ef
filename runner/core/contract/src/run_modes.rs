//! How a caller has a module run: the modes of a task that the reserved keys carry.
//!
//! One value from the task's keywords to the module's call, so that none of them is lost on the way.

use serde::{Deserialize, Serialize};

/// The modes of a module's run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunModes {
    /// Whether it may change nothing.
    pub check: bool,
    /// Whether it reports differences.
    pub diff: bool,
    /// Whether its arguments and result are secret.
    pub no_log: bool,
    /// Whether its result repeats its arguments, as `invocation`. Under ansible-core 2.21 and newer, the caller says so.
    pub repeats_arguments: bool,
    /// The number of `-v`.
    pub verbosity: u8,
    /// The soft limit of open files of a native Python module, below the hard one; 0 to leave it (ansible-core,
    /// `PYTHON_MODULE_RLIMIT_NOFILE`).
    #[serde(default)]
    pub open_files: u64,
}
