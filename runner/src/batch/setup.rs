//! The settings that the jobs of one slot share: module, policy and limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use modbox_policy::Policy;
use modbox_vocabulary::Limits;

use crate::app::audit::AuditLog;
use crate::app::{LayeredRun, Module};

/// Settings of a slot. Jobs share a slot only when module, policy and limits are equal.
#[derive(Debug)]
pub struct Setup {
    /// The module.
    pub module: Arc<Module>,
    /// The grants of the module.
    pub policy: Policy,
    /// How runs are made on layers, if they are.
    pub layers: Option<LayeredRun>,
    /// The limits of each run.
    pub limits: Limits,
    /// Programs to start instead of an interpreter, the same for all jobs of a batch.
    pub interpreters: Arc<BTreeMap<String, String>>,
    /// The audit log, if runs are audited.
    pub audit: Option<Arc<AuditLog>>,
}

impl Setup {
    /// Returns whether a slot with these settings can run jobs of the other.
    pub(super) fn serves(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.module, &other.module)
            && self.limits == other.limits
            && self.policy == other.policy
            && self.layers == other.layers
    }
}
