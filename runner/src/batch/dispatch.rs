//! The main loop of a batch: reads jobs, assigns them to workers, collects answers and kills workers that are late.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use modbox_cleanup::Cleanup;
use modbox_python_json::Value;
use modbox_vocabulary::error_chain;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::app::Report;
use crate::batch::job::{Job, JobError};
use crate::batch::lines::{Line, Lines};
use crate::batch::output::Output;
use crate::batch::process::{self, OutputState, Pending, Worker};
use crate::batch::setup::{Setup, Surroundings};
use crate::batch::{audit, report};

/// Maximum number of jobs that were read and wait for a worker.
const QUEUE: usize = 256;

/// Maximum total bytes of queued jobs. The job that crosses this bound is still queued.
const QUEUE_BYTES: usize = 32 << 20;

/// Number of reports waiting for an earlier one at which reading stops.
const MAX_HELD: usize = 4096;

/// Maximum number of idle workers that are kept, in addition to the busy ones.
const KEPT: usize = 16;

/// Configuration of a batch.
#[derive(Debug)]
pub struct BatchConfig {
    /// Maximum number of jobs that run at the same time.
    pub jobs: usize,
    /// Write reports in the order of the input lines.
    pub ordered: bool,
    /// The modbox program, which is started once for each worker.
    pub program: PathBuf,
    /// Settings that are sent to every worker.
    pub surroundings: Surroundings,
    /// Registry of what must not outlive modbox, such as worker processes.
    pub cleanup: Cleanup,
}

/// Callbacks of a batch to the code that started it.
pub trait Host {
    /// Finds a job's module, policy and limits. Equal jobs must get the same `Setup`, so that they share workers.
    ///
    /// # Errors
    ///
    /// The reason why the job cannot be run.
    fn resolve(&mut self, job: &Job) -> Result<Arc<Setup>, String>;

    /// Receives the progress of the batch. Called often: each time before the batch waits for more lines.
    fn progress(&mut self, progress: &Progress);
}

/// Progress of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Jobs read.
    pub read: u64,
    /// Jobs answered.
    pub answered: u64,
    /// Answered jobs whose status is not ok, changed or skipped.
    pub failed: u64,
    /// Bytes of input read.
    pub bytes: u64,
}

/// Final state of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Progress at the end.
    pub progress: Progress,
    /// Jobs that were read but not started, because the batch was told to stop.
    pub cancelled: u64,
    /// Whether the batch was told to stop.
    pub stopped: bool,
    /// Jobs that ran but are missing in an audit file.
    pub unaudited: u64,
}

/// Error that ends a batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// Jobs cannot be read.
    #[error("failed to read the jobs")]
    Read(#[source] io::Error),
    /// Reports cannot be written.
    #[error("failed to write a report")]
    Write(#[source] io::Error),
    /// Waiting for workers or starting one failed.
    #[error("failed to wait for workers")]
    Wait(#[source] io::Error),
}

/// A running batch.
pub struct Batch<'a, W: Write> {
    config: BatchConfig,
    host: &'a mut dyn Host,
    lines: Lines,
    output: Output<W>,
    queue: VecDeque<Pending>,
    queued_bytes: usize,
    workers: Vec<Worker>,
    summary: Summary,
}

impl<W: Write> std::fmt::Debug for Batch<'_, W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<'a, W: Write> Batch<'a, W> {
    /// Creates a batch without reading any input.
    pub fn new(config: BatchConfig, host: &'a mut dyn Host, output: W) -> Self {
        let output = Output::new(output, config.ordered);
        let (lines, queue, workers) = (Lines::default(), VecDeque::new(), Vec::new());
        Self { config, host, lines, output, queue, queued_bytes: 0, workers, summary: Summary::default() }
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
            if self.lines.ended() && self.queue.is_empty() && self.workers.iter().all(|worker| worker.jobs.is_empty()) {
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
            let number = self.summary.progress.read;
            self.summary.progress.read += 1;
            match self.prepare(number, line) {
                Ok(pending) => {
                    self.queued_bytes += pending.line.len();
                    self.queue.push_back(pending);
                }
                Err(refused) => {
                    let (id, line, path, message) = *refused;
                    let report = Report::not_run(path, &message);
                    self.answer(number, &report::line(&id, Some(line), &report), true)?;
                }
            }
        }
        Ok(())
    }

    fn prepare(&mut self, number: u64, line: Line) -> Result<Pending, Box<(Value, u64, PathBuf, String)>> {
        let at = line.number;
        let Some(text) = line.text else {
            return Err(Box::new((Value::Null, at, PathBuf::new(), format!("line {at} is too long for a job"))));
        };
        let job = Job::parse(&text).map_err(|JobError { id, message }| {
            Box::new((id, at, PathBuf::new(), format!("line {at} is no job: {message}")))
        })?;
        match job.kind().and_then(|_| self.host.resolve(&job)) {
            Ok(setup) => Ok(Pending { number, id: job.id, line: text, setup, audit: None }),
            Err(message) => Err(Box::new((job.id, at, job.module, message))),
        }
    }

    /// Sends queued jobs to workers; starts and ends workers as needed.
    fn hand_out(&mut self) -> Result<(), BatchError> {
        let mut at = 0;
        while at < self.queue.len() {
            let setup = Arc::clone(&self.queue[at].setup);
            let Some(worker) = self.place(&setup)? else {
                // A worker of another module may have room for a later job. Stop searching when no worker has.
                if !self.workers.iter().any(|worker| self.takes_more(worker)) && self.active() >= self.config.jobs {
                    break;
                }
                at += 1;
                continue;
            };
            if let Some(mut job) = self.queue.remove(at) {
                self.queued_bytes -= job.line.len();
                match audit::start(&mut job, &self.config.cleanup) {
                    Ok(()) => self.workers[worker].send(job),
                    Err(error) => {
                        let report = Report::not_run(job.setup.module.path(), &error_chain(&error));
                        self.answer(job.number, &report::line(&job.id, None, &report), true)?;
                    }
                }
            }
        }
        for worker in self.workers.iter_mut().filter(|worker| worker.wants_to_write()) {
            worker.flush();
        }
        Ok(())
    }

    fn active(&self) -> usize {
        self.workers.iter().filter(|worker| !worker.jobs.is_empty()).count()
    }

    fn takes_more(&self, worker: &Worker) -> bool {
        !self.summary.stopped && worker.has_room()
    }

    /// Returns the index of the worker for a job: an idle worker, a new one, or a busy one with room in its queue.
    fn place(&mut self, setup: &Arc<Setup>) -> Result<Option<usize>, BatchError> {
        let fits = |worker: &Worker| worker.setup.serves(setup);
        let best =
            (0..self.workers.len()).filter(|at| fits(&self.workers[*at])).min_by_key(|at| self.workers[*at].jobs.len());
        let may_start = self.active() < self.config.jobs;
        match best {
            Some(at) if self.workers[at].jobs.is_empty() => return Ok(may_start.then_some(at)),
            Some(at) if !may_start => return Ok(self.takes_more(&self.workers[at]).then_some(at)),
            _ if !may_start => return Ok(None),
            _ => {}
        }
        if self.workers.len() >= self.config.jobs + KEPT {
            let idle = |at: &usize| self.workers[*at].jobs.is_empty();
            let oldest = (0..self.workers.len()).filter(idle).min_by_key(|at| self.workers[*at].idle_since);
            if let Some(oldest) = oldest {
                self.workers.swap_remove(oldest);
            }
        }
        let BatchConfig { program, surroundings, cleanup, .. } = &self.config;
        match Worker::start(program, surroundings, Arc::clone(setup), cleanup) {
            Ok(worker) => {
                self.workers.push(worker);
                Ok(Some(self.workers.len() - 1))
            }
            // The user has probably reached the limit of processes. The running workers go on.
            Err(_) if self.active() > 0 => Ok(None),
            Err(error) => Err(BatchError::Wait(error)),
        }
    }

    /// Waits for input, answers, a stop request or a deadline, and handles what arrived.
    fn wait(&mut self, input: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> Result<(), BatchError> {
        process::let_answers_gather(&self.workers);
        let reading = !self.lines.ended() && self.has_room();
        let deadline = self.workers.iter().filter_map(Worker::deadline).min();
        let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()) + Duration::from_millis(1));
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let ready: Vec<PollFlags> = {
            let mut polled = Vec::with_capacity(2 + 2 * self.workers.len());
            let in_or_none = |wanted| if wanted { PollFlags::IN } else { PollFlags::empty() };
            polled.push(PollFd::from_borrowed_fd(stop, in_or_none(!self.summary.stopped)));
            polled.extend(reading.then(|| PollFd::from_borrowed_fd(input, PollFlags::IN)));
            for worker in &self.workers {
                polled.push(PollFd::from_borrowed_fd(worker.output(), PollFlags::IN));
                let writing = worker.input().filter(|_| worker.wants_to_write());
                polled.extend(writing.map(|input| PollFd::from_borrowed_fd(input, PollFlags::OUT)));
            }
            match rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, timeout.as_ref())) {
                Ok(_) => polled.iter().map(PollFd::revents).collect(),
                Err(error) => return Err(BatchError::Wait(error.into())),
            }
        };
        if !self.summary.stopped && !ready[0].is_empty() {
            self.stop()?;
        } else if reading && !ready[1].is_empty() {
            self.lines.fill(input).map_err(BatchError::Read)?;
        }
        self.listen()
    }

    /// Reads the answers of all workers, and replaces workers that have ended.
    fn listen(&mut self) -> Result<(), BatchError> {
        let mut gone = Vec::new();
        let mut answers = Vec::new();
        for (at, worker) in self.workers.iter_mut().enumerate() {
            if worker.wants_to_write() {
                worker.flush();
            }
            if let OutputState::Closed = worker.listen(|job, line| answers.push((job, line.to_vec()))) {
                gone.push(at);
            }
        }
        for (job, answer) in answers {
            if let Some((success, line)) = report::read_answer(&answer) {
                self.answer_audited(job, line, !success)?;
            }
        }
        for at in gone.into_iter().rev() {
            let mut worker = self.workers.swap_remove(at);
            let ended = worker.reap().map_or_else(|| "it closed its output".to_owned(), |status| status.to_string());
            let message = match worker.is_ready() {
                true => format!("the worker process ended while the module ran: {ended}"),
                false => format!("the worker process ended while it started: {ended}"),
            };
            self.replace_lost(worker, |setup| Report::crashed(&setup.module, &setup.policy, &message))?;
        }
        Ok(())
    }

    /// Kills workers that have missed their deadline.
    fn end_late(&mut self) -> Result<(), BatchError> {
        let now = Instant::now();
        while let Some(at) =
            self.workers.iter().position(|worker| worker.deadline().is_some_and(|deadline| deadline < now))
        {
            let worker = self.workers.swap_remove(at);
            self.replace_lost(worker, |setup| Report::late(&setup.module, &setup.policy, &setup.limits))?;
        }
        Ok(())
    }

    /// Answers the job that a lost worker was running, and queues again the jobs that the worker had not started.
    fn replace_lost(&mut self, mut worker: Worker, report: impl FnOnce(&Setup) -> Report) -> Result<(), BatchError> {
        let mut jobs = std::mem::take(&mut worker.jobs);
        let ran = jobs.pop_front();
        let setup = Arc::clone(&worker.setup);
        drop(worker);
        for job in jobs.into_iter().rev() {
            self.queued_bytes += job.line.len();
            self.queue.push_front(job);
        }
        let Some(ran) = ran else { return Ok(()) };
        let line = report::line(&ran.id, None, &report(&setup));
        self.answer_audited(ran, &line, true)?;
        if self.summary.stopped { self.cancel_queue() } else { Ok(()) }
    }

    /// Stops reading input and starting jobs. Cancels every job that was read and has not started.
    fn stop(&mut self) -> Result<(), BatchError> {
        self.summary.stopped = true;
        while let Some(line) = self.lines.next() {
            let number = self.summary.progress.read;
            self.summary.progress.read += 1;
            match self.prepare(number, line) {
                Ok(pending) => self.cancel(pending)?,
                Err(refused) => {
                    let (id, line, path, message) = *refused;
                    let report = Report::not_run(path, &message);
                    self.answer(number, &report::line(&id, Some(line), &report), true)?;
                }
            }
        }
        self.lines.close();
        self.cancel_queue()
    }

    fn cancel_queue(&mut self) -> Result<(), BatchError> {
        while let Some(job) = self.queue.pop_front() {
            self.queued_bytes -= job.line.len();
            self.cancel(job)?;
        }
        Ok(())
    }

    fn cancel(&mut self, job: Pending) -> Result<(), BatchError> {
        self.summary.cancelled += 1;
        let report = Report::cancelled(&job.setup.module, &job.setup.policy);
        let line = report::line(&job.id, None, &report);
        self.answer_audited(job, &line, true)
    }

    /// Writes a job's audit line, if it has one, then its report. A job that lacks its audit line counts as failed.
    fn answer_audited(&mut self, job: Pending, line: &[u8], failed: bool) -> Result<(), BatchError> {
        let audited = audit::finish(job.audit, line);
        self.summary.unaudited += u64::from(audited.is_err());
        self.answer(job.number, line, failed || audited.is_err())
    }

    fn answer(&mut self, number: u64, line: &[u8], failed: bool) -> Result<(), BatchError> {
        self.summary.progress.answered += 1;
        self.summary.progress.failed += u64::from(failed);
        self.output.put(number, line).map_err(BatchError::Write)
    }
}
