//! The loop of a batch: who gets the next job, who has answered, who is late.

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
use crate::batch::process::{self, Heard, Pending, Worker};
use crate::batch::setup::{Setup, Surroundings};
use crate::batch::{audit, report};

/// Jobs that were read and wait for a worker.
const QUEUE: usize = 256;

/// Bytes of them. One job more is read when this is reached.
const QUEUE_BYTES: usize = 32 << 20;

/// Reports that wait for an earlier one before reading stops.
const MAX_HELD: usize = 4096;

/// Workers that are kept although they have nothing to do, beside those that work.
const KEPT: usize = 16;

/// How a batch is to be run.
#[derive(Debug)]
pub struct BatchConfig {
    /// Jobs that run at a time.
    pub jobs: usize,
    /// Answer in the order of the lines.
    pub ordered: bool,
    /// The modbox program that workers are.
    pub program: PathBuf,
    /// What every worker is told.
    pub surroundings: Surroundings,
    /// Where to register what must not outlive modbox.
    pub cleanup: Cleanup,
}

/// What a batch asks of whoever started it.
pub trait Host {
    /// Finds a job's module and what it may reach and use. The same answer for the same question, so that jobs share
    /// workers.
    ///
    /// # Errors
    ///
    /// Why the job cannot be run.
    fn resolve(&mut self, job: &Job) -> Result<Arc<Setup>, String>;

    /// Is told how far the batch is, often: each time before it waits for more lines.
    fn progress(&mut self, progress: &Progress);
}

/// How far a batch is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Progress {
    /// Jobs read.
    pub read: u64,
    /// Jobs answered.
    pub answered: u64,
    /// Those of them that were not ok, changed or skipped.
    pub failed: u64,
    /// Bytes of the input that were read.
    pub bytes: u64,
}

/// How a batch ended.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// What was done.
    pub progress: Progress,
    /// Jobs that were read and not started, because the batch was told to stop.
    pub cancelled: u64,
    /// It was told to stop.
    pub stopped: bool,
    /// Jobs that ran and are missing in an audit file.
    pub unaudited: u64,
}

/// Why a batch cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// Jobs cannot be read.
    #[error("failed to read the jobs")]
    Read(#[source] io::Error),
    /// Reports cannot be written.
    #[error("failed to write a report")]
    Write(#[source] io::Error),
    /// The kernel does not wait for us.
    #[error("failed to wait for workers")]
    Wait(#[source] io::Error),
}

/// A batch under way.
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
    /// Makes a batch that has not read anything yet.
    pub fn new(config: BatchConfig, host: &'a mut dyn Host, output: W) -> Self {
        let output = Output::new(output, config.ordered);
        let (lines, queue, workers) = (Lines::default(), VecDeque::new(), Vec::new());
        Self { config, host, lines, output, queue, queued_bytes: 0, workers, summary: Summary::default() }
    }

    /// Runs until every job of the input is answered, or until `stop` becomes readable: then it finishes what runs and
    /// answers the rest of what it read as cancelled.
    ///
    /// # Errors
    ///
    /// An input that cannot be read, or an output that cannot be written.
    pub fn run(mut self, input: BorrowedFd<'_>, stop: BorrowedFd<'_>) -> Result<Summary, BatchError> {
        loop {
            self.read_lines()?;
            self.hand_out()?;
            // What was read is taken in before more is: an input that is quicker than the workers would be read whole.
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

    /// Takes lines that have arrived into the queue.
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

    /// Gives jobs to workers, and starts and ends workers for that.
    fn hand_out(&mut self) -> Result<(), BatchError> {
        let mut at = 0;
        while at < self.queue.len() {
            let setup = Arc::clone(&self.queue[at].setup);
            let Some(worker) = self.place(&setup)? else {
                // Another module's worker may have room. When nobody has, looking on is in vain.
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

    /// Returns the worker for a job: an idle one, a new one, or one that is soon ready for it.
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
            // As many processes as this user may have: the others go on.
            Err(_) if self.active() > 0 => Ok(None),
            Err(error) => Err(BatchError::Wait(error)),
        }
    }

    /// Waits for something to happen, and takes it in.
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

    /// Takes in the answers of all workers.
    fn listen(&mut self) -> Result<(), BatchError> {
        let mut gone = Vec::new();
        let mut answers = Vec::new();
        for (at, worker) in self.workers.iter_mut().enumerate() {
            if worker.wants_to_write() {
                worker.flush();
            }
            if let Heard::Gone = worker.listen(|job, line| answers.push((job, line.to_vec()))) {
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
            self.lose(worker, |setup| Report::crashed(&setup.module, &setup.policy, &message))?;
        }
        Ok(())
    }

    /// Ends workers that do not answer in time.
    fn end_late(&mut self) -> Result<(), BatchError> {
        let now = Instant::now();
        while let Some(at) =
            self.workers.iter().position(|worker| worker.deadline().is_some_and(|deadline| deadline < now))
        {
            let worker = self.workers.swap_remove(at);
            self.lose(worker, |setup| Report::late(&setup.module, &setup.policy, &setup.limits))?;
        }
        Ok(())
    }

    /// Answers the job that a lost worker ran, and has another worker do those that it had not begun.
    fn lose(&mut self, mut worker: Worker, report: impl FnOnce(&Setup) -> Report) -> Result<(), BatchError> {
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

    /// Reads and starts nothing more.
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

    /// Answers a job that may have a line in the audit log. One without its line is a failed one.
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
