//! Jobs: runs that go on when whoever asked for them is gone, and are asked about later.
//!
//! `modbox run --async` starts a supervisor ([`supervise`]), a process in a session of its own. It writes the job's
//! file, starts modbox once more to do the run ([`order`]), and replaces the file by the result. The run is ended by its
//! own wall-clock limit, as any other; the supervisor ends one that does not end itself, and dies with its tree when it is killed.
//!
//! Names and contents of the files are those of ansible-core's `async_wrapper` (2.9, 2.14 and 2.19), so that its
//! `async_status` reads them, and what Ansible started can be asked about here. Three differences on purpose: files and
//! folder are for their owner alone; a job whose supervisor was killed is said to be lost, not to run for ever; a job
//! whose file was removed while it ran leaves none.

pub mod file;
pub mod folder;
pub mod order;
pub mod supervise;

pub use self::file::{JobFile, State};
pub use self::folder::{JobError, JobFolder};
pub use self::order::{Done, Order};
