//! A job that was admitted, from the queue to its answer.

use std::borrow::Cow;
use std::sync::Arc;

use modbox_cleanup::Cleanup;
use modbox_python_json::Value;
use modbox_vocabulary::{Outcome, error_chain};
use modbox_wasm::GuestOrder;

use crate::admission::AdmittedRun;
use crate::batch::job::Job;
use crate::batch::report;
use crate::batch::setup::Setup;
use crate::layered::{LayeredRun, WarmLayers};
use crate::reports::audit::{AuditError, AuditedRun, PendingRecord};
use crate::reports::error::RunError;
use crate::reports::report::Report;
use crate::reports::secrets::TaskSecrets;
use crate::request::run_request::{Arguments, RunRequest};
use crate::request::scrutiny::Scrutiny;
use crate::runner::Runner;
use crate::warm_guest::GuestTask;

/// A job that waits for a slot or was given to one.
#[derive(Debug)]
pub(crate) struct Task {
    /// Position among all jobs.
    pub(crate) number: u64,
    /// Length of its line in bytes.
    pub(crate) size: usize,
    pub(crate) setup: Arc<Setup>,
    job: Job,
    name: String,
    admitted: Box<AdmittedRun>,
    /// Its order for a worker, once it was prepared.
    guest: Option<GuestTask>,
    /// The reserved audit line, once the job was given to a slot.
    audit: Option<PendingRecord>,
}

/// The report of a job.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) number: u64,
    id: Value,
    /// Line of the input, for a line that is not a job.
    line: Option<u64>,
    pub(crate) report: Report,
    /// Whether the job ran and is missing in an audit file.
    pub(crate) is_unaudited: bool,
    /// Whether the result is a secret.
    is_secret: bool,
}

impl Answer {
    /// Returns the answer of a job that is not audited here.
    pub(crate) fn of_report(number: u64, id: Value, report: Report) -> Self {
        Self { number, id, line: None, report, is_unaudited: false, is_secret: false }
    }

    /// Returns whether the job succeeded and is audited.
    pub(crate) fn is_success(&self) -> bool {
        self.report.status.is_success() && !self.is_unaudited
    }

    /// Returns the line of the output, which has no secrets.
    pub(crate) fn line(&mut self) -> Vec<u8> {
        if self.is_secret {
            self.report.censor();
        }
        report::line(&self.id, self.line, &self.report)
    }
}

impl Task {
    pub(crate) fn new(
        number: u64,
        size: usize,
        setup: Arc<Setup>,
        (job, name): (Job, String),
        admitted: Box<AdmittedRun>,
    ) -> Self {
        Self { number, size, setup, job, name, admitted, guest: None, audit: None }
    }

    /// Returns the `id` of the job.
    pub(crate) fn id(&self) -> &Value {
        &self.job.id
    }

    /// Reserves the audit line before the job is given to a slot, so that no job runs that cannot be audited. Does
    /// nothing if it is reserved already.
    ///
    /// # Errors
    ///
    /// The log has no room for another line.
    pub(crate) fn reserve_audit(&mut self, cleanup: &Cleanup) -> Result<(), AuditError> {
        if self.audit.is_none() {
            self.audit = reserve(&self.setup, (&self.job, &self.name), &self.admitted.report.secrets, cleanup)?;
        }
        Ok(())
    }

    /// Returns the order for a worker.
    ///
    /// # Errors
    ///
    /// The run's directory cannot be made, or the module's kind cannot start it.
    pub(crate) fn order(&mut self, runner: &Runner) -> Result<Option<GuestOrder>, RunError> {
        let request = request(&self.job, &self.name, &self.setup, Cow::Borrowed(&self.admitted.arguments));
        let mut guest = runner.guest_task(&self.setup.module, &self.admitted, &request)?;
        let order = guest.take_order();
        self.guest = Some(guest);
        Ok(order)
    }

    /// Runs a module outside of a warm worker.
    pub(crate) fn run(self, runner: &Runner) -> Answer {
        let Self { number, setup, job, name, admitted, audit, .. } = self;
        // The arguments are those of `admitted`.
        let none = Arguments::Complete(modbox_contract::Dict::new());
        let request = request(&job, &name, &setup, Cow::Owned(none));
        let report = match &setup.layers {
            Some(run) => runner.run_admitted_on_layers(&setup.module, *admitted, &request, run),
            None => runner.run_admitted(&setup.module, *admitted, &request),
        };
        answer(number, &job, audit, report)
    }

    /// Runs a guest on layers in a warm worker.
    pub(crate) fn run_warm(self, runner: &Runner, layers: &mut WarmLayers, run: &LayeredRun) -> Answer {
        let Self { number, setup, job, name, admitted, audit, .. } = self;
        // The arguments are those of `admitted`.
        let none = Arguments::Complete(modbox_contract::Dict::new());
        let request = request(&job, &name, &setup, Cow::Owned(none));
        let report = layers.run(runner, (&setup.module, *admitted), &request, run);
        answer(number, &job, audit, report)
    }

    /// Answers the job of a guest that has ended, or could not be started.
    pub(crate) fn conclude(self, runner: &Runner, ended: Result<Outcome, RunError>) -> Answer {
        let Self { number, setup, job, name, admitted, guest, audit, .. } = self;
        let AdmittedRun { form, arguments, report, .. } = *admitted;
        let request = request(&job, &name, &setup, Cow::Owned(arguments));
        let report = runner.conclude(report, guest, (&form, &request), ended);
        answer(number, &job, audit, report)
    }

    /// Answers the job with a report that was made without running it.
    pub(crate) fn answer(self, report: impl FnOnce(&Setup) -> Report) -> Answer {
        let mut report = report(&self.setup).named(&self.name);
        report.secrets = self.admitted.report.secrets;
        answer(self.number, &self.job, self.audit, report)
    }
}

/// Answers a job that was refused before it had a slot. It is audited as well.
pub(crate) fn refuse(
    number: u64,
    (job, name): (&Job, &str),
    setup: &Setup,
    report: Report,
    cleanup: &Cleanup,
) -> Answer {
    match reserve(setup, (job, name), &report.secrets, cleanup) {
        Ok(audit) => answer(number, job, audit, report),
        Err(error) => answer(number, job, None, Report::not_run(setup.module.path(), &error_chain(&error))),
    }
}

/// Answers a line that is not a job, or whose job cannot be run.
pub(crate) fn not_run(number: u64, id: &Value, line: u64, report: Report) -> Answer {
    Answer { number, id: id.clone(), line: Some(line), report, is_unaudited: false, is_secret: false }
}

fn reserve(
    setup: &Setup,
    (job, name): (&Job, &str),
    secrets: &TaskSecrets,
    cleanup: &Cleanup,
) -> Result<Option<PendingRecord>, AuditError> {
    let Some(log) = &setup.audit else { return Ok(None) };
    let run = AuditedRun {
        module: &setup.module,
        name,
        arguments: &job.args,
        check_mode: job.options.check,
        secrets: secrets.clone(),
        user: setup.policy.user(),
        signature: setup.policy.trust().signature.as_ref(),
        digest: setup.policy.trust().digest.as_deref(),
        grants: setup.policy.grants(),
        limits: &setup.limits,
        agent: job.options.agent.as_ref(),
    };
    log.start(&run, cleanup).map(Some)
}

fn answer(number: u64, job: &Job, audit: Option<PendingRecord>, report: Report) -> Answer {
    // The audit log leaves out secrets by itself.
    let is_unaudited = audit.is_some_and(|audit| audit.finish(&report, None).is_err());
    Answer { is_unaudited, is_secret: job.options.no_log, ..Answer::of_report(number, job.id.clone(), report) }
}

fn request<'a>(job: &'a Job, name: &'a str, setup: &'a Setup, arguments: Cow<'a, Arguments>) -> RunRequest<'a> {
    RunRequest {
        name,
        arguments,
        secrets: &job.options.secrets,
        given_secrets: None,
        origins: &[],
        policy: &setup.policy,
        limits: &setup.limits,
        interpreters: &setup.interpreters,
        last_json_line: job.options.last_json_line,
        stdin_args: job.options.stdin_args,
        keep_files: false,
        pipelining: !job.options.no_pipelining,
        open_files: job.options.open_files,
        http: None,
        scrutiny: match job.options.is_observed && !setup.form.is_guest() {
            true => Scrutiny::Observed,
            false => Scrutiny::default(),
        },
    }
}
