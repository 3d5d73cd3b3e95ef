//! Runs jobs one at a time, in the warm processes of a batch: each job is answered before the next one is known.
//!
//! A play of tasks runs its modules this way. A job uses the worker of an earlier job if module, grants and limits are
//! equal.

use std::collections::VecDeque;

use crate::admission::Admission;
use crate::batch::dispatch::ResolvedJob;
use crate::batch::job::Job;
use crate::batch::pool::{PoolConfig, PoolEvents, SlotPool};
use crate::batch::progress::BatchError;
use crate::batch::task::{self, Answer, Task};
use crate::reports::report::Report;

/// Runner of jobs, one at a time.
#[derive(Debug)]
pub struct Sequence {
    pool: SlotPool,
    number: u64,
}

/// How a job of a sequence ended.
#[derive(Debug)]
pub struct Ended {
    /// Its report, with the result of a task under `no_log`: other tasks may use it.
    pub report: Report,
    /// Whether the job ran and is missing in an audit file.
    pub is_unaudited: bool,
}

impl Sequence {
    /// Creates a sequence without starting anything.
    ///
    /// # Errors
    ///
    /// The kernel gives no pipe.
    pub fn new(config: PoolConfig) -> Result<Self, BatchError> {
        let config = PoolConfig { jobs: 1, ..config };
        Ok(Self { pool: SlotPool::new(config).map_err(BatchError::Wait)?, number: 0 })
    }

    /// Ends the warm processes: a later job starts a new one, which opens its grants again.
    pub fn cool(&mut self) {
        self.pool.end_idle();
    }

    /// Runs a job and waits for its end.
    ///
    /// # Errors
    ///
    /// No worker can be started, or waiting for it failed.
    pub fn run(&mut self, job: Job, resolved: ResolvedJob) -> Result<Ended, BatchError> {
        let ResolvedJob { setup, name, admission } = resolved;
        let number = self.number;
        self.number += 1;
        let answer = match admission {
            Admission::Refused { report, .. } => {
                task::refuse(number, (&job, &name), &setup, *report, self.pool.cleanup())
            }
            Admission::Admitted(admitted) => self.attend(Task::new(number, 0, setup, (job, name), admitted))?,
        };
        let Answer { report, is_unaudited, .. } = answer;
        Ok(Ended { report, is_unaudited })
    }

    /// Gives the job to a slot, again if the slot ended before it began the job.
    fn attend(&mut self, task: Task) -> Result<Answer, BatchError> {
        let mut waiting = VecDeque::from([task]);
        loop {
            if let Some(task) = waiting.pop_front() {
                let slot = self.pool.place(&task.setup, false).map_err(BatchError::Wait)?;
                match slot {
                    Some(slot) => {
                        if let Some(answer) = self.pool.give(slot, task) {
                            return Ok(answer);
                        }
                    }
                    // The slot of an earlier job is not yet over.
                    None => waiting.push_back(task),
                }
            }
            self.pool.flush();
            self.pool.wait(&[]).map_err(BatchError::Wait)?;
            for PoolEvents { answers, given_back } in [self.pool.look(), self.pool.end_late()] {
                if let Some(answer) = answers.into_iter().next() {
                    return Ok(answer);
                }
                waiting.extend(given_back);
            }
        }
    }
}
