//! The surroundings of a run of a native module.

use std::ffi::OsString;
use std::path::PathBuf;

use modbox_cleanup::Cleanup;
use modbox_vocabulary::User;
use modbox_worker::Workers;

use crate::rooms::room::RoomRequest;

/// Surroundings of a run of a native module.
#[derive(Debug, Clone)]
pub struct NativeContext {
    /// Source of the launcher.
    pub workers: Workers,
    /// Working directory of the module.
    pub directory: PathBuf,
    /// Whole environment of the module; nothing else is inherited. A confined module gets a few more variables, unless
    /// they are set here.
    pub environment: Vec<(OsString, OsString)>,
    /// Names of those few variables that the module gets, if not all of them.
    pub room_variables: Option<&'static [&'static str]>,
    /// Confinement of the module. Without it, the module can do everything that this user can.
    pub confine: Option<RoomRequest>,
    /// Whether processes that a module without confinement leaves running stay when it has ended by itself.
    pub leaves_processes: bool,
    /// User whose module it is; `None` for the user of this process.
    pub user: Option<User>,
    /// Registry of resources to remove when modbox ends early.
    pub cleanup: Cleanup,
}
