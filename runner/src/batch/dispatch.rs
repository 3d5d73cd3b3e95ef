//! The main loop of a batch: reads jobs, gives them to slots, collects answers and ends slots that are late.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_python_json::Value;
use modbox_vocabulary::error_chain;
use modbox_worker::Workers;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::app::{Admission, Report, Runner};
use crate::batch::background::Wakeups;
use crate::batch::guest_slot::SlotState;
use crate::batch::job::{Job, JobError};
use crate::batch::lines::{Line, Lines};
use crate::batch::output::Output;
use crate::batch::progress::{BatchError, Progress, Summary};
use crate::batch::setup::Setup;
use crate::batch::slot::Slot;
use crate::batch::slot_context::SlotContext;
use crate::batch::task::{self, Answer, Task};

/// Maximum number of jobs that were read and wait for a worker.
const QUEUE: usize = 256;

/// Maximum total bytes of queued jobs. The job that crosses this bound is still queued.
const QUEUE_BYTES: usize = 32 << 20;

/// Number of reports waiting for an earlier one at which reading stops.
const MAX_HELD: usize = 4096;

/// Maximum number of idle workers that are kept, in addition to the busy ones.
const KEPT: usize = 16;

/// Longest time that the batch lets answers gather in the channels while all workers have plenty of jobs. Waking up for
/// every answer costs two process switches and six system calls for each job; on one processor a batch of short jobs
/// would take 1.5 times as long. Workers still write each answer at once, so that no answer is lost with its worker.
const GATHER: Duration = Duration::from_millis(2);

/// A job with its settings and its grants.
#[derive(Debug)]
pub struct ResolvedJob {
    /// The settings. Equal jobs get the same `Setup`, so that they share workers.
    pub setup: Arc<Setup>,
    /// The module's name.
    pub name: String,
    /// Whether the job may start.
    pub admission: Admission,
}

/// Configuration of a batch.
#[derive(Debug)]
pub struct BatchConfig {
    /// Maximum number of jobs that run at the same time.
    pub jobs: usize,
    /// Write reports in the order of the input lines.
    pub ordered: bool,
    /// Admits, prepares and judges all runs.
    pub runner: Arc<Runner>,
    /// Source of the workers for guests.
    pub workers: Workers,
    /// Registry of what must not outlive modbox, such as worker processes.
    pub cleanup: Cleanup,
}

/// Callbacks of a batch to the code that started it.
pub trait Host {
    /// Finds a job's module, policy and limits, and admits its run.
    ///
    /// # Errors
    ///
    /// The reason why the job cannot be run.
    fn resolve(&mut self, job: &Job) -> Result<ResolvedJob, String>;

    /// Receives the progress of the batch. Called often: each time before the batch waits for more lines.
    fn progress(&mut self, progress: &Progress);
}

/// A running batch.
pub struct Batch<'a, W: Write> {
    config: BatchConfig,
    host: &'a mut dyn Host,
    lines: Lines,
    output: Output<W>,
    queue: VecDeque<Task>,
    queued_bytes: usize,
    slots: Vec<Slot>,
    wakeups: Wakeups,
    summary: Summary,
}

impl<W: Write> std::fmt::Debug for Batch<'_, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<'a, W: Write> Batch<'a, W> {
    /// Creates a batch without reading any input.
    ///
    /// # Errors
    ///
    /// The kernel gives no pipe.
    pub fn new(config: BatchConfig, host: &'a mut dyn Host, output: W) -> Result<Self, BatchError> {
        let output = Output::new(output, config.ordered);
        let wakeups = Wakeups::new().map_err(BatchError::Wait)?;
        Ok(Self {
            config,
            host,
            lines: Lines::default(),
            output,
            queue: VecDeque::new(),
            queued_bytes: 0,
            slots: Vec::new(),
            wakeups,
            summary: Summary::default(),
        })
    }

    /// Runs until every job of the input is answered, or until `stop` becomes readable. In the second case, running
    /// jobs finish, and the other jobs that were read are answered as cancelled.
    ///
    /// # Errors
    ///
    /// The input cannot be read, the output cannot be written, or no worker can be started.
    pub fn run(mut self, input: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> Result<Summary, BatchError> {
        loop {
            self.read_lines()?;
            self.hand_out()?;
            // Queue what was read before reading more, so that a fast input is not read into memory as a whole.
            while self.has_room() && self.lines.holds_line() {
                self.read_lines()?;
                self.hand_out()?;
            }
            self.output.flush().map_err(BatchError::Write)?;
            self.summary.progress.bytes = self.lines.read;
            self.host.progress(&self.summary.progress);
            if self.lines.ended() && self.queue.is_empty() && self.slots.iter().all(Slot::is_idle) {
                return Ok(self.summary);
            }
            self.wait(input, stop)?;
            self.end_late()?;
        }
    }

    fn has_room(&self) -> bool {
        self.queue.len() < QUEUE && self.queued_bytes < QUEUE_BYTES && self.output.held() < MAX_HELD
    }

    /// Moves jobs from the line buffer to the queue, and answers the lines that cannot be run.
    fn read_lines(&mut self) -> Result<(), BatchError> {
        while self.has_room() {
            let Some(line) = self.lines.next() else { return Ok(()) };
            if let Some(task) = self.accept(line)? {
                self.queued_bytes += task.size;
                self.queue.push_back(task);
            }
        }
        Ok(())
    }

    /// Makes the job of a line. Answers it if it cannot be run.
    fn accept(&mut self, line: Line) -> Result<Option<Task>, BatchError> {
        let (number, at) = (self.summary.progress.read, line.number);
        self.summary.progress.read += 1;
        let not_run =
            |id: &Value, path: &Path, message: &str| task::not_run(number, id, at, &Report::not_run(path, message));
        let Some(text) = line.text else {
            let answer =
                not_run(&Value::Null, Path::new(""), &format!("failed to read line {at} as a job: it is too long"));
            return self.answer(&answer).map(|()| None);
        };
        let job = match Job::parse(&text) {
            Ok(job) => job,
            Err(JobError { id, message }) => {
                let answer = not_run(&id, Path::new(""), &format!("failed to read line {at} as a job: {message}"));
                return self.answer(&answer).map(|()| None);
            }
        };
        let resolved = job.kind().and_then(|_| self.host.resolve(&job));
        let answer = match resolved {
            Ok(ResolvedJob { setup, name, admission: Admission::Admitted(admitted) }) => {
                return Ok(Some(Task::new(number, text.len(), setup, (job, name), admitted)));
            }
            Ok(ResolvedJob { setup, name, admission: Admission::Refused { report, .. } }) => {
                task::refuse(number, (&job, &name), &setup, *report, &self.config.cleanup)
            }
            Err(message) => not_run(&job.id, &job.module, &message),
        };
        self.answer(&answer).map(|()| None)
    }

    /// Gives queued jobs to slots; starts and ends slots as needed.
    fn hand_out(&mut self) -> Result<(), BatchError> {
        let mut at = 0;
        while at < self.queue.len() {
            let setup = Arc::clone(&self.queue[at].setup);
            let Some(slot) = self.place(&setup)? else {
                // A slot of another module may have room for a later job. Stop searching when none has.
                if !self.slots.iter().any(|slot| self.takes_more(slot)) && self.active() >= self.config.jobs {
                    break;
                }
                at += 1;
                continue;
            };
            if let Some(task) = self.queue.remove(at) {
                self.queued_bytes -= task.size;
                self.give(slot, task)?;
            }
        }
        for slot in &mut self.slots {
            slot.flush();
        }
        Ok(())
    }

    fn give(&mut self, slot: usize, mut task: Task) -> Result<(), BatchError> {
        let answer = match task.reserve_audit(&self.config.cleanup) {
            Ok(()) => self.slots[slot].give(task, context(&self.config, &self.wakeups)),
            Err(error) => Some(task.answer(|setup| Report::not_run(setup.module.path(), &error_chain(&error)))),
        };
        answer.map_or(Ok(()), |answer| self.answer(&answer))
    }

    fn active(&self) -> usize {
        self.slots.iter().filter(|slot| !slot.is_idle()).count()
    }

    fn takes_more(&self, slot: &Slot) -> bool {
        !self.summary.stopped && slot.has_room()
    }

    /// Returns the index of the slot for a job: an idle one, a new one, or a busy one with room in its queue.
    fn place(&mut self, setup: &Arc<Setup>) -> Result<Option<usize>, BatchError> {
        let fits = |slot: &Slot| slot.setup.serves(setup);
        let best = (0..self.slots.len()).filter(|at| fits(&self.slots[*at])).min_by_key(|at| self.slots[*at].load());
        let may_start = self.active() < self.config.jobs;
        match best {
            Some(at) if self.slots[at].is_idle() => return Ok(may_start.then_some(at)),
            Some(at) if !may_start => return Ok(self.takes_more(&self.slots[at]).then_some(at)),
            _ if !may_start => return Ok(None),
            _ => {}
        }
        if self.slots.len() >= self.config.jobs + KEPT {
            let idle = |at: &usize| self.slots[*at].is_idle();
            let oldest = (0..self.slots.len()).filter(idle).min_by_key(|at| self.slots[*at].idle_since);
            if let Some(oldest) = oldest {
                self.slots.swap_remove(oldest);
            }
        }
        match Slot::start(Arc::clone(setup), context(&self.config, &self.wakeups)) {
            Ok(slot) => {
                self.slots.push(slot);
                Ok(Some(self.slots.len() - 1))
            }
            // The user has probably reached the limit of processes. The running slots go on.
            Err(_) if self.active() > 0 => Ok(None),
            Err(error) => Err(BatchError::Wait(error)),
        }
    }

    /// Waits for input, answers, a stop request or a deadline, and handles what arrived.
    fn wait(&mut self, input: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> Result<(), BatchError> {
        self.let_answers_gather();
        let reading = !self.lines.ended() && self.has_room();
        let deadline = self.slots.iter().filter_map(Slot::deadline).min();
        let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let ready: Vec<PollFlags> = {
            let mut polled = Vec::with_capacity(3 + 2 * self.slots.len());
            let in_or_none = |wanted| if wanted { PollFlags::IN } else { PollFlags::empty() };
            polled.push(PollFd::from_borrowed_fd(stop, in_or_none(!self.summary.stopped)));
            polled.push(PollFd::new(&self.wakeups, PollFlags::IN));
            polled.extend(reading.then(|| PollFd::from_borrowed_fd(input, PollFlags::IN)));
            polled.extend(self.slots.iter().filter_map(Slot::channel).map(|(channel, writes)| {
                PollFd::from_borrowed_fd(
                    channel,
                    PollFlags::IN | if writes { PollFlags::OUT } else { PollFlags::empty() },
                )
            }));
            let listeners = self.slots.iter().filter_map(Slot::listener);
            polled.extend(listeners.map(|listener| PollFd::from_borrowed_fd(listener, PollFlags::IN)));
            match rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, timeout.as_ref())) {
                Ok(_) => polled.iter().map(PollFd::revents).collect(),
                Err(error) => return Err(BatchError::Wait(error.into())),
            }
        };
        if !ready[1].is_empty() {
            self.wakeups.clear();
        }
        if !self.summary.stopped && !ready[0].is_empty() {
            self.stop()?;
        } else if reading && !ready[2].is_empty() {
            self.lines.fill(input).map_err(BatchError::Read)?;
        }
        self.look_at_slots()
    }

    /// Waits while all busy slots have plenty to do; see [`GATHER`].
    fn let_answers_gather(&self) {
        let busy = self.slots.iter().filter(|slot| !slot.is_idle());
        let stocked = busy.map(Slot::stocked).min().unwrap_or_default();
        if !stocked.is_zero() {
            thread::sleep(stocked.min(GATHER));
        }
    }

    /// Handles what has arrived from all slots, and removes those that are over.
    fn look_at_slots(&mut self) -> Result<(), BatchError> {
        let (mut answers, mut at) = (Vec::new(), 0);
        let mut given_back = Vec::new();
        while at < self.slots.len() {
            match self.slots[at].look(context(&self.config, &self.wakeups), &mut answers) {
                SlotState::Open => at += 1,
                SlotState::Over(tasks) => {
                    given_back.push(tasks);
                    self.slots.swap_remove(at);
                }
            }
        }
        self.answer_all(answers)?;
        given_back.into_iter().try_for_each(|tasks| self.queue_again(tasks))
    }

    /// Ends slots that have missed their deadline.
    fn end_late(&mut self) -> Result<(), BatchError> {
        let now = Instant::now();
        let is_late = |slot: &Slot| slot.deadline().is_some_and(|deadline| deadline < now);
        while let Some(at) = self.slots.iter().position(is_late) {
            let (mut slot, mut answers) = (self.slots.swap_remove(at), Vec::new());
            let tasks = slot.end_late(context(&self.config, &self.wakeups), &mut answers);
            drop(slot);
            self.answer_all(answers)?;
            self.queue_again(tasks)?;
        }
        Ok(())
    }

    /// Puts jobs that were not begun back to the front of the queue.
    fn queue_again(&mut self, tasks: VecDeque<Task>) -> Result<(), BatchError> {
        for task in tasks.into_iter().rev() {
            self.queued_bytes += task.size;
            self.queue.push_front(task);
        }
        if self.summary.stopped { self.cancel_queue() } else { Ok(()) }
    }

    /// Stops reading input and starting jobs. Cancels every job that was read and has not started.
    fn stop(&mut self) -> Result<(), BatchError> {
        self.summary.stopped = true;
        while let Some(line) = self.lines.next() {
            if let Some(task) = self.accept(line)? {
                self.cancel(task)?;
            }
        }
        self.lines.close();
        self.cancel_queue()
    }

    fn cancel_queue(&mut self) -> Result<(), BatchError> {
        while let Some(task) = self.queue.pop_front() {
            self.queued_bytes -= task.size;
            self.cancel(task)?;
        }
        Ok(())
    }

    fn cancel(&mut self, task: Task) -> Result<(), BatchError> {
        self.summary.cancelled += 1;
        let answer = task.answer(|setup| Report::cancelled(&setup.module, &setup.policy));
        self.answer(&answer)
    }

    fn answer_all(&mut self, answers: Vec<Answer>) -> Result<(), BatchError> {
        answers.iter().try_for_each(|answer| self.answer(answer))
    }

    fn answer(&mut self, answer: &Answer) -> Result<(), BatchError> {
        self.summary.progress.answered += 1;
        self.summary.progress.failed += u64::from(!answer.is_success);
        self.summary.unaudited += u64::from(answer.is_unaudited);
        self.output.put(answer.number, &answer.line).map_err(BatchError::Write)
    }
}

fn context<'a>(config: &'a BatchConfig, wakeups: &'a Wakeups) -> SlotContext<'a> {
    let BatchConfig { runner, workers, cleanup, .. } = config;
    SlotContext { runner, workers, cleanup, wakeups }
}
