//! A slot for guests: a worker process that runs jobs of one module one after the other.
//!
//! The code of the module is found in a thread, since compiling may take seconds, and so are a guest's commands run.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use modbox_kernel::KernelConfinement;
use modbox_vocabulary::{Outcome, Timing};
use modbox_wasm::{CodeFacts, GuestEvent, GuestWorker, Instances, RunProgress, START_PATIENCE, WasmError};

use crate::batch::setup::Setup;
use crate::batch::slots::background::Background;
use crate::batch::slots::pace::Pace;
use crate::batch::slots::running_command::RunningCommand;
use crate::batch::slots::slot_context::SlotContext;
use crate::batch::slots::slot_worker::{SlotWorker, send};
use crate::batch::task::{Answer, Task};
use crate::reports::error::RunError;
use crate::reports::report::Report;
use crate::runner::Runner;
use crate::warm_guest::{WarmSetup, check_confinement};

#[derive(Debug)]
pub(crate) struct GuestSlot {
    setup: Arc<Setup>,
    /// Jobs that were given to this slot and not answered, oldest first.
    tasks: VecDeque<Task>,
    stage: Stage,
    pace: Pace,
    /// Notes and times of finding the code, for the report of the first job.
    facts: Option<CodeFacts>,
}

#[derive(Debug)]
enum Stage {
    /// The code is being found.
    Finding { code: Background<Result<(File, CodeFacts), RunError>>, compiled: bool },
    /// The worker is running.
    Working(Box<SlotWorker>),
    /// The worker is gone, and its jobs are answered or given back.
    Over,
}

/// Why a worker ends.
#[derive(Debug)]
enum Ending {
    /// It refuses the code of the cache.
    Compile,
    /// It cannot start the module.
    Fails(RunError),
    /// It reached only this confinement, which is too little.
    Unconfined(KernelConfinement),
    /// It missed a deadline.
    Late,
    /// It has ended, or breaks the protocol: then its guest has taken it over.
    Lost,
}

/// The state of a slot after a check.
pub(crate) enum SlotState {
    /// It goes on.
    Open,
    /// It is over. These jobs were not begun.
    Over(VecDeque<Task>),
}

impl GuestSlot {
    /// Starts a slot: looks for the module's code.
    ///
    /// # Errors
    ///
    /// The kernel gives no thread.
    pub(crate) fn start(setup: Arc<Setup>, context: SlotContext<'_>) -> io::Result<Self> {
        let stage = find_code(&setup, context, false)?;
        Ok(Self { setup, tasks: VecDeque::new(), stage, pace: Pace::unknown(), facts: None })
    }

    /// Returns the number of jobs that are not answered.
    pub(crate) fn load(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether the slot takes another job now.
    pub(crate) fn has_room(&self) -> bool {
        self.pace.has_room(self.tasks.len())
    }

    /// Returns for how long the worker has plenty to do.
    pub(crate) fn stocked(&self) -> Duration {
        self.pace.stocked(self.tasks.len())
    }

    /// Gives the slot a job. Returns the answer of a job that cannot be prepared.
    pub(crate) fn give(&mut self, mut task: Task, runner: &Runner) -> Option<Answer> {
        if let Stage::Working(working) = &mut self.stage {
            match send(&mut working.worker, &mut task, &self.setup, runner) {
                Ok(()) if self.tasks.is_empty() && working.reached.is_some() => {
                    working.progress = Some(RunProgress::new(&self.setup.limits));
                }
                Ok(()) => {}
                Err(error) => return Some(task.conclude(runner, Err(error))),
            }
        }
        self.tasks.push_back(task);
        None
    }

    /// Writes as much as the worker's channel takes.
    pub(crate) fn flush(&mut self) {
        if let Stage::Working(working) = &mut self.stage {
            working.worker.flush();
        }
    }

    /// Returns the worker, if there is one.
    pub(crate) fn worker(&self) -> Option<&GuestWorker> {
        match &self.stage {
            Stage::Working(working) => Some(&working.worker),
            Stage::Finding { .. } | Stage::Over => None,
        }
    }

    /// Returns when the worker must have answered at the latest; `None` while it is idle.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let Stage::Working(working) = &self.stage else { return None };
        match (&working.command, &working.progress) {
            (Some(command), _) => command.deadline(),
            (None, Some(progress)) => progress.deadline(),
            (None, None) if working.reached.is_none() => Some(working.started + START_PATIENCE),
            (None, None) => None,
        }
    }

    /// Handles what has arrived, and adds the answers of jobs that have ended.
    pub(crate) fn look(&mut self, context: SlotContext<'_>, answers: &mut Vec<Answer>) -> SlotState {
        let next = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Finding { code, compiled } => self.look_for_code(code, compiled, context, answers),
            Stage::Working(mut working) => match self.attend(&mut working, context, answers) {
                Ok(()) => Stage::Working(working),
                Err(ending) => self.end(*working, ending, context, answers),
            },
            Stage::Over => Stage::Over,
        };
        self.stage = next;
        match self.stage {
            Stage::Over => SlotState::Over(std::mem::take(&mut self.tasks)),
            _ => SlotState::Open,
        }
    }

    /// Kills a worker that missed its deadline, and answers its first job.
    pub(crate) fn end_late(&mut self, context: SlotContext<'_>, answers: &mut Vec<Answer>) -> VecDeque<Task> {
        if let Stage::Working(working) = std::mem::replace(&mut self.stage, Stage::Over) {
            self.stage = self.end(*working, Ending::Late, context, answers);
        }
        std::mem::take(&mut self.tasks)
    }

    /// Returns whether this job was given to the slot, and no other one.
    pub(crate) fn runs_only(&self, number: u64) -> bool {
        self.tasks.len() == 1 && self.tasks.front().is_some_and(|task| task.number == number)
    }

    /// Kills the worker, and answers its job as cancelled.
    pub(crate) fn cancel(mut self) -> Option<Answer> {
        if let Stage::Working(working) = &mut self.stage {
            // No command goes on when its job is answered.
            working.command = None;
            working.worker.kill();
        }
        let task = self.tasks.pop_front()?;
        Some(task.answer(|setup| Report::ended_for_caller(&setup.module, &setup.policy)))
    }

    fn look_for_code(
        &mut self,
        mut code: Background<Result<(File, CodeFacts), RunError>>,
        compiled: bool,
        context: SlotContext<'_>,
        answers: &mut Vec<Answer>,
    ) -> Stage {
        let found = match code.take() {
            None => return Stage::Finding { code, compiled },
            Some(Ok(found)) => found,
            Some(Err(_)) => Err(worker_error("the thread that looked for its code has panicked")),
        };
        let started = found.and_then(|(code, facts)| {
            self.facts = Some(facts);
            self.start_worker(&code, compiled, context)
        });
        match started {
            Ok(working) => Stage::Working(Box::new(working)),
            Err(error) => self.fail_all(error, context.runner, answers),
        }
    }

    fn start_worker(&mut self, code: &File, compiled: bool, context: SlotContext<'_>) -> Result<SlotWorker, RunError> {
        let SlotContext { runner, workers, cleanup, .. } = context;
        let WarmSetup { setup, directory } =
            runner.warm_setup(&runner.guest_policy(&self.setup.form, &self.setup.policy), &self.setup.limits)?;
        let fresh = self.setup.policy.user().map(|_| workers.without_early());
        let workers = fresh.as_ref().unwrap_or(workers);
        let worker = GuestWorker::start(workers, code, Instances::Pooled, cleanup);
        let mut worker = worker.map_err(WasmError::Worker)?;
        worker.set_up(setup).map_err(WasmError::Worker)?;
        for task in &mut self.tasks {
            send(&mut worker, task, &self.setup, runner)?;
        }
        worker.flush();
        Ok(SlotWorker {
            worker,
            directory,
            compiled,
            started: Instant::now(),
            reached: None,
            loading: Timing::default(),
            progress: None,
            command: None,
        })
    }

    /// Answers all jobs with an error that keeps the module from starting.
    fn fail_all(&mut self, error: RunError, runner: &Runner, answers: &mut Vec<Answer>) -> Stage {
        let error = Arc::new(error);
        for task in self.tasks.drain(..) {
            answers.push(task.conclude(runner, Err(RunError::Shared(Arc::clone(&error)))));
        }
        Stage::Over
    }

    /// Handles what a worker has sent.
    fn attend(
        &mut self,
        working: &mut SlotWorker,
        context: SlotContext<'_>,
        answers: &mut Vec<Answer>,
    ) -> Result<(), Ending> {
        working.exchange();
        let (since, before) = (working.progress.as_ref().map(RunProgress::started), answers.len());
        while let Some(event) = working.take_event() {
            self.handle(event, working, context, answers)?;
        }
        if let (Some(since), ended @ 1..) = (since, answers.len() - before) {
            self.pace.set(since.elapsed(), u32::try_from(ended).unwrap_or(u32::MAX));
        }
        Ok(())
    }

    /// Handles an event. Each has its time: a worker that starts sends other events than one that runs a job, and none
    /// arrives while a command is running.
    fn handle(
        &mut self,
        event: GuestEvent,
        working: &mut SlotWorker,
        context: SlotContext<'_>,
        answers: &mut Vec<Answer>,
    ) -> Result<(), Ending> {
        if working.command.is_some() {
            return Err(Ending::Lost);
        }
        if working.reached.is_none() {
            return self.handle_start(event, working);
        }
        let progress = working.progress.as_mut().ok_or(Ending::Lost)?;
        match event {
            GuestEvent::Printed(stream, bytes) => progress.print(stream, &bytes),
            GuestEvent::Command(..) if progress.left().is_zero() => return Err(Ending::Late),
            GuestEvent::Command(request, stdin) => {
                let own = working.directory.path();
                let command = RunningCommand::start(&self.setup, (*request, stdin), (progress.left(), own), context);
                working.command = Some(command.map_err(|_| Ending::Lost)?);
            }
            GuestEvent::Ended(outcome) => {
                if self.tasks.len() == 1 {
                    // The worker has no other job to which they could belong.
                    working.note_refused_calls();
                }
                let (Some(progress), Some(reached)) = (working.progress.take(), &working.reached) else {
                    return Err(Ending::Lost);
                };
                let outcome = self.with_facts(progress.ended(*outcome, reached), working);
                self.complete(working, Ok(outcome), context.runner, answers);
            }
            GuestEvent::NotStarted(error) => self.complete(working, Err(error.into()), context.runner, answers),
            _ => return Err(Ending::Lost),
        }
        Ok(())
    }

    fn handle_start(&self, event: GuestEvent, working: &mut SlotWorker) -> Result<(), Ending> {
        match event {
            GuestEvent::Loaded(timing) => working.loading = timing,
            GuestEvent::NotLoaded(WasmError::Code(_)) if !working.compiled => return Err(Ending::Compile),
            GuestEvent::NotLoaded(error) => return Err(Ending::Fails(error.into())),
            GuestEvent::NotConfined(cause) => return Err(Ending::Fails(WasmError::NotConfined(cause).into())),
            GuestEvent::Confined(reached) if check_confinement(&reached, &self.setup.policy).is_err() => {
                return Err(Ending::Unconfined(reached));
            }
            GuestEvent::Confined(reached) => {
                working.reached = Some(reached);
                working.progress = self.next_progress();
            }
            _ => return Err(Ending::Lost),
        }
        Ok(())
    }

    /// Adds what is known of the worker. The first job's outcome also has the times and notes of finding the code.
    fn with_facts(&mut self, mut outcome: Outcome, working: &SlotWorker) -> Outcome {
        if let Some(facts) = self.facts.take() {
            outcome.timing.add(facts.timing);
            outcome.timing.add(working.loading);
            outcome.notes.splice(0..0, facts.notes);
        }
        outcome.notes.extend(working.reached.iter().flat_map(KernelConfinement::notes));
        outcome
    }

    /// Answers the first job, and begins with the next one.
    fn complete(
        &mut self,
        working: &mut SlotWorker,
        ended: Result<Outcome, RunError>,
        runner: &Runner,
        answers: &mut Vec<Answer>,
    ) {
        answers.extend(self.tasks.pop_front().map(|task| task.conclude(runner, ended)));
        working.progress = self.next_progress();
    }

    fn next_progress(&self) -> Option<RunProgress> {
        (!self.tasks.is_empty()).then(|| RunProgress::new(&self.setup.limits))
    }

    /// Ends a worker, and answers the jobs that end with it.
    fn end(
        &mut self,
        mut working: SlotWorker,
        ending: Ending,
        context: SlotContext<'_>,
        answers: &mut Vec<Answer>,
    ) -> Stage {
        let runner = context.runner;
        // No command goes on when its job is answered.
        working.command = None;
        working.note_refused_calls();
        match ending {
            Ending::Compile => {
                return find_code(&self.setup, context, true)
                    .unwrap_or_else(|error| self.fail_all(WasmError::Worker(error).into(), runner, answers));
            }
            Ending::Fails(error) => return self.fail_all(error, runner, answers),
            Ending::Unconfined(reached) => self.fail_unconfined(&reached, runner, answers),
            Ending::Late => {
                working.worker.kill();
                let ended = working.end_run(RunProgress::late).ok_or_else(|| worker_error("it does not start"));
                answers.extend(self.tasks.pop_front().map(|task| task.conclude(runner, ended)));
            }
            Ending::Lost => {
                working.worker.kill_unless_closed();
                let status = working.worker.reap();
                let how = status.map_or_else(|| "it does not end".to_owned(), |status| status.to_string());
                let ended = working.end_run(|progress, reached| progress.lost(status, reached));
                let ended = ended.ok_or_else(|| worker_error(&format!("it ended while it started: {how}")));
                answers.extend(self.tasks.pop_front().map(|task| task.conclude(runner, ended)));
            }
        }
        Stage::Over
    }

    fn fail_unconfined(&mut self, reached: &KernelConfinement, runner: &Runner, answers: &mut Vec<Answer>) {
        for task in self.tasks.drain(..) {
            let ended = check_confinement(reached, &self.setup.policy);
            let ended = ended.and(Err(worker_error("it is confined too little")));
            answers.push(task.conclude(runner, ended));
        }
    }
}

fn find_code(setup: &Arc<Setup>, context: SlotContext<'_>, compile: bool) -> io::Result<Stage> {
    let (runner, found) = (Arc::clone(context.runner), Arc::clone(setup));
    let find = move || runner.code_for_worker(found.form.guest(&found.module), &found.limits, compile);
    Ok(Stage::Finding { code: context.wakeups.start("code", find)?, compiled: compile })
}

fn worker_error(cause: &str) -> RunError {
    WasmError::Worker(io::Error::other(cause.to_owned())).into()
}
