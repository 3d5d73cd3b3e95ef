//! Jobs: runs in the background, whose state can be asked for later.
//!
//! `modbox run --async` starts a [`monitor`], a process in a new session. The monitor writes the job's file, makes the
//! run, and replaces the file by the result. As always, the wall-clock limit ends the run. When the monitor is killed,
//! its process tree ends, too.
//!
//! Names and contents of the files are those of ansible-core's `async_wrapper` (2.9, 2.14 and 2.19), so that its
//! `async_status` can read them, and `modbox status` can read the files of Ansible's jobs. There are three intended
//! differences: only the owner can access files and folder; a job whose monitor was killed is reported as lost, not
//! as running for ever; a job whose file was removed while it ran writes no new one.

pub mod file;
pub mod folder;
pub mod monitor;
pub mod order;

pub use self::file::{JobFile, State};
pub use self::folder::{JobError, JobFolder};
pub use self::order::{JobRequest, RunSummary};
