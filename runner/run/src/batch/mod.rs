//! Runs many jobs in warm worker processes: reads jobs as JSON lines, writes reports as JSON lines.
//!
//! One thread reads jobs, gives them to slots and writes their reports. It waits for all of them in one `poll`. A slot
//! for guests is a worker process that runs the jobs of one module within the same walls, one after the other, each in a
//! fresh instance; the main loop makes their orders and judges their outcomes. A worker that does not answer in time is
//! killed and replaced, so that a job that hangs, even in the kernel, affects no other job. Jobs with other grants or
//! limits run in another worker. A slot for runs on layers has a thread, which makes the layers, and a worker for all its
//! jobs. A slot for native modules is a thread that launches one after the other.
//!
//! Each line gets exactly one report, whatever happens to its job. Memory does not grow with the number of jobs: lines
//! are read only while the queue has room.

mod dispatch;
mod job;
mod lines;
mod output;
mod places;
mod pool;
mod progress;
mod report;
mod sequence;
mod service;
mod setup;
pub(crate) mod slots;
mod task;
mod walls;

pub use self::dispatch::{Batch, BatchConfig, Host, ResolvedJob};
pub use self::job::{Job, JobEffect, JobError, JobOptions, JobSave};
pub use self::places::GrantedPlaces;
pub use self::pool::PoolConfig;
pub use self::progress::{BatchError, Progress, Summary};
pub use self::sequence::{Ended, Sequence};
pub use self::service::{Service, ServiceHost, ServiceOrders};
pub use self::setup::Setup;
pub use self::walls::Walls;
