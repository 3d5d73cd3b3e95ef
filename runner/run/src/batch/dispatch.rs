//! The main loop of a batch: reads jobs, gives them to slots, collects answers and ends slots that are late.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use modbox_contract::Release;
use modbox_python_json::Value;
use rustix::event::PollFlags;

use crate::admission::Admission;
use crate::batch::job::{Job, JobError};
use crate::batch::lines::{Line, Lines};
use crate::batch::output::Output;
use crate::batch::pool::{PoolConfig, PoolEvents, SlotPool};
use crate::batch::progress::{BatchError, Progress, Summary};
use crate::batch::setup::Setup;
use crate::batch::task::{self, Answer, Task};
use crate::reports::report::Report;

/// Maximum number of jobs that were read and wait for a worker.
const QUEUE: usize = 256;

/// Maximum total bytes of queued jobs. The job that crosses this bound is still queued.
const QUEUE_BYTES: usize = 32 << 20;

/// Number of reports waiting for an earlier one at which reading stops.
const MAX_HELD: usize = 4096;

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
    /// Write reports in the order of the input lines.
    pub ordered: bool,
    /// What the workers share.
    pub pool: PoolConfig,
}

/// Callbacks of a batch to the code that started it.
pub trait Host {
    /// Finds a job's module, policy and limits, and admits its run.
    ///
    /// # Errors
    ///
    /// The reason why the job cannot be run.
    fn resolve(&mut self, job: &Job) -> Result<ResolvedJob, String>;

    /// Returns the release whose contract applies to jobs that name none.
    fn release(&self) -> Release {
        Release::default()
    }

    /// Receives the progress of the batch. Called often: each time before the batch waits for more lines.
    fn progress(&mut self, progress: &Progress);
}

/// A running batch.
pub struct Batch<'a, W: Write> {
    host: &'a mut dyn Host,
    lines: Lines,
    output: Output<W>,
    queue: VecDeque<Task>,
    queued_bytes: usize,
    pool: SlotPool,
    summary: Summary,
}

impl<W: Write> std::fmt::Debug for Batch<'_, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("pool", &self.pool).finish_non_exhaustive()
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
        let pool = SlotPool::new(config.pool).map_err(BatchError::Wait)?;
        Ok(Self {
            host,
            lines: Lines::default(),
            output,
            queue: VecDeque::new(),
            queued_bytes: 0,
            pool,
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
            if self.lines.ended() && self.queue.is_empty() && self.pool.is_idle() {
                return Ok(self.summary);
            }
            self.wait(input, stop)?;
            let events = self.pool.end_late();
            self.settle(events)?;
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
            |id: &Value, path: &Path, message: &str| task::not_run(number, id, at, Report::not_run(path, message));
        let Some(text) = line.text else {
            let mut answer =
                not_run(&Value::Null, Path::new(""), &format!("failed to read line {at} as a job: it is too long"));
            return self.answer(&mut answer).map(|()| None);
        };
        let job = match Job::parse(&text, self.host.release()) {
            Ok(job) => job,
            Err(JobError { id, message }) => {
                let mut answer = not_run(&id, Path::new(""), &format!("failed to read line {at} as a job: {message}"));
                return self.answer(&mut answer).map(|()| None);
            }
        };
        let resolved = job.kind().and_then(|_| self.host.resolve(&job));
        let mut answer = match resolved {
            Ok(ResolvedJob { setup, name, admission: Admission::Admitted(admitted) }) => {
                return Ok(Some(Task::new(number, text.len(), setup, (job, name), admitted)));
            }
            Ok(ResolvedJob { setup, name, admission: Admission::Refused { report, .. } }) => {
                task::refuse(number, (&job, &name), &setup, *report, self.pool.cleanup())
            }
            Err(message) => not_run(&job.id, &job.module, &message),
        };
        self.answer(&mut answer).map(|()| None)
    }

    /// Gives queued jobs to slots; starts and ends slots as needed.
    fn hand_out(&mut self) -> Result<(), BatchError> {
        let ahead = !self.summary.stopped;
        let mut at = 0;
        while at < self.queue.len() {
            let setup = Arc::clone(&self.queue[at].setup);
            let Some(slot) = self.pool.place(&setup, ahead).map_err(BatchError::Wait)? else {
                // A slot of another module may have room for a later job. Stop searching when none has.
                let some_slot_has_room = ahead && self.pool.has_room();
                if !some_slot_has_room && !self.pool.may_start() {
                    break;
                }
                at += 1;
                continue;
            };
            if let Some(task) = self.queue.remove(at) {
                self.queued_bytes -= task.size;
                if let Some(mut answer) = self.pool.give(slot, task) {
                    self.answer(&mut answer)?;
                }
            }
        }
        self.pool.flush();
        Ok(())
    }

    /// Waits for input, answers, a stop request or a deadline, and handles what arrived.
    fn wait(&mut self, input: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> Result<(), BatchError> {
        self.let_answers_gather();
        let reading = !self.lines.ended() && self.has_room();
        let in_or_none = |wanted| if wanted { PollFlags::IN } else { PollFlags::empty() };
        let mut others = vec![(stop, in_or_none(!self.summary.stopped))];
        others.extend(reading.then_some((input, PollFlags::IN)));
        let ready = self.pool.wait(&others).map_err(BatchError::Wait)?;
        if !self.summary.stopped && !ready[0].is_empty() {
            self.stop()?;
        } else if reading && !ready[1].is_empty() {
            self.lines.fill(input).map_err(BatchError::Read)?;
        }
        let events = self.pool.look();
        self.settle(events)
    }

    /// Waits while all busy slots have plenty to do; see [`GATHER`].
    fn let_answers_gather(&self) {
        let stocked = self.pool.stocked();
        if !stocked.is_zero() {
            thread::sleep(stocked.min(GATHER));
        }
    }

    /// Writes the reports of jobs that have ended, and queues those that were not begun.
    fn settle(&mut self, events: PoolEvents) -> Result<(), BatchError> {
        let PoolEvents { answers, given_back } = events;
        answers.into_iter().try_for_each(|mut answer| self.answer(&mut answer))?;
        self.queue_again(given_back)
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
        let mut answer = task.answer(|setup| Report::cancelled(&setup.module, &setup.policy));
        self.answer(&mut answer)
    }

    fn answer(&mut self, answer: &mut Answer) -> Result<(), BatchError> {
        self.summary.progress.answered += 1;
        self.summary.progress.failed += u64::from(!answer.is_success());
        self.summary.unaudited += u64::from(answer.is_unaudited);
        self.output.put(answer.number, &answer.line()).map_err(BatchError::Write)
    }
}
