//! The settings that the jobs of one slot share: module, policy and limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use modbox_policy::Policy;
use modbox_vocabulary::Limits;

use crate::batch::places::GrantedPlaces;
use crate::batch::walls::Walls;
use crate::layered::LayeredRun;
use crate::modules::module::Module;
use crate::reports::audit::AuditLog;
use crate::runner::Runner;
use crate::runner::run_form::RunForm;

/// Settings of a slot. Jobs share a slot only when what runs and the limits are equal, and the kernel confines both to the same: the
/// policies are equal and lead to the same files, or differ only where the kernel does not see it.
#[derive(Debug)]
pub struct Setup {
    /// What the jobs of the slot run.
    pub module: Arc<Module>,
    /// How the module runs.
    pub form: RunForm,
    /// The grants of the module.
    pub policy: Policy,
    /// What its grants lead to.
    pub places: GrantedPlaces,
    /// What confines its worker.
    pub walls: Walls,
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
    pub(crate) fn serves(&self, other: &Self) -> bool {
        let is_same = match (&self.form.python, &other.form.python) {
            // The worker runs the interpreter, whichever module that runs.
            (Some(python), Some(other)) => python.shares_interpreter(other),
            (None, None) => Arc::ptr_eq(&self.module, &other.module),
            _ => false,
        };
        is_same
            && self.limits == other.limits
            && self.layers == other.layers
            && (self.has_grants_of(other) || self.layers.is_none() && self.walls == other.walls)
    }

    fn has_grants_of(&self, other: &Self) -> bool {
        self.policy == other.policy && self.places == other.places
    }

    /// Returns the policy of a job that a worker with these settings runs, unless it is that of the worker.
    pub(crate) fn own_policy(&self, worker: &Self, runner: &Runner) -> Option<Box<Policy>> {
        let own = || Box::new(runner.guest_policy(&self.form, &self.policy).into_owned());
        (self.policy != worker.policy).then(own)
    }
}
