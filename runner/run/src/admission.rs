//! Admits a run: recognises the module's kind and computes the run's grants, before anything is started.

use std::borrow::Cow;

use modbox_kinds::Kind;
use modbox_kinds::detect::Detection;
use modbox_policy::{Policy, TrustStanding};
use tracing::{debug, info};

use crate::grants::checked_arguments;
use crate::grants::confine;
use crate::grants::designation::EffectiveGrants;
use crate::grants::observed_variables;
use crate::modules::module::Module;
use crate::programs;
use crate::python_place::decision::Placement;
use crate::reports::error::RunError;
use crate::reports::refusal;
use crate::reports::report::Report;
use crate::reports::secrets::TaskSecrets;
use crate::request::run_request::{Arguments, RunRequest};
use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;
use crate::runner::run_form::RunForm;

/// Whether a run may start.
#[derive(Debug)]
pub enum Admission {
    /// It may.
    Admitted(Box<AdmittedRun>),
    /// It may not: the module is unknown, or grants are missing.
    Refused {
        /// The grants that the run would have had.
        policy: Box<Policy>,
        /// The report of the run.
        report: Box<Report>,
    },
}

/// A run that lacks no grant.
#[derive(Debug)]
pub struct AdmittedRun {
    /// What runs.
    pub form: RunForm,
    /// The grants of the run, with the paths that its arguments designate.
    pub policy: Policy,
    /// The arguments for the module.
    pub arguments: Arguments,
    /// What is known for the report.
    pub report: Report,
}

impl Admission {
    /// Returns the grants of the run.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        match self {
            Self::Admitted(run) => &run.policy,
            Self::Refused { policy, .. } => policy,
        }
    }
}

impl Admission {
    /// Returns what must not be seen of the run.
    #[must_use]
    pub fn secrets(&self) -> &TaskSecrets {
        match self {
            Self::Admitted(run) => &run.report.secrets,
            Self::Refused { report, .. } => &report.secrets,
        }
    }
}

impl Runner {
    /// Recognises a module and computes the grants of a run.
    #[must_use]
    pub fn admit(&self, module: &Module, request: &RunRequest<'_>) -> Admission {
        let secrets = TaskSecrets::of(module, request);
        let refused = |policy: Policy, mut report: Report| {
            report.secrets = secrets.clone();
            report.mask_known();
            Admission::Refused { policy: Box::new(policy), report: Box::new(report) }
        };
        let failed = |error: RunError| {
            let report = Report::of_module(module, request.policy).named(request.name);
            refused(request.policy.clone(), refusal::report_failed_start(report, error))
        };
        let kind = match recognize(module, request) {
            Ok(kind) => kind,
            Err(error) => return failed(error),
        };
        let bound = match self.bind(kind, module, request) {
            Ok(bound) => bound,
            Err(error) => return failed(error),
        };
        let request = &RunRequest { policy: &bound, arguments: Cow::Borrowed(&*request.arguments), ..*request };
        let refusals = request.policy.refusals();
        if !refusals.is_empty() {
            let report = Report::of_module(module, request.policy).named(request.name);
            return refused(request.policy.clone(), refusal::report_objections(report, &refusals));
        }
        let checked = module.metadata().filter(|_| kind.is_wasm() && !kind.is_provider());
        let mistake = |metadata| checked_arguments::mistake(metadata, request.name, &request.arguments);
        if let Some(message) = checked.and_then(mistake) {
            let report = Report::of_module(module, request.policy).named(request.name);
            return refused(request.policy.clone(), refusal::report_invalid(report, &message));
        }
        let (guest, place) = match kind {
            Kind::Python => match self.place_python(module, request) {
                Ok(Placement::Guest(guest, run)) => (Some(guest), Some(run)),
                Ok(Placement::Native(run)) => (None, run),
                Err(error) => return failed(error),
            },
            _ => (None, None),
        };
        let form = RunForm { kind, python: guest };
        let is_guest = form.is_guest();
        let (grants, provider) = match kind.is_provider() {
            true => match self.admit_provider(kind, module, request) {
                Ok((grants, run)) => (grants, Some(run)),
                Err(refusal) => {
                    let report = Report::of_module(module, request.policy).named(request.name);
                    return refused(request.policy.clone(), refusal.report(report));
                }
            },
            false => match self.grant(&form, module, request) {
                Ok(grants) => (grants, None),
                Err(error) => return failed(error),
            },
        };
        let EffectiveGrants { policy, arguments, missing, notes, obstacles } = grants;
        let obstacles = if arguments.asks_for_check() { obstacles } else { Vec::new() };
        let mut report = Report {
            notes,
            obstacles,
            provider,
            python: place,
            secrets: secrets.clone(),
            ..Report::of_module(module, &policy).named(request.name)
        };
        if is_guest {
            report.grants.extend(programs::needed_by_commands(&policy));
        }
        for grant in &report.grants {
            debug!(capability = %grant.capability, subject = grant.subject, source = %grant.source, "granted");
        }
        let lacking: Vec<_> = missing.iter().map(|missing| missing.denial.clone()).collect();
        let objections = policy.objections(&lacking, request.scrutiny == Scrutiny::Observed);
        if !objections.is_empty() {
            return refused(policy, refusal::report_objections(report, &objections));
        }
        if request.scrutiny == Scrutiny::Observed {
            report.denials = missing.into_iter().map(|missing| missing.denial).collect();
            report.denials.extend(observed_variables::denials(&self.environment(&policy), &policy));
            // It gets its arguments as they were sent, also where a confined module would get other paths.
            let arguments = Arguments::clone(&request.arguments);
            return Admission::Admitted(Box::new(AdmittedRun { form, policy, arguments, report }));
        }
        if let Some(error) = confine::contradiction(&policy) {
            return refused(policy, refusal::report_failed_start(report, error));
        }
        report.notes.extend(
            policy.unconfined_by().map(|source| format!("nothing confines the module: `unconfined`, {source}")),
        );
        if kind.is_provider() && !policy.allows_everything() && !policy.outside().is_empty() {
            let why = "modbox starts such commands for modules alone; this is a provider";
            let error = RunError::commands_outside(&policy, why.to_owned());
            return refused(policy, refusal::report_failed_start(report, error));
        }
        match missing.is_empty() {
            true => Admission::Admitted(Box::new(AdmittedRun { form, policy, arguments, report })),
            false => refused(policy, refusal::report_denial(report, missing)),
        }
    }
}

impl Runner {
    /// Returns the policy bound to what runs: the module with the parts that the policy was made for, or with those that it has now.
    fn bind<'p>(&self, kind: Kind, module: &Module, request: &RunRequest<'p>) -> Result<Cow<'p, Policy>, RunError> {
        let policy = request.policy;
        if kind.is_wasm() && !kind.is_provider() && policy.trust().digest.is_none() {
            return Ok(Cow::Borrowed(policy));
        }
        let known = self.bound_closure(module, request)?;
        let Some(known) = known.filter(|_| policy.trust().digest.is_none()) else { return Ok(Cow::Borrowed(policy)) };
        let mut bound = policy.clone();
        bound.set_trust(TrustStanding { digest: Some(known.closure.digest().to_owned()), ..policy.trust().clone() });
        Ok(Cow::Owned(bound))
    }
}

/// Returns the module's kind, after checking that the module may be loaded.
fn recognize(module: &Module, request: &RunRequest<'_>) -> Result<Kind, RunError> {
    let Detection { kind, reason } = module.detection().map_err(Clone::clone)?;
    info!(module = %module.path().display(), %kind, reason, digest = module.digest(), "recognised");
    if kind.is_wasm() {
        modbox_wasm::check_size(module.size(), request.limits)?;
    }
    Ok(*kind)
}
