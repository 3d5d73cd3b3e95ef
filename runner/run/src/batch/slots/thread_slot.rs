//! A slot for native modules, for guests with commands outside, and for runs on layers without a warm worker: a thread for each
//! job, which starts the module and attends it.
//!
//! The launcher ends a module at its limits, and the thread ends a launcher that does not answer, so a job needs no
//! deadline here.

use std::sync::Arc;

use crate::batch::setup::Setup;
use crate::batch::slots::background::{Background, Wakeups};
use crate::batch::task::{Answer, Task};
use crate::reports::report::Report;
use crate::runner::Runner;

/// Slot for jobs that need no warm worker.
#[derive(Debug)]
pub(crate) struct ThreadSlot {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    number: u64,
    id: modbox_python_json::Value,
    work: Background<Answer>,
}

impl ThreadSlot {
    pub(crate) fn new() -> Self {
        Self { running: None }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_none()
    }

    /// Runs a job. Returns its answer if the kernel gives no thread.
    pub(crate) fn run(&mut self, task: Task, runner: &Arc<Runner>, wakeups: &Wakeups) -> Option<Answer> {
        let (number, id, setup, runner) = (task.number, task.id().clone(), Arc::clone(&task.setup), Arc::clone(runner));
        match wakeups.start("native job", move || task.run(&runner)) {
            Ok(work) => {
                self.running = Some(Running { number, id, work });
                None
            }
            Err(error) => {
                let message = format!("failed to start a thread for the job: {error}");
                Some(Answer::of_report(number, id, Report::not_run(setup.module.path(), &message)))
            }
        }
    }

    /// Returns the answer of a job that has ended.
    pub(crate) fn take_answer(&mut self, setup: &Setup) -> Option<Answer> {
        let running = self.running.as_mut()?;
        let answer = running.work.take()?.unwrap_or_else(|_| {
            let report = Report::crashed(&setup.module, &setup.policy, "modbox failed while it attended the module");
            Answer::of_report(running.number, running.id.clone(), report)
        });
        self.running = None;
        Some(answer)
    }
}
