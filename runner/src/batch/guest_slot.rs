//! A slot for guests: a worker process that runs jobs of one module one after the other.
//!
//! The code of the module is found in a thread, since compiling may take seconds, and so are a guest's commands run.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_kernel::KernelConfinement;
use modbox_scratch::Scratch;
use modbox_vocabulary::{CommandOutput, CommandRefusal, CommandRequest, Timing};
use modbox_wasm::{CodeFacts, GRACE, GuestEvent, GuestWorker, Instances, RunProgress, START_PATIENCE, WasmError};
use modbox_worker::Workers;

use crate::app::{RunError, Runner, WarmSetup, check_confinement};
use crate::batch::background::{Background, Wakeups};
use crate::batch::setup::Setup;
use crate::batch::task::{Answer, Task};

/// Maximum number of jobs sent to a worker in advance when its jobs are short.
const AHEAD: usize = 32;

/// A job that takes less than this is short.
const SHORT: Duration = Duration::from_millis(2);

/// Time beyond a command's own limit until its result has to be there.
const COMMAND_PATIENCE: Duration = Duration::from_secs(15);

/// What a slot needs of its batch.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) runner: &'a Arc<Runner>,
    pub(super) workers: &'a Workers,
    pub(super) cleanup: &'a Cleanup,
    pub(super) wakeups: &'a Wakeups,
}

/// Slot for guests.
#[derive(Debug)]
pub(super) struct GuestSlot {
    setup: Arc<Setup>,
    /// Jobs that were given to this slot and not answered, oldest first.
    tasks: VecDeque<Task>,
    stage: Stage,
    /// Smoothed duration of the last jobs.
    pace: Duration,
    /// Notes and times of finding the code, for the report of the first job.
    facts: Option<CodeFacts>,
}

#[derive(Debug)]
enum Stage {
    /// The code is being found.
    Finding { code: Background<Result<(File, CodeFacts), RunError>>, compiled: bool },
    /// The worker is running.
    Working(Box<Working>),
    /// The worker is gone, and its jobs are answered or given back.
    Over,
}

/// A running worker.
#[derive(Debug)]
struct Working {
    worker: GuestWorker,
    /// The worker's directory; removed after the worker.
    _directory: Scratch,
    /// Whether the module was compiled although the cache had code.
    compiled: bool,
    started: Instant,
    /// How the worker is confined, once it is.
    reached: Option<KernelConfinement>,
    loading: Timing,
    /// The run of the first job, if there is a job and the worker is confined.
    progress: Option<RunProgress>,
    command: Option<RunningCommand>,
}

#[derive(Debug)]
struct RunningCommand {
    result: Background<Result<CommandOutput, CommandRefusal>>,
    deadline: Option<Instant>,
}

/// The state of a slot after a check.
pub(super) enum SlotState {
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
    pub(super) fn start(setup: Arc<Setup>, surroundings: Surroundings<'_>) -> io::Result<Self> {
        let stage = find_code(&setup, surroundings, false)?;
        Ok(Self { setup, tasks: VecDeque::new(), stage, pace: Duration::MAX, facts: None })
    }

    /// Returns the number of jobs that are not answered.
    pub(super) fn load(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether the slot takes another job now. A worker with short jobs gets several in advance, so that it
    /// never waits for the next one.
    pub(super) fn has_room(&self) -> bool {
        self.tasks.len() < if self.pace < SHORT { AHEAD } else { 1 }
    }

    /// Returns whether the worker has plenty to do.
    pub(super) fn is_well_stocked(&self) -> bool {
        self.tasks.len() > AHEAD / 2
    }

    /// Gives the slot a job. Returns the answer of a job that cannot be prepared.
    pub(super) fn give(&mut self, mut task: Task, runner: &Runner) -> Option<Answer> {
        if let Stage::Working(working) = &mut self.stage {
            match send(&mut working.worker, &mut task, runner) {
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
    pub(super) fn flush(&mut self) {
        if let Stage::Working(working) = &mut self.stage {
            working.worker.flush();
        }
    }

    pub(super) fn wants_to_write(&self) -> bool {
        matches!(&self.stage, Stage::Working(working) if working.worker.wants_to_write())
    }

    /// Returns the channel to poll, if there is a worker.
    pub(super) fn channel(&self) -> Option<BorrowedFd<'_>> {
        match &self.stage {
            Stage::Working(working) => Some(working.worker.as_fd()),
            Stage::Finding { .. } | Stage::Over => None,
        }
    }

    /// Returns when the worker must have answered at the latest; `None` while it is idle.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let Stage::Working(working) = &self.stage else { return None };
        match (&working.command, &working.progress) {
            (Some(command), _) => command.deadline,
            (None, Some(progress)) => progress.started().checked_add(self.setup.limits.timeout.saturating_add(GRACE)),
            (None, None) if working.reached.is_none() => Some(working.started + START_PATIENCE),
            (None, None) => None,
        }
    }

    /// Handles what has arrived, and adds the answers of jobs that have ended.
    pub(super) fn look(&mut self, surroundings: Surroundings<'_>, answers: &mut Vec<Answer>) -> SlotState {
        let next = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Finding { code, compiled } => self.look_for_code(code, compiled, surroundings, answers),
            Stage::Working(working) => self.listen(working, surroundings, answers),
            Stage::Over => Stage::Over,
        };
        self.stage = next;
        match self.stage {
            Stage::Over => SlotState::Over(std::mem::take(&mut self.tasks)),
            _ => SlotState::Open,
        }
    }

    /// Kills a worker that missed its deadline, and answers its first job.
    pub(super) fn end_late(&mut self, runner: &Runner, answers: &mut Vec<Answer>) -> VecDeque<Task> {
        if let Stage::Working(mut working) = std::mem::replace(&mut self.stage, Stage::Over) {
            working.worker.kill();
            let reached = working.reached.clone().unwrap_or_default();
            match (working.progress.take(), self.tasks.pop_front()) {
                (Some(progress), Some(task)) => answers.push(task.conclude(runner, Ok(progress.late(&reached)))),
                (None, Some(task)) => answers.push(task.conclude(runner, Err(worker_error("it does not start")))),
                (_, None) => {}
            }
        }
        std::mem::take(&mut self.tasks)
    }

    fn look_for_code(
        &mut self,
        mut code: Background<Result<(File, CodeFacts), RunError>>,
        compiled: bool,
        surroundings: Surroundings<'_>,
        answers: &mut Vec<Answer>,
    ) -> Stage {
        let found = match code.take() {
            None => return Stage::Finding { code, compiled },
            Some(Ok(found)) => found,
            Some(Err(_)) => Err(worker_error("the thread that looked for its code has panicked")),
        };
        let started = found.and_then(|(code, facts)| {
            self.facts = Some(facts);
            self.start_worker(&code, compiled, surroundings)
        });
        match started {
            Ok(working) => Stage::Working(Box::new(working)),
            Err(error) => self.fail_all(error, surroundings.runner, answers),
        }
    }

    fn start_worker(
        &mut self,
        code: &File,
        compiled: bool,
        surroundings: Surroundings<'_>,
    ) -> Result<Working, RunError> {
        let Surroundings { runner, workers, cleanup, .. } = surroundings;
        let WarmSetup { setup, directory } = runner.warm_setup(&self.setup.policy, &self.setup.limits)?;
        let worker = GuestWorker::start(workers, code, Instances::Pooled, cleanup);
        let mut worker = worker.map_err(WasmError::Worker)?;
        worker.set_up(setup).map_err(WasmError::Worker)?;
        for task in &mut self.tasks {
            send(&mut worker, task, runner)?;
        }
        worker.flush();
        Ok(Working {
            worker,
            _directory: directory,
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

    fn listen(
        &mut self,
        mut working: Box<Working>,
        surroundings: Surroundings<'_>,
        answers: &mut Vec<Answer>,
    ) -> Stage {
        let runner = surroundings.runner;
        if let Some(result) = working.command.as_mut().and_then(|command| command.result.take()) {
            let failed = |_| Err(CommandRefusal::Failed("modbox failed while it ran the command".to_owned()));
            working.command = None;
            if working.worker.answer(result.unwrap_or_else(failed)).is_err() {
                working.worker.kill();
            }
        }
        if working.worker.wants_to_write() {
            working.worker.flush();
        }
        working.worker.read();
        let (since, mut ended) = (working.progress.as_ref().map(RunProgress::started), 0);
        while let Some(event) = working.worker.take_event() {
            match event {
                GuestEvent::Loaded(timing) => working.loading = timing,
                GuestEvent::NotLoaded(WasmError::Code(_)) if !working.compiled => {
                    return find_code(&self.setup, surroundings, true)
                        .unwrap_or_else(|error| self.fail_all(WasmError::Worker(error).into(), runner, answers));
                }
                GuestEvent::NotLoaded(error) => return self.fail_all(error.into(), runner, answers),
                GuestEvent::NotConfined(cause) => {
                    return self.fail_all(WasmError::NotConfined(cause).into(), runner, answers);
                }
                GuestEvent::Confined(reached) => {
                    if check_confinement(&reached, &self.setup.policy).is_err() {
                        return self.fail_unconfined(&reached, runner, answers);
                    }
                    working.reached = Some(reached);
                    working.progress = self.next_progress();
                }
                GuestEvent::Printed(stream, bytes) => {
                    if let Some(progress) = &mut working.progress {
                        progress.print(stream, &bytes);
                    }
                }
                GuestEvent::Command(request, stdin) => match self.run_command(request, stdin, surroundings) {
                    Ok(command) => working.command = Some(command),
                    Err(_) => working.worker.kill(),
                },
                GuestEvent::Ended(outcome) => {
                    let (Some(progress), Some(task)) = (working.progress.take(), self.tasks.pop_front()) else {
                        return self.lose(working, answers, runner);
                    };
                    let mut outcome = progress.ended(*outcome);
                    if let Some(facts) = self.facts.take() {
                        outcome.timing.add(facts.timing);
                        outcome.timing.add(working.loading);
                        outcome.notes.splice(0..0, facts.notes);
                    }
                    outcome.notes.extend(working.reached.iter().flat_map(KernelConfinement::notes));
                    answers.push(task.conclude(runner, Ok(outcome)));
                    (working.progress, ended) = (self.next_progress(), ended + 1);
                }
                GuestEvent::NotStarted(error) => {
                    let Some(task) = self.tasks.pop_front() else { return self.lose(working, answers, runner) };
                    answers.push(task.conclude(runner, Err(error.into())));
                    (working.progress, ended) = (self.next_progress(), ended + 1);
                }
                GuestEvent::Closed => return self.lose(working, answers, runner),
            }
        }
        if let Some(since) = since.filter(|_| ended > 0) {
            // Answers that arrived together come from jobs that ran one after another.
            let took = since.elapsed() / ended;
            self.pace = if self.pace == Duration::MAX { took } else { (self.pace * 7 + took) / 8 };
        }
        Stage::Working(working)
    }

    fn next_progress(&self) -> Option<RunProgress> {
        (!self.tasks.is_empty()).then(|| RunProgress::new(&self.setup.limits))
    }

    fn run_command(
        &self,
        request: CommandRequest,
        stdin: Vec<u8>,
        surroundings: Surroundings<'_>,
    ) -> io::Result<RunningCommand> {
        let commands = surroundings.runner.command_runner(&self.setup.policy, &self.setup.limits);
        let patience = request.limits.timeout.saturating_add(COMMAND_PATIENCE);
        let result = surroundings.wakeups.start("command", move || commands.run(&request, &stdin))?;
        Ok(RunningCommand { result, deadline: Instant::now().checked_add(patience) })
    }

    /// Answers the job that a lost worker was running. The others were not begun.
    fn lose(&mut self, mut working: Box<Working>, answers: &mut Vec<Answer>, runner: &Runner) -> Stage {
        working.worker.kill_unless_closed();
        let status = working.worker.reap();
        let reached = working.reached.clone().unwrap_or_default();
        match (working.progress.take(), self.tasks.pop_front()) {
            (Some(progress), Some(task)) => answers.push(task.conclude(runner, Ok(progress.lost(status, &reached)))),
            (None, Some(task)) => {
                let how = status.map_or_else(|| "it does not end".to_owned(), |status| status.to_string());
                let error = worker_error(&format!("it ended while it started: {how}"));
                answers.push(task.conclude(runner, Err(error)));
            }
            (_, None) => {}
        }
        Stage::Over
    }

    fn fail_unconfined(&mut self, reached: &KernelConfinement, runner: &Runner, answers: &mut Vec<Answer>) -> Stage {
        for task in self.tasks.drain(..) {
            let ended = check_confinement(reached, &self.setup.policy);
            let ended = ended.and(Err(worker_error("it is confined too little")));
            answers.push(task.conclude(runner, ended));
        }
        Stage::Over
    }
}

fn find_code(setup: &Arc<Setup>, surroundings: Surroundings<'_>, compile: bool) -> io::Result<Stage> {
    let (runner, found) = (Arc::clone(surroundings.runner), Arc::clone(setup));
    let find = move || runner.code_for_worker(&found.module, &found.limits, compile);
    Ok(Stage::Finding { code: surroundings.wakeups.start("code", find)?, compiled: compile })
}

/// Queues a job's run for a worker.
fn send(worker: &mut GuestWorker, task: &mut Task, runner: &Runner) -> Result<(), RunError> {
    let Some(order) = task.order(runner)? else { return Ok(()) };
    Ok(worker.run(order).map_err(WasmError::Worker)?)
}

fn worker_error(cause: &str) -> RunError {
    WasmError::Worker(io::Error::other(cause.to_owned())).into()
}
