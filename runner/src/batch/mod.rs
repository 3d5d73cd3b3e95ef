//! Runs many jobs in warm worker processes: reads jobs as JSON lines, writes reports as JSON lines.
//!
//! One thread reads jobs, sends them to workers and writes their reports. It waits for all of them in one `poll`. A
//! worker is a process that runs the jobs of one module under one policy, one after the other, each in a fresh
//! instance. A worker that does not answer in time is killed and replaced, so that a job that hangs, even in the
//! kernel, affects no other job. Jobs with other grants or limits run in another worker.
//!
//! Each line gets exactly one report, whatever happens to its job. Memory does not grow with the number of jobs: lines
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
