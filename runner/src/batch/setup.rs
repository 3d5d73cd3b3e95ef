//! The settings that the jobs of one worker share: module, policy and limits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_channel::Framing;
use modbox_policy::Policy;
use modbox_vocabulary::Limits;
use serde::{Deserialize, Serialize};

use crate::app::audit::AuditLog;
use crate::app::{Module, PythonConfig};

/// Framing of messages between a batch and its workers. The bound is large: a job carries its arguments, and a report
/// carries the kept output, escaped several times.
pub(super) const FRAMES: Framing = Framing::new(1 << 30);

/// Host settings that all workers of a batch share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Surroundings {
    /// The cache of compiled code.
    pub cache_dir: Option<PathBuf>,
    /// The system's folder for temporary files.
    pub temp_dir: PathBuf,
    /// The working directory of native modules.
    pub directory: PathBuf,
    /// All environment variables, for native modules under `--allow-all`.
    pub environment: Vec<(OsString, OsString)>,
    /// How Python modules are assembled and cached.
    pub python: PythonConfig,
}

/// Setup of one worker. Jobs share a worker only when module, policy and limits are equal.
#[derive(Debug)]
pub struct Setup {
    /// The module.
    pub module: Arc<Module>,
    /// The kind that the job names for the module, if any.
    pub kind: Option<String>,
    /// The grants of the module.
    pub policy: Policy,
    /// The limits of each run.
    pub limits: Limits,
    /// The audit log, if runs are audited.
    pub audit: Option<Arc<AuditLog>>,
}

impl Setup {
    /// Returns whether a worker with this setup can run jobs of the other.
    pub(super) fn serves(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.module, &other.module) && self.limits == other.limits && self.policy == other.policy
    }
}

/// The first frame that a worker receives. The second frame holds the module's bytes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) surroundings: Surroundings,
    pub(super) path: PathBuf,
    pub(super) kind: Option<String>,
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    /// The id of the batch process, which the worker must not outlive.
    pub(super) parent: u32,
}
