//! Many runs in warm processes: jobs as JSON lines in, reports as JSON lines out.
//!
//! One thread reads jobs, hands them to workers and writes what they answer; it waits in `poll` for all of them at
//! once. A worker is a process that runs the jobs of one module under one policy, one after the other, each in a
//! fresh instance. It is killed and replaced when it does not answer in time, so that a job that hangs, even in the
//! kernel, ends alone. Jobs with other grants or limits have a worker of their own.
//!
//! Whatever happens to a job, its line is answered by exactly one report. Nothing grows with the number of jobs: lines
//! are read only while the queue has room.

mod audit;
mod dispatch;
mod job;
mod lines;
mod output;
mod process;
mod report;
mod setup;
pub mod worker;

pub use self::dispatch::{Batch, BatchConfig, BatchError, Host, Progress, Summary};
pub use self::job::{Job, JobError, JobOptions};
pub use self::setup::{Setup, Surroundings};
