//! Runs of modules that teach what they need.

use modbox_policy::Rules;
use modbox_run::Report;

use crate::cli::play::learning::SharedLearning;
use crate::cli::play::task_modules::modules::TaskModules;
use crate::cli::play::task_modules::names::ModuleNames;
use crate::cli::play::task_modules::requested_run::RequestedRun;
use crate::cli::play::task_modules::task_start::NotRun;

/// Maximum number of runs of a component that lacks grants.
const MAX_ROUNDS: usize = 24;

impl TaskModules<'_> {
    /// Makes all runs teach what they need. Native modules are observed for that.
    pub(crate) fn set_learning(&mut self, learning: SharedLearning) {
        self.learning = Some(learning);
    }

    /// Refuses a job where runs are to teach something: it goes on when the play is over.
    pub(super) fn check_observable(&self) -> Result<(), NotRun> {
        let message = "a task with `async` is not observed; leave `async` out for the run with `--learn`";
        if self.learning.is_some() { Err(NotRun::Refused(message.to_owned())) } else { Ok(()) }
    }

    /// Runs a module, and notes what it needs. A component runs again with what it lacked.
    pub(super) fn run_learning(
        &mut self,
        names: &ModuleNames<'_>,
        run: &RequestedRun<'_>,
        learning: &SharedLearning,
    ) -> Result<Report, NotRun> {
        learning.borrow_mut().begin_task();
        let mut lacked = Rules::default();
        let mut rounds = 0;
        loop {
            rounds += 1;
            let run = RequestedRun { more: lacked.clone(), is_observed: true, ..run.clone() };
            let ready = self.resolve(names, run.clone())?;
            let report = self.run_ready(ready)?;
            learning.borrow_mut().add(&run.names, (run.name, &run.args), &report);
            let is_done = report.observed || report.status.is_success() || rounds >= MAX_ROUNDS;
            let granted = (!is_done).then(|| learning.borrow_mut().grants_of(&self.context.environment, &report));
            match granted.flatten() {
                Some(rules) => lacked = rules,
                None => return Ok(report),
            }
        }
    }
}
