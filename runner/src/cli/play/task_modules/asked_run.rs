//! Runs the modules of tasks so that a person is asked for what they lack.

use modbox_contract::{Dict, Value};
use modbox_policy::Policy;
use modbox_run::batch::Job;
use modbox_run::library::FoundModule;
use modbox_run::{Report, Status};
use modbox_vocabulary::Denial;

use crate::cli::asking::rounds::{after_run, may_ask};
use crate::cli::asking::session::Outcome;
use crate::cli::play::task_modules::modules::{ReadyRun, TaskModules};
use crate::cli::play::task_modules::requested_run::RequestedRun;
use crate::cli::play::task_modules::task_start::NotRun;

/// Way of finding a module and its grants.
pub(super) type Resolve<'r> = &'r dyn Fn(&mut TaskModules<'_>, RequestedRun<'_>) -> Result<ReadyRun, NotRun>;

impl TaskModules<'_> {
    /// Runs a module, and again from its start after each answer that gives it something. What a run has done that lacked something is
    /// dropped.
    pub(super) fn run_asking(&mut self, run: RequestedRun<'_>, resolve: Resolve<'_>) -> Result<Report, NotRun> {
        let mut run = self.asked(run);
        let mut round = 0;
        loop {
            round += 1;
            let ready = resolve(self, run.clone())?;
            match self.run_round(ready, &mut run.args, round)? {
                Some(report) => return Ok(report),
                None => continue,
            }
        }
    }

    /// Begins the questions for a run, if a person is asked.
    pub(super) fn asked<'r>(&mut self, run: RequestedRun<'r>) -> RequestedRun<'r> {
        if let Some(session) = &mut self.asking {
            session.begin(&run.names.name);
        }
        RequestedRun { is_asked: self.asking.is_some(), ..run }
    }

    /// Runs a module once. Returns nothing if it is to run again, with these arguments.
    pub(super) fn run_round(
        &mut self,
        ready: ReadyRun,
        args: &mut Dict,
        round: usize,
    ) -> Result<Option<Report>, NotRun> {
        if self.asking.is_none() {
            return self.run_ready(ready).map(Some);
        }
        let (job, found) = (ready.job.clone(), ready.found.clone());
        let policy = ready.resolved.admission.policy().clone();
        let is_dropped = ready.resolved.setup.layers.is_some();
        let report = self.run_ready(ready)?;
        // What ran on this machine itself is not run again.
        let may_repeat = may_ask(&report) && (is_dropped || report.status == Status::Denied);
        let Some(session) = self.asking.as_mut().filter(|_| may_repeat && !self.context.cleanup.is_ending()) else {
            return Ok(Some(report));
        };
        let facts = self.resolver.facts(&job, &found, &policy).map_err(NotRun::Internal)?;
        match after_run(session, round, &report, &facts, args) {
            Outcome::Again { grants, arguments } => {
                self.resolver.set_answered(grants);
                args.extend(arguments.into_iter().map(|(name, value)| (name, Value::from(value.as_str()))));
                Ok(None)
            }
            Outcome::NothingToAsk | Outcome::Refused => Ok(Some(report)),
        }
    }

    /// Divides what a run lacks into what a person would be asked for, and the rest.
    pub(super) fn divided(
        &mut self,
        lacking: Vec<Denial>,
        job: &Job,
        found: &FoundModule,
        policy: &Policy,
    ) -> Result<(Vec<Denial>, Vec<Denial>), NotRun> {
        let Some(session) = self.asking.as_ref().filter(|_| !lacking.is_empty()) else {
            return Ok((Vec::new(), lacking));
        };
        let facts = self.resolver.facts(job, found, policy).map_err(NotRun::Internal)?;
        Ok(lacking.into_iter().partition(|denial| session.would_ask(denial, &facts, &job.args)))
    }
}
