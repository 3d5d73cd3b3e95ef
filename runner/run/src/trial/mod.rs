//! Trial runs: a module runs with all its confinement, on copies of what it may write, so that nothing on the machine
//! changes.
//!
//! A directory that is granted for writing is copied into the directory of the trial, and so is a single file of a guest.
//! A single file of a native module is a copy in every run, which a trial does not take back; that needs a mount
//! namespace. What is granted for reading stays where it is. The network, and what listens behind sockets and devices,
//! cannot be copied: a trial refuses granted sockets and devices unless the caller accepts real effects, and the caller
//! decides about grants of the network.

mod copies;

use modbox_policy::{Access, Policy, Shape, SingleFiles};
use modbox_scratch::{DirPurpose, RunDir};
use modbox_vocabulary::GrantSource;

use self::copies::Copier;
pub(crate) use self::copies::check_special;
use crate::admission::{Admission, AdmittedRun};
use crate::execution::replaced_paths::ReplacedPaths;
use crate::modules::module::Module;
use crate::reports::error::RunError;
use crate::reports::error::trial_error::TrialError;
use crate::reports::refusal;
use crate::reports::report::{ADVICE_PREFIX, Report};
use crate::request::run_request::RunRequest;
use crate::runner::Runner;

/// Level of confinement with mount namespaces.
const WITH_NAMESPACES: u8 = 3;

/// What a result says of a trial.
const TRIAL: &str = "this was a trial on copies: no file of this machine was changed";

/// Whether a trial may use sockets and devices of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RealEffects {
    /// It may.
    Accepted,
    /// It may not: the run fails if one is granted.
    Refused,
}

impl Runner {
    /// Runs a module once on copies of what it may write.
    #[must_use]
    pub fn try_on_copies(&self, module: &Module, request: &RunRequest<'_>, effects: RealEffects) -> Report {
        let admitted = match self.admit(module, request) {
            Admission::Admitted(admitted) => *admitted,
            Admission::Refused { report, .. } => return *report,
        };
        match RunDir::create(&self.scratch, DirPurpose::Run, None) {
            Ok(dir) => {
                let report = self.try_in(&dir, module, admitted, request, effects);
                dir.close();
                report
            }
            Err(error) => refusal::report_failed_start(admitted.report, error.into()),
        }
    }

    fn try_in(
        &self,
        dir: &RunDir,
        module: &Module,
        admitted: AdmittedRun,
        request: &RunRequest<'_>,
        effects: RealEffects,
    ) -> Report {
        let AdmittedRun { form, mut policy, arguments, report } = admitted;
        match on_copies(&mut policy, form.is_guest(), dir, effects) {
            Ok(copies) => {
                let admitted = AdmittedRun { form, policy, arguments, report };
                let mut report = self.run_admitted(module, admitted, request);
                copies.translate(&mut report);
                report.result.warn(&format!("{ADVICE_PREFIX}{TRIAL}"));
                report
            }
            Err(error) => refusal::report_failed_start(report, RunError::from(error)),
        }
    }
}

/// Puts copies into the places of what the policy grants for writing.
fn on_copies(
    policy: &mut Policy,
    is_guest: bool,
    dir: &RunDir,
    effects: RealEffects,
) -> Result<ReplacedPaths, TrialError> {
    if let Some(grant) = policy.outside().first() {
        return Err(TrialError::CommandsOutside(grant.shown()));
    }
    if effects == RealEffects::Refused {
        policy.paths().iter().try_for_each(check_special)?;
    }
    if !is_guest {
        policy.set_single_files(SingleFiles::Dropped);
        policy.require_confinement(WITH_NAMESPACES, &GrantSource::named("a trial on copies"));
    }
    let mut copier = Copier::new(dir.path());
    policy.replace_hosts(|grant| match (grant.access, grant.shape) {
        (Access::Read, _) => Ok(None),
        // Not copied again: the launcher works on a copy, and drops it.
        (Access::Write, Shape::Name) if !is_guest => Ok(None),
        (Access::Write, Shape::Name | Shape::Directory) => copier.copy(grant).map(Some),
    })?;
    Ok(copier.finish())
}
