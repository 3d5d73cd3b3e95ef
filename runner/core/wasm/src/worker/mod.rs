//! Guest workers: processes that run guests of one module and have no other authority than its grants.
//!
//! The monitor starts a worker and sends it compiled code ([`GuestWorker`]). The worker loads the code, confines itself
//! to the grants, and only then runs guests, one after the other ([`serve`]). It sends what a guest prints at once, so
//! that the monitor has it whatever becomes of the worker, and asks the monitor to run a guest's commands. The kernel asks
//! the monitor about system calls that the worker's filter refuses, so that the report names them. A worker that does not
//! answer in time is killed.
//!
//! A guest may have taken over the worker. So the monitor takes what a worker says for the guest's own words: lengths
//! are bounded, texts are shown as a module's, and requests for commands are checked against the policy.

mod attend;
mod client;
mod connection;
mod failure;
mod messages;
mod progress;
mod refused_calls;
mod serve;
mod set_id;

pub use self::attend::{
    AttendError, AttendedRun, RunEnd, START_PATIENCE, StartedWorker, attend, attend_run, attend_start,
};
pub use self::client::{GuestEvent, GuestWorker};
pub use self::messages::{ConfinementOrder, GuestOrder, GuestSetup, RunDirectory};
pub use self::progress::RunProgress;
pub use self::serve::serve;
