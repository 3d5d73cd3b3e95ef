//! A run that Ansible asks for: arguments are complete, grants come from policy files only, and the answer is one line of
//! JSON on standard output, also for a failure.

use std::path::Path;
use std::time::Duration;

use modbox_contract::{Dict, GivenSecrets, ModuleResult, NEW_SECRETS, Release, Value};
use modbox_python_json::encode_dict;
use modbox_run::audit::{AuditedRun, ToldRecord};
use modbox_run::jobs::RunSummary;
use modbox_run::{Arguments, Module, Report, RunRequest, Scrutiny};
use modbox_vocabulary::Limits;

use crate::cli::ansible::python_rule;
use crate::cli::args::{AnsiballzForm, GrantArgs, LimitArgs, LookupArgs};
use crate::cli::audit::Audit;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::identity::Identity;
use crate::cli::printing::{job_summary, output};
use crate::cli::runner::runner;
use crate::cli::settings::{self, ModuleIdentity, Settings};

/// What Ansible asks for.
#[derive(Debug)]
pub(crate) struct AnsibleCall<'a> {
    /// The module's file, or its name if it has none.
    pub(crate) path: &'a Path,
    /// Name of the module for policies, reports and the audit log.
    pub(crate) name: &'a str,
    /// Arguments with their reserved keys.
    pub(crate) args: Dict,
    /// Secrets that came with the arguments.
    pub(crate) secrets: GivenSecrets,
    /// Soft limit of open files of a Python module; 0 to leave it.
    pub(crate) open_files: u64,
    /// Time limit, instead of the default one. A policy may set a shorter one.
    pub(crate) limit: Option<Duration>,
    /// Text of the policy that came with the task.
    pub(crate) policy: Option<&'a str>,
    /// Text of the signature file that came with the task.
    pub(crate) signature: Option<&'a str>,
    /// Whether the result has the audit line in it, also if no policy file says so.
    pub(crate) audit: bool,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct AnsweredRun {
    pub(crate) report: Report,
    /// The error if the audit line could not be written.
    pub(crate) audited: Result<(), Failure>,
    /// The release of the controller.
    release: Release,
}

impl AnsweredRun {
    /// Returns the result for the controller. One of ansible-core 2.22 masks what it shows by the secrets that come with a
    /// result, so it gets them and the values; registered variables of its plays have these. Others get the masked result.
    pub(crate) fn result(&self) -> Dict {
        let report = &self.report;
        if self.release < Release::V2_22 {
            return report.result.as_dict().clone();
        }
        let mut result = report.result.to_clear().unwrap_or_else(|| report.result.as_dict().clone());
        let secrets = report.secrets.declared();
        if !secrets.is_empty() {
            result.insert(NEW_SECRETS.to_owned(), Value::List(secrets.iter().map(Value::from).collect()));
        }
        result
    }

    /// Returns the summary of the run for the file of a job, with the result for the controller.
    pub(crate) fn into_summary(self) -> RunSummary {
        let result = encode_dict(&self.result());
        RunSummary { result, ..job_summary::of_audited(self.report, false, self.audited) }
    }
}

/// Runs the module that `open` returns.
///
/// # Errors
///
/// A policy file is wrong, the module cannot be loaded, or the run cannot be audited.
pub(crate) fn run(
    context: &Context,
    call: AnsibleCall<'_>,
    open: impl FnOnce() -> Result<Module, Failure>,
) -> Result<AnsweredRun, Failure> {
    let AnsibleCall { path, name, args, secrets, open_files, limit, policy, signature, audit: is_asked } = call;
    let mut settings = Settings::load(&context.environment, &GrantArgs::default(), &LimitArgs::default()).or_usage()?;
    policy.map_or(Ok(()), |policy| settings.add_sent(policy)).or_usage()?;
    let general = settings.for_every_module().or_usage()?.policy;
    let audit = Audit::open(&general)?;
    let module = audit.loaded(path, open())?;
    let interpreters = settings::interpreters(&context.environment, &[]).or_usage()?;
    let python =
        settings::python(&context.environment, &LookupArgs::default(), &[], AnsiballzForm::Cached).or_usage()?;
    let runner = runner(context, None, python);
    let identity = Identity::of(&runner, &module, name, &interpreters, &general);
    let known = ModuleIdentity { signature, ..ModuleIdentity::of(name, &module, &identity) };
    let mut effective = settings.for_module(known).or_usage()?;
    audit.check(&effective.policy)?;
    let scrutiny = if module.is_received() { python_rule::scrutiny(&effective)? } else { Scrutiny::default() };
    if scrutiny == Scrutiny::Observed {
        python_rule::lift_defaults(&mut effective);
    }
    if let Some(limit) = limit {
        // The limit of a policy stays, and one that no policy sets is replaced.
        let timeout = effective.limits.timeout;
        effective.limits.timeout = if timeout == Limits::default().timeout { limit } else { limit.min(timeout) };
    }
    let request = RunRequest {
        interpreters: &interpreters,
        given_secrets: Some(&secrets),
        open_files,
        scrutiny,
        ..RunRequest::new(name, Arguments::Complete(args), &effective.policy, &effective.limits)
    };
    let pending = audit.start(context, &module, &request)?;
    let is_told = is_asked || effective.audit_in_results;
    let release = request.release();
    let told = is_told.then(|| ToldRecord::new(&AuditedRun::of(&module, &request)));
    let mut report = runner.run(&module, &request);
    drop(runner);
    // What a module says of itself in this place is not an audit line.
    report.result.set_told(None);
    let audited = pending.finish(&report);
    if let Some(told) = told {
        let told = told.finish(&report, ExitStatus::from(&report) as u8);
        report.result.set_told(Some(&told));
    }
    Ok(AnsweredRun { report, audited, release })
}

/// Prints the result of a run, or why there was none, as one line of JSON.
///
/// # Errors
///
/// Standard output cannot be written.
pub(crate) fn answer(context: &Context, ran: Result<AnsweredRun, Failure>) -> Result<ExitStatus, Failure> {
    let (line, status) = match ran {
        Ok(run) => {
            let line = encode_dict(&run.result());
            let status = run.audited.map_or_else(
                |failure| {
                    output::print_error(&failure.error);
                    failure.status
                },
                |()| ExitStatus::from(&run.report),
            );
            (line, status)
        }
        Err(failure) => {
            let result = ModuleResult::runner_failure(&error_words(&failure.error), None);
            (result.to_json(), failure.status)
        }
    };
    if !context.cleanup.is_ending() {
        output::print_line(&line).or_internal()?;
    }
    Ok(status)
}
