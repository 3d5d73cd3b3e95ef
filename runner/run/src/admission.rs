//! Admits a run: recognises the module's kind and computes the run's grants, before anything is started.

use std::borrow::Cow;

use modbox_kinds::Kind;
use modbox_kinds::detect::Detection;
use modbox_policy::{Policy, TrustStanding};
use tracing::{debug, info};

use crate::grants::checked_arguments;
use crate::grants::confine;
use crate::grants::observed_variables;
use crate::modules::module::Module;
use crate::programs;
use crate::python_place::decision::Placement;
use crate::reports::error::RunError;
use crate::reports::missing_grant::MissingGrant;
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
    /// How the module runs: its kind, and the interpreter of the sandbox if it has one.
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

/// A run that may not start: the grants that it would have had, and its report.
type RefusedRun = Box<(Policy, Report)>;

impl Runner {
    /// Recognises a module and computes the grants of a run.
    #[must_use]
    pub fn admit(&self, module: &Module, request: &RunRequest<'_>) -> Admission {
        let secrets = TaskSecrets::of(module, request);
        match self.admitted(module, request, &secrets) {
            Ok(run) => Admission::Admitted(Box::new(run)),
            Err(refused) => {
                let (policy, mut report) = *refused;
                report.secrets = secrets;
                report.mask_known();
                Admission::Refused { policy: Box::new(policy), report: Box::new(report) }
            }
        }
    }

    fn admitted(
        &self,
        module: &Module,
        request: &RunRequest<'_>,
        secrets: &TaskSecrets,
    ) -> Result<AdmittedRun, RefusedRun> {
        let failed = |error: RunError| {
            refused(request.policy.clone(), refusal::report_failed_start(opening(module, request), error))
        };
        let kind = recognize(module, request).map_err(failed)?;
        let bound = self.bind(kind, module, request).map_err(failed)?;
        let request = &RunRequest { policy: &bound, arguments: Cow::Borrowed(&*request.arguments), ..*request };
        check_beforehand(kind, module, request)?;
        let (guest, place) = match kind {
            Kind::Python => match self.place_python(module, request).map_err(failed)? {
                Placement::Guest(guest, run) => (Some(guest), Some(run)),
                Placement::Native(run) => (None, run),
            },
            _ => (None, None),
        };
        let form = RunForm { kind, python: guest };
        let (grants, provider) = if kind.is_provider() {
            let admitted = self.admit_provider(kind, module, request);
            let (grants, run) = admitted
                .map_err(|refusal| refused(request.policy.clone(), refusal.report(opening(module, request))))?;
            (grants, Some(run))
        } else {
            (self.grant(&form, module, request).map_err(failed)?, None)
        };
        let obstacles = if grants.arguments.asks_for_check() { grants.obstacles } else { Vec::new() };
        let mut report = Report {
            notes: grants.notes,
            obstacles,
            provider,
            python: place,
            secrets: secrets.clone(),
            ..Report::of_module(module, &grants.policy).named(request.name)
        };
        if form.is_guest() {
            report.grants.extend(programs::needed_by_commands(&grants.policy));
        }
        for grant in &report.grants {
            debug!(capability = %grant.capability, subject = grant.subject, source = %grant.source, "granted");
        }
        let run = AdmittedRun { form, policy: grants.policy, arguments: grants.arguments, report };
        self.decide(run, grants.missing, request)
    }

    /// Decides whether a run whose grants are known may start.
    fn decide(
        &self,
        mut run: AdmittedRun,
        missing: Vec<MissingGrant>,
        request: &RunRequest<'_>,
    ) -> Result<AdmittedRun, RefusedRun> {
        let is_observed = request.scrutiny == Scrutiny::Observed;
        let lacking: Vec<_> = missing.iter().map(|missing| missing.denial.clone()).collect();
        let objections = run.policy.objections(&lacking, is_observed);
        if !objections.is_empty() {
            return Err(refused(run.policy, refusal::report_objections(run.report, &objections)));
        }
        if is_observed {
            run.report.denials = lacking;
            run.report.denials.extend(observed_variables::denials(&self.environment(&run.policy), &run.policy));
            // It gets its arguments as they were sent, also where a confined module would get other paths.
            run.arguments = Arguments::clone(&request.arguments);
            return Ok(run);
        }
        if let Some(error) = confine::contradiction(&run.policy) {
            return Err(refused(run.policy, refusal::report_failed_start(run.report, error)));
        }
        run.report.notes.extend(
            run.policy.unconfined_by().map(|source| format!("nothing confines the module: `unconfined`, {source}")),
        );
        let starts_outside = !run.policy.allows_everything() && !run.policy.outside().is_empty();
        if run.form.kind.is_provider() && starts_outside {
            let why = "modbox starts such commands for modules alone; this is a provider";
            let error = RunError::commands_outside(&run.policy, why.to_owned());
            return Err(refused(run.policy, refusal::report_failed_start(run.report, error)));
        }
        if !missing.is_empty() {
            return Err(refused(run.policy, refusal::report_denial(run.report, missing)));
        }
        Ok(run)
    }
}

fn refused(policy: Policy, report: Report) -> RefusedRun {
    Box::new((policy, report))
}

/// Returns the report of a run of which only the request is known.
fn opening(module: &Module, request: &RunRequest<'_>) -> Report {
    Report::of_module(module, request.policy).named(request.name)
}

/// Checks what needs no grants: whether trust rules refuse the module, and whether its arguments are valid.
fn check_beforehand(kind: Kind, module: &Module, request: &RunRequest<'_>) -> Result<(), RefusedRun> {
    let refusals = request.policy.refusals();
    if !refusals.is_empty() {
        let report = refusal::report_objections(opening(module, request), &refusals);
        return Err(refused(request.policy.clone(), report));
    }
    let checked = module.metadata().filter(|_| kind.is_wasm() && !kind.is_provider());
    let mistake = |metadata| checked_arguments::mistake(metadata, request.name, &request.arguments);
    match checked.and_then(mistake) {
        Some(message) => {
            let report = refusal::report_invalid(opening(module, request), &message);
            Err(refused(request.policy.clone(), report))
        }
        None => Ok(()),
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
