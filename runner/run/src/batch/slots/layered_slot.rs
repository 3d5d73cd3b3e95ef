//! A slot for guests that run on layers: a thread that makes the layers of one job after the other, and a warm worker.
//!
//! The thread attends the worker and ends it at its limits, so a job needs no deadline here. If this user can make no
//! mounts, each job has a worker of its own.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use modbox_python_json::Value;

use crate::batch::setup::Setup;
use crate::batch::slots::background::{Background, WakeupSender};
use crate::batch::slots::guest_slot::SlotState;
use crate::batch::slots::pace::Pace;
use crate::batch::slots::slot_context::SlotContext;
use crate::batch::task::{Answer, Task};
use crate::layered::{LayeredRun, WarmLayers};
use crate::reports::report::Report;
use crate::runner::Runner;

/// Slot for guests on layers.
#[derive(Debug)]
pub(crate) struct LayeredSlot {
    setup: Arc<Setup>,
    /// Numbers and ids of the jobs that are given and not answered, oldest first.
    given: VecDeque<(u64, Value)>,
    /// Jobs that came after the thread had ended.
    late: VecDeque<Task>,
    /// `None` when the slot ends.
    tasks: Option<Sender<Task>>,
    answers: Receiver<Answer>,
    /// The thread. It returns the jobs that it has not begun.
    thread: Background<VecDeque<Task>>,
    pace: Pace,
    looked: Instant,
}

impl LayeredSlot {
    /// Starts a slot.
    ///
    /// # Errors
    ///
    /// The kernel gives no thread.
    pub(crate) fn start(setup: Arc<Setup>, run: LayeredRun, context: SlotContext<'_>) -> io::Result<Self> {
        let (tasks, given) = mpsc::channel();
        let (answered, answers) = mpsc::channel();
        let wakeups = context.wakeups.sender();
        let thread = LayeredThread { runner: Arc::clone(context.runner), setup: Arc::clone(&setup), run };
        let thread = context.wakeups.start("layers", move || thread.serve(&given, &answered, &wakeups))?;
        let (given, late, pace) = (VecDeque::new(), VecDeque::new(), Pace::unknown());
        Ok(Self { setup, given, late, tasks: Some(tasks), answers, thread, pace, looked: Instant::now() })
    }

    /// Returns the number of jobs that are not answered.
    pub(crate) fn load(&self) -> usize {
        self.given.len()
    }

    /// Returns whether the slot takes another job now.
    pub(crate) fn has_room(&self) -> bool {
        self.pace.has_room(self.load())
    }

    /// Returns for how long the thread has plenty to do.
    pub(crate) fn stocked(&self) -> Duration {
        self.pace.stocked(self.load())
    }

    /// Gives the slot a job.
    pub(crate) fn give(&mut self, task: Task) {
        if self.given.is_empty() {
            self.looked = Instant::now();
        }
        self.given.push_back((task.number, task.id().clone()));
        let Some(tasks) = &self.tasks else { return };
        if let Err(mpsc::SendError(task)) = tasks.send(task) {
            self.late.push_back(task);
        }
    }

    /// Adds the answers of jobs that have ended.
    pub(crate) fn look(&mut self, answers: &mut Vec<Answer>) -> SlotState {
        // Looked at first: what the thread sent before its end is then in the channel.
        let is_over = self.thread.is_done();
        let before = answers.len();
        answers.extend(self.answers.try_iter());
        let ended = answers.len() - before;
        self.given.drain(..ended.min(self.given.len()));
        if ended > 0 {
            self.pace.set(self.looked.elapsed(), u32::try_from(ended).unwrap_or(u32::MAX));
            self.looked = Instant::now();
        }
        if !is_over {
            return SlotState::Open;
        }
        let back = match self.thread.take() {
            Some(Ok(mut back)) => {
                back.append(&mut self.late);
                back
            }
            _ => {
                answers.extend(self.given.drain(..).map(|(number, id)| crashed(&self.setup, number, id)));
                VecDeque::new()
            }
        };
        self.given.clear();
        SlotState::Over(back)
    }
}

fn crashed(setup: &Setup, number: u64, id: Value) -> Answer {
    let report = Report::crashed(&setup.module, &setup.policy, "modbox failed while it attended the module");
    Answer::of_report(number, id, report)
}

impl Drop for LayeredSlot {
    fn drop(&mut self) {
        self.tasks = None;
        // A thread that runs a job is ended by the end of the process, as that of a native module is.
        if self.given.is_empty() {
            self.thread.wait();
        }
    }
}

/// What the thread has.
struct LayeredThread {
    runner: Arc<Runner>,
    setup: Arc<Setup>,
    run: LayeredRun,
}

impl LayeredThread {
    /// Runs jobs until the slot ends, or until the mounts of this thread are out of date. Returns the jobs that are left
    /// then.
    fn serve(self, tasks: &Receiver<Task>, answers: &Sender<Answer>, wakeups: &WakeupSender) -> VecDeque<Task> {
        let Self { runner, setup, run } = self;
        let mut layers = WarmLayers::enter(&runner, &setup.policy, &setup.limits)
            .inspect_err(|error| tracing::debug!(%error, "each run on layers has a worker of its own"))
            .ok();
        for task in tasks {
            let answer = match &mut layers {
                Some(layers) if layers.are_stale() => return std::iter::once(task).chain(tasks.try_iter()).collect(),
                Some(layers) => task.run_warm(&runner, layers, &run),
                None => task.run(&runner),
            };
            if answers.send(answer).is_err() {
                break;
            }
            wakeups.wake();
        }
        VecDeque::new()
    }
}
