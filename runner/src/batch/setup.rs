//! What the jobs of one worker have in common: the module, what it may reach and how much it may use.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_channel::Framing;
use modbox_policy::Policy;
use modbox_vocabulary::Limits;
use serde::{Deserialize, Serialize};

use crate::app::audit::AuditLog;
use crate::app::{Module, PythonConfig};

/// What passes between a batch and its workers. A job carries its arguments, a report what was kept of the output, several
/// times escaped.
pub(super) const FRAMES: Framing = Framing::new(1 << 30);

/// The surroundings of every worker of a batch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Surroundings {
    /// Where compiled code is kept.
    pub cache_dir: Option<PathBuf>,
    /// The system's folder for temporary files.
    pub temp_dir: PathBuf,
    /// Where native modules start.
    pub directory: PathBuf,
    /// The whole environment, for native modules that are trusted with everything.
    pub environment: Vec<(OsString, OsString)>,
    /// How Python modules are put together and kept.
    pub python: PythonConfig,
}

/// What one worker is for. Jobs share a worker only when all of this is the same.
#[derive(Debug)]
pub struct Setup {
    /// The module.
    pub module: Arc<Module>,
    /// The kind that it was asked to be taken for.
    pub kind: Option<String>,
    /// What it may reach.
    pub policy: Policy,
    /// How much it may use.
    pub limits: Limits,
    /// Where each run leaves a line.
    pub audit: Option<Arc<AuditLog>>,
}

impl Setup {
    /// Whether a worker for one can do the jobs of the other.
    pub(super) fn serves(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.module, &other.module) && self.limits == other.limits && self.policy == other.policy
    }
}

/// The first frame that a worker gets; the module's bytes are the second.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) surroundings: Surroundings,
    pub(super) path: PathBuf,
    pub(super) kind: Option<String>,
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    /// The process that the worker must not outlive.
    pub(super) parent: u32,
}
