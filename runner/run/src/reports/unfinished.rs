//! Reports of runs without an outcome: not started, or cut off when their process ended.

use std::path::Path;

use modbox_contract::ModuleResult;
use modbox_policy::Policy;
use modbox_vocabulary::{Confinement, Timing, Usage};

use crate::modules::module::Module;
use crate::reports::report::{ModuleFacts, Report, RunUser, Status};
use crate::reports::secrets::TaskSecrets;

impl Report {
    /// Returns the failed report of a module of which only the path is known.
    #[must_use]
    pub fn not_run(path: impl AsRef<Path>, message: &str) -> Self {
        Self { result: ModuleResult::runner_failure(message, None), ..Self::pending(path.as_ref()) }
    }

    /// Returns a report with a placeholder for the result.
    fn pending(path: &Path) -> Self {
        let module = ModuleFacts {
            name: None,
            version: None,
            path: path.to_string_lossy().into_owned(),
            kind: None,
            reason: String::new(),
            digest: String::new(),
            signature: None,
        };
        Self {
            python: None,
            module,
            status: Status::Failed,
            result: ModuleResult::pending(),
            limit: None,
            grants: Vec::new(),
            denials: Vec::new(),
            denials_omitted: 0,
            lost: Vec::new(),
            survivors: Vec::new(),
            outside: Vec::new(),
            requests: Vec::new(),
            hints: Vec::new(),
            become_user: None,
            confinement: Confinement::default(),
            effect: None,
            usage: Usage::default(),
            stderr: String::new(),
            timing: Timing::default(),
            kept_files: None,
            notes: Vec::new(),
            observed: false,
            observation: Box::default(),
            refused_renames: false,
            objections: Vec::new(),
            obstacles: Vec::new(),
            error: None,
            provider: None,
            secrets: TaskSecrets::default(),
        }
    }

    /// Returns the report with which a run begins, so that every run has a result.
    pub(crate) fn of_module(module: &Module, policy: &Policy) -> Self {
        let mut report = Self::pending(module.shown_path());
        let bound = policy.trust().digest.as_deref();
        bound.unwrap_or_else(|| module.digest()).clone_into(&mut report.module.digest);
        let version = module.metadata().map(|metadata| metadata.version.clone());
        report.module.version = version.filter(|version| !version.is_empty());
        report.module.signature.clone_from(&policy.trust().signature);
        report.grants = policy.grants();
        report.become_user = policy.user().map(RunUser::from);
        if let Ok(detection) = module.detection() {
            report.module.kind = Some(detection.kind);
            report.module.reason.clone_from(&detection.reason);
        }
        report
    }

    /// Returns the report of a run whose process ended before the run did.
    #[must_use]
    pub fn crashed(module: &Module, policy: &Policy, message: &str) -> Self {
        let result = ModuleResult::runner_failure(message, None);
        Self { status: Status::Crashed, result, ..Self::of_module(module, policy) }
    }

    /// Returns the report of a run that was not started because modbox was told to stop.
    #[must_use]
    pub fn cancelled(module: &Module, policy: &Policy) -> Self {
        let result = ModuleResult::runner_failure("the job was not begun: modbox was told to stop", None);
        Self { status: Status::Cancelled, result, ..Self::of_module(module, policy) }
    }

    /// Returns the report of a run that was ended before it was over, since its caller does not want it any more.
    #[must_use]
    pub fn ended_for_caller(module: &Module, policy: &Policy) -> Self {
        let result = ModuleResult::runner_failure("the run was ended: its caller has cancelled it", None);
        Self { status: Status::Cancelled, result, ..Self::of_module(module, policy) }
    }
}
