//! Worker processes: how the monitor starts one, gives it a role, waits for it and kills it.
//!
//! The process that the user starts is the monitor. It keeps its authority and never runs untrusted code. A worker does
//! one job: it runs guests, launches a native module, or keeps mounts for others. It gets its orders over one socket,
//! which is its standard input, and it has no other descriptor of the monitor's.
//!
//! A worker is a fork of the monitor if the monitor forks it at its very start, before it reads anything; see
//! [`WorkerProcess::fork`]. That saves the time of starting the program. Otherwise a worker is the modbox program
//! again, with [`WORD`] as its first argument. [`Workers`] hands out one or the other.
//!
//! This crate does not know what workers do. The messages after the role belong to the crates of the roles.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod entry;
mod process;
mod program;
mod role;
mod spawn_lock;
mod thread_mounts;
mod workers;

pub use self::entry::{die_with_monitor, receive_role, take_socket};
pub use self::process::{Forked, WorkerProcess};
pub use self::program::{THIS_PROGRAM, WORD};
pub use self::role::Role;
pub use self::spawn_lock::exclude_spawns;
pub use self::workers::Workers;
